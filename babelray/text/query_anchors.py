"""Finds in a query all that a rewriting must keep: exact names, and what the words around them demand.

Exact names come from `babelray.text.anchors`. Beside them stand constraints: numbers with their units, dates,
comparisons, negation, obligation, order, restriction, quotations, commands, product names. `normalized` is the same in
every language (`30 天` and `30 days`: `30 day`; 不支持, `nicht`, `ne ... pas`: `not`), so that a query and its
translation can be compared by it.

Constraints may lie inside each other: `at least 30 days` is a comparison that holds a quantity.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from babelray.text.anchors import Anchor, AnchorType, find_anchors
from babelray.text.query_dates import DateFound, find_dates
from babelray.text.query_names import Name, find_commands, find_entities, find_quoted
from babelray.text.query_numbers import find_numerals
from babelray.text.query_quantities import (
    Bound,
    Measured,
    bounds,
    find_comparisons,
    find_quantities,
    find_ranges,
    without_short_years,
)
from babelray.text.query_words import AFFIX, SHIELD, Match, Reading, Word, likely_languages, read_words_of

__all__ = ["ConstraintType", "QueryAnchor", "find_query_anchors"]


class ConstraintType(StrEnum):
    """What a constraint is about."""

    COMMAND = "command"
    QUOTED = "quoted"
    QUANTITY = "quantity"
    NUMBER = "number"
    PERCENTAGE = "percentage"
    RANGE = "range"
    COMPARATOR = "comparator"
    DATE = "date"
    NEGATION = "negation"
    MODALITY = "modality"
    ORDER = "order"
    SCOPE = "scope"
    ENTITY = "entity"


@dataclass(frozen=True, slots=True)
class QueryAnchor:
    """One exact thing or constraint of a query.

    Attributes:
        type: A value of `AnchorType` or `ConstraintType`.
        start, end: Code point span; `text[start:end] == value`.
        normalized: The same in all languages.
        must_preserve: Whether a rewriting without it is refused. One that need not be kept still explains what stands
            in a rewriting: 失败 is no negation, but `does not work` may translate it.
    """

    type: str
    start: int
    end: int
    value: str
    normalized: str
    must_preserve: bool


_STATED = frozenset({"negation", "modality", "order", "scope"})
_SCANNED = _STATED | {SHIELD, AFFIX, "comparator", "comparator_after"}
_EMPHASIS = _STATED | {"unit", "comparator"}
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_DOTTED_DATE = re.compile(r"(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:19|20)\d\d")
_ROMAN = re.compile(r"(?=[IVX]{2,8}\Z)(X{0,3})(IX|IV|V?I{0,3})")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10}
_NOT_CHINESE = frozenset("不没")


def find_query_anchors(text: str, languages: Sequence[str] = ()) -> list[QueryAnchor]:
    """All anchors and constraints, sorted by start, longest first. Never raises; time is linear in the text.

    Args:
        text: A query or a rewriting of one.
        languages: BCP 47 tags that it may be in, most probable first. Without any, the tables of the languages are
            read that its scripts and small words speak for.
    """
    known = likely_languages(text, languages)
    exact = [anchor for anchor in find_anchors(text) if not _is_plain(anchor, known)]
    table = read_words_of(text, [(anchor.start, anchor.end) for anchor in exact], known)
    words = table.words
    numerals = {numeral.first: numeral for numeral in find_numerals(words, table)}
    dates = find_dates(words, numerals, table)
    dated = _covered(dates)
    measured = find_quantities(words, {p: n for p, n in numerals.items() if p not in dated}, table)
    ranges = find_ranges(words, measured, table)
    measured = without_short_years(measured, ranges)
    bound = bounds(words, measured, dates, table) | _exact_bounds(words, exact)
    spans = [*measured, *ranges, *find_comparisons(words, bound, table)]
    constraints = [(one, one.kind) for one in spans] + [(date, "date") for date in dates]
    found = [_exact(anchor, known) for anchor in exact]
    found += [_of_words(text, words, one, kind) for one, kind in constraints]
    stated, positions = _stated(text, words, table, dated)
    found += stated
    names = [*find_quoted(text), *find_commands(text, exact)]
    names += find_entities(text, words, table.languages, positions | dated)
    found += [_of_name(text, name) for name in names]
    found += _translated_abbreviations(text, words, table)
    found += _roman(text, words)
    return sorted(dict.fromkeys(found), key=lambda one: (one.start, -one.end, one.type, one.normalized))


def _is_plain(anchor: Anchor, languages: tuple[str, ...]) -> bool:
    """Whether what looks like an exact name is a word in capitals (NOT, MUST) or a date with dots."""
    if anchor.type is AnchorType.ACRONYM:
        if _ROMAN.fullmatch(anchor.value):
            return True
        alone = read_words_of(anchor.value, (), languages)
        match = alone.longest(0, _EMPHASIS)
        return match is not None and match.last == len(alone.words)
    if anchor.type is not AnchorType.VERSION:
        return False
    if anchor.value.isdigit():
        # `ABC-Logo 2001`: a year, although the end of the word before it is the name of a program.
        return bool(_YEAR.fullmatch(anchor.value))
    return bool(_DOTTED_DATE.fullmatch(anchor.value)) and "en" not in languages[:1]


def _covered(dates: Sequence[DateFound]) -> set[int]:
    return {position for date in dates for position in range(date.first, date.last)}


def _exact_bounds(words: Sequence[Word], exact: Sequence[Anchor]) -> dict[int, Bound]:
    """Versions and dates that a comparison may bind: `>= 1.29.0`."""
    comparable = {a.start: a for a in exact if a.type in {AnchorType.VERSION, AnchorType.DATE}}
    return {
        position: Bound(comparable[word.start].normalized, position + 1)
        for position, word in enumerate(words)
        if word.kind == "anchor" and word.start in comparable
    }


def _exact(anchor: Anchor, languages: tuple[str, ...]) -> QueryAnchor:
    normalized = anchor.normalized
    if anchor.type is AnchorType.ACRONYM:
        match = read_words_of(normalized, (), languages).find(0, "acronym")
        normalized = match.row.normalized if match is not None else normalized
    return QueryAnchor(anchor.type, anchor.start, anchor.end, anchor.value, normalized, must_preserve=True)


def _of_words(text: str, words: Sequence[Word], one: Measured | DateFound, kind: str) -> QueryAnchor:
    start, end = words[one.first].start, words[one.last - 1].end
    return QueryAnchor(ConstraintType(kind), start, end, text[start:end], one.normalized, one.sure)


def _of_name(text: str, name: Name) -> QueryAnchor:
    value = text[name.start : name.end]
    normalized = " ".join(unicodedata.normalize("NFKC", value).split())
    return QueryAnchor(ConstraintType(name.kind), name.start, name.end, value, normalized, name.sure)


def _stated(text: str, words: Sequence[Word], table: Reading, dated: set[int]) -> tuple[list[QueryAnchor], set[int]]:
    """Negation, obligation, order and restriction, and the positions of their words."""
    found: list[QueryAnchor] = []
    positions: set[int] = set()
    position = 0
    while position < len(words):
        match = table.longest(position, _SCANNED) if position not in dated else None
        if match is None:
            position += 1
            continue
        if not _is_choice(words, match):
            start, end = words[match.first].start, words[match.last - 1].end
            for row in match.rows:
                kind = "negation" if row.kind == AFFIX else row.kind
                if kind in _STATED:
                    found.append(
                        QueryAnchor(ConstraintType(kind), start, end, text[start:end], row.normalized, row.sure)
                    )
                    positions.update(range(match.first, match.last))
        # Other words stand inside a phrase with a gap: `ne` faut `pas`.
        is_open = match.row.gapped and match.of(SHIELD) is None
        position = match.first + 1 if is_open else match.last
    return found, positions


def _is_choice(words: Sequence[Word], match: Match) -> bool:
    """Whether 不 or 没 stands between twice the same character: 能不能 asks, and negates nothing."""
    first = match.first
    if words[first].text not in _NOT_CHINESE or not 0 < first < len(words) - 1:
        return False
    return words[first - 1].text == words[first + 1].text


def _translated_abbreviations(text: str, words: Sequence[Word], table: Reading) -> Iterator[QueryAnchor]:
    """Written-out forms of abbreviations: 联合国 stands for UN."""
    for position in range(len(words)):
        match = table.find(position, "acronym")
        if match is not None and not match.row.sure:
            start, end = words[position].start, words[match.last - 1].end
            yield QueryAnchor(
                ConstraintType.ENTITY, start, end, text[start:end], match.row.normalized, must_preserve=False
            )


def _roman(text: str, words: Sequence[Word]) -> Iterator[QueryAnchor]:
    """Roman numerals of two signs and more, which other languages may write with digits (`siglo XIX`)."""
    for word in words:
        if word.kind == "word" and _ROMAN.fullmatch(word.raw):
            values = [_ROMAN_VALUES[char] for char in word.raw]
            total = sum(
                -value if i + 1 < len(values) and value < values[i + 1] else value for i, value in enumerate(values)
            )
            yield QueryAnchor(ConstraintType.NUMBER, word.start, word.end, word.raw, str(total), must_preserve=False)
