"""The normalized, case-folded projection of a string that terms are searched in, with offset maps both ways."""

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from babelray.glossary.breaks import base_language
from babelray.glossary.protect import Protected, ProtectedKind

BREAK = "\ufffc"
"""Stands for a protected span or a blank line: no term and no n-gram reaches over it."""

_REPLACED = {
    "\u2018": "'", "\u2019": "'", "\u201b": "'", "\u02bc": "'", "\uff07": "'", "\u201c": '"', "\u201d": '"',
    "\u201e": '"', "\u201f": '"', "\u00ab": '"', "\u00bb": '"', "\u2010": "-", "\u2011": "-", "\u00ad": "",
    "\u200b": "", "\u2060": "", "\ufeff": "",
}  # fmt: skip
_SPACES = re.compile(r"(?:\s|\\[nrt])+")
_BLANK_LINE = re.compile(r"(?:\n|\\n)[ \t\r]*(?:\n|\\n)")
_SIMPLE_ASCII = re.compile(r"[!-~]+(?: [!-~]+)*")
_ASCII_RUN = re.compile(r"[!-\[\]-~]+(?![\u0080-\U0010ffff])")
_CLUSTER = re.compile("(.)([\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u065f\u3099\u309a\uff9e\uff9f]*)", re.DOTALL)
_EMPHASIS = re.compile(r"(?<!\w)(__?)([^\s_][^_\n]*)\1(?!\w)")
_QUOTE_PAIRS = {'"': '"', "'": "'"}


@dataclass(frozen=True, slots=True)
class Normalized:
    """A projection of a string.

    Attributes:
        text: Folded case, single spaces, plain quotes, decoded entities, no outer quotes; `BREAK` where protected.
        starts, ends: For each character of `text`, the span of the original it comes from.
    """

    original: str
    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def to_original(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original that a non-empty span of `text` comes from."""
        return self.starts[start], self.ends[end - 1]

    def to_normalized(self, offset: int) -> int:
        """Where an offset of the original falls in `text`: the last character that starts at or before it.

        `len(text)` for an offset at or after the end of the last character.
        """
        if not self.text or offset >= self.ends[-1]:
            return len(self.text)
        return max(bisect_right(self.starts, offset) - 1, 0)


def fold_char(char: str, language: str) -> str:
    """One character folded for comparison; may give two (`ß` gives `ss`).

    Turkish and Azerbaijani have two letters i, with and without dot, in both cases; elsewhere `İ` counts as `i`.
    Russian `ё` counts as `е`, since it is mostly written so.
    """
    if language in ("tr", "az"):
        if char == "I":
            return "ı"
        if char == "İ":
            return "i"
    elif char == "İ":
        return "i"
    elif language == "ru" and char in "ёЁ":
        return "е"
    return char.casefold()


def fold_text(text: str, locale: str) -> str:
    """A term as it looks in a projection: the same normalization without protected spans."""
    return normalize(text, locale, ()).text


def normalize(text: str, locale: str, protected: Sequence[Protected] = ()) -> Normalized:
    """Project a string of a locale for matching.

    Args:
        text: The string as it stands in the payload, JSON escapes decoded.
        locale: BCP 47; decides case folding.
        protected: Spans from `find_protected`. Entities are decoded, all others become `BREAK`.
    """
    language = base_language(locale)
    shown = _with_plain_emphasis(text) if "_" in text else text
    if shown is not text:
        view = normalize(shown, locale, protected)
        return Normalized(text, view.text, view.starts, view.ends)
    simple = not protected and language not in ("tr", "az") and "\\" not in text
    if simple and _SIMPLE_ASCII.fullmatch(text) and text[0] not in _QUOTE_PAIRS:
        return Normalized(text, text.lower(), range(len(text)), range(1, len(text) + 1))
    builder = _Builder(language)
    done = 0
    for span in protected:
        builder.add(text, done, span.start)
        builder.add_protected(span)
        done = span.end
    builder.add(text, done, len(text))
    return builder.finish(text)


def _with_plain_emphasis(text: str) -> str:
    """The text with `*` for the underscores of Markdown's emphasis; the same object where there is none.

    An underscore is a letter of identifiers, so that a word between two of them would be none. Two on each side of a
    single word (`__init__`) are an identifier too.
    """
    pieces: list[str] = []
    done = 0
    for match in _EMPHASIS.finditer(text):
        marks, words = match[1], match[2]
        if words[-1].isspace() or (len(marks) == 2 and " " not in words):
            continue
        stars = "*" * len(marks)
        pieces += (text[done : match.start()], stars, words, stars)
        done = match.end()
    return "".join(pieces) + text[done:] if pieces else text


class _Builder:
    def __init__(self, language: str) -> None:
        self.language = language
        self.chars: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []

    def put(self, chars: str, start: int, end: int) -> None:
        for char in chars:
            self.chars.append(char)
            self.starts.append(start)
            self.ends.append(end)

    def add_protected(self, span: Protected) -> None:
        decoded = html.unescape(span.text) if span.kind is ProtectedKind.ENTITY else BREAK
        if decoded.isspace():
            self._space(span.start, span.end)
        else:
            folded = "".join(fold_char(_REPLACED.get(c, c), self.language) for c in decoded)
            self.put(folded, span.start, span.end)

    def add(self, text: str, start: int, end: int) -> None:
        at = start
        simple = self.language not in ("tr", "az")
        while at < end:
            run = _ASCII_RUN.match(text, at, end) if simple else None
            if run:
                self.chars += run[0].lower()
                self.starts += range(at, run.end())
                self.ends += range(at + 1, run.end() + 1)
                at = run.end()
                continue
            spaces = _SPACES.match(text, at, end)
            if spaces:
                if _BLANK_LINE.search(spaces[0]):
                    self.put(BREAK, at, spaces.end())
                else:
                    self._space(at, spaces.end())
                at = spaces.end()
                continue
            cluster = _CLUSTER.match(text, at, end)
            assert cluster is not None
            self.put(self._fold(cluster[0]), at, cluster.end())
            at = cluster.end()

    def _space(self, start: int, end: int) -> None:
        if self.chars and self.chars[-1] == " ":
            self.ends[-1] = end
        else:
            self.put(" ", start, end)

    def _fold(self, cluster: str) -> str:
        if "\ud800" <= cluster[0] <= "\udfff":
            return BREAK  # half of a character: no text, and nothing can be asked about it
        if len(cluster) > 1 or "\uff00" <= cluster <= "\uffef" or "\uf900" <= cluster <= "\ufaff":
            # Full-width Latin, half-width kana and compatibility ideographs have an ordinary twin. NFKC is kept to
            # them: elsewhere it would glue letters to words (`™` gives `TM`).
            wide = "\uff00" <= cluster[0] <= "\uffef" or "\uf900" <= cluster[0] <= "\ufaff"
            cluster = unicodedata.normalize("NFKC" if wide else "NFC", cluster)
        return "".join(fold_char(_REPLACED.get(char, char), self.language) for char in cluster)

    def finish(self, original: str) -> Normalized:
        first, last = 0, len(self.chars)
        while first < last and self.chars[first] == " ":
            first += 1
        while last > first and self.chars[last - 1] == " ":
            last -= 1
        # Quotes around the whole string are not part of what it says.
        inside = self.chars[first + 1 : last - 1]
        paired = last - first >= 2 and _QUOTE_PAIRS.get(self.chars[first]) == self.chars[last - 1]
        if paired and self.chars[first] not in inside:
            first, last = first + 1, last - 1
        return Normalized(original, "".join(self.chars[first:last]), self.starts[first:last], self.ends[first:last])
