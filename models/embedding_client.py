"""Calls of an OpenAI-compatible `/embeddings` URL: retried where that helps, and every answer checked."""

import email.utils
import json
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from babelray.config import EndpointSettings
from babelray.errors import ConfigError, UpstreamError
from babelray.keys import Role
from models.data_boundary import parse_base_url, targets_within

_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
# These may concern one text of a batch (too long, empty, not accepted); others concern every text.
_ABOUT_TEXTS = frozenset({400, 413, 422})
_FIRST_DELAY, _LONGEST_DELAY = 0.25, 60.0
# A float in JSON takes up to 25 characters; more than this is not an answer to what was asked.
_BYTES_A_NUMBER, _BYTES_BESIDES = 40, 1_000_000


class TextsRefusedError(Exception):
    """The service refused a batch for what is in it; holds the answer for the error of the last text alone."""


class StoppedError(Exception):
    """Another batch of the same call failed for good, so this one was not tried again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Vectors of one batch, float32 (n, dimension), not normalized; tokens as the service counts them, if it does."""

    vectors: NDArray[np.float32]
    tokens: int | None


class EmbeddingClient:
    """Sends one batch at a time; safe to call from several threads.

    Args:
        settings: URL, model, limits.
        transport: Stands in for the network in tests.

    Raises:
        ConfigError: The URL or the key file is not usable.
    """

    def __init__(self, settings: EndpointSettings, transport: httpx.BaseTransport | None = None) -> None:
        self._settings = settings
        base = parse_base_url(settings.url)
        self._url = base.copy_with(path=base.path.rstrip("/") + "/embeddings")
        self._secret = _read_secret(settings.api_key_file) if settings.api_key_file else None
        self._client = httpx.Client(
            timeout=settings.timeout_seconds,
            headers={"Authorization": f"Bearer {self._secret}"} if self._secret else {},
            # A redirect could lead over the data boundary; so could a proxy named by the environment.
            follow_redirects=False,
            trust_env=settings.data_boundary == "external",
            limits=httpx.Limits(max_connections=settings.concurrency),
            transport=transport,
        )

    def ask(self, texts: Sequence[str], role: Role, stop: threading.Event) -> Answer:
        """Embed one batch of rendered texts.

        Args:
            texts: At least one.
            role: Sent along where the settings say so.
            stop: Ends the waiting between attempts.

        Raises:
            TextsRefusedError: The service does not take these texts.
            StoppedError: `stop` was set before the next attempt.
            ConfigError: The host lies outside of the data boundary; nothing was sent.
            UpstreamError: No good answer within the attempts.
        """
        body: dict[str, Any] = {"model": self._settings.model, "input": list(texts), "encoding_format": "float"}
        if self._settings.send_input_type:
            body["input_type"] = role.value
        problem = ""
        for attempt in range(self._settings.retries + 1):
            asked: float | None = None
            try:
                status, headers, content = self._post(body, attempt, len(texts))
            except httpx.TransportError as error:
                problem = f"{type(error).__name__}: {error}"
            else:
                if status == httpx.codes.OK:
                    return self._answer(content, len(texts))
                problem = f"HTTP {status}: {self._printable(content)}"
                if status in _ABOUT_TEXTS:
                    raise TextsRefusedError(problem)
                if status not in _RETRIED:
                    raise self._failure(problem, "check url, model and key file of the embedder")
                asked = retry_after(headers.get("retry-after"), time.time())
            if attempt < self._settings.retries and stop.wait(delay_before(attempt + 1, asked)):
                raise StoppedError
        raise self._failure(problem, "see that the service runs; running the job again resumes")

    def check_boundary(self) -> None:
        """Look the host up without sending anything.

        Raises:
            ConfigError: It lies outside of the data boundary.
            UpstreamError: Its name does not resolve.
        """
        targets_within(self._url, self._settings.data_boundary)

    def _post(self, body: dict[str, Any], attempt: int, count: int) -> tuple[int, httpx.Headers, bytes]:
        # Resolved anew for each attempt: a service that has moved is found, and each address is tried in turn.
        targets = targets_within(self._url, self._settings.data_boundary)
        target = targets[attempt % len(targets)]
        limit = _BYTES_BESIDES + count * self._settings.dimension * _BYTES_A_NUMBER
        request = self._client.build_request(
            "POST",
            target.url,
            json=body,
            headers={"Host": target.host_header},
            extensions={"sni_hostname": target.server_name},
        )
        response = self._client.send(request, stream=True)
        try:
            content = bytearray()
            for part in response.iter_bytes():
                content += part
                if len(content) > limit:
                    raise self._nonsense(f"more than {limit} bytes for {count} texts")
        finally:
            response.close()
        return response.status_code, response.headers, bytes(content)

    def _answer(self, content: bytes, count: int) -> Answer:
        try:
            answer = json.loads(content)
            with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused as such
                rows = {int(item["index"]): np.asarray(item["embedding"], dtype=np.float32) for item in answer["data"]}
            given = len(answer["data"])
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise self._nonsense(f"{type(error).__name__}: {error}") from error
        if given != count or sorted(rows) != list(range(count)):
            raise self._nonsense(f"{given} vectors with indexes {sorted(rows)[:8]} for {count} texts")
        shapes = sorted({row.shape for row in rows.values()})
        if shapes != [(self._settings.dimension,)]:
            raise self._nonsense(f"shapes {shapes[:4]} instead of ({self._settings.dimension},)")
        usage = answer.get("usage")
        tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        counted = tokens if isinstance(tokens, int) and tokens >= 0 else None
        return Answer(np.stack([rows[position] for position in range(count)]), counted)

    def _nonsense(self, got: str) -> UpstreamError:
        return UpstreamError(
            "the embeddings service answered something else than was asked for",
            where=self._url,
            got=got,
            allowed="for each text one vector of numbers, with its index",
            fix="check that `embedder.model` and `embedder.dimension` belong together",
        )

    def _failure(self, problem: str, fix: str) -> UpstreamError:
        return UpstreamError("the embeddings service failed", where=self._url, got=problem, fix=fix)

    def _printable(self, content: bytes) -> str:
        # A service may repeat the key in its complaint.
        text = content[:2000].decode("utf-8", "replace")
        if self._secret:
            text = text.replace(self._secret, "<key>")
        return " ".join(text.split())[:200]


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


def delay_before(attempt: int, asked: float | None) -> float:
    """Seconds to wait before a repeated attempt (1 is the first): what the service asked for, or doubling from 0.25.

    Doubled delays are shortened at random by up to half, so that many workers do not come back at the same moment.
    """
    if asked is not None:
        return min(asked, _LONGEST_DELAY)
    longest: float = min(_FIRST_DELAY * 2 ** (attempt - 1), _LONGEST_DELAY)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311


def _read_secret(path: Path) -> str:
    try:
        secret = path.expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("the API key cannot be read", where=path, got=type(error).__name__) from error
    if not secret.isascii() or not secret.isprintable() or not secret or " " in secret:
        raise ConfigError("the API key file must hold one key and nothing else", where=path)
    return secret
