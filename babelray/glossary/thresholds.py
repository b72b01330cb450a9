"""Least cosines between a window of words and a term for a hint, by locale pair and for one model."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from babelray.keys import ModelKey

STARTING = {"e5": 0.97, "minilm": 0.85}
"""Part of a model's name -> where to begin. Measured on 719 software terms in 6,984 interface strings: below them noise
outweighs what is found."""
UNKNOWN_MODEL = 0.95
"""Of a model that nobody measured: few hints rather than many wrong ones."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """One calibrated set.

    Attributes:
        version: Names the set; `start` for the values that come with the software.
        default: Of pairs that were never calibrated.
        by_pair: (source locale, target locale) -> least cosine.
    """

    version: str
    default: float
    by_pair: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def of(self, source_locale: str, target_locale: str) -> float:
        """The threshold of a pair."""
        return self.by_pair.get((source_locale, target_locale), self.default)


def starting_thresholds(key: ModelKey, fixed: float | None = None) -> Thresholds:
    """Where a model begins.

    Args:
        key: Of the model that embeds windows and terms.
        fixed: A value by the settings, in place of the model's.
    """
    if fixed is not None:
        return Thresholds(f"fixed-{fixed:g}", fixed)
    name = key.name.lower()
    least = next((value for part, value in STARTING.items() if part in name), UNKNOWN_MODEL)
    return Thresholds("start", least)
