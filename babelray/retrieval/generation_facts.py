"""What a retriever needs to know of its generation once, and what its answers depend on."""

from collections import Counter

import numpy as np

from babelray.index.access import CompiledScope
from babelray.index.reader import OpenGeneration
from babelray.retrieval.caches import Cache
from babelray.text.language import NO_LANGUAGE, UNDETERMINED

SCOPES_KEPT = 256
SMALL_SHARE = 0.02
"""A language with a smaller share of the chunks is not worth a translation of each query."""


class EvidenceLanguages:
    """Languages of the chunks that a caller may see: those of others' documents are nobody's business.

    Args:
        generation: Whose chunks are counted.
        periods: Tells apart the times between which the same rows are valid.
    """

    def __init__(self, generation: OpenGeneration, periods: "ValidityPeriods") -> None:
        self._generation, self._periods = generation, periods
        self._known: Cache[tuple[str, ...]] = Cache(SCOPES_KEPT)

    def of(self, compiled: CompiledScope) -> tuple[str, ...]:
        """Largest first; code and what nothing can be said of are left out. Counted once a scope."""
        key = (compiled.digest, compiled.revision, self._periods.number(compiled))
        found = self._known.get(key)
        if found is None:
            found = self._count(compiled)
            self._known.put(key, found)
        return found

    def _count(self, compiled: CompiledScope) -> tuple[str, ...]:
        counts: Counter[str] = Counter()
        for segment in self._generation.segments:
            counts.update(segment.count_languages(segment.access.permitted(compiled)))
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
