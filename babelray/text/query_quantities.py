"""Numbers with what binds them: units, percent signs, ranges and comparisons.

Normalized forms hold the number and one spelling of the rest for all languages: `30 day`, `1.5 GB`, `5 percent`,
`3..5`, `>= 3`.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from babelray.text.query_dates import DateFound, Numerals
from babelray.text.query_numbers import Numeral, unit_at
from babelray.text.query_words import Reading, Word

_YEAR_LENGTH = 4
_MAX_BEHIND = 3
_MAX_BETWEEN = 3
"""Words between a comparison and its number: `at least about 3`, 至少需要 3."""


class Measured(NamedTuple):
    """One numeric statement: words `first` up to `last` (exclusive)."""

    kind: str
    first: int
    last: int
    normalized: str
    sure: bool


def find_quantities(words: Sequence[Word], numerals: Numerals, table: Reading) -> list[Measured]:
    """Percentages, quantities and plain numbers, one for each numeral."""
    found = []
    for numeral in numerals.values():
        found.append(_percent_before(words, numeral, table) or _quantity(words, numeral, table))
    return found


def _percent_before(words: Sequence[Word], numeral: Numeral, table: Reading) -> Measured | None:
    """百分之五: the sign stands before the number."""
    for length in (3, 4):
        start = numeral.first - length
        match = table.find(start, "percent_before") if start >= 0 else None
        if match is not None and match.last == numeral.first:
            return Measured("percentage", start, numeral.last, f"{numeral.value} percent", sure=True)
    return None


def _quantity(words: Sequence[Word], numeral: Numeral, table: Reading) -> Measured:
    sign = table.find(numeral.first - 1, "currency") if numeral.first else None
    if sign is not None:
        return Measured("quantity", sign.first, numeral.last, f"{numeral.value} {sign.row.normalized}", sure=True)
    unit = unit_at(words, numeral.last, table)
    # A hyphen joins a number to its unit as an adjective: `30-day`, `5-Minuten-`.
    hyphen = numeral.last < len(words) and words[numeral.last].text == "-"
    if unit is None and hyphen and words[numeral.last].start == words[numeral.last - 1].end:
        unit = unit_at(words, numeral.last + 1, table)
    if unit is None:
        # 1つ and 1个 are said where English has `a`.
        is_article = numeral.value == "1" and table.find(numeral.last, "counter") is not None
        return Measured("number", numeral.first, numeral.last, numeral.value, numeral.digits and not is_article)
    # `one day`, 一年 and 一次 are said of any day, year or time.
    sure = numeral.digits or numeral.value != "1"
    kind = "percentage" if unit.row.normalized == "percent" else "quantity"
    return Measured(kind, numeral.first, unit.last, f"{numeral.value} {unit.row.normalized}", sure)


def find_ranges(words: Sequence[Word], measured: Sequence[Measured], table: Reading) -> list[Measured]:
    """Two numbers with a hyphen or a word for `to` between: `3-5`, `3 bis 5`, 3到5天. `and` needs `between` first."""
    found = []
    for left, right in pairwise(measured):
        between = table.find(left.last, "range_between")
        if between is None or between.last != right.first:
            continue
        opened = any(
            (match := table.find(left.first - length, "range_before")) and match.last == left.first
            for length in (1, 2)
            if left.first >= length
        )
        sign = not words[left.last].text[0].isalnum()
        if not opened and not sign and words[left.last].text in {"and", "和", "und", "y", "et", "e", "и", "と"}:
            continue
        low, high = left.normalized.split(" ")[0], right.normalized.split(" ")[0]
        if sign and len(low) == _YEAR_LENGTH and len(high) == _YEAR_LENGTH - 2:
            high = low[:2] + high
        found.append(Measured("range", left.first, right.last, f"{low}..{high}", left.sure and right.sure))
    return found


def without_short_years(measured: Sequence[Measured], ranges: Sequence[Measured]) -> list[Measured]:
    """The numbers with the second year of a range such as 1620-21 written out."""
    years = {one.last: one.normalized.partition("..")[2] for one in ranges}
    return [
        one._replace(kind="number", normalized=years[one.last])
        if one.last in years and len(years[one.last]) == len(one.normalized.split(" ")[0]) + 2
        else one
        for one in measured
    ]


class Bound(NamedTuple):
    """What a comparison may bind.

    Attributes:
        value: Normalized.
        last: The word after it.
        sure: Whether a comparison with it demands anything; `one or more` and `more than one` say that there are some.
    """

    value: str
    last: int
    sure: bool = True


def bounds(
    words: Sequence[Word], measured: Sequence[Measured], dates: Sequence[DateFound], table: Reading
) -> dict[int, Bound]:
    """Numbers and dates that a comparison may bind; a Han numeral only where something is counted (四 in 四分卫)."""
    found = {
        one.first: Bound(one.normalized.split(" ")[0], one.last, one.sure or one.normalized.split(" ")[0] != "1")
        for one in measured
        if one.sure or words[one.first].kind != "char" or table.find(one.last, "counter") is not None
    }
    found.update({one.first: Bound(one.normalized, one.last) for one in dates if one.normalized[:1].isdigit()})
    return found


def find_comparisons(words: Sequence[Word], bound: Mapping[int, Bound], table: Reading) -> list[Measured]:
    """Comparisons with the number that they bind, before or behind it: `>= 3`, `at least 3`, `3 or more`, 3 个以上."""
    found = []
    taken: set[int] = set()
    for position in range(len(words)):
        match = table.find(position, "comparator")
        if match is None or position in taken:
            continue
        target = _first_bound(words, bound, match.last)
        if target is not None and not _is_arrow(words, match.first, match.last):
            sign = _joined_sign(words, match.first, match.last, match.row.normalized)
            one = bound[target]
            found.append(Measured("comparator", position, one.last, f"{sign} {one.value}", match.row.sure and one.sure))
            taken.update(range(position, target + 1))
    for first, one in bound.items():
        for start in range(one.last, min(one.last + _MAX_BEHIND, len(words))):
            match = table.find(start, "comparator_after")
            if match is not None and first not in taken:
                found += [
                    Measured("comparator", first, match.last, f"{row.normalized} {one.value}", row.sure and one.sure)
                    for row in match.rows
                ]
                break
            if words[start].kind == "sign":
                break
    return found


def _first_bound(words: Sequence[Word], bound: Mapping[int, Bound], position: int) -> int | None:
    """The number that a comparison binds: the next one with few words and no break before it."""
    if position < len(words) and words[position].text == "=":
        position += 1
    for start in range(position, min(position + _MAX_BETWEEN + 1, len(words))):
        if start in bound:
            return start
        if words[start].kind == "sign":
            return None
    return None


def _is_arrow(words: Sequence[Word], first: int, last: int) -> bool:
    """Whether a sign belongs to an arrow, a tag or a shift: `->`, `=>`, `<b>`, `<<`."""
    if words[first].text not in {"<", ">"}:
        return False
    before = words[first - 1] if first else None
    after = words[last] if last < len(words) else None
    touches = before is not None and before.end == words[first].start and before.text in {"-", "=", "<", ">"}
    closes_tag = (
        words[first].text == ">"
        and first > 1
        and words[first - 2].text in {"<", "/"}
        and words[first - 2].end == words[first - 1].start
    )
    doubled = after is not None and after.start == words[first].end and after.text in {"<", ">", "-"}
    return touches or doubled or closes_tag


def _joined_sign(words: Sequence[Word], first: int, last: int, normalized: str) -> str:
    """`>` with `=` behind it is `>=`."""
    if normalized in {"<", ">"} and last < len(words) and words[last].text == "=" and words[first].text in {"<", ">"}:
        return normalized + "="
    return normalized
