"""A circuit breaker: a service that keeps failing is left alone for a while."""

import threading
import time
from collections.abc import Callable


class CircuitBreaker:
    """Closed: calls pass. Open, after failures in a row: none does. Half open, after a while: one may try.

    Safe between threads.

    Args:
        failures_to_open: Failures in a row.
        open_seconds: How long no call passes.
        clock: Monotonic seconds.
    """

    def __init__(self, failures_to_open: int, open_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = failures_to_open
        self._seconds = open_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._opened: float | None = None
        self._trying = False

    def allows(self) -> bool:
        """Whether a call may be made now. Whoever is told so must report how it ended, by one of the methods below."""
        with self._lock:
            if self._opened is None:
                return True
            if self._trying or self._clock() - self._opened < self._seconds:
                return False
            self._trying = True
            return True

    def succeeded(self) -> None:
        """The call came back: the circuit is closed, earlier failures are forgotten."""
        with self._lock:
            self._failures, self._opened, self._trying = 0, None, False

    def failed(self) -> None:
        """The service failed. A failed try opens the circuit for the whole time again."""
        with self._lock:
            self._failures += 1
            if self._trying or self._failures >= self._most:
                self._opened = self._clock()
            self._trying = False

    def abandoned(self) -> None:
        """The call ended in a way that says nothing of the service."""
        with self._lock:
            self._trying = False
