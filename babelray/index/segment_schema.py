"""The Arrow tables of a segment: their columns, and how prepared documents become rows. One writer, one meaning."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from babelray.index.access import to_micros
from babelray.text.types import Block, Chunk, Document, PreparedDocument

_TIME = pa.timestamp("us", tz="UTC")
_STRINGS = pa.list_(pa.string())
_SHARES = pa.list_(pa.struct([("script", pa.string()), ("share", pa.float64())]))
_CUT = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("replacement", pa.string())])
_BLOCK = pa.struct(
    [
        ("kind", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("section_path", _STRINGS),
        ("cuts", pa.list_(_CUT)),
        ("language", pa.string()),
        ("low_confidence", pa.bool_()),
        ("code_switching", pa.bool_()),
    ]
)

DOCUMENTS_SCHEMA = pa.schema(
    [
        ("doc_id", pa.string()),
        ("source_uri", pa.string()),
        ("source_revision", pa.string()),
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
        ("text", pa.large_string()),
        ("blocks", pa.list_(_BLOCK)),
        ("first_chunk", pa.uint32()),
        ("chunks", pa.uint32()),
        ("first_sentence", pa.uint32()),
        ("sentences", pa.uint32()),
    ]
)
"""One row a document. Its chunks are rows `first_chunk .. first_chunk + chunks` of chunks.arrow; sentences likewise."""

CHUNKS_SCHEMA = pa.schema(
    [
        ("chunk_id", pa.string()),
        ("document", pa.uint32()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("first_sentence", pa.uint32()),
        ("last_sentence", pa.uint32()),
        ("blocks", pa.list_(pa.uint32())),
        ("section_path", _STRINGS),
        ("content", pa.large_string()),
        ("context", pa.string()),
        ("languages", _STRINGS),
        ("scripts", _SHARES),
        ("tokens", pa.uint32()),
        ("exact_tokens", _STRINGS),
        ("entities", _STRINGS),
        ("glossary_terms", _STRINGS),
    ]
)
"""One row a chunk. Sentence positions are within the document, as in `Chunk`; spans are code points of its text."""

SENTENCES_SCHEMA = pa.schema(
    [
        ("document", pa.uint32()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("block", pa.uint32()),
        ("tokens", pa.uint32()),
        ("has_vector", pa.bool_()),
    ]
)
"""One row a sentence, in the order of sentence_vectors.f16."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows stand before a document in each table of its segment."""

    documents: int = 0
    chunks: int = 0
    sentences: int = 0

    def after(self, prepared: PreparedDocument) -> "Counts":
        """The counts with one more document."""
        return Counts(self.documents + 1, self.chunks + len(prepared.chunks), self.sentences + len(prepared.sentences))


def language_of_chunk(chunk: Chunk) -> str:
    """The language that a chunk is stemmed by: its largest one; code and nothing known are `und`."""
    first = chunk.languages[0] if chunk.languages else "und"
    return "und" if first == "zxx" else first


def document_row(prepared: PreparedDocument, before: Counts) -> dict[str, Any]:
    """The row of documents.arrow."""
    document = prepared.document
    return {
        "doc_id": document.doc_id,
        "source_uri": document.source_uri,
        "source_revision": document.source_revision,
        "title": document.title,
        "media_type": document.media_type,
        "domain": document.domain,
        "tenant_id": document.tenant_id,
        "knowledge_base_id": document.knowledge_base_id,
        "acl_groups": list(document.acl_groups),
        "status": document.status,
        "updated_at": document.updated_at,
        "valid_from": document.valid_from,
        "valid_to": document.valid_to,
        "declared_language": document.declared_language,
        "text": document.text,
        "blocks": [_block(block) for block in prepared.blocks],
        "first_chunk": before.chunks,
        "chunks": len(prepared.chunks),
        "first_sentence": before.sentences,
        "sentences": len(prepared.sentences),
    }


def _block(block: Block) -> dict[str, Any]:
    return {
        "kind": str(block.kind),
        "start": block.start,
        "end": block.end,
        "section_path": list(block.section_path),
        "cuts": [{"start": cut.start, "end": cut.end, "replacement": cut.replacement} for cut in block.cuts],
        "language": block.language,
        "low_confidence": block.low_confidence,
        "code_switching": block.code_switching,
    }


def section_path(prepared: PreparedDocument, chunk: Chunk) -> tuple[str, ...]:
    """Headings above the chunk's first block."""
    return prepared.blocks[chunk.blocks[0]].section_path if chunk.blocks else ()


def chunk_rows(prepared: PreparedDocument, before: Counts) -> Iterator[dict[str, Any]]:
    """The rows of chunks.arrow."""
    for chunk in prepared.chunks:
        yield {
            "chunk_id": chunk.chunk_id,
            "document": before.documents,
            "start": chunk.start,
            "end": chunk.end,
            "first_sentence": chunk.first_sentence,
            "last_sentence": chunk.last_sentence,
            "blocks": list(chunk.blocks),
            "section_path": list(section_path(prepared, chunk)),
            "content": chunk.content,
            "context": chunk.context,
            "languages": list(chunk.languages),
            "scripts": [{"script": script, "share": share} for script, share in sorted(chunk.scripts.items())],
            "tokens": chunk.tokens,
            "exact_tokens": list(chunk.exact_tokens),
            "entities": list(chunk.entities),
            "glossary_terms": list(chunk.glossary_terms),
        }


def sentence_rows(prepared: PreparedDocument, before: Counts, refused: set[int]) -> Iterator[dict[str, Any]]:
    """The rows of sentences.arrow.

    Args:
        prepared: The document.
        before: Rows before it in the segment.
        refused: Positions in the document of sentences without a vector.
    """
    for position, sentence in enumerate(prepared.sentences):
        yield {
            "document": before.documents,
            "start": sentence.start,
            "end": sentence.end,
            "block": sentence.block,
            "tokens": sentence.tokens,
            "has_vector": position not in refused,
        }


def validity(document: Document) -> tuple[int | None, int | None]:
    """`valid_from` and `valid_to` in microseconds."""
    return _micros(document.valid_from), _micros(document.valid_to)


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)
