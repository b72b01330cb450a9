"""Windows around seeds into disjoint runs under a cap: what all profiles share."""

from collections.abc import Sequence

import numpy as np

from babelray.retrieval.qasc_pool import Doubles, Flags, Longs, Pool, Run, best_first


def capped(pool: Pool, run: Run, values: Doubles, cap: int) -> Run:
    """Take the poorer end off a run until it is under the cap; a seed stays whatever it counts.

    Args:
        pool: Of the run.
        run: With one seed or more.
        values: float64 (n,), by which an end is poorer; of two equal ends the last.
        cap: Tokens.
    """
    first, last = run.first, run.last
    size = pool.size(first, last)
    while size > cap and (first < run.seeds[0] or last > run.seeds[-1]):
        if last > run.seeds[-1] and (first == run.seeds[0] or values[last] <= values[first]):
            size -= int(pool.tokens[last])
            last -= 1
        else:
            size -= int(pool.tokens[first])
            first += 1
    return Run(first, last, run.seeds)


def merged(pool: Pool, runs: Sequence[Run], cap: int) -> list[Run]:
    """Join runs that overlap or touch, as far as the cap and the borders of blocks allow; the result is disjoint.

    Where the cap forbids a join, a run begins after the one before it; if that takes all of its seeds, it is gone,
    since the one before holds them.
    """
    spans: list[tuple[int, int]] = []
    for run in sorted(runs, key=lambda one: (one.first, one.last)):
        if not spans or run.first > spans[-1][1] + 1 or not _joinable(pool, spans[-1][1], run.first):
            spans.append((run.first, run.last))
            continue
        first, end = spans[-1]
        last = max(end, run.last)
        if pool.size(first, last) <= cap:
            spans[-1] = (first, last)
        elif run.last > end:
            spans.append((max(run.first, end + 1), run.last))
    seeds = sorted({seed for run in runs for seed in run.seeds})
    held = [(first, last, tuple(seed for seed in seeds if first <= seed <= last)) for first, last in spans]
    return [Run(first, last, inside) for first, last, inside in held if inside]


def _joinable(pool: Pool, end: int, first: int) -> bool:
    """Whether what ends at one sentence overlaps what begins at another, or no border lies between them."""
    return first <= end or bool(pool.joins[first])


def top_share(values: Doubles, rows: Longs, percentile: float, eligible: Flags) -> Longs:
    """Rows at or above a percentile of all rows, and no more of them than that share, however many are equal.

    Args:
        values: float64 (n,).
        rows: What the percentile is of.
        percentile: In 0..100.
        eligible: bool (n,), rows that may be given back; the others count for the percentile only.

    Returns:
        Best first.
    """
    if not len(rows):
        return rows
    limit = float(np.percentile(values[rows], percentile))
    most = max(1, int(np.ceil(len(rows) * (1 - percentile / 100))))
    chosen = best_first(values, rows[values[rows] >= limit])[:most]
    return chosen[eligible[chosen]]
