"""Refuses bodies that are too large before they are read whole, and those that never end, whatever headers say."""

import asyncio
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serve.problems import Problem

_DIGITS = 18
"""Longer lengths are not even read as numbers."""


class BodyLimit:
    """ASGI middleware.

    Args:
        app: What is guarded.
        most: Bytes of a body.
        seconds: In which it must have arrived.
    """

    def __init__(self, app: ASGIApp, most: int, seconds: float) -> None:
        self._app, self._most, self._seconds = app, most, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on as long as its body is small enough."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if not announced.isdigit() or len(announced) > _DIGITS or int(announced) > self._most:
            await self._refuse(scope, receive, send)
            return
        body, more = bytearray(), True
        try:
            async with asyncio.timeout(self._seconds):
                while more and len(body) <= self._most:
                    message = await receive()
                    if message["type"] != "http.request":
                        return
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
        except TimeoutError:
            detail = f"the body did not arrive within {self._seconds:g} s"
            problem = Problem(HTTPStatus.REQUEST_TIMEOUT, "too slow", detail, {"Connection": "close"})
            await problem.response("-")(scope, receive, send)
            return
        if len(body) > self._most:
            await self._refuse(scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replay() -> Message:
            return whole.pop() if whole else await receive()

        await self._app(scope, replay, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        detail = f"the body is larger than {self._most} bytes"
        problem = Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too large", detail)
        await problem.response("-")(scope, receive, send)
