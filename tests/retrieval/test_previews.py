import pytest

from babelray.errors import AccessDenied, InputError, UpstreamError
from babelray.protocols import Translation
from babelray.retrieval.citations import Citation, quote_hash
from babelray.retrieval.degradation import Reason
from babelray.retrieval.previews import Previewer


def citation(quote="第一句。\n\n第二句。", language="zh-Hans", revision="r1"):
    return Citation(
        citation_id="c1", doc_id="d", source_uri="u", source_revision=revision, generation="g", start=0, end=len(quote),
        original_quote=quote, quote_sha256=quote_hash(quote), source_language=language,
    )  # fmt: skip


class Upper:
    """Marks what it was asked for, and counts the calls."""

    def __init__(self, error=None, damaged=(), silent=False):
        self.version, self.error, self.damaged, self.silent = "1", error, damaged, silent
        self.calls = []

    def can(self, source, target):
        return target != "fi"

    def translate(self, texts, source, target, *, tenant_id, domain="", protected=()):
        assert all(text and "\n" not in text for text in texts)
        self.calls.append((list(texts), tenant_id, domain))
        if self.error:
            raise self.error
        if self.silent:
            return [None] * len(texts)
        return [
            Translation(
                f"<{text}>", source, target, "upper", "m", self.version, translation_id=text, damaged=self.damaged
            )
            for text in texts
        ]


def test_a_preview_is_made_line_by_line_and_says_who_made_it():
    made = Previewer(Upper(), 8, "terms-3").preview(citation(), "en", tenant_id="a")
    assert made.degradation is None
    preview = made.preview
    assert preview.text == "<第一句。>\n\n<第二句。>"
    assert (preview.source_language, preview.target_language, preview.machine_made) == ("zh-Hans", "en", True)
    assert (preview.translator, preview.model, preview.version, preview.glossary_version) == (
        "upper",
        "m",
        "1",
        "terms-3",
    )
    assert preview.citation_id == "c1"


def test_what_a_document_does_not_show_is_not_translated():
    translator = Upper()
    Previewer(translator, 8).preview(citation("<!-- x -->你好"), "en", tenant_id="a", content="你好")
    assert translator.calls == [(["你好"], "a", "")]


@pytest.mark.parametrize(("language", "target"), [("en", "en"), ("en-GB", "en"), ("zxx", "de")])
def test_none_is_made_where_none_is_needed(language, target):
    translator = Upper()
    made = Previewer(translator, 8).preview(citation("Text", language), target, tenant_id="a")
    assert (made.preview, made.degradation, translator.calls) == (None, None, [])


@pytest.mark.parametrize(
    ("translator", "language", "target"),
    [
        (None, "zh", "en"),
        (Upper(), "zh", "fi"),
        (Upper(), "und", "en"),
        (Upper(error=UpstreamError("timed out")), "zh", "en"),
        (Upper(error=AccessDenied("may not leave")), "zh", "en"),
        (Upper(error=InputError("no way")), "zh", "en"),
        (Upper(damaged=("v2.1",)), "zh", "en"),
        (Upper(silent=True), "zh", "en"),
    ],
)
def test_a_failure_costs_the_preview_only_and_is_said(translator, language, target):
    previewer = Previewer(translator, 8)
    for _ in range(2):
        made = previewer.preview(citation(language=language), target, tenant_id="a")
        assert made.preview is None
        assert made.degradation.reason is Reason.PREVIEW_TRANSLATION_FAILED
        assert made.degradation.detail and "第一句" not in made.degradation.detail
    if translator is not None and translator.error:
        assert len(translator.calls) == 2, "a failure is not remembered"


def test_a_programming_error_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        Previewer(Upper(error=ZeroDivisionError()), 8).preview(citation(), "en", tenant_id="a")


def test_previews_are_kept_under_every_version_that_shaped_them():
    translator = Upper()
    previewer = Previewer(translator, 8, "g1")

    def ask(of=previewer, **changes):
        before = len(translator.calls)
        values = {"tenant_id": "a", "domain": "", "target": "en", "revision": "r1", **changes}
        made = of.preview(
            citation(revision=values["revision"]),
            values["target"],
            tenant_id=values["tenant_id"],
            domain=values["domain"],
        )
        assert made.preview is not None
        return len(translator.calls) > before

    assert ask() and not ask()
    for changes in ({"target": "de"}, {"revision": "r2"}, {"tenant_id": "b"}, {"domain": "law"}):
        assert ask(**changes) and not ask(**changes)
    translator.version = "2"
    assert ask() and not ask()
    assert ask(Previewer(translator, 8, "g2"))
