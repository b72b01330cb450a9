import shutil
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.config import CommandTranslatorSettings, RouteSettings, TranslationSettings
from babelray.errors import AccessDenied, InputError, UpstreamError
from babelray.glossary.marks import mask, unmask
from babelray.protocols import Translation
from babelray.retrieval.degradation import Reason
from babelray.retrieval.plan import Purpose
from babelray.retrieval.query import AnchorRecord, QueryAnalysis
from babelray.retrieval.translation import QueryTranslator, protected_spans, translate_query
from babelray.text.query_anchors import find_query_anchors
from models.translators import build_translators


def analysis(text, language="en", **more):
    anchors = tuple(
        AnchorRecord(
            type=str(one.type), start=one.start, end=one.end, value=one.value, normalized=one.normalized,
            must_preserve=one.must_preserve,
        )
        for one in find_query_anchors(text, (language,))
    )  # fmt: skip
    return QueryAnalysis(text=text, normalized=text, language=language, anchors=anchors, **more)


class Ways:
    """Does for each target language what a table says: gives a text, raises, waits, or has nothing."""

    version = "1"

    def __init__(self, table):
        self.table = table
        self.calls = []

    def can(self, source, target):
        return target in self.table

    def translate(self, texts, source, target, *, tenant_id, domain="", protected=()):
        self.calls.append((tuple(texts), source, target, tenant_id, domain, [list(one) for one in protected]))
        does = self.table[target]
        if isinstance(does, Exception):
            raise does
        if callable(does):
            does = does()
        if does is None or isinstance(does, Translation):
            return [does]
        return [made(does, target)]


def made(text, target="es", **more):
    return Translation(
        text=text, source_language="en", target_language=target, translator="one", model="m", version="v",
        glossary_version="g", translation_id="i", route=("en", target), **more,
    )  # fmt: skip


def run(ways, *targets, text="restart the server", seconds=5.0):
    return translate_query(analysis(text, domain="cloud"), targets, ways, tenant_id="acme", deadline_seconds=seconds)


def test_one_variant_a_language_with_where_it_came_from():
    ways = Ways({"es": "reiniciar el servidor", "de": "den Server neu starten"})
    typed: QueryTranslator = ways
    outcome = run(typed, "es", "de", "es")
    assert [(one.language, one.text) for one in outcome.variants] == [
        ("es", "reiniciar el servidor"),
        ("de", "den Server neu starten"),
    ]
    first = outcome.variants[0]
    assert first.accepted and first.purpose is Purpose.TRANSLATED_LEXICAL and first.source == "translator:one"
    assert first.translation.model_dump() == {
        "translation_id": "i", "translator": "one", "model": "m", "version": "v", "glossary_version": "g",
        "route": ("en", "es"),
    }  # fmt: skip
    assert outcome.failures == () and outcome.unneeded == ()
    assert len({one.variant_id for one in outcome.variants}) == 2
    assert {call[1:5] for call in ways.calls} == {("en", "es", "acme", "cloud"), ("en", "de", "acme", "cloud")}


def test_no_languages_no_threads():
    # Which threads, not how many: one of another test may end meanwhile.
    before = set(threading.enumerate())
    assert run(Ways({})).variants == ()
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (UpstreamError("the program failed"), "es: upstream failure: the program failed"),
        (AccessDenied("text may not go to the service", got="llm"), "es: not allowed to leave"),
        (InputError("no translator knows the languages"), "es: bad input: no translator knows the languages"),
    ],
)
def test_a_failure_costs_its_language_only_and_is_told(error, detail):
    outcome = run(Ways({"es": error, "de": "gut"}), "es", "de")
    assert [one.language for one in outcome.variants] == ["de"]
    (failure,) = outcome.failures
    assert (failure.reason, failure.detail) == (Reason.TRANSLATED_CHANNEL_SKIPPED, detail)
    assert failure.fallback


def test_a_fault_of_the_program_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        run(Ways({"es": ZeroDivisionError()}), "es")


def test_what_comes_too_late_is_dropped_and_nobody_waits():
    release = threading.Event()

    def late():
        release.wait(30)
        return made("tarde")

    started = time.monotonic()
    outcome = run(Ways({"es": late, "de": "gut"}), "es", "de", seconds=0.3)
    waited = time.monotonic() - started
    release.set()
    assert waited < 10
    assert [one.language for one in outcome.variants] == ["de"]
    assert [one.detail for one in outcome.failures] == ["es: not within 300 ms"]


def test_languages_are_translated_at_the_same_time():
    both = threading.Barrier(2, timeout=10)

    def together():
        both.wait()
        return made("a")

    assert len(run(Ways({"es": together, "de": together}), "es", "de").variants) == 2


def test_nothing_to_translate_is_no_failure():
    outcome = run(Ways({"es": None}), "es", text="kubectl rollout undo")
    assert (outcome.variants, outcome.failures, outcome.unneeded) == ((), (), ("es",))


@pytest.mark.parametrize(
    ("translation", "kinds"),
    [
        (made("x", damaged=("ERR_1205",)), ["placeholder_damage"]),
        (made("x", damaged=("a.b", "XQ7Z"), reordered=True), ["placeholder_damage"] * 3),
        (made("  "), ["empty"]),
    ],
)
def test_damage_is_a_problem_of_the_variant(translation, kinds):
    (variant,) = run(Ways({"es": translation}), "es").variants
    assert [one.kind for one in variant.problems] == kinds and not variant.accepted


@pytest.mark.parametrize(
    ("text", "language", "kept"),
    [
        ("why does ERR_1205 fail in v2.1.0?", "en", ["ERR_1205", "v2.1.0"]),
        ("为什么Elasticsearch的index.max.limit会超？", "zh", ["Elasticsearch", "index.max.limit"]),
        ("how to run kubectl rollout undo", "en", ["kubectl rollout undo"]),
        ("where is https://example.org/a?b=1 used", "en", ["https://example.org/a?b=1"]),
        ("keep 30 days but not before 2026-08-06", "en", []),
        ("¿quién dirige la OTAN?", "es", []),
        ("names of objects and their IDs", "en", ["IDs"]),
        ('what is a "dead letter queue"', "en", ["dead letter queue"]),
        ("does GET /v1/users need >= 3 replicas", "en", ["GET /v1/users"]),
    ],
)  # fmt: skip
def test_names_are_kept_and_what_must_be_worded_anew_stays_visible(text, language, kept):
    made_of = analysis(text, language)
    masked = mask(text, kept=protected_spans(made_of.anchors))
    assert list(masked.restored) == kept
    assert unmask(masked.text, masked).text == text


@given(st.text(alphabet="abERv_.12 -/中\"'", max_size=40))
def test_any_query_comes_back_whole_from_a_translator_that_changes_nothing(text):
    made_of = analysis(text)
    masked = mask(text, kept=protected_spans(made_of.anchors))
    back = unmask(masked.text, masked)
    assert (back.text, back.damaged, back.in_order) == (text, (), True)


@pytest.mark.services
@pytest.mark.skipif(
    shutil.which("apertium") is None, reason="needs the packages apertium, apertium-eng-spa, apertium-es-pt"
)
def test_portuguese_goes_through_spanish_to_english_with_apertium():
    def step(mode, pair):
        return CommandTranslatorSettings(
            kind="command", name=mode, pairs=(pair,), version_command=("apertium", "-V"), timeout_seconds=60,
            command=("bash", "-c", f"exec bash <(apertium-wblank-mode -z /usr/share/apertium/modes/{mode}.mode) -n"),
            exchange="apertium-stream",
        )  # fmt: skip

    route = RouteSettings(languages=("pt", "es", "en"), translators=("pt-es", "spa-eng"))
    ways = build_translators(
        TranslationSettings(translators=(step("pt-es", "pt>es"), step("spa-eng", "es>en")), routes=(route,))
    )
    text = "Como configuro index.mapping.total_fields.limit no servidor?"
    outcome = translate_query(analysis(text, "pt"), ["en"], ways, tenant_id="acme", deadline_seconds=60)
    (variant,) = outcome.variants
    assert variant.accepted and "index.mapping.total_fields.limit" in variant.text and "server" in variant.text
    assert variant.translation.route == ("pt", "es", "en")
    assert variant.translation.translator == "pt-es+spa-eng" and "Apertium 3" in variant.translation.version
