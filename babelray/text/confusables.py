"""Letters of other scripts that look like Latin ones, and words that mix them with Latin letters."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import regex

from babelray.text.scripts import UNSPACED, script_of

_CYRILLIC = dict(zip("асеорхуіјѕһԁԛԝАВЕКМНОРСТХУІЈЅԌԚԜ", "aceopxyijshdqwABEKMHOPCTXYIJSGQW", strict=True))
_GREEK = dict(zip("οαινρυγΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲ", "oaivpuyABEZHIKMNOPTYXc", strict=True))
_ARMENIAN = dict(zip("օսոցհՕՍ", "ounghOU", strict=True))
LOOKALIKES = {**_CYRILLIC, **_GREEK, **_ARMENIAN}
"""Letter -> the Latin letter that it is taken for."""
_TABLE = str.maketrans(LOOKALIKES)

_ALIEN = regex.compile(
    r"[\p{Script=Cyrl}\p{Script=Grek}\p{Script=Armn}\p{Script=Cher}\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff\u24b6-\u24e9]"
)
_RUN = regex.compile(r"[\p{L}\p{M}\p{Nd}_]+")
_SPELLED = regex.compile(r"[\U0001d400-\U0001d7ff\u24b6-\u24e9]{3,}")
_WIDE_LATIN = regex.compile(r"[\uff21-\uff3a\uff41-\uff5a]")
_ASCII_LATIN = regex.compile(r"[A-Za-z]")
_MIXABLE = frozenset({"Latn", "Cyrl", "Grek", "Armn", "Cher"})
_MIN_WHOLE = 3


class MixedWord(NamedTuple):
    """A word that is not what it seems.

    Attributes:
        kind: `confusable` where letters pass for others, `mixed_script` where they are only out of place.
    """

    kind: str
    start: int
    end: int
    detail: str


def find_mixed_words(text: str) -> Iterator[MixedWord]:
    """Words that mix Latin with lookalike or alien letters, or that are made of lookalikes only, in order.

    Letters of scripts without spaces touch Latin words in good writing; they divide words here. Greek letters that
    look like nothing else are signs of formulas (`Δt`, `μs`).
    """
    if text.isascii() or not _ALIEN.search(text):
        return
    words = [word for run in _RUN.finditer(text) if not run.group().isascii() for word in _divide(run)]
    has_prose = any(_is_prose(text[start:end]) for start, end in words)
    is_latin = bool(_ASCII_LATIN.search(text))
    for start, end in words:
        found = _mixed(text[start:end], among_prose=has_prose, among_latin=is_latin)
        if found is not None:
            yield MixedWord(found[0], start, end, found[1])
    for match in _SPELLED.finditer(text):
        yield MixedWord("confusable", match.start(), match.end(), "letters of mathematics spell a word")


def unmask(word: str) -> str:
    """A word with its lookalikes replaced by the Latin letters that they stand for; the same length."""
    return word.translate(_TABLE)


def _divide(run: regex.Match[str]) -> Iterator[tuple[int, int]]:
    """The parts of a run between letters of unspaced scripts."""
    start = run.start()
    for offset, char in enumerate(run.group(), run.start()):
        if script_of(char) in UNSPACED:
            if offset > start:
                yield start, offset
            start = offset + 1
    if run.end() > start:
        yield start, run.end()


def _is_prose(word: str) -> bool:
    """Whether a word of one script other than Latin has letters that pass for nothing."""
    letters = [char for char in word if char.isalpha()]
    return all(script_of(char) != "Latn" for char in letters) and any(char not in LOOKALIKES for char in letters)


def _mixed(word: str, *, among_prose: bool, among_latin: bool) -> tuple[str, str] | None:
    """What is wrong with a word, if anything.

    Args:
        word: Letters, digits and `_`.
        among_prose: Whether the text has words of the other script that are meant to be in it.
        among_latin: Whether it has Latin letters.
    """
    if _WIDE_LATIN.search(word) and _ASCII_LATIN.search(word):
        return "confusable", "full-width letters among plain ones"
    letters = [char for char in word if char.isalpha()]
    scripts = [script_of(char) for char in letters if script_of(char) in _MIXABLE]
    foreign = sorted({char for char in letters if script_of(char) in _MIXABLE - {"Latn"}})
    if not foreign:
        return None
    named = ", ".join(f"U+{ord(char):04X} for {LOOKALIKES[char]}" for char in foreign if char in LOOKALIKES)
    alike = all(char in LOOKALIKES for char in foreign)
    if "Latn" not in scripts:
        is_masked = alike and among_latin and not among_prose and len(letters) >= _MIN_WHOLE and len(foreign) > 1
        return ("confusable", named) if is_masked and "Grek" not in scripts else None
    changes = sum(left != right for left, right in pairwise(scripts))
    # An ending of the text's own language on a Latin name: `Podов`.
    if scripts[0] == "Latn" and changes == 1 and among_prose and "_" not in word:
        return None
    if alike:
        return "confusable", named
    is_formula = set(scripts) == {"Latn", "Grek"}
    is_identifier = "_" in word or any(char.isdigit() for char in word) or changes > 1
    return ("mixed_script", "+".join(sorted(set(scripts)))) if is_identifier and not is_formula else None
