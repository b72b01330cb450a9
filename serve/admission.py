"""Lets in as many requests as can be served within their deadline, and tells the others when to come back."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from serve.problems import overloaded

Result = TypeVar("Result")


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

    async def run(self, start: Callable[[], Future[Result]]) -> Result:
        """Wait for a place and do work there. The place is free again once the work has ended.

        So a caller who no longer waits, because of a deadline or a closed connection, gives no place away that a thread
        is still at work in.

        Args:
            start: Begins the work; it cannot be interrupted.

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
        began = asyncio.get_running_loop().time()
        try:
            work = asyncio.wrap_future(start())
        except BaseException:
            self._places.release()
            raise
        work.add_done_callback(lambda done: self._leave(done, began))
        return await asyncio.shield(work)

    def _leave(self, work: "asyncio.Future[Result]", began: float) -> None:
        self._places.release()
        # The mean of the last requests, more or less: it only has to tell a second from a minute.
        self._seconds += 0.1 * (asyncio.get_running_loop().time() - began - self._seconds)
        if not work.cancelled():
            # Looked at, since nobody else may: an error of work that nobody waits for is not news.
            work.exception()

    def _retry_after(self) -> int:
        """Seconds until those that wait now are done, by how long requests take."""
        return max(1, round(self._seconds * self._waiting / self._concurrency))
