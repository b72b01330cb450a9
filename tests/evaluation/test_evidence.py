import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.evaluation.evidence import Overlap, character_overlap, overlap, sentence_overlap, united

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6)


def characters(spans):
    """The slow plain way: every position by itself."""
    return {at for start, end in spans for at in range(start, end)}


@given(SPANS, SPANS)
def test_character_overlap_counts_positions(returned, evidence):
    found, gold = characters(returned), characters(evidence)
    assert character_overlap({"d": returned}, {"d": evidence}) == overlap(len(found), len(gold), len(found & gold))


@given(SPANS)
def test_united_spans_are_disjoint_and_cover_the_same(spans):
    joined = united(spans)
    assert characters(joined) == characters(spans)
    assert all(left[1] < right[0] for left, right in itertools.pairwise(joined))


def test_text_of_another_document_is_not_evidence():
    assert character_overlap({"a": [(0, 10)]}, {"b": [(0, 10)]}) == Overlap(0, 0, 0)


def test_text_beside_the_evidence_costs_precision():
    got = character_overlap({"a": [(0, 10)], "b": [(0, 10)]}, {"a": [(5, 10), (20, 25)]})
    assert (got.precision, got.recall) == (0.25, 0.5)
    assert got.f1 == pytest.approx(1 / 3)


def test_a_sentence_counts_from_half_of_it():
    sentences = {"d": [(0, 10), (11, 20), (21, 31)]}
    got = sentence_overlap({"d": [(5, 14)]}, {"d": [(0, 10)]}, sentences)
    assert (got.precision, got.recall, got.f1) == (1.0, 1.0, 1.0)
    assert sentence_overlap({"d": [(6, 20)]}, {"d": [(0, 10)]}, sentences).f1 == 0.0
