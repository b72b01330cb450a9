"""Bootstrap intervals of means and of ratios of means, resampled by group so that related cases stay together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from babelray.errors import InputError


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the bounds that so many of the resamples stay within."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def mean_interval(
    values: Sequence[float], groups: Sequence[str], *, level: float = 0.95, resamples: int = 2000, seed: int = 13
) -> Interval:
    """The mean of values, whole groups resampled.

    Args:
        values: One a case.
        groups: What cases share (the document): its cases are drawn together.
        level: Share of the resamples inside the bounds.
        resamples: How many.
        seed: Of the draw.

    Raises:
        InputError: There are no values, or not one group for each.
    """
    return ratio_interval(values, [1.0] * len(values), groups, level=level, resamples=resamples, seed=seed)


def ratio_interval(
    above: Sequence[float],
    below: Sequence[float],
    groups: Sequence[str],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 13,
) -> Interval:
    """The sum of some values over the sum of others on the same cases, both from the same draw.

    The arguments are those of `mean_interval`; `above` and `below` stand in one order.

    Raises:
        InputError: There are no values, or their numbers differ.
    """
    if not above or len({len(above), len(below), len(groups)}) != 1:
        raise InputError(
            "a bootstrap needs one value and one group for each case",
            got=f"{len(above)}, {len(below)} values, {len(groups)} groups",
            allowed="equal numbers, at least 1",
        )
    names, owner = np.unique(np.array(groups), return_inverse=True)
    tops = np.bincount(owner, weights=np.array(above, dtype=np.float64))
    bottoms = np.bincount(owner, weights=np.array(below, dtype=np.float64))
    draws = np.random.default_rng(seed).integers(0, len(names), (resamples, len(names)))
    ratios = _divided(tops[draws].sum(axis=1), bottoms[draws].sum(axis=1))
    low, high = np.quantile(ratios, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(_divided(tops.sum(), bottoms.sum())), float(low), float(high))


def _divided(above: NDArray[np.float64] | float, below: NDArray[np.float64] | float) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(below) == 0, 0.0, np.asarray(above) / np.asarray(below))
