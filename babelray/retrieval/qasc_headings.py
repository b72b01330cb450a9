"""A heading never answers alone: a passage that is nothing but headings goes on into what stands under them."""

from collections.abc import Sequence

from babelray.retrieval.qasc_pool import Pool, Run

MOST_ADDED = 96
"""Tokens of the text under a heading that are added; its first sentence is, whatever it counts."""


def with_text(pool: Pool, runs: Sequence[Run]) -> list[Run]:
    """The runs, those of headings alone continued by sentences of the block that follows.

    Where such sentences are a run already, or the beginning of one, the two become one. A heading that ends its
    document stays as it is.

    Args:
        pool: Of the runs.
        runs: Disjoint.

    Returns:
        Disjoint, in the order of the pool.
    """
    grown: list[Run] = []
    for run in sorted(runs, key=lambda one: one.first):
        if grown and run.first <= grown[-1].last:
            before = grown.pop()
            seeds = tuple(sorted({*before.seeds, *run.seeds}))
            grown.append(Run(before.first, max(before.last, run.last), seeds, max(before.score, run.score)))
        elif is_heading(pool, run):
            grown.append(Run(run.first, _last_under(pool, run.last), run.seeds, run.score))
        else:
            grown.append(run)
    return grown


def is_heading(pool: Pool, run: Run) -> bool:
    """Whether a run is nothing but headings."""
    return bool(pool.headings[run.first : run.last + 1].all())


def _last_under(pool: Pool, heading: int) -> int:
    """The last sentence that is added to a heading."""
    end = int(pool.bounds[pool.owner[heading] + 1])
    first = heading + 1
    while first < end and pool.headings[first]:
        first += 1
    if first == end:
        return heading
    last = first
    while last < pool.last_of_block[first] and pool.size(first, last + 1) <= MOST_ADDED:
        last += 1
    return last
