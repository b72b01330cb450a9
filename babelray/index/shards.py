"""Parquet shards between the stages: what was prepared of a unit, and its vectors. Equal input gives equal bytes.

A prepared shard holds one row a document with its units nested in it, and no model, so that it serves every embedder.
An embedded shard holds one row a vector, first all chunks and then all sentences, in the order of the prepared shard.
Rows stand in the order given, no time or machine is written, and every page carries a checksum that readers compare.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from babelray.errors import InputError, IntegrityError
from babelray.index.digests import FileRecord
from babelray.index.prepared_schema import PREPARED_SCHEMA, document_of_row, document_row
from babelray.index.store import Store
from babelray.text.types import PreparedDocument

_ROW_GROUP = 256
"""Documents a row group: few enough that a reader holds little, many enough to compress."""
_VECTOR_ROW_GROUP = 65_536


def write_prepared(store: Store, path: str, documents: Sequence[PreparedDocument]) -> FileRecord:
    """Write the prepared documents of a unit, in the order given.

    Raises:
        InputError: A time has no zone.
    """
    rows = [document_row(one) for one in documents]
    return _write(store, path, pa.Table.from_pylist(rows, schema=PREPARED_SCHEMA), _ROW_GROUP)


def read_prepared(store: Store, path: str) -> Iterator[PreparedDocument]:
    """The prepared documents of a unit, row group by row group.

    Raises:
        InputError: There is no such file.
        IntegrityError: Not such a shard, or damaged.
    """
    with store.open_input(path) as source:
        file = _open(source, path)
        if not file.schema_arrow.equals(PREPARED_SCHEMA):
            raise _other_schema(path, file, PREPARED_SCHEMA)
        for group in range(file.num_row_groups):
            for row in _read(file, path, group).to_pylist():
                yield document_of_row(row)


@dataclass(frozen=True)
class EmbeddedShard:
    """Vectors of one unit, in the order of its prepared shard.

    Attributes:
        chunk_vectors: float16 (chunks, dimension), unit length; zero where refused.
        sentence_vectors: float16 (sentences, dimension); likewise.
        chunk_tokens, sentence_tokens: int32, tokens that the model read of each text.
        chunk_truncated, sentence_truncated: bool, whether tokens were cut off.
        chunk_refused, sentence_refused: Position -> reason of texts without a vector.
    """

    chunk_vectors: NDArray[np.float16]
    sentence_vectors: NDArray[np.float16]
    chunk_tokens: NDArray[np.int32]
    sentence_tokens: NDArray[np.int32]
    chunk_truncated: NDArray[np.bool_]
    sentence_truncated: NDArray[np.bool_]
    chunk_refused: Mapping[int, str] = field(default_factory=dict)
    sentence_refused: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chunks, sentences = len(self.chunk_vectors), len(self.sentence_vectors)
        fits = (
            self.chunk_vectors.shape == (chunks, self.dimension)
            and self.sentence_vectors.shape == (sentences, self.dimension)
            and self.chunk_vectors.dtype == self.sentence_vectors.dtype == np.float16
            and self.chunk_tokens.shape == self.chunk_truncated.shape == (chunks,)
            and self.sentence_tokens.shape == self.sentence_truncated.shape == (sentences,)
            and all(0 <= at < chunks for at in self.chunk_refused)
            and all(0 <= at < sentences for at in self.sentence_refused)
        )
        if not fits:
            shapes = {
                name: (value.shape, str(value.dtype)) for name, value in vars(self).items() if hasattr(value, "shape")
            }
            raise InputError("the parts of an embedded shard do not fit each other", got=shapes)

    @property
    def dimension(self) -> int:
        """Components of a vector."""
        return int(self.chunk_vectors.shape[-1])


def embedded_schema(dimension: int) -> pa.Schema:
    """Columns of an embedded shard."""
    return pa.schema(
        [
            ("kind", pa.string()),  # chunk | sentence
            ("vector", pa.list_(pa.float16(), dimension)),
            ("tokens", pa.int32()),
            ("truncated", pa.bool_()),
            ("refused", pa.string()),
        ]
    )


def write_embedded(store: Store, path: str, shard: EmbeddedShard) -> FileRecord:
    """Write the vectors of a unit."""
    chunks, sentences = len(shard.chunk_vectors), len(shard.sentence_vectors)
    vectors = np.concatenate([shard.chunk_vectors, shard.sentence_vectors])
    refused = [shard.chunk_refused.get(at) for at in range(chunks)]
    refused += [shard.sentence_refused.get(at) for at in range(sentences)]
    columns = [
        pa.array(["chunk"] * chunks + ["sentence"] * sentences, pa.string()),
        pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1), pa.float16()), shard.dimension),
        pa.array(np.concatenate([shard.chunk_tokens, shard.sentence_tokens]), pa.int32()),
        pa.array(np.concatenate([shard.chunk_truncated, shard.sentence_truncated]), pa.bool_()),
        pa.array(refused, pa.string()),
    ]
    table = pa.Table.from_arrays(columns, schema=embedded_schema(shard.dimension))
    # Vectors never repeat, so that a dictionary of them is wasted work; their bytes compress better by significance.
    return _write(
        store,
        path,
        table,
        _VECTOR_ROW_GROUP,
        use_dictionary=["kind", "refused"],
        column_encoding={"vector.list.element": "BYTE_STREAM_SPLIT"},
    )


def read_embedded(store: Store, path: str) -> EmbeddedShard:
    """The vectors of a unit.

    Raises:
        InputError: There is no such file.
        IntegrityError: Not such a shard, or damaged.
    """
    with store.open_input(path) as source:
        file = _open(source, path)
        dimension = _dimension(file.schema_arrow)
        if not file.schema_arrow.equals(embedded_schema(dimension)):
            raise _other_schema(path, file, embedded_schema(dimension))
        table = _read(file, path).combine_chunks()
    kinds = table["kind"].to_pylist()
    chunks = kinds.count("chunk")
    if kinds != ["chunk"] * chunks + ["sentence"] * (len(kinds) - chunks):
        raise IntegrityError("the rows of an embedded shard are not chunks, then sentences", where=path)
    tokens = table["tokens"].to_numpy().astype(np.int32)
    truncated = np.array(table["truncated"].to_pylist(), dtype=bool)
    vectors = _vectors(table["vector"], dimension)
    refused = {at: reason for at, reason in enumerate(table["refused"].to_pylist()) if reason is not None}
    return EmbeddedShard(
        chunk_vectors=vectors[:chunks],
        sentence_vectors=vectors[chunks:],
        chunk_tokens=tokens[:chunks],
        sentence_tokens=tokens[chunks:],
        chunk_truncated=truncated[:chunks],
        sentence_truncated=truncated[chunks:],
        chunk_refused={at: reason for at, reason in refused.items() if at < chunks},
        sentence_refused={at - chunks: reason for at, reason in refused.items() if at >= chunks},
    )


def _write(store: Store, path: str, table: pa.Table, row_group: int, **encoding: Any) -> FileRecord:
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        row_group_size=row_group,
        write_statistics=False,
        write_page_checksum=True,
        **encoding,
    )
    return store.write_atomic(path, sink.getvalue().to_pybytes())


def _open(source: Any, path: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(source, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _read(file: pq.ParquetFile, path: str, group: int | None = None) -> pa.Table:
    try:
        return file.read() if group is None else file.read_row_group(group)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _damaged(path: str, error: Exception) -> IntegrityError:
    return IntegrityError(
        "a shard cannot be read",
        where=path,
        got=str(error)[:200],
        fix="remove it and its receipt, and run the job again",
    )


def _other_schema(path: str, file: pq.ParquetFile, schema: pa.Schema) -> IntegrityError:
    return IntegrityError(
        "a shard has another schema",
        where=path,
        got=file.schema_arrow.names,
        allowed=schema.names,
        fix="it was written by another version: remove it and its receipt, and run the job again",
    )


def _dimension(schema: pa.Schema) -> int:
    """Of the vectors of an embedded shard; 1 where it is none, which the comparison of schemas then finds."""
    kind: Any = schema.field("vector").type if "vector" in schema.names else None
    return int(kind.list_size) if kind is not None and pa.types.is_fixed_size_list(kind) else 1


def _vectors(column: pa.ChunkedArray, dimension: int) -> NDArray[np.float16]:
    parts = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks]
    joined = np.concatenate(parts) if parts else np.zeros(0, dtype=np.float16)
    return joined.reshape(-1, dimension)
