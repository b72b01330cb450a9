"""Dividing large inputs: JSONL at line ends into parts of about a megabyte, Parquet by row groups."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from babelray.errors import InputError
from babelray.text.readers.storage import SourceRoot

PART_BYTES = 2**20
"""Aim for the size of a part: a few thousand rows of usual length."""
_BLOCK = 2**20


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes or row groups `start` to `stop` (exclusive)."""

    start: int
    stop: int
    size: int
    digest: str


def bytes_digest(data: bytes) -> str:
    """16 hex digits of SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def file_digest(root: SourceRoot, path: str) -> str:
    """Digest of a whole file, read in blocks."""
    digest = hashlib.sha256()
    with root.filesystem.open_input_stream(root.full(path)) as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()[:16]


def line_ranges(root: SourceRoot, path: str, part_bytes: int = PART_BYTES) -> Iterator[Range]:
    """Byte ranges that hold whole lines, each ended by the first line end at or after `part_bytes`."""
    start = size = 0
    digest = hashlib.sha256()
    with root.filesystem.open_input_stream(root.full(path)) as stream:
        while block := stream.read(_BLOCK):
            rest = memoryview(block)
            while rest:
                # The line end counts that makes the part long enough; before it, any number of lines may pass.
                at = block.find(b"\n", len(block) - len(rest) + max(0, part_bytes - size - 1))
                taken = rest if at < 0 else rest[: at + 1 - (len(block) - len(rest))]
                digest.update(taken)
                size += len(taken)
                rest = rest[len(taken) :]
                if at >= 0:
                    yield Range(start, start + size, size, digest.hexdigest()[:16])
                    start, size, digest = start + size, 0, hashlib.sha256()
    if size:
        yield Range(start, start + size, size, digest.hexdigest()[:16])


def row_group_ranges(root: SourceRoot, path: str, part_bytes: int = PART_BYTES) -> Iterator[Range]:
    """Runs of row groups of about `part_bytes` of uncompressed data, one group at least.

    Raises:
        InputError: The file is no Parquet.
    """
    whole = file_digest(root, path)
    with root.filesystem.open_input_file(root.full(path)) as stream:
        metadata = open_parquet(stream, path).metadata
    start = size = 0
    for group in range(metadata.num_row_groups):
        size += metadata.row_group(group).total_byte_size
        if size >= part_bytes or group + 1 == metadata.num_row_groups:
            name = bytes_digest(f"{whole}:{start}:{group + 1}".encode())
            yield Range(start, group + 1, size, name)
            start, size = group + 1, 0


def open_parquet(stream: pa.NativeFile, path: str) -> pq.ParquetFile:
    """Open a Parquet file.

    Raises:
        InputError: It is none, or damaged.
    """
    try:
        return pq.ParquetFile(stream)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            "a Parquet file cannot be read", where=path, got=str(error).splitlines()[0], fix="write the file again"
        ) from error
