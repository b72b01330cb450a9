"""Numbered marks in place of what a translator must not touch: put in before, taken out and counted after.

The one mechanism for protected spans, glossary terms and private text, whoever translates. A mark is a word that no
language has, in capitals, with a digit inside: rule-based translators copy it as an unknown word, models of language
copy it as a code. Of 1,868 questions with one to three marks that Apertium translated (English, Spanish, Portuguese),
all came back with all their marks in order; marks of brackets or braces around a number were torn apart in 3 to 9.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from babelray.glossary.spans import Covered

MARKS_VERSION = "marks-1"
"""Changes whenever the same spans give other marks."""

# Translators may change the case of a word at the beginning of a sentence.
_MARK = re.compile(r"XQ(\d{1,6})Z", re.IGNORECASE)

Spans = Iterable[tuple[int, int]]
NamedSpans = Iterable[tuple[int, int, str]]


@dataclass(frozen=True, slots=True)
class Masked:
    """A text with marks.

    Attributes:
        first: Number of the first mark; they count up from there in the order of the text.
        restored: What each mark becomes again.
        shown: What messages call it: the same, or the rule's name where the text is private.
        terms: How many marks stand for glossary terms.
    """

    text: str
    restored: tuple[str, ...]
    shown: tuple[str, ...]
    first: int = 0
    terms: int = 0

    @property
    def has_words(self) -> bool:
        """Whether anything besides marks is left to translate."""
        return any(char.isalpha() for char in _MARK.sub("", self.text))


@dataclass(frozen=True, slots=True)
class Unmasked:
    """A translation with the real text back in its place.

    Attributes:
        damaged: Positions in `Masked.restored` of marks that were not there exactly once.
        invented: Marks that were never put in; they stay in the text as they are.
        in_order: Whether the marks stand in the order that they had.
    """

    text: str
    damaged: tuple[int, ...]
    invented: tuple[str, ...]
    in_order: bool


def mask(text: str, *, kept: Spans = (), private: NamedSpans = (), terms: NamedSpans = (), first: int = 0) -> Masked:
    """Put marks in place of spans.

    Spans that overlap are kept as one; a term that overlaps anything else is left to it. What looks like a mark in the
    text itself is kept too, so that it is never taken for one.

    Args:
        text: Any text.
        kept: Start and end of what comes back as it is.
        private: Start, end and name of what comes back as it is and appears in no message.
        terms: Start, end and rendering of glossary terms.
        first: Number of the first mark, for a text that has marks already.
    """
    lookalikes = [match.span() for match in _MARK.finditer(text)] if not first else []
    solid = sorted([*((*span, "") for span in (*kept, *lookalikes)), *((a, b, f"<{name}>") for a, b, name in private)])
    merged: list[tuple[int, int, str]] = []
    for start, end, name in solid:
        if merged and start < merged[-1][1]:
            before = merged[-1]
            merged[-1] = (before[0], max(before[1], end), before[2] or name)
        elif end > start:
            merged.append((start, end, name))
    spans = [(start, end, text[start:end], name or text[start:end], False) for start, end, name in merged]
    hidden = Covered((start, end) for start, end, _ in merged)
    for start, end, rendering in terms:
        if not hidden.meets(start, end):
            spans.append((start, end, rendering, rendering, True))
    spans.sort()
    pieces: list[str] = []
    done = 0
    for number, (start, end, *_) in enumerate(spans, start=first):
        pieces += (text[done:start], f"XQ{number}Z")
        done = end
    return Masked(
        text="".join(pieces) + text[done:],
        restored=tuple(span[2] for span in spans),
        shown=tuple(span[3] for span in spans),
        first=first,
        terms=sum(span[4] for span in spans),
    )


def unmask(output: str, masked: Masked) -> Unmasked:
    """Put the real text back and count the marks."""
    counts = [0] * len(masked.restored)
    seen: list[int] = []
    invented: list[str] = []

    def restore(match: re.Match[str]) -> str:
        number = int(match[1]) - masked.first
        if not 0 <= number < len(counts):
            # Marks below the first are another's, put in before these.
            if number >= 0 or masked.first == 0:
                invented.append(match[0])
            return match[0]
        counts[number] += 1
        seen.append(number)
        return masked.restored[number]

    text = _MARK.sub(restore, output)
    damaged = tuple(number for number, count in enumerate(counts) if count != 1)
    return Unmasked(text, damaged, tuple(invented), seen == sorted(seen))


def mark_spans(text: str) -> list[tuple[int, int]]:
    """Where a text has marks."""
    return [match.span() for match in _MARK.finditer(text)]
