"""Hints, baselines and approval, with an embedder whose cosines can be worked out by hand."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelray.config import HashSettings
from babelray.errors import InputError, IntegrityError
from babelray.glossary.approving import approve
from babelray.glossary.baselines import PlainRetrieval
from babelray.glossary.hints import HintFinder, HintIndex, LiveSearch, StoredSearch, build_hint_index
from babelray.glossary.match import MatchScope, TermMatcher
from babelray.glossary.store import open_glossaries
from babelray.glossary.terms import Term
from babelray.glossary.thresholds import Thresholds
from babelray.glossary.vector_cache import NGramVectors, read_vectors, write_vectors
from babelray.index.store import open_store
from models.embedders.hashed import HashEmbedder

SCOPE = MatchScope("es", as_of=datetime(2026, 1, 1, tzinfo=UTC))


def term(term_id, source, target="x", locale="es", **more):
    return Term(
        term_id=term_id, source_locale="en", target_locale=locale, source=source, target=target,
        kind="custom_translation", **more,
    )  # fmt: skip


TERMS = [
    term("lb", "load balancer", aliases=("traffic splitter",)),
    term("pool", "worker pool"),
    term("pool", "worker pool", locale="de"),
    term("old", "load shedding", valid_to="2020-01-01T00:00:00Z"),
]
MATCHER = TermMatcher(TERMS, "en")


@pytest.fixture
def embedder():
    return HashEmbedder(HashSettings(kind="hash", dimension=256))


def finder(embedder, threshold=0.6, margin=0.0, per_ngram=3, matcher=MATCHER):
    cache = NGramVectors(embedder.key)
    search = LiveSearch(build_hint_index(matcher, embedder, cache), embedder, cache)
    return HintFinder(matcher, search, Thresholds("t", threshold), per_ngram, margin)


def find(one, *texts, scope=SCOPE, matcher=MATCHER):
    return one.find([matcher.match(text, scope, with_ngrams=True) for text in texts], scope)


def test_words_that_share_half_of_a_term_hint_at_it(embedder):
    (hints,) = find(finder(embedder), "The load is high")
    assert [(h.term.term_id, h.surface) for h in hints] == [("lb", "load")]
    assert 0.6 <= hints[0].score < 0.8 and hints[0].threshold == 0.6


def test_what_is_enforced_is_not_hinted_at_again(embedder):
    assert find(finder(embedder), "The load balancer works", "A traffic splitter") == [(), ()]


def test_one_hint_a_term_and_place_and_near_misses_by_their_score(embedder):
    (hints,) = find(finder(embedder, threshold=0.9, margin=0.35), "One load balancer balancer")
    assert len(hints) == 1 and hints[0].score < hints[0].threshold
    assert find(finder(embedder, threshold=0.9), "One load balancer balancer") == [()]


def test_terms_of_other_pairs_and_of_other_times_are_not_hinted_at(embedder):
    one = finder(embedder)
    assert [h.term.target_locale for h in find(one, "a worker thread")[0]] == ["es"]
    assert [h.term.term_id for h in find(one, "shedding load")[0]] == ["lb"]


def test_windows_are_embedded_once_over_all_strings(embedder):
    calls = []
    inner = embedder.encode

    class Counting:
        key = embedder.key

        def encode(self, texts, role):
            calls.append(list(texts))
            return inner(texts, role)

    one = finder(Counting())
    calls.clear()
    find(one, "high load here", "high load there", "high load here")
    find(one, "high load here")
    assert len(calls) == 1 and len(calls[0]) == len(set(calls[0]))


def test_what_was_compared_before_gives_the_same_hints(embedder):
    live = finder(embedder)
    texts = ["The load is high", "workers of a pool", "nothing at all"]
    windows = {g.text for t in texts for g in MATCHER.match(t, SCOPE, with_ngrams=True).open_ngrams}
    stored = StoredSearch(live._search.similar(sorted(windows), 0.6))
    assert find(HintFinder(MATCHER, stored, Thresholds("t", 0.6)), *texts) == find(live, *texts)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(-0.2, 0.9))
def test_similar_forms_are_those_of_the_plain_product(seed, least):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(7, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index = HintIndex(tuple("abcdefg"), vectors)
    windows = vectors[:3] * np.float32(1)
    windows[1] = 0
    plain = windows @ vectors.T
    for row, found in enumerate(index.similar(windows, least)):
        expected = [] if row == 1 else [form for form in range(7) if plain[row, form] >= least]
        assert sorted(form for form, _ in found) == expected
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_forms_are_folded_and_shared():
    terms = [term("a", "Node"), term("b", "node", locale="de"), term("c", "Pod", aliases=("NODE",))]
    assert TermMatcher(terms, "en").listed == (("node", "pod"), ((0, 1, 2), (2,)))


class TestVectors:
    def test_the_least_used_go_first(self, embedder):
        cache = NGramVectors(embedder.key, entries=2)
        cache.of(["a", "b"], embedder)
        cache.of(["a", "c"], embedder)
        assert cache.known(["a", "b", "c"]) == {"a", "c"} and len(cache) == 2

    def test_more_texts_than_are_kept_still_have_their_vectors(self, embedder):
        small, large = NGramVectors(embedder.key, entries=1), NGramVectors(embedder.key)
        texts = ["a", "b", "a", "c"]
        assert np.array_equal(small.of(texts, embedder), large.of(texts, embedder))

    def test_they_are_kept_in_the_store_by_content(self, embedder, tmp_path):
        store = open_store(str(tmp_path))
        cache = NGramVectors(embedder.key)
        texts = ["a b", "c"]
        vectors, tokens = cache.embed(texts, embedder)
        path = write_vectors(store, embedder.key, texts, vectors)
        assert tokens > 0 and write_vectors(store, embedder.key, texts, vectors) == path
        again = NGramVectors(embedder.key)
        assert read_vectors(store, embedder.key, again) == 2
        assert np.array_equal(again.of(texts, None), cache.of(texts, None)), "nothing has to be embedded"
        other = embedder.key.model_copy(update={"name": "other"})
        assert read_vectors(store, other, NGramVectors(other)) == 0
        (tmp_path / path).write_bytes(b"rotten")
        with pytest.raises(IntegrityError, match="damaged"):
            read_vectors(store, embedder.key, NGramVectors(embedder.key))


class TestBaselines:
    @pytest.fixture
    def plain(self, embedder):
        cache = NGramVectors(embedder.key)
        return PlainRetrieval(MATCHER, build_hint_index(MATCHER, embedder, cache), embedder, cache)

    def test_whole_strings_find_the_nearest_terms_whatever_their_cosine(self, plain):
        (found,) = plain.by_sentence(["load balancer"], SCOPE, top=2)
        assert [h.term.term_id for h in found] == ["lb", "pool"] and found[0].score == pytest.approx(1, abs=1e-3)
        assert plain.by_sentence(["x"], MatchScope("ko"), top=2) == [[]]

    def test_every_ngram_is_looked_up_also_what_is_enforced(self, plain):
        (found,) = plain.by_ngrams(["The load balancer and the worker pool"], SCOPE, 0.9)
        assert {h.term.term_id: h.surface for h in found} == {"lb": "load balancer", "pool": "worker pool"}


class TestApproving:
    @pytest.fixture
    def store(self, tmp_path):
        store = open_glossaries(f"sqlite:///{tmp_path / 'g.sqlite'}")
        store.commit("g", TERMS)
        return store

    def test_the_words_bind_from_the_next_version_on(self, store):
        info = approve(store, "g", "pool", "  crew of   workers ", reason="asked by support")
        assert info.version == 2 and "asked by support" in store.history("g")[0].note
        terms = store.terms("g")
        assert [t.aliases for t in terms if t.term_id == "pool"] == [("crew of workers",)] * 2
        (match,) = TermMatcher(terms, "en").match("a crew of workers", SCOPE).selected
        assert (match.term.term_id, match.kind) == ("pool", "alias")

    def test_only_of_one_locale_if_asked(self, store):
        approve(store, "g", "pool", "crew", target="de")
        assert {t.target_locale: t.aliases for t in store.terms("g") if t.term_id == "pool"} == {
            "es": (),
            "de": ("crew",),
        }

    @pytest.mark.parametrize(
        ("term_id", "alias", "what"),
        [
            ("none", "crew", "no such term"),
            ("pool", "Worker  POOL", "already"),
            ("pool", "  ", "already"),
            ("pool", "Traffic splitter", "another term"),
        ],
    )
    def test_what_cannot_be_an_alias_is_refused(self, store, term_id, alias, what):
        with pytest.raises(InputError, match=what):
            approve(store, "g", term_id, alias)
        assert store.version("g").version == 1
