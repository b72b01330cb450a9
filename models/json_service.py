"""Calls of a URL that takes and gives JSON: inside the data boundary, retried where that helps, bounded in size."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from babelray.errors import ConfigError, UpstreamError
from models.data_boundary import Boundary, parse_base_url, targets_within
from models.retries import LONGEST_DELAY, PassingError, retried, retry_after

_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
# These may concern what is in the body (too long, empty, not accepted); others concern every call.
_ABOUT_CONTENT = frozenset({400, 413, 422})


class RefusedError(Exception):
    """The service refused what is in a body; holds its answer."""


@dataclass(frozen=True, slots=True)
class Service:
    """One URL and how it is called.

    Attributes:
        title: What messages call it: `embeddings service`.
        setting: The settings group that describes it, for messages: `embedder`.
        url: Base URL.
        path: Added to the base URL's own.
        key_file: Holds the bearer token.
        boundary: Where it may lie.
        timeout_seconds: Of connecting, and of each wait for bytes.
        retries: Attempts after the first.
        connections: Open at a time.
        longest_delay: Seconds between two attempts at most.
        answer_seconds: Most time for one whole answer, however steadily its bytes come; None: no limit.
        fix: What to do about failures that last.
    """

    title: str
    setting: str
    url: str
    path: str
    key_file: Path | None
    boundary: Boundary
    timeout_seconds: float
    retries: int
    connections: int
    longest_delay: float = LONGEST_DELAY
    answer_seconds: float | None = None
    fix: str = "see that the service runs"


class JsonService:
    """Sends one body at a time; safe to call from several threads.

    Args:
        service: What to call.
        transport: Stands in for the network in tests.

    Raises:
        ConfigError: The URL or the key file is not usable.
    """

    def __init__(self, service: Service, transport: httpx.BaseTransport | None = None) -> None:
        self._service = service
        base = parse_base_url(service.url, service.setting)
        self.url = base.copy_with(path=base.path.rstrip("/") + service.path)
        self._secret = _read_secret(service.key_file) if service.key_file else None
        self._client = httpx.Client(
            timeout=service.timeout_seconds,
            headers={"Authorization": f"Bearer {self._secret}"} if self._secret else {},
            # A redirect could lead over the data boundary; so could a proxy named by the environment.
            follow_redirects=False,
            trust_env=service.boundary == "external",
            limits=httpx.Limits(max_connections=service.connections),
            transport=transport,
        )

    def post(self, body: dict[str, Any], most_bytes: int, pause: Callable[[float], object]) -> bytes:
        """The content of the good answer to a body.

        Args:
            body: Sent as JSON.
            most_bytes: A longer answer is not one to what was asked.
            pause: Waits between attempts; something true means that the caller has given up.

        Raises:
            RefusedError: The service does not take this body.
            StoppedError: `pause` said so.
            ConfigError: The host lies outside of the data boundary; nothing was sent.
            UpstreamError: No good answer within the attempts.
        """
        service = self._service
        try:
            return retried(
                lambda number: self._attempt(body, most_bytes, number),
                service.retries,
                pause,
                longest_delay=service.longest_delay,
            )
        except PassingError as error:
            raise self._failure(str(error), service.fix) from error

    def check_boundary(self) -> None:
        """Look the host up without sending anything.

        Raises:
            ConfigError: It lies outside of the data boundary.
            UpstreamError: Its name does not resolve.
        """
        targets_within(self.url, self._service.boundary, self._service.setting)

    def _attempt(self, body: dict[str, Any], most_bytes: int, number: int) -> bytes:
        try:
            status, headers, content = self._send(body, most_bytes, number)
        except httpx.TransportError as error:
            raise PassingError(f"{type(error).__name__}: {error}") from error
        if status == httpx.codes.OK:
            return content
        problem = f"HTTP {status}: {self._printable(content)}"
        if status in _ABOUT_CONTENT:
            raise RefusedError(problem)
        if status not in _RETRIED:
            raise self._failure(problem, f"check url, model and key file of the {self._service.setting}")
        raise PassingError(problem, retry_after(headers.get("retry-after"), time.time()))

    def _send(self, body: dict[str, Any], most_bytes: int, number: int) -> tuple[int, httpx.Headers, bytes]:
        # Resolved anew for each attempt: a service that has moved is found, and each address is tried in turn.
        targets = targets_within(self.url, self._service.boundary, self._service.setting)
        target = targets[number % len(targets)]
        request = self._client.build_request(
            "POST",
            target.url,
            json=body,
            headers={"Host": target.host_header},
            extensions={"sni_hostname": target.server_name},
        )
        started, limit = time.monotonic(), self._service.answer_seconds
        response = self._client.send(request, stream=True)
        try:
            content = bytearray()
            for part in response.iter_bytes():
                content += part
                if len(content) > most_bytes:
                    raise UpstreamError(
                        f"the {self._service.title} answered something else than was asked for",
                        where=self.url,
                        got=f"more than {most_bytes} bytes",
                    )
                if limit is not None and time.monotonic() - started > limit:
                    raise PassingError(f"the answer took more than {limit} seconds")
        finally:
            response.close()
        return response.status_code, response.headers, bytes(content)

    def _failure(self, problem: str, fix: str) -> UpstreamError:
        return UpstreamError(f"the {self._service.title} failed", where=self.url, got=problem, fix=fix)

    def _printable(self, content: bytes) -> str:
        # A service may repeat the key in its complaint.
        text = content[:2000].decode("utf-8", "replace")
        if self._secret:
            text = text.replace(self._secret, "<key>")
        return " ".join(text.split())[:200]


def _read_secret(path: Path) -> str:
    try:
        secret = path.expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("the API key cannot be read", where=path, got=type(error).__name__) from error
    if not secret.isascii() or not secret.isprintable() or not secret or " " in secret:
        raise ConfigError("the API key file must hold one key and nothing else", where=path)
    return secret
