"""Which texts are computed together: length-sorted batches under a budget of padded tokens. Pure."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def plan_batches(lengths: Sequence[int] | NDArray[np.integer], budget: int) -> list[NDArray[np.int64]]:
    """Group positions so that each group, padded to its longest member, computes at most `budget` tokens.

    Longest first: the batch that needs most memory comes at the beginning, where running out of it costs least. Ties
    keep the order of the input, so that the same lengths always give the same plan. A text that is over the budget by
    itself is a batch of one.

    Args:
        lengths: Tokens of n texts.
        budget: Padded tokens a batch, at least 1.

    Returns:
        Arrays of positions; together they hold 0..n-1, each once.
    """
    if budget < 1:
        raise ValueError(f"budget must be at least 1, got {budget}")
    sizes = np.maximum(np.asarray(lengths, dtype=np.int64), 1)
    order = np.argsort(-sizes, kind="stable")
    batches: list[NDArray[np.int64]] = []
    start = 0
    while start < len(order):
        longest = int(sizes[order[start]])
        count = max(1, budget // longest)
        batches.append(order[start : start + count])
        start += count
    return batches
