import numpy as np
import pytest
from hypothesis import given

from babelray.config import QascSettings
from babelray.retrieval.qasc import rechunk
from babelray.retrieval.qasc_headings import is_heading, with_text
from babelray.retrieval.qasc_pool import Run, build_pool
from tests.index.segment_worlds import KEY
from tests.retrieval.qasc_worlds import QUERY, document, documents

PROFILES = ("balanced", "precise", "auto")


def page(cosines, kinds, **more):
    """One block a letter: h heading, p paragraph, c code; equal letters in a row are one block."""
    names = {"h": "heading", "p": "paragraph", "c": "code", "l": "list"}
    blocks = np.cumsum([0, *(kinds[i] != kinds[i - 1] for i in range(1, len(kinds)))]).tolist()
    return document("page", cosines, kinds=[names[kind] for kind in kinds], blocks=blocks, **more)


def cut(found, profile="balanced", budget=512, **settings):
    return rechunk(QUERY, [found], QascSettings(profile=profile, floor=-1.0, **settings), budget, key=KEY)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("below", ["pp", "cc", "lp"])
def test_a_heading_that_answers_brings_what_stands_under_it(profile, below):
    found = cut(page([0.1, 0.1, 0.1, 0.95, 0.2, 0.2, 0.1, 0.1], "ppph" + below + "pp"), profile)
    best = found[0]
    assert best.sentences[0] == 3 and len(best.sentences) >= 2 and best.seeds[0] == (30, 39)


def test_headings_in_a_row_go_on_to_the_first_text():
    best = cut(page([0.1, 0.1, 0.1, 0.95, 0.3, 0.2, 0.1, 0.1], "ppphhppp"))[0]
    assert best.sentences[:3] == (3, 4, 5)


def test_a_heading_at_the_end_of_its_document_stays_alone():
    best = cut(page([0.1, 0.2, 0.1, 0.1, 0.95], "pppph"))[0]
    assert best.sentences == (4,)


def test_what_is_added_ends_with_its_block_and_with_the_limit():
    pool = build_pool(QUERY, [page([0.1] * 8, "hppphppp", tokens=40)], KEY)
    (grown,) = with_text(pool, [Run(0, 0, (0,), 1.0)])
    assert (grown.first, grown.last) == (0, 2), "two sentences of 40 fit into 96 tokens"
    pool = build_pool(QUERY, [page([0.1] * 8, "hpphpppp", tokens=9)], KEY)
    (grown,) = with_text(pool, [Run(0, 0, (0,), 1.0)])
    assert (grown.first, grown.last) == (0, 2)
    pool = build_pool(QUERY, [page([0.1] * 4, "hppp", tokens=400)], KEY)
    (grown,) = with_text(pool, [Run(0, 0, (0,), 1.0)])
    assert (grown.first, grown.last) == (0, 1), "the first sentence is added whatever it counts"


def test_a_heading_and_the_passage_under_it_become_one():
    pool = build_pool(QUERY, [page([0.1] * 8, "phpppppp")], KEY)
    grown = with_text(pool, [Run(3, 5, (4,), 0.4), Run(1, 1, (1,), 0.9), Run(7, 7, (7,), 0.1)])
    assert grown == [Run(1, 7, (1, 4, 7), 0.9)]


def test_where_the_text_does_not_fit_a_heading_is_not_left_over():
    assert (
        cut(page([0.1, 0.1, 0.1, 0.95, 0.2, 0.1], "ppphpp", tokens=[9, 9, 9, 5, 90, 90]), budget=20, whole_below=0)
        == []
    )


@given(documents())
def test_runs_stay_disjoint_and_in_their_document(found):
    settings = QascSettings(profile="balanced", floor=-1.0)
    pool = build_pool(QUERY, found, KEY)
    runs = [Run(row, row, (row,)) for row in range(len(pool)) if row % 3 == 0]
    grown = with_text(pool, runs)
    covered = [row for run in grown for row in range(run.first, run.last + 1)]
    assert len(covered) == len(set(covered)) and {row for run in runs for row in run.seeds} <= set(covered)
    assert all(pool.owner[run.first] == pool.owner[run.last] for run in grown)
    for run in grown:
        rest = pool.headings[run.last + 1 : pool.bounds[pool.owner[run.first] + 1]]
        assert not is_heading(pool, run) or rest.all(), "alone only where no text follows in the document"
    for one in rechunk(QUERY, found, settings, 100, key=KEY):
        kinds = found[one.document].kinds
        assert {kinds[i] for i in one.sentences} != {"heading"} or set(kinds[one.sentences[-1] :]) == {"heading"}
