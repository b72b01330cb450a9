"""What a retriever needs to know of its generation once, and what its answers depend on."""

import numpy as np

from babelray.index.access import CompiledScope
from babelray.index.reader import OpenGeneration
from babelray.text.language import NO_LANGUAGE, UNDETERMINED

SMALL_SHARE = 0.02
"""A language with a smaller share of the chunks is not worth a translation of each query."""


def evidence_languages(generation: OpenGeneration) -> tuple[str, ...]:
    """Languages of the generation's chunks, largest first; code and what nothing can be said of are left out."""
    counts = generation.manifest.counts.chunks_by_language
    least = SMALL_SHARE * sum(counts.values())
    spoken = [(count, tag) for tag, count in counts.items() if tag not in (NO_LANGUAGE, UNDETERMINED)]
    return tuple(tag for count, tag in sorted(spoken, key=lambda item: (-item[0], item[1])) if count >= least)


class ValidityPeriods:
    """Numbers the times between which the set of valid rows does not change.

    Two requests of one scope whose times fall into one period see the same rows, so an answer of one serves the other.

    Args:
        generation: Whose rows' bounds are read.
    """

    def __init__(self, generation: OpenGeneration) -> None:
        bounds = [segment.access.validity_bounds() for segment in generation.segments]
        self._bounds = np.unique(np.concatenate(bounds)) if bounds else np.zeros(0, dtype=np.int64)

    def number(self, compiled: CompiledScope) -> int:
        """The period that a scope's time lies in."""
        return int(np.searchsorted(self._bounds, compiled.as_of, side="right"))
