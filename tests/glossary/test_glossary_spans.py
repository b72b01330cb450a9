"""Spans that meet, against looking at every pair."""

import json

from hypothesis import given
from hypothesis import strategies as st

from babelray.glossary.localizing import Localizer
from babelray.glossary.match import MatchScope, TermMatcher
from babelray.glossary.payload import parse_payload
from babelray.glossary.profile import EngineProfile
from babelray.glossary.records import Failure, LocalizedString
from babelray.glossary.spans import Covered, Taken
from babelray.glossary.terms import Term

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda one: (one[0], sum(one))), max_size=12)
ASKED = st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda one: (one[0], sum(one)))


@given(SPANS, ASKED)
def test_any_spans_are_asked_as_each_of_them_would_be(spans, asked):
    start, end = asked
    covered = Covered(spans)
    assert covered.meets(start, end) == any(a < end and start < b for a, b in spans)
    points = {at for a, b in spans for at in range(a, b)}
    inside = all(at in points for at in range(start, end))
    touching = {b for _, b in spans} & {a for a, _ in spans} & set(range(start + 1, end))
    assert covered.holds(start, end) == (inside and not any(_seam(spans, at) for at in touching))


def _seam(spans, at):
    """Whether spans only touch at a place, with none going over it."""
    return not any(a < at < b for a, b in spans)


@given(SPANS, ASKED)
def test_taken_spans_are_asked_as_each_of_them_would_be(spans, asked):
    taken, kept = Taken(), []
    for a, b in spans:
        meets = any(a < y and x < b for x, y in kept)
        assert taken.meets(a, b) == meets
        if not meets:
            taken.add(a, b)
            kept.append((a, b))
    start, end = asked
    assert taken.meets(start, end) == any(a < end and start < b for a, b in kept)


TERMS = [
    Term(
        term_id="backup", source_locale="en", target_locale="es", source="backup", target="copia",
        kind="custom_translation",
    )
]  # fmt: skip


def test_a_string_with_very_many_terms_is_no_trap():
    text = "The backup of it. " * 20_000
    assert len(TermMatcher(TERMS, "en").match(text, MatchScope("es")).selected) == 20_000


def test_half_a_character_stays_in_its_payload_and_is_said():
    payload = parse_payload('{"a": "bad \\ud800 backup", "b\\udc00": "\\ud83d\\ude00 backup"}')
    first, second = Localizer(TermMatcher(TERMS, "en"), EngineProfile(name="p", preload_limit=0)).localize(
        payload, "es"
    )
    assert (first.output, first.failure) == (None, Failure.UNREADABLE) and first.source == "bad \ufffd backup"
    assert [one.term_id for one in first.retrieved] == ["backup"] and second.pointer == "/b\ufffd"
    assert LocalizedString.model_validate_json(first.model_dump_json()) == first
    json.dumps(second.model_dump(mode="json"), ensure_ascii=False).encode()
