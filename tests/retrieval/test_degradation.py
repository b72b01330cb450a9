"""Every row of the degradation matrix: the part is made to fail, the fallback answers, the reason is said."""

import threading
import time

import numpy as np
import pytest

from babelray.config import (
    DeadlineSettings,
    RerankSettings,
    RetrievalSettings,
    TranslationSettings,
)
from babelray.errors import AccessDenied, UpstreamError
from babelray.protocols import Translation
from babelray.retrieval.degradation import Reason
from babelray.retrieval.plan import Purpose
from babelray.retrieval.request import Request, Status
from tests.retrieval.page_worlds import NOW, build_pages, documents, hash_embedder, retriever_of, scope_of


@pytest.fixture(scope="module")
def generation(tmp_path_factory):
    return build_pages(tmp_path_factory.mktemp("pages"), documents(), hash_embedder())


def ask(retriever, query, **request):
    return retriever.retrieve(Request(query=query, explain=True, **request), scope_of(), now=NOW)


def reasons(response):
    return {one.reason for one in response.degraded}


def uris(response):
    return [one.citation.source_uri for one in response.passages]


class Dictionary:
    """Translates what it knows; a function may change what it says, or raise."""

    version = "dictionary-1"

    def __init__(self, answers, source="en", target="de"):
        self.answers, self.way = answers, (source, target)
        self.asked = []

    def can(self, source, target):
        return (source, target) == self.way

    def translate(self, texts, source, target, *, tenant_id, domain="", protected=()):
        self.asked.append((tuple(texts), source, target, tenant_id))
        made = []
        for text in texts:
            answer = self.answers(text) if callable(self.answers) else self.answers.get(text)
            made.append(None if answer is None else Translation(answer, source, target, "dictionary", "d", "1"))
        return made


TRANSLATED = RetrievalSettings(translation=TranslationSettings(targets=("de",)))
QUESTION = "How long are the encrypted backups kept before they are deleted?"
GERMAN = "Wie lange werden die verschlüsselten Sicherungen aufbewahrt, bevor sie gelöscht werden?"


def test_a_translation_finds_what_the_query_does_not(generation):
    translator = Dictionary({QUESTION: GERMAN})
    response = ask(retriever_of(generation, settings=TRANSLATED, translator=translator), QUESTION)
    assert translator.asked == [((QUESTION,), "en", "de", "acme")]
    (variant,) = [one for one in response.trace.plan.variants if one.purpose is Purpose.TRANSLATED_LEXICAL]
    assert variant.accepted and variant.text == GERMAN and variant.translation.translator == "dictionary"
    found = [one for one in response.trace.candidates if one.channels.get("translated")]
    assert found[0].source_uri == "de/sicherung.md"
    assert not reasons(response)


def test_low_confidence_searches_everything_but_translations(generation):
    translator = Dictionary(lambda text: "nie")
    response = ask(retriever_of(generation, settings=TRANSLATED, translator=translator), "PTO?")
    assert Reason.LANG_LOW_CONFIDENCE in reasons(response)
    assert not translator.asked
    assert {"general", "dense"} <= set(response.trace.channel_counts)


def test_a_translator_that_fails_costs_its_channel_only(generation):
    def broken(text):
        raise UpstreamError("the engine is down")

    response = ask(retriever_of(generation, settings=TRANSLATED, translator=Dictionary(broken)), QUESTION)
    assert reasons(response) == {Reason.TRANSLATED_CHANNEL_SKIPPED}
    assert response.passages and response.status is Status.OK


def test_a_late_translator_is_not_waited_for(generation):
    release = threading.Event()

    def slow(text):
        release.wait(10)

    settings = TRANSLATED.model_copy(update={"deadlines": DeadlineSettings(translation_ms=50)})
    retriever = retriever_of(generation, settings=settings, translator=Dictionary(slow))
    began = time.monotonic()
    response = ask(retriever, QUESTION)
    took = time.monotonic() - began
    release.set()
    assert reasons(response) == {Reason.TRANSLATED_CHANNEL_SKIPPED} and response.passages
    assert took < 9


def test_a_translation_that_loses_an_anchor_is_not_searched(generation):
    query = "How do I avoid the ERR_1205 error on the queue?"
    translator = Dictionary({query: "Wie vermeide ich den Fehler in der Warteschlange?"})
    response = ask(retriever_of(generation, settings=TRANSLATED, translator=translator), query)
    assert Reason.ANCHOR_VALIDATION_FAILED in reasons(response)
    (variant,) = [one for one in response.trace.plan.variants if one.purpose is Purpose.TRANSLATED_LEXICAL]
    assert {one.kind for one in variant.problems} == {"anchor_loss"}
    assert "translated" not in response.trace.channel_counts
    assert uris(response)[0] in {"en/queues.md", "zh/fenqu.md"}


class Failing:
    """An embedder of the right key that does not answer."""

    def __init__(self, error=None, seconds=0.0, refused=False):
        self.inner, self.error, self.seconds, self.refused = hash_embedder(), error, seconds, refused
        self.key = self.inner.key

    def encode(self, texts, role):
        time.sleep(self.seconds)
        if self.error:
            raise self.error
        encoded = self.inner.encode(texts, role)
        if not self.refused:
            return encoded
        return type(encoded)(np.zeros_like(encoded.vectors), encoded.tokens, encoded.truncated, {0: "non_finite"})


@pytest.mark.parametrize(
    "embedder",
    [None, Failing(UpstreamError("down")), Failing(RuntimeError("out of memory")), Failing(refused=True),
     Failing(seconds=0.3)],
    ids=["none", "upstream", "runtime", "refused", "late"],
)  # fmt: skip
def test_without_vectors_words_answer(generation, embedder):
    settings = RetrievalSettings(deadlines=DeadlineSettings(embedding_ms=100))
    response = ask(retriever_of(generation, settings=settings, embedder=embedder), "ERR_1205 partition delete")
    assert reasons(response) == {Reason.DENSE_UNAVAILABLE}
    assert "dense" not in response.trace.channel_counts
    assert {"en/queues.md", "zh/fenqu.md"} <= set(uris(response)[:3])
    assert "ERR_1205" in response.passages[0].citation.original_quote


class Reader:
    """A reranker that scores by length, for some languages."""

    version = "reader-1"

    def __init__(self, languages=("en",), error=None, seconds=0.0):
        self.languages, self.error, self.seconds = languages, error, seconds

    def supports(self, query_language, passage_language):
        return passage_language in self.languages

    def score(self, query, passages):
        time.sleep(self.seconds)
        if self.error:
            raise self.error
        return np.array([len(one) for one in passages], dtype=np.float32)


CROSS = RetrievalSettings(rerank=RerankSettings(kind="cross-encoder"), deadlines=DeadlineSettings(rerank_ms=150))


def test_pairs_that_the_reranker_does_not_know_keep_their_place(generation):
    response = ask(retriever_of(generation, settings=CROSS, reranker=Reader()), "ERR_1205 消费者 partition")
    assert Reason.RERANK_LANGUAGE_UNSUPPORTED in reasons(response)
    read = {one.language: one.rerank_score for one in response.trace.candidates if one.rerank_rank}
    assert read["zh-Hans"] is None and read["en"] is not None


@pytest.mark.parametrize(
    "reranker",
    [None, Reader(error=UpstreamError("down")), Reader(error=RuntimeError("cuda")), Reader(seconds=0.5)],
    ids=["none", "upstream", "runtime", "late"],
)
def test_without_a_reranker_the_order_of_the_fusion_stands(generation, reranker):
    once = RetrievalSettings(rerank=RerankSettings(kind="none"))
    plain = ask(retriever_of(generation, settings=once), "partition delete queue")
    response = ask(retriever_of(generation, settings=CROSS, reranker=reranker), "partition delete queue")
    assert reasons(response) - reasons(plain) == {Reason.RERANK_UNAVAILABLE}
    assert response.passages == plain.passages


def test_a_preview_that_fails_leaves_the_original(generation):
    def broken(text):
        raise UpstreamError("the engine is down")

    translator = Dictionary(broken, source="de", target="en")
    response = ask(
        retriever_of(generation, translator=translator),
        "verschlüsselte Sicherungen",
        answer_language="en",
        previews=True,
    )
    assert Reason.PREVIEW_TRANSLATION_FAILED in reasons(response)
    german = [one for one in response.passages if one.citation.source_language == "de"]
    assert german and all(one.preview is None and one.citation.original_quote for one in german)


def test_a_preview_stands_beside_the_original_and_says_what_it_is(generation):
    translator = Dictionary(lambda text: f"[en] {text}", source="de", target="en")
    response = ask(
        retriever_of(generation, translator=translator),
        "verschlüsselte Sicherungen",
        answer_language="en",
        previews=True,
    )
    (german, *_) = [one for one in response.passages if one.citation.source_language == "de"]
    assert german.preview.machine_made and german.preview.text.startswith("[en] ")
    assert "Sicherungen" in german.citation.original_quote


def test_a_scope_that_cannot_be_resolved_ends_the_search(generation, caplog):
    with pytest.raises(AccessDenied), caplog.at_level("WARNING"):
        ask(retriever_of(generation), "secret ERR_9000 words", groups=("admins",))
    assert Reason.SCOPE_RESOLUTION_FAILED in caplog.text
    assert "ERR_9000" not in caplog.text


def test_a_degraded_answer_is_not_remembered(generation):
    class Recovering(Failing):
        def encode(self, texts, role):
            if self.error:
                self.error, error = None, self.error
                raise error
            return self.inner.encode(texts, role)

    retriever = retriever_of(generation, embedder=Recovering(UpstreamError("down")))
    assert reasons(ask(retriever, "partition delete queue")) == {Reason.DENSE_UNAVAILABLE}
    assert not reasons(ask(retriever, "partition delete queue"))


def test_an_index_of_other_word_rules_says_so(generation, monkeypatch):
    monkeypatch.setattr("babelray.retrieval.engine.analyzer_version", lambda: "analysis-0")
    response = ask(retriever_of(generation), "partition delete queue")
    assert reasons(response) == {Reason.ANALYZER_CHANGED} and response.passages


@pytest.mark.parametrize("error", [OSError("disk full"), UpstreamError("database down")], ids=["disk", "database"])
def test_a_plan_that_cannot_be_kept_does_not_end_the_search(generation, error):
    class Full:
        def write(self, *_):
            raise error

    response = ask(retriever_of(generation, sink=Full()), "partition delete queue")
    assert reasons(response) == {Reason.PLAN_NOT_KEPT} and response.passages
