"""Refuses bodies that are too large before they are read whole, whatever their headers say."""

from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serve.problems import Problem


class BodyLimit:
    """ASGI middleware.

    Args:
        app: What is guarded.
        most: Bytes of a body.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on as long as its body is small enough."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if not announced.isdigit() or int(announced) > self._most:
            await self._refuse(scope, receive, send)
            return
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
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
