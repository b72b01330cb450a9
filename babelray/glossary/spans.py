"""Whether spans meet, asked often: a payload's string may hold a hundred thousand matches."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable

Span = tuple[int, int]


class Taken:
    """Disjoint spans that grow in number; adding and asking take the logarithm of their number."""

    def __init__(self) -> None:
        self._spans: list[Span] = []

    def meets(self, start: int, end: int) -> bool:
        """Whether some span of them overlaps this one."""
        at = bisect_left(self._spans, (start, start))
        before = at > 0 and self._spans[at - 1][1] > start
        return before or (at < len(self._spans) and self._spans[at][0] < end)

    def add(self, start: int, end: int) -> None:
        """Take one that meets none of them."""
        insort(self._spans, (start, end))


class Covered:
    """Any spans, joined where they overlap.

    Args:
        spans: In any order.
    """

    def __init__(self, spans: Iterable[Span]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(spans):
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def meets(self, start: int, end: int) -> bool:
        """Whether one of them overlaps this span."""
        at = bisect_right(self._ends, start)
        return at < len(self._starts) and self._starts[at] < end

    def holds(self, start: int, end: int) -> bool:
        """Whether this span lies inside of them, without a gap."""
        at = bisect_right(self._starts, start) - 1
        return at >= 0 and end <= self._ends[at]
