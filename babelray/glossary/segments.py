"""Pieces of a string that a translator of plain sentences can be given: lines, and branches of ICU messages."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from babelray.glossary.protect import Protected, ProtectedKind

_LINES = re.compile(r"(?:\r?\n|(?:\\r)?\\n)+")
Span = tuple[int, int]


def segments(text: str, protected: Sequence[Protected], codes: Sequence[Span] = ()) -> list[Span]:
    r"""Spans of the pieces, without the white space around them, in order.

    Between them stand line breaks and the syntax of ICU messages, which no translator sees. Placeholders, tags and code
    stay inside: they stand in a sentence.

    Args:
        text: A string.
        protected: Its protected spans, sorted and disjoint.
        codes: Spans of codes outside of them, sorted: `C:\new` holds no line break.
    """
    kept = sorted([*codes, *((one.start, one.end) for one in protected if one.kind is not ProtectedKind.ICU)])
    starts = [start for start, _ in kept]

    def inside(at: int) -> bool:
        place = bisect_right(starts, at) - 1
        return place >= 0 and at < kept[place][1]

    borders = [(one.start, one.end) for one in protected if one.kind is ProtectedKind.ICU]
    borders += [match.span() for match in _LINES.finditer(text) if not inside(match.start())]
    found: list[Span] = []
    done = 0
    for start, end in [*sorted(borders), (len(text), len(text))]:
        piece = text[done:start]
        left = len(piece) - len(piece.lstrip())
        right = len(piece.rstrip())
        if right > left:
            found.append((done + left, done + right))
        done = max(done, end)
    return found


def has_words(text: str, protected: Sequence[Protected]) -> bool:
    """Whether anything but protected spans and line breaks has a letter; the n of an escaped break is none."""
    done = 0
    rest = []
    for one in protected:
        rest.append(text[done : one.start])
        done = one.end
    rest.append(text[done:])
    return any(character.isalpha() for part in rest for character in _LINES.sub("", part))
