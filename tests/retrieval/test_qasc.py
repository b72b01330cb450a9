import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelray.config import QascSettings, UnitWindowSettings
from babelray.errors import InputError, ModelKeyMismatch
from babelray.retrieval.qasc import rechunk
from tests.index.segment_worlds import KEY
from tests.retrieval.qasc_worlds import QUERY, document, documents

PROFILES = ("paper", "balanced", "precise", "auto")


def cut(docs, profile="balanced", budget=10_000, query=QUERY, **changes):
    return rechunk(query, docs, QascSettings(profile=profile, **changes), budget, key=KEY)


def named(docs, passages):
    """What came out, by document id instead of position."""
    return [(docs[one.document].doc_id, one.start, one.end, one.score, one.tokens, one.seeds) for one in passages]


@settings(max_examples=60, deadline=None)
@given(
    docs=documents(), profile=st.sampled_from(PROFILES), budget=st.integers(0, 300), floor=st.sampled_from([-1, 0.4])
)
def test_passages_are_disjoint_whole_sentences_within_the_budget(docs, profile, budget, floor):
    passages = cut(docs, profile, budget, floor=floor)
    assert sum(one.tokens for one in passages) <= budget
    taken = set()
    for one in passages:
        source = docs[one.document]
        rows = list(one.sentences)
        assert rows == list(range(rows[0], rows[-1] + 1))
        assert (one.start, one.end) == (source.starts[rows[0]], source.ends[rows[-1]])
        assert 0 <= one.start < one.end <= len(source.text)
        assert one.tokens == source.tokens[rows].sum()
        assert all(one.start <= start < end <= one.end for start, end in one.seeds)
        places = {(one.document, row) for row in rows}
        assert taken.isdisjoint(places)
        taken |= places
    order = [(-one.score, docs[one.document].doc_id, one.start) for one in passages]
    assert order == sorted(order)


@settings(max_examples=40, deadline=None)
@given(docs=documents(), profile=st.sampled_from(PROFILES), budget=st.integers(0, 300), data=st.data())
def test_the_order_of_the_documents_changes_nothing(docs, profile, budget, data):
    shuffled = data.draw(st.permutations(docs))
    first, second = (named(given, cut(given, profile, budget)) for given in (docs, shuffled))
    assert first == second == named(docs, cut(docs, profile, budget))


@settings(max_examples=40, deadline=None)
@given(docs=documents(), profile=st.sampled_from(PROFILES))
def test_no_passage_joins_code_or_a_table_with_anything_but_its_heading(docs, profile):
    for one in cut(docs, profile):
        source = docs[one.document]
        text = [row for row in one.sentences if source.kinds[row] != "heading"]
        touched = {(int(source.blocks[row]), source.kinds[row]) for row in text}
        apart = {kind for _, kind in touched} & {"code", "table"}
        assert not apart or len(touched) == 1 or len(source) < QascSettings().whole_below


@settings(max_examples=40, deadline=None)
@given(docs=documents(), profile=st.sampled_from(PROFILES), floor=st.sampled_from([0.5, 0.805, 0.96]))
def test_every_whole_passage_has_a_seed_above_the_floor(docs, profile, floor):
    for one in cut(docs, profile, floor=floor):
        source = docs[one.document]
        assert one.seeds
        rows = [int(np.flatnonzero(source.starts == start)[0]) for start, _ in one.seeds]
        assert max(float((source.vectors @ QUERY)[row]) for row in rows) >= floor - 1e-6


@pytest.mark.parametrize("profile", PROFILES)
def test_a_passage_that_does_not_fit_gives_its_best_sentences_in_order(profile):
    docs = [document("a", [0.2, 0.9, 0.2, 0.95, 0.9], tokens=[10, 10, 10, 30, 10])]
    passages = cut(docs, profile, 20, floor=0.5)
    assert sorted(row for one in passages for row in one.sentences) == [1, 4], (
        "30 tokens cannot fit, and nothing is cut"
    )
    assert cut(docs, profile, 9) == []


def test_without_a_budget_the_settings_have_one():
    docs = [document("a", [0.9] * 12, tokens=10)]
    passages = rechunk(QUERY, docs, QascSettings(token_budget=30), key=KEY)
    assert sum(one.tokens for one in passages) == 30


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_to_cut_gives_nothing(profile):
    assert cut([], profile) == []
    assert cut([document("a", [0.9] * 5, missing=range(5))], profile) == []
    assert cut([document("a", [])], profile) == []
    assert cut([document("a", [0.9] * 5)], "off") == []


def test_a_document_is_cut_once():
    with pytest.raises(InputError, match="twice"):
        cut([document("a", [0.9] * 5), document("a", [0.9] * 5)])


def test_a_query_of_another_space_is_refused():
    other = KEY.model_copy(update={"revision": "2"})
    with pytest.raises(ModelKeyMismatch, match="another vector space") as caught:
        rechunk(QUERY, [document("a", [0.9] * 5, key=other)], QascSettings(), key=KEY)
    assert "revision" in str(caught.value.got)
    for wrong in (QUERY[:5], QUERY * np.nan):
        with pytest.raises(InputError, match="not a usable query"):
            cut([document("a", [0.9] * 5)], query=wrong)


def test_the_best_chunk_that_holds_a_sentence_speaks_for_it():
    cosines = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    overlapping = document("a", cosines, parents=[(0, 3), (3, 5)], parent_cosines=[0.1, 0.9])
    (passage,) = cut([overlapping], balanced=UnitWindowSettings(window=0, percentile=0))
    assert passage.sentences == (3, 4, 5)


def test_a_sentence_without_a_vector_is_never_a_seed_but_can_be_context():
    cosines = [0.1, 0.1, 0.9, 0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1]
    (passage,) = cut([document("a", cosines, missing=[3])], floor=0.5)
    assert 3 in passage.sentences
    assert passage.seeds == ((20, 29), (40, 49))


def test_floors_are_looked_up_by_model_and_language(monkeypatch):
    from babelray.retrieval import qasc
    from babelray.retrieval.qasc_floor import Floor

    monkeypatch.setattr(qasc, "known_floor", lambda key: Floor(0.8, 0.6))
    docs = [document("a", [0.1, 0.1, 0.7, 0.1, 0.1], language="zh-Hans")]

    def found(language, **changes):
        return bool(rechunk(QUERY, docs, QascSettings(**changes), 100, key=KEY, query_language=language))

    assert found("en") and found(None)
    assert not found("zh") and not found("zh-Hant-TW")
    assert found("zh", floor=0.65) and not found("en", floor=0.75)
