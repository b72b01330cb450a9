"""The rows of a prepared shard: their columns, and how documents with their units become rows and come back equal."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from babelray.errors import InputError
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
"""One row a document; its blocks, sentences and chunks are nested in it."""

_DOCUMENT_NAMES = [name for name, _ in _DOCUMENT_FIELDS]
_TIMES = [name for name, kind in _DOCUMENT_FIELDS if kind == _TIME]
_BLOCK_PLAIN = ["start", "end", "section_path", "language", "low_confidence", "code_switching"]
_SENTENCE_NAMES = ["start", "end", "block", "tokens"]
_CHUNK_PLAIN = [field.name for field in _CHUNK if field.name != "scripts"]
_TUPLES = {"blocks", "languages", "exact_tokens", "entities", "glossary_terms"}


def document_row(prepared: PreparedDocument) -> dict[str, Any]:
    """The row of a document with all its units.

    Raises:
        InputError: A time has no zone.
    """
    document = _row(prepared.document, _DOCUMENT_NAMES)
    for name in _TIMES:
        moment: datetime | None = document[name]
        if moment is not None and moment.tzinfo is None:
            raise InputError("a time without a zone", where=f"{document['source_uri']}: {name}", got=moment)
    return {
        **document,
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


def document_of_row(row: dict[str, Any]) -> PreparedDocument:
    """A document with all its units out of its row."""
    fields = {name: row[name] for name in _DOCUMENT_NAMES}
    fields["acl_groups"] = tuple(fields["acl_groups"])
    for name in _TIMES:
        fields[name] = fields[name] and fields[name].astimezone(UTC)
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


def _shares(scripts: Mapping[str, float]) -> list[dict[str, Any]]:
    return [{"script": script, "share": share} for script, share in scripts.items()]


def _scripts(shares: list[dict[str, Any]]) -> dict[str, float]:
    return {one["script"]: one["share"] for one in shares}


def _row(unit: object, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(unit, name) for name in names}
