"""Query encodes of requests that come together, joined into one call by tokens."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from babelray.errors import UpstreamError
from babelray.keys import ModelKey, Role
from babelray.protocols import Embedder, Encoded
from babelray.text.tokens import count_tokens

TOKENS = 1024
"""Of one call: above, a longer batch makes each of its requests wait longer than it saves."""
WAIT_SECONDS = 0.002
"""Given to others to join, once somebody else is being served; a lone request does not wait."""


@dataclass(slots=True)
class _Asked:
    texts: tuple[str, ...]
    role: Role
    done: "Future[Encoded]"

    @property
    def tokens(self) -> int:
        return sum(count_tokens(text) for text in self.texts)


class JoinedEmbedder:
    """An `Embedder` that many threads share. The vectors are those that each would get alone.

    Args:
        inner: Does the work, one call at a time.
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._asked: list[_Asked] = []
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="encode", daemon=True)
        self._thread.start()

    @property
    def key(self) -> ModelKey:
        """The inner one's."""
        return self._inner.key

    def tokenize(self, texts: Sequence[str], role: Role) -> Any:
        """As the inner one."""
        return self._inner.tokenize(texts, role)

    def embed(self, tokenized: Any) -> Encoded:
        """As the inner one."""
        return self._inner.embed(tokenized)

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Embed n texts, together with what others ask for meanwhile.

        Raises:
            UpstreamError: The embedder failed, or this one was closed.
        """
        asked = [_Asked(part, role, Future()) for part in _parts(texts)]
        with self._changed:
            if self._closed:
                raise UpstreamError("the embedder is closed")
            self._asked += asked
            self._changed.notify()
        return _whole([one.done.result() for one in asked])

    def close(self) -> None:
        """Finish what was asked and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _serve(self) -> None:
        busy_until = 0.0
        while True:
            with self._changed:
                while not self._asked and not self._closed:
                    self._changed.wait()
                if not self._asked:
                    return
            if time.monotonic() < busy_until:
                time.sleep(WAIT_SECONDS)
            batch = self._take()
            self._answer(batch)
            busy_until = time.monotonic() + WAIT_SECONDS * 5 if len(batch) > 1 else 0.0

    def _take(self) -> list[_Asked]:
        """What is first, of queries before passages, and what fits beside it in the same role."""
        with self._changed:
            first = next((one for one in self._asked if one.role is Role.QUERY), self._asked[0])
            batch, rest, left = [first], [], TOKENS - first.tokens
            for one in self._asked:
                if one is first:
                    continue
                if one.role is batch[0].role and one.tokens <= left:
                    left -= one.tokens
                    batch.append(one)
                else:
                    rest.append(one)
            self._asked = rest
        return batch

    def _answer(self, batch: Sequence[_Asked]) -> None:
        try:
            whole = self._inner.encode([text for one in batch for text in one.texts], batch[0].role)
        except Exception as error:  # noqa: BLE001 - it is each caller's own error, raised where they wait
            for one in batch:
                one.done.set_exception(error)
            return
        first = 0
        for one in batch:
            one.done.set_result(_part(whole, first, first + len(one.texts)))
            first += len(one.texts)


def _parts(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Texts in order, in parts of no more than `TOKENS`, so that a long request lets others in between."""
    parts: list[list[str]] = [[]]
    left = TOKENS
    for text in texts:
        tokens = count_tokens(text)
        if parts[-1] and tokens > left:
            parts.append([])
            left = TOKENS
        parts[-1].append(text)
        left -= tokens
    return [tuple(part) for part in parts]


def _whole(parts: Sequence[Encoded]) -> Encoded:
    if len(parts) == 1:
        return parts[0]
    refused: dict[int, str] = {}
    first = 0
    for one in parts:
        refused |= {first + at: reason for at, reason in one.refused.items()}
        first += len(one.vectors)
    return Encoded(
        vectors=np.concatenate([one.vectors for one in parts]),
        tokens=np.concatenate([one.tokens for one in parts]),
        truncated=np.concatenate([one.truncated for one in parts]),
        refused=refused,
        padded_tokens=sum(one.padded_tokens for one in parts),
        computed_tokens=sum(one.computed_tokens for one in parts),
        tokens_estimated=any(one.tokens_estimated for one in parts),
    )


def _part(whole: Encoded, first: int, last: int) -> Encoded:
    refused = {at - first: reason for at, reason in whole.refused.items() if first <= at < last}
    tokens = int(np.sum(whole.tokens[first:last]))
    return Encoded(
        vectors=whole.vectors[first:last],
        tokens=whole.tokens[first:last],
        truncated=whole.truncated[first:last],
        refused=refused,
        padded_tokens=tokens,
        computed_tokens=tokens,
        tokens_estimated=whole.tokens_estimated,
    )
