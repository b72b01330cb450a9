"""The CPU side of an encoder: templates, tokens, truncation, and each different text only once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from babelray.keys import ModelKey, Role


@dataclass(frozen=True, slots=True)
class Tokenized:
    """Token ids of n texts, u of them different. Plain arrays: it may cross threads and processes.

    Attributes:
        ids: int32 (sum of lengths,), the different texts' tokens one after the other.
        starts: int64 (u + 1,), where each begins in `ids`.
        truncated: bool (u,), whether tokens were cut off.
        rows: int64 (n,), which of the u each given text is.
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    truncated: NDArray[np.bool_]
    rows: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64 (u,): tokens of each different text."""
        return np.diff(self.starts)

    def joined(self, members: NDArray[np.int64]) -> NDArray[np.int32]:
        """Ids of some of the u texts, one after the other."""
        return np.concatenate([self.ids[self.starts[member] : self.starts[member + 1]] for member in members])


def unique_rows(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The different texts in order of first appearance, and for each given text its position among them."""
    positions: dict[str, int] = {}
    rows = np.fromiter((positions.setdefault(text, len(positions)) for text in texts), dtype=np.int64, count=len(texts))
    return list(positions), rows


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which no tokenizer accepts, by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class TextTokenizer:
    """Tokenizes rendered texts with a Rust tokenizer, which releases the interpreter lock while it works.

    Args:
        backend: A `tokenizers.Tokenizer`; its padding and truncation are set here.
        key: Gives templates and the token cap.
    """

    def __init__(self, backend: Any, key: ModelKey) -> None:
        self._backend = backend
        self._backend.no_padding()
        self._backend.enable_truncation(max_length=key.max_tokens)
        self._key = key

    def tokenize(self, texts: Sequence[str], role: Role) -> Tokenized:
        """Render n texts into the template of their role and tokenize each different one once."""
        different, rows = unique_rows(texts)
        rendered = [self._key.render(without_surrogates(text), role) for text in different]
        encodings = self._backend.encode_batch_fast(rendered)
        starts = np.zeros(len(encodings) + 1, dtype=np.int64)
        starts[1:] = np.cumsum([len(encoding) for encoding in encodings])
        ids = np.empty(int(starts[-1]), dtype=np.int32)
        for position, encoding in enumerate(encodings):
            ids[starts[position] : starts[position + 1]] = encoding.ids
        truncated = np.fromiter((bool(encoding.overflowing) for encoding in encodings), np.bool_, len(encodings))
        return Tokenized(ids, starts, truncated, rows)
