"""An OpenAI-compatible embeddings service as an embedder: bounded concurrency, no text over the data boundary."""

import dataclasses
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx
import numpy as np
from numpy.typing import NDArray

from babelray.config import EndpointSettings
from babelray.errors import BabelrayError, UpstreamError
from babelray.keys import ModelKey, Role
from babelray.protocols import Encoded
from babelray.text.tokens import count_tokens
from models.embedding_client import EmbeddingClient
from models.json_service import RefusedError
from models.retries import StoppedError
from models.tokenization import unique_rows, without_surrogates
from models.vectors import normalized, spread

logger = logging.getLogger(__name__)

REFUSED_BY_SERVICE = "refused_by_service"


def endpoint_key(settings: EndpointSettings) -> ModelKey:
    """Key of an endpoint's vectors; the revision is what its operator calls this version.

    A service that is told the role puts its own template around the text, so the templates' versions say so.
    """
    by_role = "+input_type" if settings.send_input_type else ""
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
        query_template_version=settings.query_template_version + by_role,
        passage_template=settings.passage_template,
        passage_template_version=settings.passage_template_version + by_role,
    )


@dataclass(frozen=True, slots=True)
class RenderedTexts:
    """What will be sent for n texts, u of them different.

    Attributes:
        texts: u rendered texts.
        estimates: int64 (u,), tokens by the model-free counter, at least 1.
        rows: int64 (n,), which of the u each given text is.
    """

    texts: list[str]
    estimates: NDArray[np.int64]
    rows: NDArray[np.int64]
    role: Role


class EndpointEmbedder:
    """An `Embedder` over HTTP.

    A service counts tokens by request, not by text: its count is divided among a batch's texts in proportion to the
    model-free counter's estimates, which stand alone where the service does not count. `Encoded.tokens_estimated` is
    always true here, and truncation is what the estimates say: the service does not tell.

    Args:
        settings: Limits and templates.
        client: Sends the batches.
    """

    def __init__(self, settings: EndpointSettings, client: EmbeddingClient) -> None:
        self._settings = settings
        self._client = client
        self._key = endpoint_key(settings)

    @classmethod
    def from_settings(
        cls, settings: EndpointSettings, transport: httpx.BaseTransport | None = None
    ) -> "EndpointEmbedder":
        """Make the client too; see `EmbeddingClient` for what it refuses."""
        return cls(settings, EmbeddingClient(settings, transport))

    @property
    def key(self) -> ModelKey:
        """The key of every vector this object returns."""
        return self._key

    def tokenize(self, texts: Sequence[str], role: Role) -> RenderedTexts:
        """Render each different text into its role's template; the service tokenizes."""
        different, rows = unique_rows(texts)
        rendered = [self._key.render(without_surrogates(text), role) for text in different]
        estimates = np.array([max(1, count_tokens(text)) for text in rendered], dtype=np.int64)
        return RenderedTexts(rendered, estimates, rows, role)

    def embed(self, tokenized: RenderedTexts) -> Encoded:
        """Send the texts in batches, several at a time, and check what comes back.

        Raises:
            ConfigError: The service lies outside of the data boundary; nothing was sent.
            UpstreamError: The service failed after its retries, its answer is not what was asked for, or it refused
                every text.
        """
        count, size = len(tokenized.texts), self._settings.batch_size
        work = _Work(
            tokenized, np.zeros((count, self._key.dimension), dtype=np.float32), tokenized.estimates.copy(), {}
        )
        with ThreadPoolExecutor(max_workers=self._settings.concurrency) as pool:
            batches = (np.arange(start, min(start + size, count)) for start in range(0, count, size))
            futures = [pool.submit(self._run_batch, members, work) for members in batches]
        errors = [error for future in futures if (error := future.exception()) is not None]
        if errors:
            # Batches that were stopped because of another's failure are not the cause.
            raise next((error for error in errors if not isinstance(error, StoppedError)), errors[0])
        if count and len(work.refusals) == count:
            raise UpstreamError(
                "the embeddings service refused every text",
                where=self._settings.url,
                got=work.refusals[0],
                fix="check model, token cap and key file of the embedder",
            )
        return self._encoded(work)

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Render and embed n texts."""
        return self.embed(self.tokenize(texts, role))

    def _run_batch(self, members: NDArray[np.int64], work: "_Work") -> None:
        """Ask for one batch; halve it where the service refuses its texts, to find the one that is meant."""
        pending = [members]
        while pending:
            part = pending.pop()
            if work.stop.is_set():
                raise StoppedError
            texts = [work.tokenized.texts[member] for member in part]
            try:
                answer = self._client.ask(texts, work.tokenized.role, work.stop)
            except RefusedError as error:
                if len(part) > 1:
                    half = (len(part) + 1) // 2
                    pending += [part[half:], part[:half]]
                    continue
                work.refusals[int(part[0])] = str(error)
                logger.warning("the embeddings service refused a text: %s", error)
            except BabelrayError:
                work.stop.set()
                raise
            else:
                work.vectors[part] = answer.vectors
                if answer.tokens is not None:
                    work.tokens[part] = divided(answer.tokens, work.tokenized.estimates[part])

    def _encoded(self, work: "_Work") -> Encoded:
        vectors, refused = normalized(work.vectors)
        refused |= dict.fromkeys(work.refusals, REFUSED_BY_SERVICE)
        truncated = work.tokenized.estimates > self._key.max_tokens
        tokens = np.minimum(work.tokens, self._key.max_tokens)
        encoded = spread(vectors, tokens, truncated, refused, work.tokenized.rows, padded_tokens=int(tokens.sum()))
        return dataclasses.replace(encoded, tokens_estimated=True)


@dataclass(frozen=True, slots=True)
class _Work:
    """What the threads of one call share; each writes to the rows of its own batch only."""

    tokenized: RenderedTexts
    vectors: NDArray[np.float32]
    tokens: NDArray[np.int64]
    refusals: dict[int, str]
    stop: threading.Event = field(default_factory=threading.Event)


def divided(total: int, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Divide a whole number in proportion to positive weights, so that the parts sum to it.

    Args:
        total: 0 or more.
        weights: int64 (n,), at least 1 each.
    """
    bounds: NDArray[np.int64] = np.cumsum(weights) * total // weights.sum()
    return np.diff(bounds, prepend=np.int64(0))
