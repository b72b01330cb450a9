"""Lets in as many requests as can be served within their deadline, and tells the others when to come back."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from serve.problems import overloaded


class Admission:
    """A bounded number of requests at work, a bounded number waiting.

    Args:
        concurrency: At work at a time.
        waiting: That may wait.
        changed: Told how many wait.
    """

    def __init__(self, concurrency: int, waiting: int, changed: Callable[[int], None]) -> None:
        self._places = asyncio.Semaphore(concurrency)
        self._concurrency, self._most, self._changed = concurrency, waiting, changed
        self._waiting = 0
        self._seconds = 0.1

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Wait for a place; 429 where too many wait already.

        Raises:
            Problem: Too many wait.
        """
        if self._places.locked() and self._waiting >= self._most:
            raise overloaded(self._retry_after())
        self._waiting += 1
        self._changed(self._waiting)
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
            self._changed(self._waiting)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            yield
        finally:
            self._places.release()
            # The mean of the last requests, more or less: it only has to tell a second from a minute.
            self._seconds += 0.1 * (loop.time() - began - self._seconds)

    def _retry_after(self) -> int:
        """Seconds until those that wait now are done, by how long requests take."""
        return max(1, round(self._seconds * self._waiting / self._concurrency))
