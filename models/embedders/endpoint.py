"""An OpenAI-compatible embeddings service as an embedder: batched, bounded, retried, and every answer checked."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from babelray.config import EndpointSettings
from babelray.errors import ConfigError, UpstreamError
from babelray.keys import ModelKey, Role
from babelray.protocols import Encoded
from babelray.text.tokens import count_tokens
from models.data_boundary import check_boundary

_RETRIED = {408, 425, 429, 500, 502, 503, 504}
_FIRST_DELAY = 0.25
_MAX_DELAY = 30.0
_MAX_ANSWER_BYTES = 512 * 2**20


def endpoint_key(settings: EndpointSettings) -> ModelKey:
    """Key of an endpoint's vectors; the revision is what its operator calls this version."""
    return ModelKey(
        provider="endpoint",
        name=settings.model,
        revision=settings.revision,
        endpoint=settings.url.rstrip("/"),
        dimension=settings.dimension,
        pooling="provider",
        dtype="provider",
        max_tokens=settings.max_tokens,
        tokenizer_revision=settings.revision,
        query_template=settings.query_template,
        query_template_version=settings.query_template_version,
        passage_template=settings.passage_template,
        passage_template_version=settings.passage_template_version,
    )


@dataclass(frozen=True, slots=True)
class Request:
    """Distinct rendered texts of a call, and the place of each text among them."""

    texts: list[str]
    place: NDArray[np.int64]


class EndpointEmbedder:
    """An `Embedder` over HTTP.

    Token counts are estimates by the model-free counter, since the services count by request and not by text.

    Args:
        settings: URL, model, limits.
        transport: Stands in for the network in tests.
    """

    def __init__(self, settings: EndpointSettings, transport: httpx.BaseTransport | None = None) -> None:
        check_boundary(settings.url, settings.data_boundary)
        self._settings = settings
        self._key = endpoint_key(settings)
        self._url = settings.url.rstrip("/") + "/embeddings"
        headers = {"Authorization": f"Bearer {_read_secret(settings)}"} if settings.api_key_file else {}
        # A redirect could lead over the data boundary, so none is followed.
        self._client = httpx.Client(
            timeout=settings.timeout_seconds, headers=headers, follow_redirects=False, transport=transport
        )

    @property
    def key(self) -> ModelKey:
        """Key of all vectors."""
        return self._key

    def tokenize(self, texts: Sequence[str], role: Role) -> Request:
        """Put each distinct text into its role's template; the service tokenizes."""
        distinct = list(dict.fromkeys(texts))
        number = {text: at for at, text in enumerate(distinct)}
        place = np.fromiter((number[text] for text in texts), dtype=np.int64, count=len(texts))
        return Request([self._key.render(text, role) for text in distinct], place)

    def embed(self, tokenized: Request) -> Encoded:
        """Send the texts in batches and check what comes back.

        Raises:
            UpstreamError: The service failed after its retries, or its answer is not what was asked for.
        """
        texts, size = tokenized.texts, self._settings.batch_size
        check_boundary(self._settings.url, self._settings.data_boundary)
        batches = [texts[at : at + size] for at in range(0, len(texts), size)]
        with ThreadPoolExecutor(max_workers=self._settings.concurrency) as pool:
            parts = list(pool.map(self._ask, batches))
        vectors = np.concatenate(parts) if parts else np.zeros((0, self._key.dimension), dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1)
        zero = lengths < 1e-9
        np.divide(vectors, lengths[:, None], out=vectors, where=~zero[:, None])
        tokens = np.array([count_tokens(text) for text in texts], dtype=np.int32)
        limit = self._key.max_tokens
        place = tokenized.place
        return Encoded(
            vectors=vectors[place],
            tokens=np.minimum(tokens, limit)[place],
            truncated=(tokens > limit)[place],
            refused=dict.fromkeys(np.flatnonzero(zero[place]).tolist(), "zero_vector"),
            padded_tokens=int(np.minimum(tokens, limit).sum()),
        )

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Render and embed."""
        return self.embed(self.tokenize(texts, role))

    def _ask(self, texts: Sequence[str]) -> NDArray[np.float32]:
        body = {"model": self._settings.model, "input": list(texts), "encoding_format": "float"}
        problem = ""
        for attempt in range(self._settings.retries + 1):
            if attempt:
                time.sleep(self._delay(attempt, problem))
            try:
                answer = self._client.post(self._url, json=body)
            except httpx.TransportError as error:
                problem = f"{type(error).__name__}: {error}"
                continue
            if answer.status_code in _RETRIED:
                problem = f"HTTP {answer.status_code} {answer.headers.get('retry-after', '')}".strip()
                continue
            return self._vectors(answer, len(texts))
        raise UpstreamError(
            "the embeddings service failed",
            where=self._url,
            got=problem,
            allowed=f"an answer within {self._settings.retries + 1} attempts",
            fix="see that the service runs; running the job again resumes",
        )

    @staticmethod
    def _delay(attempt: int, problem: str) -> float:
        asked = problem.rpartition(" ")[2]
        if problem.startswith("HTTP") and asked.isdigit() and len(problem.split()) == 3:
            return min(float(asked), _MAX_DELAY)
        return float(min(_FIRST_DELAY * 2 ** (attempt - 1), _MAX_DELAY))

    def _vectors(self, answer: httpx.Response, count: int) -> NDArray[np.float32]:
        if answer.status_code != 200:
            raise UpstreamError(
                "the embeddings service refused the request",
                where=self._url,
                got=f"HTTP {answer.status_code}: {answer.text[:200]}",
                fix="check `embedder.model`, the key file and the texts' length",
            )
        if len(answer.content) > _MAX_ANSWER_BYTES:
            raise self._nonsense(f"{len(answer.content)} bytes")
        try:
            data: list[dict[str, Any]] = answer.json()["data"]
            rows = {int(item["index"]): np.asarray(item["embedding"], dtype=np.float32) for item in data}
        except (ValueError, KeyError, TypeError) as error:
            raise self._nonsense(f"{type(error).__name__}: {error}") from error
        if sorted(rows) != list(range(count)):
            raise self._nonsense(f"indexes {sorted(rows)[:8]}... for {count} texts")
        shapes = {row.shape for row in rows.values()}
        if shapes != {(self._key.dimension,)}:
            raise self._nonsense(f"shapes {sorted(shapes)}, expected ({self._key.dimension},)")
        vectors = np.stack([rows[at] for at in range(count)])
        if not np.isfinite(vectors).all():
            raise self._nonsense("values that are not finite")
        return vectors

    def _nonsense(self, got: str) -> UpstreamError:
        return UpstreamError(
            "the embeddings service answered something else than was asked for",
            where=self._url,
            got=got,
            allowed="one finite vector a text, with its index",
            fix="check that `embedder.model` and `embedder.dimension` belong together",
        )


def _read_secret(settings: EndpointSettings) -> str:
    path = settings.api_key_file
    assert path is not None
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError("cannot read the API key", where=path, got=error.strerror) from error
    if not secret or any(char.isspace() for char in secret):
        raise ConfigError("the API key file must hold one key and nothing else", where=path)
    return secret
