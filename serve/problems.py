"""Errors as `application/problem+json` (RFC 9457): what went wrong, where, and what to do, without anybody's data."""

from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

from babelray.errors import (
    AccessDenied,
    BabelrayError,
    ConfigError,
    GateFailed,
    InputError,
    IntegrityError,
    ModelKeyMismatch,
    PublishConflict,
    ScopeViolation,
    UpstreamError,
)

STATUSES: dict[type[BabelrayError], HTTPStatus] = {
    InputError: HTTPStatus.BAD_REQUEST,
    ScopeViolation: HTTPStatus.INTERNAL_SERVER_ERROR,
    AccessDenied: HTTPStatus.FORBIDDEN,
    PublishConflict: HTTPStatus.CONFLICT,
    GateFailed: HTTPStatus.CONFLICT,
    ModelKeyMismatch: HTTPStatus.SERVICE_UNAVAILABLE,
    IntegrityError: HTTPStatus.SERVICE_UNAVAILABLE,
    UpstreamError: HTTPStatus.BAD_GATEWAY,
    ConfigError: HTTPStatus.INTERNAL_SERVER_ERROR,
}
_ABOUT_THE_REQUEST = (InputError, AccessDenied)


class Problem(Exception):
    """An answer that is an error.

    Args:
        status: HTTP status.
        title: The kind of error, the same for all of it.
        detail: What happened this time; never a secret, a query or another's data.
        headers: Beside the body.
    """

    def __init__(self, status: HTTPStatus, title: str, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail = status, title, detail
        self.headers = headers or {}

    def response(self, request_id: str) -> JSONResponse:
        """The HTTP answer."""
        body: dict[str, Any] = {
            "type": "about:blank",
            "title": self.title,
            "status": int(self.status),
            "detail": self.detail,
            "request_id": request_id,
        }
        headers = {**self.headers, "X-Request-Id": request_id}
        return JSONResponse(body, int(self.status), headers, media_type="application/problem+json")


def problem_of(error: BabelrayError) -> Problem:
    """The problem that stands for one of our errors.

    Only what is about the request itself is told in full; where a file lies or what a service said stays in the log.
    """
    status = next(
        (code for kind, code in STATUSES.items() if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR
    )
    if isinstance(error, ScopeViolation):
        # Not even that a row of others would have matched.
        return Problem(status, "internal error", "a check stopped the search; the operator is told")
    detail = str(error) if isinstance(error, _ABOUT_THE_REQUEST) else error.what
    return Problem(status, error.title, detail)


def unauthorized(detail: str) -> Problem:
    """No token, or none that can be trusted."""
    return Problem(HTTPStatus.UNAUTHORIZED, "not authenticated", detail, {"WWW-Authenticate": "Bearer"})


def unavailable(detail: str) -> Problem:
    """Something that is needed cannot be had for the moment."""
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", detail, {"Retry-After": "5"})


def forbidden(detail: str) -> Problem:
    """A caller who is known and may not."""
    return Problem(HTTPStatus.FORBIDDEN, "access denied", detail)


def overloaded(seconds: int) -> Problem:
    """Too many requests wait already."""
    detail = f"too many requests are waiting; try again in {seconds} s"
    return Problem(HTTPStatus.TOO_MANY_REQUESTS, "overloaded", detail, {"Retry-After": str(seconds)})


def late(seconds: float) -> Problem:
    """A request did not end in time."""
    return Problem(
        HTTPStatus.GATEWAY_TIMEOUT, "deadline exceeded", f"no answer within {seconds:g} s", {"Retry-After": "1"}
    )
