"""Numbers in a query: digits of any writing with either decimal mark, number words, Han numerals.

`1.5`, `1,5` and `1.500` are read by the language's decimal mark where the form alone leaves it open; what else it might
be is kept for comparisons across languages (`readings`). Values are decimal strings without trailing zeros.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from babelray.text.query_words import Match, Reading, Word

_DECIMAL_COMMA = frozenset({"de", "es", "fr", "pt", "ru"})
_SPACED_GROUPS = frozenset({"fr", "ru", "es", "pt"})
_MAX_DIGITS = 40
"""A longer run of digits is data; exact arithmetic on it would take more than linear time."""
_MAX_WORDS = 24
_NUMBER_ENDINGS = frozenset({"ordinal_suffix", "decade_suffix", "number"})
_NUMBER_OR_SHIELD = frozenset({"number", "shield"})
_GROUPED = re.compile(r"\d{1,3}(?:([.,'])\d{3})(?:\1\d{3})*")
_ONE_GROUP = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
_LITERAL = re.compile(r"\d++(?:[.,'’٬٫．，]\d++)*+")
_FLAT = str.maketrans({"’": "'", "．": ".", "，": ",", "٬": ",", "٫": "."})


class Numeral(NamedTuple):
    """One number.

    Attributes:
        first, last: Words of the text that it takes, `last` exclusive.
        value: Decimal string.
        digits: Written with digits rather than in words.
    """

    first: int
    last: int
    value: str
    digits: bool


def plain(value: Decimal) -> str:
    """A number without exponent and trailing zeros."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def read_digits(literal: str, *, decimal_comma: bool) -> str | None:
    """The value of digits with separators, or nothing where they make no number (`1.2.3`, over 40 digits).

    Args:
        literal: Digits of any writing with `.`, `,` or `'` inside.
        decimal_comma: Which mark stands before the decimals where both would do.
    """
    if len(literal) > _MAX_DIGITS:
        return None
    text = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in literal.translate(_FLAT))
    marks = [char for char in text if not char.isdigit()]
    if not marks:
        return plain(Decimal(text))
    if _ONE_GROUP.fullmatch(text):
        is_decimal = (marks[0] == ",") == decimal_comma
        return plain(Decimal(text.replace(",", "."))) if is_decimal else plain(Decimal(text.replace(marks[0], "")))
    if len(set(marks)) == 1 and (len(marks) > 1 or marks[0] == "'"):
        return plain(Decimal(text.replace(marks[0], ""))) if _GROUPED.fullmatch(text) else None
    last = marks[-1]
    if last == "'" or marks.count(last) > 1:
        return None
    whole, _, fraction = text.rpartition(last)
    if len(marks) > 1 and not _GROUPED.fullmatch(whole):
        return None
    return plain(Decimal(f"{re.sub(r'[^0-9]', '', whole)}.{fraction}"))


def readings(literal: str) -> frozenset[str]:
    """All values that digits with separators may have, whatever the language; none where there is more than digits."""
    if not _LITERAL.fullmatch(literal):
        return frozenset()
    both = (read_digits(literal, decimal_comma=comma) for comma in (False, True))
    return frozenset(value for value in both if value is not None)


def find_numerals(words: Sequence[Word], table: Reading) -> Iterator[Numeral]:
    """All numbers among the words, in order and disjoint. Digits that are part of a name (`x86`, `3D`) are none."""
    position = 0
    while position < len(words):
        numeral = _digits_at(words, position, table) or _words_at(words, position, table)
        if numeral is not None:
            yield numeral
        position = numeral.last if numeral is not None else position + 1


def glued(words: Sequence[Word], left: int) -> bool:
    """Whether no space stands between a word and the next one."""
    return left + 1 < len(words) and words[left].end == words[left + 1].start


def _digits_at(words: Sequence[Word], position: int, table: Reading) -> Numeral | None:
    word = words[position]
    if word.kind != "number" or not _stands_alone(words, position, table):
        return None
    language = table.languages[0] if table.languages else ""
    literal, last = _spaced_groups(words, position, language)
    value = read_digits(literal, decimal_comma=language in _DECIMAL_COMMA)
    if value is None:
        return None
    scaled, last = _scaled(Decimal(value), words, last, table)
    return Numeral(position, last, plain(scaled), digits=True)


def _stands_alone(words: Sequence[Word], position: int, table: Reading) -> bool:
    """Whether digits belong to no name: no letter glued before them, and behind them only a unit or an ending."""
    if position and glued(words, position - 1) and words[position - 1].kind in {"word", "anchor"}:
        return False
    if position and glued(words, position - 1) and words[position - 1].text in {"_", "#", "@"}:
        return False
    if not glued(words, position):
        return True
    after = words[position + 1]
    if after.kind == "anchor" or after.text == "_":
        return False
    if after.kind != "word":
        return True
    if unit_at(words, position + 1, table) is not None:
        return True
    return table.longest(position + 1, _NUMBER_ENDINGS) is not None


def unit_at(words: Sequence[Word], position: int, table: Reading) -> Match | None:
    """The unit that a word begins. Units of one letter mean something in one case only: `5 m`, but not `5M`."""
    match = table.find(position, "unit")
    if match is None or len(words[position].raw) > 1 or not words[position].raw.isascii():
        return match
    letter = words[position].raw
    return match if not letter.isalpha() or letter.isupper() == match.row.normalized.isupper() else None


def _spaced_groups(words: Sequence[Word], position: int, language: str) -> tuple[str, int]:
    """Digits with the groups of three that follow behind single spaces (`10 000`), and the word after them."""
    literal, last = words[position].text, position + 1
    if language not in _SPACED_GROUPS or not literal.isdigit() or len(literal) > 3 or literal == "0":
        return literal, last
    while last < len(words) and words[last].kind == "number" and words[last].start == words[last - 1].end + 1:
        group = words[last].text
        if len(group) != 3 or not group.isdigit() or len(literal) > _MAX_DIGITS:
            break
        literal, last = literal + group, last + 1
    return literal, last


def _scaled(value: Decimal, words: Sequence[Word], position: int, table: Reading) -> tuple[Decimal, int]:
    """Multiply by the scale words that follow digits (`1.5 million`, `3万`)."""
    for _ in range(2):
        match = table.find(position, "number")
        if match is None or not match.row.normalized.startswith("*"):
            break
        value, position = value * Decimal(match.row.normalized[1:]), match.last
    return value, position


class _Sum:
    """Adds up number words and Han numerals one by one: `two hundred and five`, 三千五百, 二〇二六."""

    def __init__(self) -> None:
        self._total = Decimal(0)
        self._section = Decimal(0)
        self._pending: Decimal | None = None
        self._largest = Decimal(0)
        self._string = ""

    @property
    def value(self) -> Decimal:
        """What the words so far mean."""
        return self._total + self._section + (self._pending or 0)

    def add(self, token: str, *, character: bool) -> bool:
        """Take one more word, or refuse it because it begins another number."""
        if token.startswith("*"):
            self._multiply(Decimal(token[1:]))
            self._string = ""
            return True
        number = Decimal(token)
        if character and self._string:
            self._string += token
            self._pending = Decimal(self._string)
            return True
        tens = self._pending is not None and self._pending >= 20 and self._pending % 10 == 0 and number < 10
        hundred = self._pending == 100 and number < 100
        filler = self._pending == 0 and character
        if self._pending is not None and not (tens or hundred or filler):
            return False
        started = bool(self._section or self._total)
        self._section += self._pending or 0
        self._pending = number
        self._string = token if character and not started else ""
        return True

    def _multiply(self, scale: Decimal) -> None:
        if scale < 1000:
            self._section += (1 if self._pending is None else self._pending) * scale
        else:
            below = self._section + (self._pending or 0)
            if scale > self._largest:
                self._total = (self._total + below or 1) * scale
            else:
                self._total += (below or 1) * scale
            self._section = Decimal(0)
            self._largest = max(self._largest, scale)
        self._pending = None


def _words_at(words: Sequence[Word], position: int, table: Reading) -> Numeral | None:
    """A number in words, with hyphens and `and` inside where it goes on behind them."""
    shield = table.longest(position, _NUMBER_OR_SHIELD)
    if shield is None or shield.of("number") is None:
        return _ordinal_at(words, position, table)
    added, last, taken = _Sum(), position, 0
    while taken < _MAX_WORDS:
        start = last if not taken else _over_joiner(words, last, table)
        match = table.find(start, "number")
        character = start < len(words) and words[start].kind == "char"
        if match is None or (character and taken and not glued(words, start - 1)):
            break
        if not added.add(match.row.normalized, character=character):
            break
        last, taken = match.last, taken + 1
    return Numeral(position, last, plain(added.value), digits=False)


def _over_joiner(words: Sequence[Word], position: int, table: Reading) -> int:
    if position < len(words) and words[position].text == "-" and glued(words, position - 1):
        return position + 1
    joiner = table.find(position, "number_joiner")
    return joiner.last if joiner is not None else position


def _ordinal_at(words: Sequence[Word], position: int, table: Reading) -> Numeral | None:
    match = table.find(position, "ordinal")
    return Numeral(position, match.last, match.row.normalized, digits=False) if match is not None else None
