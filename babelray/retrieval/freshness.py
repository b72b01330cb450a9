"""The period that a query asks about, from the dates in it and a given now."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from babelray.retrieval.query import AnchorRecord, Freshness
from babelray.text.query_anchors import ConstraintType
from babelray.text.query_words import likely_languages, read_words_of

_FIRST_YEAR = 1990
"""Earlier years are what a text is about, and no time at which it could have been written."""
_LENGTHS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_MAX_AMOUNT = 10_000
_NEAR = 12
"""Characters between a date and a word for before or after that binds it."""


def find_freshness(
    text: str, languages: Sequence[str], anchors: Sequence[AnchorRecord], now: datetime
) -> Freshness | None:
    """The first period of a query, or words for `latest` without one.

    Args:
        text: The query.
        languages: BCP 47 tags that it may be in.
        anchors: Found in it.
        now: With a time zone; relative periods are counted from it.
    """
    for one in anchors:
        if one.type not in {ConstraintType.DATE, ConstraintType.NUMBER}:
            continue
        period = _period(one, now)
        if period is not None:
            start, end = period
            order = _order_beside(one, anchors)
            if order in {"before", "until"}:
                start, end = None, (end if order == "until" else start)
            elif order in {"after", "since"}:
                start, end = (start if order == "since" else end), None
            return Freshness(start=start, end=end, text=one.value)
    reading = read_words_of(text, (), likely_languages(text, languages))
    words = reading.words
    for position in range(len(words)):
        match = reading.find(position, "recency")
        if match is not None:
            return Freshness(text=text[words[position].start : words[match.last - 1].end])
    return None


def _order_beside(date: AnchorRecord, anchors: Sequence[AnchorRecord]) -> str | None:
    """The word for before, after, since or until that touches a date: 2024年以来, `since 2024`."""
    near = [
        (max(one.start - date.end, date.start - one.end), not one.must_preserve, one.normalized)
        for one in anchors
        if one.type == ConstraintType.ORDER and one.start - date.end < _NEAR and date.start - one.end < _NEAR
    ]
    return min(near)[2] if near else None


def _period(date: AnchorRecord, now: datetime) -> tuple[datetime | None, datetime | None] | None:
    said = date.normalized
    if date.type == ConstraintType.NUMBER:
        is_year = date.must_preserve and len(date.value) == 4 and date.value.isdigit()
        return _calendar(said, now) if is_year and _FIRST_YEAR <= int(said) <= now.year + 1 else None
    if said.startswith("last "):
        _, amount, unit = said.split(" ")
        return _window(float(amount), unit, now)
    if " " in said:
        distance, unit = said.split(" ")
        return _relative(int(distance), unit, now)
    return _calendar(said, now)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _calendar(said: str, now: datetime) -> tuple[datetime, datetime] | None:
    """`2026`, `2026-08`, `2026-08-06`, `--08`: from its first moment to the one after its last, in the zone of now."""
    if said.endswith("s"):
        return None
    if said.startswith("--"):
        said = f"{now.year:04d}-{said[2:]}"
    numbers = [int(part) for part in said[:10].split("-") if part.isdigit()]
    if not numbers or numbers[0] < _FIRST_YEAR or len(numbers) > 3:
        return None
    try:
        start = _midnight(now).replace(
            year=numbers[0], month=numbers[1] if len(numbers) > 1 else 1, day=numbers[2] if len(numbers) > 2 else 1
        )
        end = start + timedelta(days=1) if len(numbers) == 3 else _add_months(start, 1 if len(numbers) == 2 else 12)
    except (ValueError, OverflowError):  # the 31st of a shorter month, the end of the calendar
        return None
    return start, end


def _add_months(moment: datetime, months: int) -> datetime:
    """The first day of a month so many months away."""
    index = moment.year * 12 + moment.month - 1 + months
    return moment.replace(year=max(1, index // 12), month=index % 12 + 1, day=1)


def _window(amount: float, unit: str, now: datetime) -> tuple[datetime, datetime] | None:
    if amount > _MAX_AMOUNT:
        return None
    if unit in _LENGTHS:
        return now - timedelta(seconds=amount * _LENGTHS[unit]), now
    months = int(amount) * (12 if unit == "year" else 1)
    if months >= now.year * 12:
        return None
    first = _add_months(now, -months)
    # The same day so many months ago, or the last one that the month has.
    last_day = (_add_months(first, 1) - timedelta(days=1)).day
    return first.replace(day=min(now.day, last_day)), now


def _relative(distance: int, unit: str, now: datetime) -> tuple[datetime, datetime]:
    """Today, last week (from Monday), this month: whole days, weeks, months and years of the calendar."""
    today = _midnight(now)
    if unit == "day":
        start = today + timedelta(days=distance)
        return start, start + timedelta(days=1)
    if unit == "week":
        start = today - timedelta(days=today.weekday()) + timedelta(weeks=distance)
        return start, start + timedelta(weeks=1)
    if unit == "month":
        start = _add_months(today, distance)
        return start, _add_months(start, 1)
    start = today.replace(year=today.year + distance, month=1, day=1)
    return start, _add_months(start, 12)
