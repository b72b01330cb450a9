"""The tables of one segment, opened for reading: documents, chunks, sentences with their vectors, rights of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from babelray.errors import IntegrityError
from babelray.index.access import AccessValues, CompiledScope
from babelray.index.layout import SegmentLayout
from babelray.index.row_access import ROWS_SCHEMA, RowAccess
from babelray.index.segment_schema import CHUNKS_SCHEMA, DOCUMENTS_SCHEMA, SENTENCES_SCHEMA
from babelray.index.vectors import Bits, SegmentVectors, in_bitmap
from babelray.text.language import UNDETERMINED

_LAYOUT = SegmentLayout(".")
TABLE_FILES = frozenset(
    path.removeprefix("./")
    for path in (
        _LAYOUT.documents,
        _LAYOUT.chunks,
        _LAYOUT.sentences,
        _LAYOUT.rows,
        _LAYOUT.sentence_vectors,
        _LAYOUT.vectors_f16,
    )
)
"""Files that the tables lie in, the plain vectors among them; the others are indexes."""
_CHUNK_CELLS = ("chunk_id", "document", "section_path", "start", "end", "content", "languages")
_DOCUMENT_CELLS = (
    "doc_id", "source_uri", "source_revision", "title", "text", "tenant_id", "knowledge_base_id", "updated_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk with what a result needs to show of it and its document.

    Attributes:
        quote: `text[start:end]` of the original.
        content: The projection that models and word indexes read.
    """

    chunk_id: str
    doc_id: str
    source_uri: str
    source_revision: str
    title: str
    section_path: tuple[str, ...]
    start: int
    end: int
    quote: str
    content: str
    languages: tuple[str, ...]
    tenant_id: str
    knowledge_base_id: str
    updated_at: datetime | None


class SegmentTables:
    """The opened tables of one segment. They are mapped: they take disk on this machine, and memory as they are read.

    Args:
        name: Its name in the manifest.
        folder: Local folder with its files, already verified.
        dimension: Of the generation's vectors.

    Raises:
        IntegrityError: The files do not fit together.
    """

    def __init__(self, name: str, folder: Path, dimension: int) -> None:
        self.name = name
        self.dimension = dimension
        self.documents = _table(folder / _LAYOUT.documents, DOCUMENTS_SCHEMA)
        self.chunks = _table(folder / _LAYOUT.chunks, CHUNKS_SCHEMA)
        self.sentences = _table(folder / _LAYOUT.sentences, SENTENCES_SCHEMA)
        rows = _table(folder / _LAYOUT.rows, ROWS_SCHEMA)
        self.access = RowAccess(name, rows, self.documents["doc_id"].to_pylist(), _declared(self.documents))
        self.sentence_vectors = _halves(folder / _LAYOUT.sentence_vectors, self.sentences.num_rows, dimension)
        self._batches_of: dict[str, list[pa.Array]] = {}
        self.vectors = self._load_vectors(folder)
        sizes = {"chunks": self.chunks.num_rows, "rows": self.access.rows, "vectors": self.vectors.rows}
        if len(set(sizes.values())) != 1 or self.vectors.dimension != dimension:
            raise IntegrityError(
                "the files of a segment disagree",
                where=name,
                got=f"{sizes}, dimension {self.vectors.dimension}",
                allowed=f"equal numbers of rows, dimension {dimension}",
            )

    def _load_vectors(self, folder: Path) -> SegmentVectors:
        return SegmentVectors.load(folder / _LAYOUT.vectors_f16, None)

    @property
    def rows(self) -> int:
        """Chunks of the segment."""
        return self.access.rows

    def chunk_sentence_vectors(self, row: int, *, only_present: bool = True) -> NDArray[np.float16]:
        """float16 (n, dimension): vectors of a chunk's sentences; those without one are zero or left out."""
        first, last = self._sentences_of(row)
        vectors: NDArray[np.float16] = self.sentence_vectors[first:last]
        if not only_present:
            return vectors
        present: NDArray[np.float16] = vectors[self.sentence_columns["has_vector"][first:last]]
        return present

    def chunk_sentences(self, row: int) -> list[str]:
        """The sentences of a chunk as they stand in the original; for a row that has been checked."""
        first, last = self._sentences_of(row)
        text = self.documents["text"][int(self.access.documents[row])].as_py()
        spans = self.sentences.slice(first, last - first)
        return [
            text[start:end] for start, end in zip(spans["start"].to_pylist(), spans["end"].to_pylist(), strict=True)
        ]

    def cells(self, name: str, rows: Sequence[int]) -> list[Any]:
        """One column of chunks.arrow for some rows."""
        # Neither `take`, which joins all record batches of the column first, nor the column's own indexing, which looks
        # for the batch anew for each cell.
        batches, firsts = self._batches(name), self._first_chunk_rows
        wanted = np.asarray(rows, dtype=np.int64)
        places = np.searchsorted(firsts, wanted, side="right") - 1
        return [
            batches[place][at].as_py()
            for place, at in zip(places.tolist(), (wanted - firsts[places]).tolist(), strict=True)
        ]

    def _batches(self, name: str) -> list[pa.Array]:
        """The record batches of one column of chunks.arrow."""
        if name not in self._batches_of:
            self._batches_of[name] = self.chunks[name].chunks
        return self._batches_of[name]

    @cached_property
    def _first_chunk_rows(self) -> NDArray[np.int64]:
        """First row of each record batch of chunks.arrow."""
        lengths = [len(batch) for batch in self.chunks["document"].chunks]
        return np.cumsum([0, *lengths[:-1]], dtype=np.int64)

    @cached_property
    def sentence_columns(self) -> Mapping[str, NDArray[Any]]:
        """Columns of sentences.arrow as arrays, read once: a slice of a table costs a hundred slices of an array."""
        return _columns(self.sentences, ("document", "block", "start", "end", "tokens", "has_vector"))

    @cached_property
    def chunk_columns(self) -> Mapping[str, NDArray[Any]]:
        """Columns of chunks.arrow as arrays."""
        return _columns(self.chunks, ("document", "start", "end", "tokens", "first_sentence", "last_sentence"))

    @cached_property
    def document_columns(self) -> Mapping[str, NDArray[Any]]:
        """Columns of documents.arrow as arrays."""
        return _columns(self.documents, ("first_chunk", "chunks", "first_sentence", "sentences"))

    def largest_language(self, row: int) -> str:
        """BCP 47 of most of a chunk; `und` where nothing could be said."""
        names, codes = self._largest_languages
        return names[int(codes[row])]

    def count_languages(self, permitted: Bits) -> dict[str, int]:
        """Chunks by their largest language, of the rows in a bitmap."""
        names, codes = self._largest_languages
        rows = np.arange(self.rows, dtype=np.int64)
        counted = np.bincount(codes[in_bitmap(permitted, rows)], minlength=len(names))
        return {name: int(count) for name, count in zip(names, counted.tolist(), strict=True) if count}

    @cached_property
    def _largest_languages(self) -> tuple[list[str], NDArray[np.int32]]:
        """The different languages, and for each chunk which of them comes first in its list; read once."""
        first = pa.chunked_array([_first_of_each(lists) for lists in self.chunks["languages"].chunks], pa.string())
        coded = pc.fill_null(first, UNDETERMINED).combine_chunks().dictionary_encode()
        names: list[str] = coded.dictionary.to_pylist()
        return names, coded.indices.to_numpy()

    def _sentences_of(self, row: int) -> tuple[int, int]:
        """Rows of a chunk's sentences, the end exclusive."""
        first, last = self._sentence_spans
        return int(first[row]), int(last[row]) + 1

    @cached_property
    def _sentence_spans(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First and last sentence row of each chunk, read once: one cell at a time costs more than the vectors."""
        before = self.document_columns["first_sentence"].astype(np.int64)[self.access.documents]
        first, last = (self.chunk_columns[name].astype(np.int64) for name in ("first_sentence", "last_sentence"))
        return before + first, before + last

    def record(self, row: int, scope: CompiledScope) -> ChunkRecord:
        """A chunk and its document, for a caller who may see it.

        Raises:
            AccessDenied: The row is outside the scope.
            IntegrityError: The span does not lie in the document's text.
        """
        self.access.check(np.array([row], dtype=np.int64), scope)
        chunk = _cells(self.chunks, row, _CHUNK_CELLS)
        document = _cells(self.documents, chunk["document"], _DOCUMENT_CELLS)
        start, end = chunk["start"], chunk["end"]
        if not 0 <= start < end <= len(document["text"]):
            raise IntegrityError(
                "a chunk's span does not lie in its document",
                where=f"segment {self.name}, row {row}",
                got=(start, end),
                allowed=f"inside 0..{len(document['text'])}",
            )
        return ChunkRecord(
            chunk_id=chunk["chunk_id"],
            doc_id=document["doc_id"],
            source_uri=document["source_uri"],
            source_revision=document["source_revision"],
            title=document["title"],
            section_path=tuple(chunk["section_path"]),
            start=start,
            end=end,
            quote=document["text"][start:end],
            content=chunk["content"],
            languages=tuple(chunk["languages"]),
            tenant_id=document["tenant_id"],
            knowledge_base_id=document["knowledge_base_id"],
            updated_at=document["updated_at"],
        )


def _table(path: Path, schema: pa.Schema) -> pa.Table:
    """A memory-mapped Arrow file; nothing is read until a column is."""
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise IntegrityError("an Arrow file cannot be read", where=path, got=str(error)[:200]) from error
    if not table.schema.equals(schema):
        raise IntegrityError(
            "an Arrow file has another schema", where=path, got=table.schema.names, allowed=schema.names
        )
    return table


def _first_of_each(lists: pa.ListArray) -> pa.Array:
    """The first value of each list, null for an empty one."""
    offsets = lists.offsets.to_numpy()
    return lists.values.take(pa.array(offsets[:-1], mask=offsets[1:] == offsets[:-1])).cast(pa.string())


def _columns(table: pa.Table, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Columns without nulls; those of one record batch are not copied."""
    return {name: np.asarray(table[name].to_numpy()) for name in names}


def _cells(table: pa.Table, row: int, names: Sequence[str]) -> dict[str, Any]:
    return {name: table[name][row].as_py() for name in names}


def _declared(documents: pa.Table) -> list[AccessValues]:
    columns = [documents[name].to_pylist() for name in ("tenant_id", "knowledge_base_id", "acl_groups", "status")]
    # Documents share few values: one object for each keeps a million documents small.
    shared: dict[AccessValues, AccessValues] = {}
    made = (
        AccessValues(tenant, base, tuple(groups), status) for tenant, base, groups, status in zip(*columns, strict=True)
    )
    return [shared.setdefault(one, one) for one in made]


def _halves(path: Path, rows: int, dimension: int) -> NDArray[np.float16]:
    expected = rows * dimension * 2
    if path.stat().st_size != expected:
        raise IntegrityError(
            "the sentence vectors do not fit the sentences", where=path, got=path.stat().st_size, allowed=expected
        )
    if rows == 0:
        return np.zeros((0, dimension), dtype=np.float16)
    return np.memmap(path, dtype="<f2", mode="r", shape=(rows, dimension))
