"""What goes wrong when the method is taken by the letter; one test a trap."""

import numpy as np
import pytest

from babelray.config import PaperWindowSettings, QascSettings, UnitWindowSettings
from babelray.errors import ModelKeyMismatch
from babelray.retrieval.qasc import rechunk
from babelray.retrieval.qasc_merge import top_share
from babelray.retrieval.qasc_paper import paper_runs, window_score
from babelray.retrieval.qasc_pool import build_pool
from tests.index.segment_worlds import KEY
from tests.retrieval.qasc_worlds import QUERY, document

ALL = ("paper", "balanced", "precise", "auto")
RNG = np.random.default_rng(5)


def cut(docs, profile="balanced", budget=10_000, **changes):
    return rechunk(QUERY, docs, QascSettings(profile=profile, **changes), budget, key=KEY)


@pytest.mark.parametrize("profile", ALL)
def test_1_a_percentile_selects_even_where_nothing_is_relevant_so_there_is_a_floor(profile):
    irrelevant = [document("a", 0.30 + 0.05 * RNG.random(20)), document("b", 0.30 + 0.05 * RNG.random(20))]
    assert cut(irrelevant, profile), "a percentile alone always finds something"
    assert cut(irrelevant, profile, floor=0.4) == []


@pytest.mark.parametrize(
    ("profile", "changes"),
    [("balanced", {}), ("precise", {}), ("auto", {}), ("paper", {"paper": PaperWindowSettings(pooled=True)})],
)
def test_1_a_bad_document_gets_no_seeds_of_its_own(profile, changes):
    good, bad = np.full(20, 0.5), np.full(20, 0.3) + 0.01 * np.arange(20)
    good[[4, 5]] = 0.9
    docs = [document("good", good), document("bad", bad)]
    assert {docs[one.document].doc_id for one in cut(docs, profile, **changes)} == {"good"}
    assert {docs[one.document].doc_id for one in cut(docs, "paper")} == {"good", "bad"}, "the paper's own way"


@pytest.mark.parametrize("profile", ["balanced", "precise", "auto"])
@pytest.mark.parametrize(("scale", "shift"), [(0.1, 0.8), (0.02, 0.9), (0.9, -0.5), (0.3, -0.9)])
def test_2_the_range_of_a_models_cosines_does_not_matter(profile, scale, shift):
    base = RNG.random((2, 15))
    chunks = RNG.random(2)

    def passages(factor, offset):
        docs = [
            document(name, offset + factor * cosines, parent_cosines=[offset + factor * chunk])
            for name, cosines, chunk in zip("ab", base, chunks, strict=True)
        ]
        return [(one.document, one.sentences) for one in cut(docs, profile)]

    assert passages(scale, shift) == passages(1.0, 0.0)


def test_2_the_papers_limit_keeps_everything_for_squeezed_cosines_and_does_not_invert_for_negative_ones():
    squeezed = [document("a", np.linspace(0.7, 0.9, 40))]
    assert sum(len(one.sentences) for one in cut(squeezed, "paper")) >= 10
    negative = [document("a", np.linspace(-0.9, -0.1, 12))]
    assert cut(negative, "paper"), "0.6 x tau would lie above every cosine"


def test_3_weights_are_divided_by_those_that_are_present():
    cosines = np.array([0.8, 0.6, 0.4, 0.2])
    decay = np.exp(-0.5 * np.arange(3))
    at_edge = window_score(cosines, 0, 2, (0,), 0.5)
    assert at_edge == pytest.approx((cosines[:3] * decay).sum() / decay.sum())
    flat = np.full(9, 0.7)
    assert window_score(flat, 0, 2, (0,), 0.5) == pytest.approx(window_score(flat, 2, 6, (4,), 0.5))


@pytest.mark.parametrize("profile", ["paper", "balanced", "precise"])
def test_4_a_chain_of_windows_does_not_swallow_the_document(profile):
    windows = {"max_tokens": 64}
    changes = {
        "paper": {"paper": PaperWindowSettings(percentile=0, **windows)},
        "balanced": {"balanced": UnitWindowSettings(percentile=0, seed_margin=20, keep_margin=20, **windows)},
        "precise": {"precise": UnitWindowSettings(percentile=0, seed_margin=20, keep_margin=20, **windows)},
    }
    passages = cut([document("a", RNG.random(60) * 0.5 + 0.4)], profile, **changes[profile])
    assert len(passages) > 5
    assert max(one.tokens for one in passages) <= 64


def test_4_a_merged_passage_is_scored_and_checked_again():
    # Each window passes by itself; joined, the poor stretch between the two seeds takes the passage under the limit.
    cosines = [0.0, 0.9, 0.5, 0.05, 0.05, 0.5, 0.9, 0.0]
    docs = [document("a", cosines)]
    pool = build_pool(QUERY, docs, KEY)
    strict = PaperWindowSettings(percentile=75, window=2, keep=0.6, decay=0.1, max_tokens=512)
    runs = paper_runs(pool, strict, np.ones(8, dtype=bool), np.ones(8, dtype=bool), [])
    limit = 0.6 * np.percentile(cosines, 75)
    for run in runs:
        assert run.score >= limit
        assert run.score == pytest.approx(window_score(pool.cosines, run.first, run.last, run.seeds, 0.1))
    lonely = cut([document("a", [0.9, *[0.1] * 12])], balanced=UnitWindowSettings(keep_margin=0))
    assert len(lonely) == 1 and lonely[0].score < 3.5, "the score is of the window, not of its seed"


def test_5_paragraph_borders_are_reached_only_within_the_cap():
    cosines = [0.1, 0.1, 0.1, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    blocks = [0, 0, 1, 1, 1, 1, 1, 2, 2, 2]
    narrow = PaperWindowSettings(window=0, percentile=95, max_tokens=512)
    assert cut([document("a", cosines, blocks=blocks)], "paper", paper=narrow)[0].sentences == (2, 3, 4, 5, 6)
    capped = narrow.model_copy(update={"max_tokens": 30})
    assert cut([document("a", cosines, blocks=blocks)], "paper", paper=capped)[0].sentences == (2, 3)


@pytest.mark.parametrize("profile", ALL)
@pytest.mark.parametrize("kind", ["code", "table", "log", "json"])
def test_5_no_passage_crosses_into_a_block_of_another_kind(profile, kind):
    kinds = ["paragraph"] * 3 + [kind] * 3 + ["paragraph"] * 3
    docs = [document("a", [0.85] * 9, blocks=[0, 0, 0, 1, 1, 1, 2, 2, 2], kinds=kinds)]
    passages = cut(docs, profile)
    assert passages
    for one in passages:
        assert len({docs[0].blocks[row] for row in one.sentences}) == 1


@pytest.mark.parametrize("profile", ALL)
def test_6_a_very_short_document_stays_whole(profile):
    docs = [document("long", [0.3] * 12), document("short", [0.4, 0.9, 0.2], blocks=[0, 1, 2])]
    whole = [one.sentences for one in cut(docs, profile) if docs[one.document].doc_id == "short"]
    assert whole == [(0, 1, 2)]
    assert cut([docs[1]], profile, floor=0.95) == []
    narrow = PaperWindowSettings(window=0)
    pieces = [
        one.sentences for one in cut(docs, profile, whole_below=0, paper=narrow) if docs[one.document].doc_id == "short"
    ]
    assert pieces and pieces != [(0, 1, 2)]


def test_7_equal_scores_do_not_select_more_than_their_share():
    values = np.full(100, 0.5)
    everything = np.ones(100, dtype=bool)
    assert top_share(values, np.arange(100), 75, everything).tolist() == list(range(25))
    assert top_share(np.arange(100.0), np.arange(100), 75, np.arange(100) % 2 == 0).tolist() == list(range(98, 74, -2))
    repeated = document("a", [0.9] * 40 + [0.1] * 10, blocks=list(range(50)))
    wide = UnitWindowSettings(window=0, percentile=80, max_tokens=16)
    seeds = [seed for one in cut([repeated], balanced=wide) for seed in one.seeds]
    assert len(seeds) == 10, "a fifth of 50, the first ones"
    assert sorted(seeds)[-1] == (90, 99)


def test_8_sentences_and_query_are_of_one_model_and_its_two_templates():
    other = KEY.model_copy(update={"passage_template": "{text}", "passage_template_version": "2"})
    with pytest.raises(ModelKeyMismatch, match="another vector space"):
        rechunk(QUERY, [document("a", [0.9] * 5), document("b", [0.9] * 5, key=other)], QascSettings(), key=KEY)


@pytest.mark.parametrize("profile", ["paper", "balanced", "precise"])
def test_9_equal_scores_stand_by_document_id_and_start(profile):
    docs = [document(name, [0.2, 0.9, 0.2, 0.2], blocks=[0, 1, 2, 3]) for name in "cab"]
    passages = cut(docs, profile)
    assert len({one.score for one in passages}) == 1
    places = [(docs[one.document].doc_id, one.start) for one in passages]
    assert places == sorted(places) and len(places) >= 3


@pytest.mark.parametrize("profile", ALL)
def test_10_more_text_is_never_bought_with_more_than_the_budget(profile):
    docs = [document(name, 0.5 + 0.4 * RNG.random(30), tokens=7) for name in "abc"]
    sizes = [sum(one.tokens for one in cut(docs, profile, budget)) for budget in (0, 6, 7, 20, 64, 128, 256)]
    assert all(size <= budget for size, budget in zip(sizes, (0, 6, 7, 20, 64, 128, 256), strict=True))
    assert sizes[:3] == [0, 0, 7]
