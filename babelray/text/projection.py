"""Original text to what models read, with a way back: markup is cut out, every character keeps its source offset."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter

from babelray.text.types import Cut

_BY_START = attrgetter("start")
_BY_END = attrgetter("end")


class Projection:
    """A text without its cuts. Offsets are code points; those of the original count from the document's start.

    Attributes:
        text: The kept characters and the replacements of the cuts, in order.
        start, end: The span of the original that was projected.
    """

    __slots__ = ("_original_end", "_original_start", "_projected", "end", "start", "text")

    def __init__(self, text: str, start: int, end: int, cuts: Sequence[Cut]) -> None:
        parts: list[str] = []
        # Parallel lists, one entry a piece that has characters: where it begins here, and its span in the original.
        self._projected: list[int] = []
        self._original_start: list[int] = []
        self._original_end: list[int] = []
        length, position = 0, start
        for cut in cuts:
            if cut.start > position:
                parts.append(text[position : cut.start])
                self._add(length, position, cut.start)
                length += cut.start - position
            if cut.replacement:
                parts.append(cut.replacement)
                self._add(length, cut.start, cut.end)
                length += len(cut.replacement)
            position = cut.end
        if end > position:
            parts.append(text[position:end])
            self._add(length, position, end)
        self.text = "".join(parts)
        self.start = start
        self.end = end

    def _add(self, projected: int, start: int, end: int) -> None:
        self._projected.append(projected)
        self._original_start.append(start)
        self._original_end.append(end)

    def _piece_length(self, piece: int) -> int:
        following = piece + 1
        stop = self._projected[following] if following < len(self._projected) else len(self.text)
        return stop - self._projected[piece]

    def to_original(self, offset: int) -> int:
        """Where the character at `offset` comes from; `end` for the end of the text.

        A character inside a longer replacement belongs to no single place: its cut's end is given, so that a span
        that begins there leaves the cut to the span before.
        """
        if offset >= len(self.text):
            return self.end
        piece = bisect_right(self._projected, offset) - 1
        inside = offset - self._projected[piece]
        start, end = self._original_start[piece], self._original_end[piece]
        if end - start == self._piece_length(piece):
            return start + inside
        return start if inside == 0 else end

    def to_original_end(self, offset: int) -> int:
        """The original offset right behind the character before `offset`; `start` for 0."""
        if offset <= 0 or not self._projected:
            return self.start
        piece = bisect_left(self._projected, min(offset, len(self.text))) - 1
        inside = min(offset, len(self.text)) - self._projected[piece]
        start, end = self._original_start[piece], self._original_end[piece]
        if inside == self._piece_length(piece):
            return end
        return start + inside if end - start == self._piece_length(piece) else start

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The smallest original span whose projection is `text[start:end]`, for 0 <= start < end."""
        return self.to_original(start), self.to_original_end(end)

    def to_projected(self, offset: int) -> int:
        """Where the original character at `offset` went; for one that was cut, where its replacement begins."""
        piece = bisect_right(self._original_start, offset) - 1
        if piece < 0:
            return 0
        start, end = self._original_start[piece], self._original_end[piece]
        length = self._piece_length(piece)
        if offset >= end:
            return self._projected[piece] + length
        return self._projected[piece] + (offset - start if end - start == length else 0)


def cuts_inside(cuts: Sequence[Cut], start: int, end: int) -> Sequence[Cut]:
    """The cuts that lie in a span; `cuts` are sorted and disjoint, and the span does not divide one."""
    return cuts[bisect_left(cuts, start, key=_BY_START) : bisect_right(cuts, end, key=_BY_END)]


def project(text: str, start: int, end: int, cuts: Sequence[Cut]) -> Projection:
    """Project `text[start:end]` without those of the sorted, disjoint `cuts` that lie in it."""
    return Projection(text, start, end, cuts_inside(cuts, start, end))


def merge_cuts(cuts: Iterable[Cut]) -> list[Cut]:
    """Sort cuts and join those that overlap; the one that begins first, or is longer, gives the replacement."""
    merged: list[Cut] = []
    for cut in sorted(cuts, key=lambda c: (c.start, -c.end)):
        if merged and cut.start < merged[-1].end:
            last = merged[-1]
            if cut.end > last.end:
                merged[-1] = Cut(last.start, cut.end, last.replacement or cut.replacement)
        else:
            merged.append(cut)
    return merged
