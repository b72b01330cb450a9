"""Deterministic vectors from hashed words: texts that share words are near. For tests of what is not about meaning."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from babelray.config import HashSettings
from babelray.keys import ModelKey, Role
from babelray.protocols import Encoded
from models.tokenization import unique_rows
from models.vectors import normalized, spread

# Raise when the same text may get another vector.
_REVISION = "1"
_MAX_TOKENS = 8192
# Chinese, Japanese and Thai are written without spaces: there a character is a word.
_WORD = re.compile(
    r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|[^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]+"
)
# Components held at a time while words are summed: 32 MB.
_SLICE_COMPONENTS = 4_194_304


def hash_model_key(settings: HashSettings) -> ModelKey:
    """The key; dimension and seed shape the space."""
    return ModelKey(
        provider="hash",
        name=f"words-seed-{settings.seed}",
        revision=_REVISION,
        dimension=settings.dimension,
        pooling="mean",
        dtype="fp32",
        max_tokens=_MAX_TOKENS,
        tokenizer_revision=_REVISION,
    )


@dataclass(frozen=True, slots=True)
class HashedWords:
    """Words of n texts, u of them different, as numbers of 64 bits.

    Attributes:
        words: uint64, the different texts' words one after the other.
        lengths: int64 (u,), words of each; at least 1.
        truncated: bool (u,).
        rows: int64 (n,), which of the u each given text is.
    """

    words: NDArray[np.uint64]
    lengths: NDArray[np.int64]
    truncated: NDArray[np.bool_]
    rows: NDArray[np.int64]


class _WordNumbers(dict[str, int]):
    """Word -> 64 bits of its BLAKE2 digest, kept for words that come back."""

    def __missing__(self, word: str) -> int:
        digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        number = int.from_bytes(digest, "little")
        if len(self) >= 1_000_000:
            self.clear()
        self[word] = number
        return number


class HashEmbedder:
    """A vector is the sum of its words' pseudo-random integer vectors, normalized; implements `Embedder`.

    Sums are of integers, so the bytes are the same on every platform and in every process.
    """

    def __init__(self, settings: HashSettings) -> None:
        self._key = hash_model_key(settings)
        self._numbers = _WordNumbers()
        seeds = np.arange(settings.dimension, dtype=np.uint64) + np.uint64(settings.seed * 65_536 + 1)
        self._columns = _mix(seeds)

    @property
    def key(self) -> ModelKey:
        """The key of every vector this object returns."""
        return self._key

    def tokenize(self, texts: Sequence[str], role: Role) -> HashedWords:
        """Split into words, small letters, and hash them. Both roles are the same: the template is the text alone."""
        different, rows = unique_rows(texts)
        numbers: list[int] = []
        lengths = np.empty(len(different), dtype=np.int64)
        truncated = np.zeros(len(different), dtype=np.bool_)
        for position, text in enumerate(different):
            # A text without a word (empty, signs only) is one word by itself: it has a direction of its own.
            words = _WORD.findall(self._key.render(text, role).casefold()) or [text]
            truncated[position] = len(words) > _MAX_TOKENS
            words = words[:_MAX_TOKENS]
            lengths[position] = len(words)
            numbers.extend(map(self._numbers.__getitem__, words))
        return HashedWords(np.array(numbers, dtype=np.uint64), lengths, truncated, rows)

    def embed(self, tokenized: HashedWords) -> Encoded:
        """Sum and normalize."""
        sums = np.zeros((len(tokenized.lengths), self._key.dimension), dtype=np.int64)
        texts = np.repeat(np.arange(len(tokenized.lengths)), tokenized.lengths)
        size = max(1, _SLICE_COMPONENTS // self._key.dimension)
        for start in range(0, len(texts), size):
            words, inverse = np.unique(tokenized.words[start : start + size], return_inverse=True)
            first, where = np.unique(texts[start : start + size], return_index=True)
            sums[first] += np.add.reduceat(self._word_vectors(words)[inverse], where, axis=0)
        vectors, refused = normalized(sums)
        return spread(
            vectors, tokenized.lengths, tokenized.truncated, refused, tokenized.rows, int(tokenized.lengths.sum())
        )

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Tokenize and embed n texts."""
        return self.embed(self.tokenize(texts, role))

    def _word_vectors(self, words: NDArray[np.uint64]) -> NDArray[np.int32]:
        """int32 (len(words), dimension), each component uniform in -32768..32767."""
        mixed = _mix(words[:, None] ^ self._columns[None, :])
        return (mixed >> np.uint64(48)).astype(np.int32) - np.int32(32_768)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finalizer of SplitMix64: every input bit reaches every output bit."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)
