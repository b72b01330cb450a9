"""Lines of a text with their spans."""

import re
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n?|\n")


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a text, without their ends.

    Attributes:
        texts: One string a line.
        starts: Offset of each line's first character.
    """

    texts: list[str]
    starts: list[int]

    def end(self, number: int) -> int:
        """Offset behind the last character of a line, its line end not counted."""
        return self.starts[number] + len(self.texts[number])


def split_lines(text: str, start: int = 0, end: int | None = None) -> Lines:
    """Split at LF, CRLF and CR; offsets count from the beginning of `text`. A last empty line is kept."""
    stop = len(text) if end is None else end
    texts: list[str] = []
    starts: list[int] = []
    for found in _LINE_END.finditer(text, start, stop):
        texts.append(text[start : found.start()])
        starts.append(start)
        start = found.end()
    texts.append(text[start:stop])
    starts.append(start)
    return Lines(texts, starts)
