"""Deterministic vectors from hashed words: texts that share words are near. For tests of what is not about meaning."""

import functools
import hashlib
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
_BETWEEN, _IN_WORD, _ALONE = 0, 1, 2
# Chinese, Japanese and Thai are written without spaces: there a character is a word.
_ALONE_RANGES = ((0x0E00, 0x0E80), (0x3040, 0x3100), (0x3400, 0xA000), (0x20000, 0x32000))
_MULTIPLIER = np.uint64(0x5851F42D4C957F2D)
# Components held at a time while words are summed: 16 MB.
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
    """Words of n texts, u of them different, as hashes of 64 bits.

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


class HashEmbedder:
    """A vector is the sum of its words' pseudo-random integer vectors, normalized; implements `Embedder`.

    Sums are of integers, so the bytes are the same on every platform and in every process.
    """

    def __init__(self, settings: HashSettings) -> None:
        self._key = hash_model_key(settings)
        seeds = np.arange(settings.dimension, dtype=np.uint64) + np.uint64(settings.seed * 65_536 + 1)
        self._columns = _mix(seeds)

    @property
    def key(self) -> ModelKey:
        """The key of every vector this object returns."""
        return self._key

    def tokenize(self, texts: Sequence[str], role: Role) -> HashedWords:
        """Split into words, small letters, and hash them. Both roles are the same: the template is the text alone."""
        different, rows = unique_rows(texts)
        folded = [self._key.render(text, role).casefold() for text in different]
        words, lengths = _hashed_words(folded)
        truncated = lengths > _MAX_TOKENS
        if truncated.any():
            place = np.arange(len(words)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            words, lengths = words[place < _MAX_TOKENS], np.minimum(lengths, _MAX_TOKENS)
        wordless = np.flatnonzero(lengths == 0)
        if len(wordless):
            # A text without a word (empty, signs only) is one word by itself: it has a direction of its own.
            whole = np.array([_hash_of_text(folded[position]) for position in wordless], dtype=np.uint64)
            words = np.insert(words, np.cumsum(lengths)[wordless], whole)
            lengths[wordless] = 1
        return HashedWords(words, lengths, truncated, rows)

    def embed(self, tokenized: HashedWords) -> Encoded:
        """Sum and normalize."""
        lengths, dimension = tokenized.lengths, self._key.dimension
        words, numbers = np.unique(tokenized.words, return_inverse=True)
        table = self._word_vectors(words)
        starts = np.cumsum(lengths) - lengths
        sums = np.zeros((len(lengths), dimension), dtype=np.int64)
        # Texts of equal length form a block that is summed in one go.
        for length in np.unique(lengths):
            members = np.flatnonzero(lengths == length)
            step = max(1, _SLICE_COMPONENTS // (int(length) * dimension))
            for first in range(0, len(members), step):
                part = members[first : first + step]
                sums[part] = table[numbers[starts[part][:, None] + np.arange(length)]].sum(axis=1, dtype=np.int64)
        vectors, refused = normalized(sums)
        return spread(vectors, lengths, tokenized.truncated, refused, tokenized.rows, int(lengths.sum()))

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Tokenize and embed n texts."""
        return self.embed(self.tokenize(texts, role))

    def _word_vectors(self, words: NDArray[np.uint64]) -> NDArray[np.int16]:
        """int16 (len(words), dimension), each component uniform in -32768..32767."""
        table = np.empty((len(words), self._key.dimension), dtype=np.int16)
        step = max(1, _SLICE_COMPONENTS // self._key.dimension)
        for first in range(0, len(words), step):
            mixed = _mix(words[first : first + step, None] ^ self._columns)
            table[first : first + step] = (mixed >> np.uint64(48)).astype(np.uint16).view(np.int16)
        return table


def _hashed_words(texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hashes of the words of u texts, one after the other, and how many each text has.

    A word's hash is a polynomial over its code points; all words are hashed in a few passes over all characters.
    """
    characters = np.frombuffer("\n".join([*texts, ""]).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    classes = _character_classes()[characters]
    before = np.concatenate([[_BETWEEN], classes[:-1]])
    begins = (classes == _ALONE) | ((classes == _IN_WORD) & (before != _IN_WORD))
    inside = np.flatnonzero(classes)
    firsts = np.flatnonzero(begins[inside])
    offsets = np.arange(len(inside)) - np.repeat(firsts, np.diff(firsts, append=len(inside)))
    powers = np.full(int(offsets.max(initial=0)) + 1, _MULTIPLIER)
    powers[0] = 1
    terms = (characters[inside].astype(np.uint64) + np.uint64(1)) * np.cumprod(powers)[offsets]
    hashes = _mix(np.add.reduceat(terms, firsts)) if len(firsts) else np.zeros(0, dtype=np.uint64)
    text_ends = np.cumsum([len(text) + 1 for text in texts], dtype=np.int64)
    owners = np.searchsorted(text_ends, inside[firsts], side="right")
    return hashes, np.bincount(owners, minlength=len(texts)).astype(np.int64)


def _hash_of_text(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@functools.lru_cache(maxsize=1)
def _character_classes() -> NDArray[np.uint8]:
    """uint8 (0x110000,): for each code point whether it is between words, in a word, or a word alone."""
    known = (chr(number).isalnum() or number == ord("_") for number in range(0x110000))
    classes = np.fromiter(known, dtype=np.uint8, count=0x110000)
    for first, stop in _ALONE_RANGES:
        classes[first:stop] *= _ALONE
    return classes


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finalizer of SplitMix64: every input bit reaches every output bit."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)
