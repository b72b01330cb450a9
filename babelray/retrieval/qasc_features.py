"""What the `auto` profile looks at: features of each sentence beside the other candidates of its query.

All are free of the scale of a model's cosines: distances in standard deviations of the pool, ranks, lengths, places. So
weights that were learned on one model can be tried on another.
"""

import numpy as np

from babelray.retrieval.qasc_pool import Doubles, Pool, best_first, standardized

FEATURES = (
    "cosine", "gap", "document_gap", "chunk_gap", "rank", "length", "neighbour",
    "top", "peak", "lead", "gap_by_peak", "gap_by_top", "gap_by_lead", "gap_by_cosine",
    "block", "opens_block", "same_block", "same_document", "distance", "best",
)  # fmt: skip
_LEADERS = 5
_FAR = 2.5
"""Distance of a sentence in another block than the best one; in the block it is log(1 + sentences between)."""


def features(pool: Pool) -> Doubles:
    """float64 (n, len(FEATURES)), for a pool of at least one sentence with a vector; finite everywhere.

    `cosine`, `gap` and the like are in standard deviations of the pool's cosines: how good a sentence is, how far it is
    behind the best one, its document's best one, and by chunks. `top`, `peak` and `lead` tell how the best sentence
    stands out from the mean, the second, and the first five, so the same for all sentences; what a gap means depends on
    them, hence the products. The rest is length and place beside the best sentence.
    """
    cosines = standardized(pool.cosines, pool.present)
    chunks = standardized(pool.parents, pool.present)
    rows = np.arange(len(pool))
    order = best_first(cosines, rows)
    best = int(order[0])
    leaders = cosines[order[:_LEADERS]]
    top, gap = float(leaders[0]), leaders[0] - cosines
    peak = top - float(leaders[1]) if len(leaders) > 1 else 0.0
    lead = top - float(leaders.mean())
    rank = np.empty(len(pool))
    rank[order] = rows
    same_block = pool.first_of_block == pool.first_of_block[best]
    document_best = np.maximum.reduceat(cosines, pool.bounds[:-1][np.diff(pool.bounds) > 0])
    nonempty = np.cumsum(np.diff(pool.bounds) > 0) - 1
    columns = {
        "cosine": cosines,
        "gap": gap,
        "document_gap": top - document_best[nonempty[pool.owner]],
        "chunk_gap": float(chunks.max()) - chunks,
        "rank": np.log1p(rank),
        "length": np.log(np.maximum(pool.tokens, 1) / max(float(pool.tokens.mean()), 1.0)),
        "neighbour": _better_neighbour(pool, cosines),
        "top": np.full(len(pool), top),
        "peak": np.full(len(pool), peak),
        "lead": np.full(len(pool), lead),
        "gap_by_peak": gap * peak,
        "gap_by_top": gap * top,
        "gap_by_lead": gap * lead,
        "gap_by_cosine": gap * cosines,
        "block": np.log1p(pool.last_of_block - pool.first_of_block),
        "opens_block": (rows == pool.first_of_block).astype(np.float64),
        "same_block": same_block.astype(np.float64),
        "same_document": (pool.owner == pool.owner[best]).astype(np.float64),
        "distance": np.where(same_block, np.log1p(np.abs(rows - best)), _FAR),
        "best": (rows == best).astype(np.float64),
    }
    return np.stack([columns[name] for name in FEATURES], axis=1)


def _better_neighbour(pool: Pool, values: Doubles) -> Doubles:
    """The higher value of the sentences before and after in the same block; the pool's mean for one that is alone."""
    rows = np.arange(len(pool))
    before = np.where(rows > pool.first_of_block, np.roll(values, 1), -np.inf)
    after = np.where(rows < pool.last_of_block, np.roll(values, -1), -np.inf)
    better = np.maximum(before, after)
    return np.where(np.isfinite(better), better, values.mean())
