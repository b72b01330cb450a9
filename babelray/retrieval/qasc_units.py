"""The profiles `balanced` and `precise`: seeds, windows and limits in standard deviations of the query's own pool.

A score is u = z(z(cosine of the sentence) + weight x z(best cosine of its chunks)), z over all candidates of the query.
So neither the squeezed range of a model's cosines nor a document without anything relevant moves a limit.
"""

import numpy as np

from babelray.config import UnitWindowSettings
from babelray.retrieval.qasc_merge import capped, merged, top_share
from babelray.retrieval.qasc_pool import Doubles, Flags, Pool, Run, standardized


def unit_scores(pool: Pool, parent_weight: float) -> Doubles:
    """float64 (n,): u of each sentence; the lowest of the pool where there is no vector."""
    joined = standardized(pool.cosines, pool.present) + parent_weight * standardized(pool.parents, pool.present)
    scores = standardized(joined, pool.present)
    if pool.present.any():
        scores[~pool.present] = scores[pool.present].min()
    return scores


def unit_runs(
    pool: Pool, scores: Doubles, settings: UnitWindowSettings, cuttable: Flags, eligible: Flags, whole: list[Run]
) -> list[Run]:
    """Passages of the pool, not yet in order.

    Args:
        pool: The candidates.
        scores: What `unit_scores` gave.
        settings: Limits.
        cuttable: bool (n,), sentences with a vector in documents that are cut: the percentile is of these.
        eligible: bool (n,), those of them that may be seeds.
        whole: Documents that are not cut; they stand beside the others' passages and have to score as they do.
    """
    seeds = top_share(scores, np.flatnonzero(cuttable), settings.percentile, eligible)
    if len(seeds):
        seeds = seeds[scores[seeds] >= scores[seeds[0]] - settings.seed_margin]
    windows = [capped(pool, _window(pool, scores, int(seed), settings), scores, settings.max_tokens) for seed in seeds]
    runs = [*merged(pool, windows, settings.max_tokens), *whole]
    scored = [Run(run.first, run.last, run.seeds, run_score(scores, run.first, run.last)) for run in runs]
    best = max((run.score for run in scored), default=0.0)
    return [run for run in scored if run.score >= best - settings.keep_margin]


def run_score(scores: Doubles, first: int, last: int) -> float:
    """Between the best sentence and the mean, so that neither length nor one lucky sentence decides alone."""
    inside = scores[first : last + 1]
    return (float(inside.max()) + float(inside.mean())) / 2


def _window(pool: Pool, scores: Doubles, seed: int, settings: UnitWindowSettings) -> Run:
    least = scores[seed] - settings.neighbour_margin
    first, last = seed, seed
    lowest = max(int(pool.first_of_block[seed]), seed - settings.window)
    highest = min(int(pool.last_of_block[seed]), seed + settings.window)
    while first > lowest and scores[first - 1] >= least:
        first -= 1
    while last < highest and scores[last + 1] >= least:
        last += 1
    return Run(first, last, (seed,))
