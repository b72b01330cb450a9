from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from babelray.text.projection import merge_cuts, project
from babelray.text.types import Cut

TEXTS = st.text(max_size=40)


@st.composite
def texts_with_cuts(draw):
    text = draw(TEXTS)
    borders = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pairs = [(a, b) for a, b in zip(borders[::2], borders[1::2], strict=False) if a < b]
    replacements = st.sampled_from(["", "", " ", "\n", " | ", "é"])
    return text, [Cut(a, b, draw(replacements)) for a, b in pairs]


def slow_projection(text, cuts):
    """One list entry a projected character: the character and the original offset it stands for."""
    shown, position = [], 0
    for cut in [*cuts, Cut(len(text), len(text))]:
        shown += [(text[at], at) for at in range(position, cut.start)]
        shown += [(char, cut.start) for char in cut.replacement]
        position = cut.end
    return shown


@given(texts_with_cuts())
def test_the_text_is_the_original_without_cuts(case):
    text, cuts = case
    assert project(text, 0, len(text), cuts).text == "".join(char for char, _ in slow_projection(text, cuts))


@given(texts_with_cuts())
def test_kept_characters_map_both_ways(case):
    text, cuts = case
    projection = project(text, 0, len(text), cuts)
    inside = {at for cut in cuts for at in range(cut.start, cut.end)}
    for offset, (char, origin) in enumerate(slow_projection(text, cuts)):
        if origin in inside:
            continue
        assert projection.to_original(offset) == origin
        assert projection.to_original_end(offset + 1) == origin + 1
        assert projection.to_projected(origin) == offset
        assert text[origin] == char


@given(texts_with_cuts(), st.data())
def test_the_span_of_a_part_projects_to_that_part(case, data):
    text, cuts = case
    projection = project(text, 0, len(text), cuts)
    shown = slow_projection(text, cuts)
    if not shown:
        return
    start = data.draw(st.integers(0, len(shown) - 1))
    end = data.draw(st.integers(start + 1, len(shown)))
    first, last = projection.span(start, end)
    long = {cut.start for cut in cuts if len(cut.replacement) > 1}
    divides = shown[start][1] in long or shown[end - 1][1] in long
    if not divides:
        assert project(text, first, last, cuts).text == projection.text[start:end]


def test_a_replacement_that_is_divided_belongs_to_nobody():
    projection = project("a--b", 0, 4, [Cut(1, 3, " | ")])
    assert projection.text == "a | b"
    assert projection.span(0, 2) == (0, 1)
    assert projection.span(3, 5) == (3, 4)


def test_offsets_count_from_the_start_of_the_document():
    projection = project("xx**a**", 2, 7, [Cut(2, 4), Cut(5, 7)])
    assert projection.text == "a"
    assert projection.span(0, 1) == (4, 5)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10), st.sampled_from(["", " "])), max_size=10))
def test_merged_cuts_are_disjoint_and_cover_the_same(raw):
    cuts = [Cut(start, start + length, text) for start, length, text in raw]
    merged = merge_cuts(cuts)
    covered = {at for cut in cuts for at in range(cut.start, cut.end)}
    assert {at for cut in merged for at in range(cut.start, cut.end)} == covered
    assert all(before.end <= after.start for before, after in pairwise(merged))
