"""The profile `paper`: the method with raw cosines and a percentile of each document.

Two things differ from the letter of the paper, since they cannot be meant: a keep limit of 0.6 x tau would lie above a
negative tau, so it is taken as tau less 0.4 of its size; and passages have a cap, without which overlapping windows
join to the whole document.
"""

import numpy as np

from babelray.config import PaperWindowSettings
from babelray.retrieval.qasc_merge import capped, merged, top_share
from babelray.retrieval.qasc_pool import Doubles, Flags, Longs, Pool, Run


def paper_runs(
    pool: Pool, settings: PaperWindowSettings, cuttable: Flags, eligible: Flags, whole: list[Run]
) -> list[Run]:
    """Passages of the pool, not yet in order.

    Args:
        pool: The candidates.
        settings: Percentile, windows, limits.
        cuttable: bool (n,), sentences with a vector in documents that are cut: percentiles are of these.
        eligible: bool (n,), those of them that may be seeds.
        whole: Documents that are not cut.
    """
    documents = [np.arange(first, end) for first, end in zip(pool.bounds[:-1], pool.bounds[1:], strict=True)]
    documents = [rows[cuttable[rows]] for rows in documents]
    groups = [np.concatenate(documents)] if settings.pooled and documents else documents
    runs: list[Run] = []
    for rows in groups:
        if len(rows):
            runs += _group_runs(pool, settings, rows, eligible)
    return runs + [_scored(pool, run, settings.decay) for run in whole]


def window_score(cosines: Doubles, first: int, last: int, seeds: tuple[int, ...], decay: float) -> float:
    """Mean cosine, each sentence weighted by its distance to the nearest seed, over the weights that are present."""
    rows = np.arange(first, last + 1)
    distance = np.abs(rows[:, None] - np.array(seeds)[None, :]).min(axis=1)
    weights = np.exp(-decay * distance)
    return float((weights * cosines[first : last + 1]).sum() / weights.sum())


def _group_runs(pool: Pool, settings: PaperWindowSettings, rows: Longs, eligible: Flags) -> list[Run]:
    tau = float(np.percentile(pool.cosines[rows], settings.percentile))
    boundary = float(np.percentile(pool.cosines[rows], settings.boundary_percentile))
    limit = tau - (1 - settings.keep) * abs(tau)
    seeds = top_share(pool.cosines, rows, settings.percentile, eligible)
    windows = [_window(pool, settings, int(seed), boundary) for seed in seeds]
    kept = _above(pool, windows, settings.decay, limit)
    joined = merged(pool, [capped(pool, run, pool.cosines, settings.max_tokens) for run in kept], settings.max_tokens)
    # A merged passage is another passage: it has to pass by itself.
    return _above(pool, _snapped(pool, joined, settings.max_tokens), settings.decay, limit)


def _window(pool: Pool, settings: PaperWindowSettings, seed: int, boundary: float) -> Run:
    lowest = max(int(pool.bounds[pool.owner[seed]]), seed - settings.window)
    highest = min(int(pool.bounds[pool.owner[seed] + 1]) - 1, seed + settings.window)
    first, last = seed, seed

    def may_join(row: int, border: int) -> bool:
        return bool(pool.joins[border]) and (not settings.adaptive or pool.cosines[row] >= boundary)

    while first > lowest and may_join(first - 1, first):
        first -= 1
    while last < highest and may_join(last + 1, last + 1):
        last += 1
    return Run(first, last, (seed,))


def _snapped(pool: Pool, runs: list[Run], cap: int) -> list[Run]:
    """Grow each run to the borders of its first and last block, as far as the cap and the neighbours allow."""
    grown: list[Run] = []
    for number, run in enumerate(runs):
        before = grown[-1].last + 1 if grown else 0
        after = runs[number + 1].first - 1 if number + 1 < len(runs) else len(pool) - 1
        first = max(int(pool.first_of_block[run.first]), before)
        last = min(int(pool.last_of_block[run.last]), after)
        if pool.size(first, last) > cap:
            first = first if pool.size(first, run.last) <= cap else run.first
            last = last if pool.size(first, last) <= cap else run.last
        grown.append(Run(first, last, run.seeds))
    return grown


def _scored(pool: Pool, run: Run, decay: float) -> Run:
    return Run(run.first, run.last, run.seeds, window_score(pool.cosines, run.first, run.last, run.seeds, decay))


def _above(pool: Pool, runs: list[Run], decay: float, limit: float) -> list[Run]:
    return [run for run in (_scored(pool, one, decay) for one in runs) if run.score >= limit]
