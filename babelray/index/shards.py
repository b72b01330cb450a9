"""Parquet shards between the stages: what was prepared of a unit, and its vectors. Equal input gives equal bytes.

A prepared shard holds one row a document with its units nested in it, and no model, so that it serves every embedder.
An embedded shard holds one row a vector, first all chunks and then all sentences, in the order of the prepared shard.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from babelray.errors import IntegrityError
from babelray.index.digests import FileRecord
from babelray.index.store import Store
from babelray.protocols import LanguageCandidate
from babelray.text.types import Block, BlockKind, Chunk, Cut, Document, PreparedDocument, Sentence

_STRINGS = pa.list_(pa.string())
_SHARES = pa.list_(pa.struct([("script", pa.string()), ("share", pa.float64())]))
_TIME = pa.timestamp("us", tz="UTC")
_BLOCK = pa.struct(
    [
        ("kind", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("section_path", _STRINGS),
        ("cuts", pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64()), ("replacement", pa.string())]))),
        ("language", pa.string()),
        ("language_candidates", pa.list_(pa.struct([("language", pa.string()), ("probability", pa.float64())]))),
        ("scripts", _SHARES),
        ("low_confidence", pa.bool_()),
        ("code_switching", pa.bool_()),
    ]
)
_SENTENCE = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("block", pa.int64()), ("tokens", pa.int64())])
_CHUNK = pa.struct(
    [
        ("chunk_id", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("first_sentence", pa.int64()),
        ("last_sentence", pa.int64()),
        ("blocks", pa.list_(pa.int64())),
        ("content", pa.string()),
        ("context", pa.string()),
        ("languages", _STRINGS),
        ("scripts", _SHARES),
        ("tokens", pa.int64()),
        ("exact_tokens", _STRINGS),
        ("entities", _STRINGS),
        ("glossary_terms", _STRINGS),
    ]
)
_DOCUMENT_FIELDS: list[tuple[str, pa.DataType]] = [
    ("doc_id", pa.string()),
    ("source_uri", pa.string()),
    ("source_revision", pa.string()),
    ("text", pa.large_string()),
    ("title", pa.string()),
    ("media_type", pa.string()),
    ("domain", pa.string()),
    ("tenant_id", pa.string()),
    ("knowledge_base_id", pa.string()),
    ("acl_groups", _STRINGS),
    ("status", pa.string()),
    ("updated_at", _TIME),
    ("valid_from", _TIME),
    ("valid_to", _TIME),
    ("declared_language", pa.string()),
]
PREPARED_SCHEMA = pa.schema(
    [
        *_DOCUMENT_FIELDS,
        ("blocks", pa.list_(_BLOCK)),
        ("sentences", pa.list_(_SENTENCE)),
        ("chunks", pa.list_(_CHUNK)),
    ]
)

_ROW_GROUP = 256
"""Documents a row group: few enough that a reader holds little, many enough to compress."""


def write_prepared(store: Store, path: str, documents: Sequence[PreparedDocument]) -> FileRecord:
    """Write the prepared documents of a unit, in the order given."""
    rows = [_document_row(one) for one in documents]
    return _write(store, path, pa.Table.from_pylist(rows, schema=PREPARED_SCHEMA), _ROW_GROUP)


def read_prepared(store: Store, path: str) -> Iterator[PreparedDocument]:
    """The prepared documents of a unit, row group by row group.

    Raises:
        IntegrityError: Not such a shard.
    """
    with store.open_input(path) as source:
        file = _open(source, path, PREPARED_SCHEMA)
        for batch in file.iter_batches(batch_size=_ROW_GROUP):
            for row in batch.to_pylist():
                yield _document(row)


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


def embedded_schema(dimension: int) -> pa.Schema:
    """Columns of an embedded shard; a vector is its float16 bytes, little-endian."""
    return pa.schema(
        [
            ("kind", pa.string()),  # chunk | sentence
            ("vector", pa.binary(2 * dimension)),
            ("tokens", pa.int32()),
            ("truncated", pa.bool_()),
            ("refused", pa.string()),
        ]
    )


def write_embedded(store: Store, path: str, shard: EmbeddedShard) -> FileRecord:
    """Write the vectors of a unit."""
    dimension = int(shard.chunk_vectors.shape[1])
    table = pa.concat_tables(
        [
            _vector_table(
                "chunk", shard.chunk_vectors, shard.chunk_tokens, shard.chunk_truncated, shard.chunk_refused, dimension
            ),
            _vector_table(
                "sentence",
                shard.sentence_vectors,
                shard.sentence_tokens,
                shard.sentence_truncated,
                shard.sentence_refused,
                dimension,
            ),
        ]
    )
    return _write(store, path, table, row_group=65_536)


def read_embedded(store: Store, path: str) -> EmbeddedShard:
    """The vectors of a unit.

    Raises:
        IntegrityError: Not such a shard.
    """
    with store.open_input(path) as source:
        file = _open(source, path, None)
        kind = file.schema_arrow.field("vector").type if "vector" in file.schema_arrow.names else None
        if kind is None or not pa.types.is_fixed_size_binary(kind):
            raise IntegrityError("not an embedded shard", where=path, got=file.schema_arrow.names)
        table = file.read()
    dimension = kind.byte_width // 2
    kinds = np.asarray(table["kind"].to_pylist(), dtype=object)
    chunks = int((kinds == "chunk").sum())
    vectors = _vectors(table["vector"], dimension)
    tokens = table["tokens"].to_numpy().astype(np.int32)
    truncated = np.asarray(table["truncated"].to_pylist(), dtype=bool)
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


def _write(store: Store, path: str, table: pa.Table, row_group: int) -> FileRecord:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", row_group_size=row_group, write_statistics=False)
    return store.write_atomic(path, sink.getvalue().to_pybytes())


def _open(source: Any, path: str, schema: pa.Schema | None) -> pq.ParquetFile:
    try:
        file = pq.ParquetFile(source)
    except (pa.ArrowInvalid, OSError) as error:
        raise IntegrityError("a shard cannot be read", where=path, got=str(error)[:200]) from error
    if schema is not None and not file.schema_arrow.equals(schema):
        raise IntegrityError(
            "a shard has another schema", where=path, got=file.schema_arrow.names, allowed=schema.names
        )
    return file


def _vector_table(
    kind: str,
    vectors: NDArray[np.float16],
    tokens: NDArray[np.int32],
    truncated: NDArray[np.bool_],
    refused: Mapping[int, str],
    dimension: int,
) -> pa.Table:
    count = len(vectors)
    data = pa.py_buffer(np.ascontiguousarray(vectors, dtype="<f2").tobytes())
    columns = [
        pa.array([kind] * count, pa.string()),
        pa.FixedSizeBinaryArray.from_buffers(pa.binary(2 * dimension), count, [None, data]),
        pa.array(tokens, pa.int32()),
        pa.array(truncated, pa.bool_()),
        pa.array([refused.get(at) for at in range(count)], pa.string()),
    ]
    return pa.Table.from_arrays(columns, schema=embedded_schema(dimension))


def _vectors(column: pa.ChunkedArray, dimension: int) -> NDArray[np.float16]:
    parts = [
        np.frombuffer(
            chunk.buffers()[1], dtype="<f2", count=len(chunk) * dimension, offset=chunk.offset * 2 * dimension
        )
        for chunk in column.chunks
        if len(chunk)
    ]
    joined = np.concatenate(parts) if parts else np.zeros(0, dtype="<f2")
    return joined.reshape(-1, dimension)


def _shares(scripts: Mapping[str, float]) -> list[dict[str, Any]]:
    return [{"script": script, "share": share} for script, share in scripts.items()]


def _scripts(shares: list[dict[str, Any]]) -> dict[str, float]:
    return {one["script"]: one["share"] for one in shares}


def _row(unit: object, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(unit, name) for name in names}


_DOCUMENT_NAMES = [name for name, _ in _DOCUMENT_FIELDS]
_BLOCK_PLAIN = ["start", "end", "section_path", "language", "low_confidence", "code_switching"]
_SENTENCE_NAMES = ["start", "end", "block", "tokens"]
_CHUNK_PLAIN = [field.name for field in _CHUNK if field.name != "scripts"]
_TUPLES = {"blocks", "languages", "exact_tokens", "entities", "glossary_terms"}


def _document_row(prepared: PreparedDocument) -> dict[str, Any]:
    return {
        **_row(prepared.document, _DOCUMENT_NAMES),
        "blocks": [
            {
                **_row(block, _BLOCK_PLAIN),
                "kind": block.kind.value,
                "cuts": [_row(cut, ("start", "end", "replacement")) for cut in block.cuts],
                "language_candidates": [_row(one, ("language", "probability")) for one in block.language_candidates],
                "scripts": _shares(block.scripts),
            }
            for block in prepared.blocks
        ],
        "sentences": [_row(sentence, _SENTENCE_NAMES) for sentence in prepared.sentences],
        "chunks": [{**_row(chunk, _CHUNK_PLAIN), "scripts": _shares(chunk.scripts)} for chunk in prepared.chunks],
    }


def _document(row: dict[str, Any]) -> PreparedDocument:
    fields = {name: row[name] for name in _DOCUMENT_NAMES}
    fields["acl_groups"] = tuple(fields["acl_groups"])
    return PreparedDocument(
        document=Document(**fields),
        blocks=tuple(_block(block) for block in row["blocks"]),
        sentences=tuple(Sentence(**sentence) for sentence in row["sentences"]),
        chunks=tuple(_chunk(chunk) for chunk in row["chunks"]),
    )


def _block(row: dict[str, Any]) -> Block:
    fields: dict[str, Any] = {
        **row,
        "kind": BlockKind(row["kind"]),
        "section_path": tuple(row["section_path"]),
        "cuts": tuple(Cut(**cut) for cut in row["cuts"]),
        "language_candidates": tuple(LanguageCandidate(**one) for one in row["language_candidates"]),
        "scripts": _scripts(row["scripts"]),
    }
    return Block(**fields)


def _chunk(row: dict[str, Any]) -> Chunk:
    fields: dict[str, Any] = {name: tuple(value) if name in _TUPLES else value for name, value in row.items()}
    return Chunk(**{**fields, "scripts": _scripts(row["scripts"])})
