"""Builds one immutable segment out of prepared and embedded units.

Everything is made in a local folder and then put into the store; the caller's receipt or manifest makes it count.
Memory holds one unit of text and the vectors of one segment.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from babelray.errors import InputError, IntegrityError
from babelray.index.access import AccessValues
from babelray.index.layout import SegmentLayout
from babelray.index.lexical import (
    LexicalBuilder,
    LexicalRow,
    exact_field_terms,
    general_terms,
    heading_terms,
    stemmed_terms,
)
from babelray.index.manifest import SegmentRecord
from babelray.index.row_access import ROWS_SCHEMA
from babelray.index.segment_schema import (
    CHUNKS_SCHEMA,
    DOCUMENTS_SCHEMA,
    SENTENCES_SCHEMA,
    Counts,
    chunk_rows,
    document_row,
    language_of_chunk,
    section_path,
    sentence_rows,
    validity,
)
from babelray.index.shards import EmbeddedShard, read_embedded, read_prepared
from babelray.index.store import Store
from babelray.index.vectors import VectorBuilder
from babelray.keys import ModelKey
from babelray.text.types import PreparedDocument

_LOCAL = SegmentLayout(".")
_SCHEMAS = {
    "documents": DOCUMENTS_SCHEMA,
    "chunks": CHUNKS_SCHEMA,
    "sentences": SENTENCES_SCHEMA,
    "rows": ROWS_SCHEMA,
}


def build_segment(
    store: Store,
    target: SegmentLayout,
    name: str,
    unit_shards: Sequence[tuple[str, str]],
    class_of: Mapping[AccessValues, int],
    key: ModelKey,
    trained: bytes | None,
    work: Path,
) -> SegmentRecord:
    """Build a segment and put its files into the store.

    Args:
        store: Where shards are read and the segment is put.
        target: Folder of the segment in the store.
        name: Its name in the manifest, number and attempt.
        unit_shards: Paths of the prepared and the embedded shard of each unit, in order.
        class_of: Number of every declared access, as `register_classes` gave it.
        key: Model key of the vectors.
        trained: What `vectors.train` gave for this generation; empty or `None` for a flat index.
        work: Existing local folder for temporary files.

    Returns:
        Counts, files with checksums, and the digest of the logical content.

    Raises:
        IntegrityError: A prepared and an embedded shard do not belong together.
        InputError: A document id occurs twice, or its access values were not registered.
    """
    with tempfile.TemporaryDirectory(dir=work, prefix=f"{name}-") as folder:
        with SegmentWriter(Path(folder), key, class_of, trained) as writer:
            for prepared, embedded in unit_shards:
                writer.add(list(read_prepared(store, prepared)), read_embedded(store, embedded), where=embedded)
            files = writer.close()
        records = {}
        for path in files:
            relative = path.relative_to(folder).as_posix()
            records[relative] = store.put_file(path, f"{target.root}/{relative}")
        counts = writer.counts
        return SegmentRecord(
            name=name,
            rows=counts.chunks,
            sentences=counts.sentences,
            documents=counts.documents,
            files=records,
            content_digest=writer.content_digest,
        )


class SegmentWriter:
    """Writes the files of one segment into a local folder, unit by unit.

    Args:
        folder: Empty folder.
        key: Model key; gives the dimension.
        class_of: Number of every declared access.
        trained: Trained empty IVF index, or nothing.
    """

    def __init__(
        self, folder: Path, key: ModelKey, class_of: Mapping[AccessValues, int], trained: bytes | None
    ) -> None:
        self.counts = Counts()
        self._folder = folder
        self._key = key
        self._class_of = class_of
        self._doc_ids: set[str] = set()
        self._digest = hashlib.sha256(key.digest.encode())
        self._vectors = VectorBuilder(key.dimension, trained)
        self._sentence_vectors = (folder / _LOCAL.sentence_vectors).open("wb")
        lexical = folder / _LOCAL.lexical
        lexical.mkdir()
        self._lexical = LexicalBuilder(lexical)
        self._tables = {
            name: pa.ipc.new_file(str(folder / getattr(_LOCAL, name)), schema) for name, schema in _SCHEMAS.items()
        }

    def __enter__(self) -> "SegmentWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sentence_vectors.close()
        for table in self._tables.values():
            table.close()

    @property
    def content_digest(self) -> str:
        """Names the logical content: rows, vectors and model key, but no file, no index structure, no class number."""
        return self._digest.hexdigest()[:32]

    def add(self, prepared: Sequence[PreparedDocument], embedded: EmbeddedShard, where: str = "") -> None:
        """Append one unit."""
        self._check(prepared, embedded, where)
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _SCHEMAS}
        first_chunk = first_sentence = 0
        chunk_present = _present(len(embedded.chunk_vectors), embedded.chunk_refused)
        for one in prepared:
            chunks, sentences = len(one.chunks), len(one.sentences)
            refused = {at - first_sentence for at in embedded.sentence_refused}
            rows["documents"].append(document_row(one, self.counts))
            rows["chunks"].extend(chunk_rows(one, self.counts))
            rows["sentences"].extend(sentence_rows(one, self.counts, refused))
            rows["rows"].extend(self._access_rows(one, chunk_present[first_chunk : first_chunk + chunks]))
            self._add_words(one)
            self.counts = self.counts.after(one)
            first_chunk += chunks
            first_sentence += sentences
        self._vectors.add(embedded.chunk_vectors, chunk_present)
        self._sentence_vectors.write(np.ascontiguousarray(embedded.sentence_vectors, dtype="<f2").tobytes())
        self._update_digest(rows, embedded)
        for name, table in self._tables.items():
            table.write_batch(pa.RecordBatch.from_pylist(rows[name], schema=_SCHEMAS[name]))

    def close(self) -> list[Path]:
        """Finish all files; returns them."""
        self._sentence_vectors.close()
        files = [self._folder / _LOCAL.sentence_vectors]
        for name, table in self._tables.items():
            table.close()
            files.append(self._folder / getattr(_LOCAL, name))
        files += self._vectors.write(self._folder / _LOCAL.vectors_f16, self._folder / _LOCAL.vectors)
        return sorted([*files, *self._lexical.close()])

    def _check(self, prepared: Sequence[PreparedDocument], embedded: EmbeddedShard, where: str) -> None:
        dimension = self._key.dimension
        expected = ((sum(len(one.chunks) for one in prepared), dimension),
                    (sum(len(one.sentences) for one in prepared), dimension))  # fmt: skip
        got = (embedded.chunk_vectors.shape, embedded.sentence_vectors.shape)
        if got != expected:
            raise IntegrityError(
                "a unit's vectors do not belong to its chunks and sentences",
                where=where,
                got=got,
                allowed=expected,
                fix="remove the embedded shard and its receipt, and run again",
            )
        for one in prepared:
            doc_id = one.document.doc_id
            if doc_id in self._doc_ids:
                raise InputError(
                    "a document id occurs twice",
                    where=one.document.source_uri,
                    got=doc_id,
                    fix="two sources give the same document: take one of them out, or give them other tenants",
                )
            self._doc_ids.add(doc_id)

    def _class(self, prepared: PreparedDocument) -> int:
        declared = AccessValues.of(prepared.document)
        number = self._class_of.get(declared)
        if number is None:
            raise InputError(
                "the access values of a document were not registered",
                where=prepared.document.source_uri,
                got=declared,
                fix="register all declared values before segments are built",
            )
        return number

    def _access_rows(self, prepared: PreparedDocument, present: NDArray[np.bool_]) -> Iterable[dict[str, Any]]:
        valid_from, valid_to = validity(prepared.document)
        number = self._class(prepared)
        for has_vector in present.tolist():
            yield {
                "access_class": number,
                "document": self.counts.documents,
                "valid_from": valid_from,
                "valid_to": valid_to,
                "has_vector": has_vector,
            }

    def _add_words(self, prepared: PreparedDocument) -> None:
        valid_from, valid_to = validity(prepared.document)
        number = self._class(prepared)
        for chunk in prepared.chunks:
            language = language_of_chunk(chunk)
            self._lexical.add(
                LexicalRow(
                    text=stemmed_terms(chunk.content, language),
                    general=general_terms(chunk.content),
                    title=heading_terms(prepared.document.title, language),
                    section=heading_terms("\n".join(section_path(prepared, chunk)), language),
                    exact=exact_field_terms(chunk.exact_tokens),
                    access_class=number,
                    document=self.counts.documents,
                    valid_from=valid_from,
                    valid_to=valid_to,
                )
            )

    def _update_digest(self, rows: Mapping[str, list[dict[str, Any]]], embedded: EmbeddedShard) -> None:
        # The number of a class depends on what was indexed before; its declared values are in the document's row.
        plain = [{name: value for name, value in row.items() if name != "access_class"} for row in rows["rows"]]
        for table in (rows["documents"], rows["chunks"], rows["sentences"], plain):
            self._digest.update(json.dumps(table, sort_keys=True, ensure_ascii=False, default=str).encode())
        for vectors in (embedded.chunk_vectors, embedded.sentence_vectors):
            self._digest.update(np.ascontiguousarray(vectors, dtype="<f2").tobytes())


def _present(count: int, refused: Iterable[int]) -> NDArray[np.bool_]:
    present = np.ones(count, dtype=bool)
    present[list(refused)] = False
    return present
