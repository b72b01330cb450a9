"""Dates in a query, in the words of eight languages, as ISO 8601 with what is known of them.

`2026`, `2026-08`, `2026-08-06`, `--05-03` (a day of any year), `--05` (a month of any year), `1980s`; periods by their
distance from now, `-1 week`; windows, `last 30 day`. A month's name alone is a date only where it is no other word.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from babelray.text.query_numbers import Numeral, glued, unit_at
from babelray.text.query_words import Match, Reading, Word

_YEARS = range(1000, 2200)
_YEAR_LENGTH = 4
_TIME_UNITS = frozenset({"second", "minute", "hour", "day", "week", "month", "year"})
_DAY_ENDINGS = frozenset({"ordinal_suffix", "date_joiner"})
_MONTH_FIRST = frozenset({"en"})


class DateFound(NamedTuple):
    """One date: words `first` up to `last` (exclusive)."""

    first: int
    last: int
    normalized: str
    sure: bool = True


Numerals = Mapping[int, Numeral]
"""Numbers by the word that they begin at."""

_Reader = Callable[[Sequence[Word], Numerals, Reading, int], DateFound | None]


def find_dates(words: Sequence[Word], numerals: Numerals, table: Reading) -> list[DateFound]:
    """All dates among the words, in order and disjoint."""
    found: list[DateFound] = []
    position = 0
    while position < len(words):
        date = _date_at(words, numerals, table, position)
        if date is not None:
            found.append(date)
        position = date.last if date is not None else position + 1
    return found


def _date_at(words: Sequence[Word], numerals: Numerals, table: Reading, position: int) -> DateFound | None:
    if position in numerals:
        readers: tuple[_Reader, ...] = _AT_NUMBER
    elif words[position].kind == "number":
        readers = (_slashed,)
    elif table.longest(position, _AT_WORD_KINDS) is not None:
        readers = _AT_WORD
    else:
        return None
    for read in readers:
        date = read(words, numerals, table, position)
        if date is not None:
            return date
    return None


def _integer(numerals: Numerals, position: int, low: int, high: int) -> tuple[int, int] | None:
    """A whole number within bounds that begins at a word, and the word after it."""
    numeral = numerals.get(position)
    if numeral is None or not numeral.value.isdigit() or len(numeral.value) > 4:
        return None
    value = int(numeral.value)
    return (value, numeral.last) if low <= value <= high else None


def _year(words: Sequence[Word], numerals: Numerals, position: int) -> tuple[int, int] | None:
    """A year of four digits; `1,500` and 千 are none."""
    found = _integer(numerals, position, _YEARS.start, _YEARS.stop - 1)
    if found is None or not words[position].text.isalnum():
        return None
    return found if numerals[position].digits or found[1] - position == _YEAR_LENGTH else None


def _iso(year: int | None, month: int, day: int | None) -> str:
    prefix = f"{year:04d}-" if year is not None else "--"
    return f"{prefix}{month:02d}" + (f"-{day:02d}" if day is not None else "")


def _marked(words: Sequence[Word], numerals: Numerals, table: Reading, position: int) -> DateFound | None:
    """2026年8月6日, 2026年, 8月6日, 8月."""
    last, year, month, day = position, None, None, None
    found = _year(words, numerals, last)
    mark = table.find(found[1], "year_mark") if found else None
    if found and mark:
        year, last = found[0], mark.last
    found = _integer(numerals, last, 1, 12)
    mark = table.find(found[1], "month_mark") if found else None
    if found and mark:
        month, last = found[0], mark.last
        found = _integer(numerals, last, 1, 31)
        mark = table.find(found[1], "day_mark") if found else None
        if found and mark:
            day, last = found[0], mark.last
    if last == position:
        return None
    return DateFound(position, last, _iso(year, month, day) if month else f"{year:04d}")


def _decade(words: Sequence[Word], numerals: Numerals, table: Reading, position: int) -> DateFound | None:
    """1980s, 1980er, 70's, años 70, 20世纪80年代."""
    numeral = numerals.get(position)
    if numeral is None:
        return None
    century = table.find(numeral.last, "century_mark")
    if century is not None:
        decade = _integer(numerals, century.last, 0, 99)
        mark = table.find(decade[1], "decade_suffix") if decade else None
        if decade and mark and numeral.value.isdigit() and len(numeral.value) < 3:
            return DateFound(position, mark.last, f"{(int(numeral.value) - 1) * 100 + decade[0]}s")
        return None
    found = _integer(numerals, position, 10, _YEARS.stop)
    if found is None or found[0] % 10 or 100 <= found[0] < _YEARS.start or not numeral.digits:
        return None
    mark = table.find(found[1], "decade_suffix")
    if mark is not None and glued(words, found[1] - 1):
        return DateFound(position, mark.last, f"{found[0]}s")
    for length in (1, 2, 3):
        before = table.find(position - length, "decade_before") if position >= length else None
        if before is not None and before.last == position:
            return DateFound(position, found[1], f"{found[0]}s")
    return None


def _slashed(words: Sequence[Word], numerals: Numerals, table: Reading, position: int) -> DateFound | None:
    """2026/8/6, 6.8.2026, 8/6/2026: the month comes first in English, the day elsewhere, unless a number says else."""
    if words[position].kind == "number" and words[position].text.count(".") == 2:
        parts = [(int(part), position + 1) for part in words[position].text.split(".") if len(part) < 5]
        return _three(parts, table, position) if len(parts) == 3 else None
    parts = []
    last = position
    for number in range(3):
        if number and not (last < len(words) and words[last].text == "/" and glued(words, last - 1)):
            return None
        found = _integer(numerals, last + bool(number), 1, 9999)
        if found is None:
            return None
        parts.append(found)
        last = found[1]
    return _three(parts, table, position)


def _three(parts: list[tuple[int, int]], table: Reading, position: int) -> DateFound | None:
    first, second, third = (value for value, _ in parts)
    if first in _YEARS:
        year, month, day = first, second, third
    else:
        english = bool(table.languages) and table.languages[0] in _MONTH_FIRST
        month, day = (first, second) if (english and first < 13) or second > 12 else (second, first)
        year = third
    if year not in _YEARS or not 0 < month < 13 or not 0 < day < 32:
        return None
    return DateFound(position, parts[-1][1], _iso(year, month, day))


def _joined(words: Sequence[Word], table: Reading, position: int) -> int:
    """Steps over `of`, `de`, `.` and `,` between the parts of a date."""
    joiner = table.find(position, "date_joiner")
    return joiner.last if joiner is not None else position


def _year_behind(words: Sequence[Word], numerals: Numerals, table: Reading, position: int) -> tuple[int | None, int]:
    found = _year(words, numerals, _joined(words, table, position))
    if found is None:
        return None, position
    after = table.find(found[1], "year_after")
    return found[0], after.last if after is not None else found[1]


def _day_first(words: Sequence[Word], numerals: Numerals, table: Reading, position: int) -> DateFound | None:
    """3 de mayo de 2026, 6. August 2026, 6th of August, 3 мая."""
    found = _integer(numerals, position, 1, 31)
    if found is None:
        return None
    last = found[1]
    for _ in range(2):
        ending = table.longest(last, _DAY_ENDINGS)
        last = ending.last if ending is not None else last
    month = table.find(last, "month")
    if month is None:
        return None
    year, last = _year_behind(words, numerals, table, month.last)
    return DateFound(position, last, _iso(year, int(month.row.normalized), found[0]))


def _month_first(words: Sequence[Word], numerals: Numerals, table: Reading, position: int) -> DateFound | None:
    """August 6, 2026; August 2026; August alone. One that is another word too (`may`) needs a capital and company."""
    month = table.find(position, "month")
    if month is None:
        return None
    number = int(month.row.normalized)
    capital = words[position].raw[:1].isupper()
    day = _integer(numerals, month.last, 1, 31)
    if day is not None and (capital or month.row.sure):
        ending = table.find(day[1], "ordinal_suffix")
        year, last = _year_behind(words, numerals, table, ending.last if ending is not None else day[1])
        return DateFound(position, last, _iso(year, number, day[0]))
    year, last = _year_behind(words, numerals, table, month.last)
    if year is None and not month.row.sure and not _alone(words, position, table):
        return None
    return DateFound(position, last, _iso(year, number, None)) if capital or month.row.sure else None


def _alone(words: Sequence[Word], position: int, table: Reading) -> bool:
    """Whether a preposition that goes before months stands before an ambiguous one: `in May`, `until March`."""
    before = words[position - 1].text if position else ""
    order = table.find(position - 1, "order") if position else None
    return words[position].raw[:1].isupper() and (before in {"in", "of", "during"} or order is not None)


def _period(words: Sequence[Word], numerals: Numerals, table: Reading, position: int) -> DateFound | None:
    match = table.find(position, "period")
    return DateFound(position, match.last, match.row.normalized, match.row.sure) if match is not None else None


def _window(words: Sequence[Word], numerals: Numerals, table: Reading, position: int) -> DateFound | None:
    """The last 30 days, 最近 30 天, letzten drei Monaten."""
    match: Match | None = table.find(position, "window")
    numeral = numerals.get(match.last) if match is not None else None
    unit = unit_at(words, numeral.last, table) if numeral is not None else None
    if numeral is None or unit is None or unit.row.normalized not in _TIME_UNITS:
        return None
    return DateFound(position, unit.last, f"last {numeral.value} {unit.row.normalized}")


_AT_NUMBER = (_marked, _decade, _slashed, _day_first)
_AT_WORD = (_month_first, _period, _window)
_AT_WORD_KINDS = frozenset({"month", "period", "window"})
