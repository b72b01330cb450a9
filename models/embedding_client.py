"""Calls of an OpenAI-compatible `/embeddings` URL; every answer is checked."""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from babelray.config import EndpointSettings
from babelray.errors import UpstreamError
from babelray.keys import Role
from models.json_service import JsonService, Service

# A float in JSON takes up to 25 characters; more than this is not an answer to what was asked.
_BYTES_A_NUMBER, _BYTES_BESIDES = 40, 1_000_000


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
        self._service = JsonService(
            Service(
                title="embeddings service",
                setting="embedder",
                url=settings.url,
                path="/embeddings",
                key_file=settings.api_key_file,
                boundary=settings.data_boundary,
                timeout_seconds=settings.timeout_seconds,
                retries=settings.retries,
                connections=settings.concurrency,
                fix="see that the service runs; running the job again resumes",
            ),
            transport,
        )

    def ask(self, texts: Sequence[str], role: Role, stop: threading.Event) -> Answer:
        """Embed one batch of rendered texts.

        Args:
            texts: At least one.
            role: Sent along where the settings say so.
            stop: Ends the waiting between attempts.

        Raises:
            RefusedError: The service does not take these texts.
            StoppedError: `stop` was set before the next attempt.
            ConfigError: The host lies outside of the data boundary; nothing was sent.
            UpstreamError: No good answer within the attempts.
        """
        body: dict[str, Any] = {"model": self._settings.model, "input": list(texts), "encoding_format": "float"}
        if self._settings.send_input_type:
            body["input_type"] = role.value
        most = _BYTES_BESIDES + len(texts) * self._settings.dimension * _BYTES_A_NUMBER
        return self._answer(self._service.post(body, most, stop.wait), len(texts))

    def check_boundary(self) -> None:
        """Look the host up without sending anything.

        Raises:
            ConfigError: It lies outside of the data boundary.
            UpstreamError: Its name does not resolve.
        """
        self._service.check_boundary()

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
            where=self._service.url,
            got=got,
            allowed="for each text one vector of numbers, with its index",
            fix="check that `embedder.model` and `embedder.dimension` belong together",
        )
