"""Trying again what failed for the time being: how often, and after which delay."""

import email.utils
import random
from collections.abc import Callable
from typing import TypeVar

FIRST_DELAY, LONGEST_DELAY = 0.25, 60.0

Result = TypeVar("Result")


class PassingError(Exception):
    """A failure that another attempt may not meet.

    Args:
        problem: One line, safe to print.
        asked: Seconds that the service asked to wait, if it did.
    """

    def __init__(self, problem: str, asked: float | None = None) -> None:
        super().__init__(problem)
        self.asked = asked


class StoppedError(Exception):
    """The caller gave up while another attempt was waited for."""


def retried(
    attempt: Callable[[int], Result],
    retries: int,
    pause: Callable[[float], object],
    *,
    longest_delay: float = LONGEST_DELAY,
) -> Result:
    """Call until it succeeds.

    Args:
        attempt: Gets its number, from 0; raises `PassingError` where another attempt makes sense.
        retries: Attempts after the first.
        pause: Waits for the seconds given; something true means that the caller has given up.
        longest_delay: Seconds; a longer delay that a service asks for is cut to it.

    Raises:
        PassingError: The last attempt's.
        StoppedError: `pause` said so.
    """
    number = 0
    while True:
        try:
            return attempt(number)
        except PassingError as error:
            if number >= retries:
                raise
            if pause(delay_before(number + 1, error.asked, longest_delay)):
                raise StoppedError from error
        number += 1


def delay_before(attempt: int, asked: float | None, longest_delay: float = LONGEST_DELAY) -> float:
    """Seconds to wait before a repeated attempt (1 is the first): what the service asked for, or doubling from 0.25.

    Doubled delays are shortened at random by up to half, so that many workers do not come back at the same moment.
    """
    if asked is not None:
        return min(asked, longest_delay)
    longest: float = min(FIRST_DELAY * 2 ** (attempt - 1), longest_delay)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311


def retry_after(header: str | None, now: float) -> float | None:
    """Seconds that a `Retry-After` header asks for: a number, or a date; None if there is none that can be read.

    Args:
        header: The header's value.
        now: Seconds since the epoch.
    """
    if header is None:
        return None
    if header.strip().isdigit():
        return float(header.strip())
    try:
        moment = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - now)
