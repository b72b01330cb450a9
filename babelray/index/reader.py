"""Opens a generation and searches it: the one door through which rows leave an index.

Every file is verified before a byte of it is loaded, every search names the model key of its query and carries a
compiled scope, and every row that leaves is checked once more against the rights of its document.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np

from babelray.errors import AccessDenied, InputError, ModelKeyMismatch
from babelray.index.access import AccessScope, CompiledScope, compile_scope
from babelray.index.access_store import current_revision, read_current
from babelray.index.cache import materialize
from babelray.index.generations import Catalog
from babelray.index.layout import LAYOUT
from babelray.index.lexical import LexicalPart
from babelray.index.manifest import Manifest, read_manifest
from babelray.index.open_segment import OpenSegment
from babelray.index.segment_search import DenseQuestion, LocalSearch, SegmentQuestion, SegmentSearch, WordQuestion
from babelray.index.segment_tables import TABLE_FILES, ChunkRecord, SegmentTables
from babelray.index.store import Store
from babelray.index.vectors import Floats, Rows
from babelray.keys import ModelKey


@dataclass(frozen=True, slots=True)
class Hit:
    """One row that was found.

    Attributes:
        segment: Position of its segment in the generation.
        row: Row in the segment.
        score: Cosine for dense search, BM25 for words; comparable within one search only.
    """

    segment: int
    row: int
    score: float


class OpenGeneration:
    """A generation in use. Safe to share between threads for searching.

    Args:
        store: Where its access table lies.
        manifest: Of the generation.
        segments: Opened, in the manifest's order.
        search: Searches their indexes.

    Attributes:
        search: As given.
        violations: Rows outside a scope that came out of an index and were withheld; anything but 0 is an alarm.
    """

    def __init__(
        self, store: Store, manifest: Manifest, segments: Sequence[SegmentTables], search: SegmentSearch
    ) -> None:
        self.manifest = manifest
        self.segments = tuple(segments)
        self.search = search
        self.violations = 0
        self._lock = Lock()
        self._store = store
        self._access = read_current(store, manifest.index).table

    @property
    def key(self) -> ModelKey:
        """Model key of all vectors of this generation."""
        return self.manifest.model_key

    @property
    def access_revision(self) -> str:
        """Revision of the access table that scopes are compiled on."""
        return self._access.revision

    def require_key(self, key: ModelKey) -> None:
        """Raises ModelKeyMismatch unless vectors of a key may be compared with this generation's."""
        if key != self.key:
            raise ModelKeyMismatch(
                "the query was encoded for another vector space than the generation holds",
                where=f"index {self.manifest.index}, generation {self.manifest.generation}",
                got=f"{key.readable()}, different in {self.key.differences(key)}",
                allowed=self.key.readable(),
                fix="encode the query with the generation's model, or search a generation of the query's model",
            )

    def refresh_access(self) -> bool:
        """Take up a newer access table, if there is one; says whether there was."""
        if current_revision(self._store, self.manifest.index) == self._access.revision:
            return False
        self._access = read_current(self._store, self.manifest.index).table
        return True

    def compile(self, scope: AccessScope) -> CompiledScope:
        """Evaluate a scope on the access table in use, once a request."""
        return compile_scope(self._access, scope)

    def search_dense(self, vector: Floats, key: ModelKey, scope: CompiledScope, k: int) -> list[Hit]:
        """The k nearest chunks that the scope allows.

        Args:
            vector: float32 (dimension,), unit length, encoded as a query.
            key: Model key that the vector was made with.
            scope: What the caller may see.
            k: Results wanted.

        Raises:
            ModelKeyMismatch: The vector is of another space than this generation.
            AccessDenied: A row outside the scope came out of the index; nothing is returned.
        """
        self.require_key(key)
        if vector.shape != (self.key.dimension,) or not np.isfinite(vector).all():
            raise InputError(
                "not a usable query vector",
                got=f"{vector.dtype} {vector.shape}",
                allowed=f"finite float32 ({self.key.dimension},)",
            )
        query = np.ascontiguousarray(vector, dtype=np.float32)
        return self._gather(DenseQuestion(query, self.manifest.vectors.plan), scope, k)

    def search_lexical(self, parts: Sequence[LexicalPart], scope: CompiledScope, k: int) -> list[Hit]:
        """The k best chunks by words that the scope allows.

        Args:
            parts: Alternatives whose scores add up.
            scope: What the caller may see.
            k: Results wanted.

        Raises:
            AccessDenied: A row outside the scope came out of the index; nothing is returned.
        """
        return self._gather(WordQuestion(tuple(parts)), scope, k)

    def records(self, hits: Sequence[Hit], scope: CompiledScope) -> list[ChunkRecord]:
        """What hits show of their chunks and documents, checked against the scope again.

        Raises:
            AccessDenied: A hit is outside the scope; nothing is returned.
        """
        with self._counted():
            return [self.segments[hit.segment].record(hit.row, scope) for hit in hits]

    def check(self, segment: int, rows: Rows, scope: CompiledScope) -> None:
        """Look at rows of a segment once more before anything of their documents leaves.

        Args:
            segment: Its position.
            rows: int64 (n,), chunk rows.
            scope: What the caller may see.

        Raises:
            AccessDenied: A row is outside the scope; counted in `violations`.
        """
        with self._counted():
            self.segments[segment].access.check(rows, scope)

    def _gather(self, question: SegmentQuestion, scope: CompiledScope, k: int) -> list[Hit]:
        hits: list[Hit] = []
        for number, found in enumerate(self.search.search(question, scope, k)):
            self.check(number, found.rows, scope)
            hits += [Hit(number, int(row), float(score)) for row, score in zip(found.rows, found.scores, strict=True)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.segment, hit.row))[:k]

    @contextmanager
    def _counted(self) -> Iterator[None]:
        try:
            yield
        except AccessDenied:
            with self._lock:
                self.violations += 1
            raise


def open_generation(store: Store, index: str, generation: str | None, cache: Path, threads: int = 1) -> OpenGeneration:
    """Open a generation for searching in this process.

    Args:
        store: Where the index lies.
        index: Its name.
        generation: Its id; `None` opens the published one.
        cache: Local folder for copies of segments whose store is not local.
        threads: OpenMP threads of one vector search.

    Raises:
        InputError: There is no such generation, or none is published.
        IntegrityError: A file is missing or is not what its checksum says.
    """
    manifest = find_manifest(store, index, generation)
    segments = list(open_segments(store, manifest, cache, threads).values())
    return OpenGeneration(store, manifest, segments, LocalSearch(segments))


def open_elsewhere(
    store: Store, index: str, generation: str | None, cache: Path, search: Callable[[Manifest], SegmentSearch]
) -> OpenGeneration:
    """Open the tables of a generation whose indexes others hold.

    Args:
        store: Where the index lies.
        index: Its name.
        generation: Its id; `None` opens the published one.
        cache: Local folder for copies of tables whose store is not local.
        search: Makes what asks the others.

    Raises:
        InputError: There is no such generation, or none is published.
        IntegrityError: A file is missing or is not what its checksum says.
    """
    manifest = find_manifest(store, index, generation)
    layout = LAYOUT.index(index).generation(manifest.generation)
    segments = []
    for record in manifest.segments:
        folder = materialize(store, layout.segment(record.name), record, cache, only=TABLE_FILES)
        segments.append(SegmentTables(record.name, folder, manifest.model_key.dimension))
    return OpenGeneration(store, manifest, segments, search(manifest))


def find_manifest(store: Store, index: str, generation: str | None) -> Manifest:
    """The manifest of a generation; `None` means the published one.

    Raises:
        InputError: There is no such generation, or none is published.
    """
    wanted = generation if generation is not None else Catalog(store, index).current().generation
    return read_manifest(store, LAYOUT.index(index).generation(wanted))


def open_segments(
    store: Store, manifest: Manifest, cache: Path, threads: int = 1, numbers: Sequence[int] | None = None
) -> dict[int, OpenSegment]:
    """Open segments of a generation with their indexes, by position in the manifest.

    Args:
        store: Where the index lies.
        manifest: Of the generation.
        cache: Local folder for copies of segments whose store is not local.
        threads: OpenMP threads of one vector search.
        numbers: Positions; `None` opens all.

    Raises:
        IntegrityError: A file is missing or is not what its checksum says.
    """
    layout = LAYOUT.index(manifest.index).generation(manifest.generation)
    opened = {}
    for number in range(len(manifest.segments)) if numbers is None else numbers:
        record = manifest.segments[number]
        folder = materialize(store, layout.segment(record.name), record, cache)
        dimension = manifest.model_key.dimension
        opened[number] = OpenSegment(record.name, folder, list(record.files), dimension, threads)
    return opened
