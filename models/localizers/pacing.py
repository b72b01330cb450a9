"""Keeps requests under a rate."""

import threading
import time
from collections.abc import Callable


class Pace:
    """Lets requests go evenly spaced. Safe between threads.

    Args:
        per_minute: 0: at once.
        pause: Waits for the seconds given.
        clock: Monotonic seconds.
    """

    def __init__(
        self, per_minute: float, pause: Callable[[float], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._interval = 60.0 / per_minute if per_minute else 0.0
        self._pause, self._clock = pause, clock
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self) -> None:
        """Return when the next request may go."""
        if not self._interval:
            return
        with self._lock:
            now = self._clock()
            begin = max(self._next, now)
            self._next = begin + self._interval
        if begin > now:
            self._pause(begin - now)
