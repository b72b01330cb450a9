"""The access columns of one segment, and what a compiled scope means for its rows.

Three uses of the same columns: a bitmap for FAISS, a filter for Tantivy, and the check of every row that leaves.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from babelray.errors import IntegrityError, ScopeViolation
from babelray.index.access import AccessValues, CompiledScope
from babelray.index.vectors import Bits, count_rows, pack_rows

BITMAPS_KEPT = 64
"""Bitmaps a segment keeps, least recently used first out: 125 kB each at a million rows."""

ROWS_SCHEMA = pa.schema(
    [
        pa.field("access_class", pa.uint32(), nullable=False),
        pa.field("document", pa.uint32(), nullable=False),
        pa.field("valid_from", pa.int64()),
        pa.field("valid_to", pa.int64()),
        pa.field("has_vector", pa.bool_(), nullable=False),
    ]
)
"""One row a chunk; `document` is a row of documents.arrow, times are microseconds since 1970 UTC."""

_NEVER = np.iinfo(np.int64).max
_ALWAYS = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class LexicalFilter:
    """A compiled scope in the numbers of one segment, for the word index.

    Attributes:
        classes: Allowed classes that occur here, or `None` if that is all of them and no clause is needed.
        blocked: Document rows that are excluded whatever their class: deleted, or overridden.
        admitted: Document rows among `blocked` that their override lets in all the same.
        as_of: Microseconds, or `None` if no row here has a validity.
    """

    classes: tuple[int, ...] | None
    blocked: tuple[int, ...]
    admitted: tuple[int, ...]
    as_of: int | None

    @property
    def empty(self) -> bool:
        """Whether no row can pass."""
        return self.classes == () and not self.admitted


class RowAccess:
    """Access columns of a segment, held as numpy arrays.

    Args:
        segment: Its name, for messages.
        rows: Table of `ROWS_SCHEMA`.
        doc_ids: Stable id of each document row.
        declared: Values that each document declared, kept apart from the class column on purpose: a damaged column
            has to disagree with something.
    """

    def __init__(self, segment: str, rows: pa.Table, doc_ids: Sequence[str], declared: Sequence[AccessValues]) -> None:
        self.segment = segment
        self.classes: NDArray[np.uint32] = rows["access_class"].to_numpy()
        self.documents: NDArray[np.uint32] = rows["document"].to_numpy()
        self.has_vector: NDArray[np.bool_] = rows["has_vector"].to_numpy(zero_copy_only=False)
        self.valid_from: NDArray[np.int64] = rows["valid_from"].fill_null(int(_ALWAYS)).to_numpy()
        self.valid_to: NDArray[np.int64] = rows["valid_to"].fill_null(int(_NEVER)).to_numpy()
        self._doc_ids = doc_ids
        self._declared = declared
        self._bounded = np.flatnonzero((self.valid_from != _ALWAYS) | (self.valid_to != _NEVER))
        self._vector_bits = pack_rows(self.has_vector)
        self._bitmaps: OrderedDict[tuple[str, str], Bits] = OrderedDict()
        self._lock = Lock()
        if self.rows and int(self.documents.max()) >= len(doc_ids):
            raise IntegrityError(
                "a row names a document that the segment does not hold",
                where=segment,
                got=int(self.documents.max()),
                allowed=f"under {len(doc_ids)}",
            )

    @property
    def rows(self) -> int:
        """Rows of the segment."""
        return len(self.classes)

    @cached_property
    def present_classes(self) -> tuple[int, ...]:
        """Classes that occur here, sorted."""
        return tuple(int(number) for number in np.unique(self.classes))

    @cached_property
    def _row_of_document(self) -> dict[str, int]:
        rows = {doc_id: row for row, doc_id in enumerate(self._doc_ids)}
        if len(rows) != len(self._doc_ids):
            # Only the last of two would be found when a document is deleted or overridden.
            raise IntegrityError("a document id occurs twice in a segment", where=self.segment)
        return rows

    @cached_property
    def _class_of_document(self) -> dict[int, int]:
        """Class of each document row; all chunks of a document share it."""
        rows, first = np.unique(self.documents, return_index=True)
        return {int(row): int(self.classes[at]) for row, at in zip(rows, first, strict=True)}

    def validity_bounds(self) -> NDArray[np.int64]:
        """int64 (n,), microseconds: every moment at which a row of this segment begins or ends to hold."""
        both = np.concatenate([self.valid_from[self._bounded], self.valid_to[self._bounded]])
        return np.unique(both[(both != _ALWAYS) & (both != _NEVER)])

    def permitted(self, scope: CompiledScope) -> Bits:
        """Bitmap of the rows that the scope allows, as `pack_rows` makes it; read-only."""
        key = (scope.revision, scope.digest)
        with self._lock:
            bits = self._bitmaps.get(key)
            if bits is not None:
                self._bitmaps.move_to_end(key)
        if bits is None:
            bits = pack_rows(self._allowed(scope))
            bits.flags.writeable = False
            with self._lock:
                self._bitmaps[key] = bits
                while len(self._bitmaps) > BITMAPS_KEPT:
                    self._bitmaps.popitem(last=False)
        return self._at_time(bits, scope.as_of)

    def bitmap(self, scope: CompiledScope) -> tuple[Bits, int]:
        """Rows that the scope allows and that have a vector.

        Returns:
            uint8 bitmap as `pack_rows` makes it, and the number of rows in it.
        """
        bits = self.permitted(scope) & self._vector_bits
        return bits, count_rows(bits)

    def lexical_filter(self, scope: CompiledScope) -> LexicalFilter:
        """The scope in this segment's numbers."""
        blocked, admitted = self._special_documents(scope)
        allowed = set(scope.classes)
        classes = tuple(number for number in self.present_classes if number in allowed)
        return LexicalFilter(
            classes=None if classes == self.present_classes else classes,
            blocked=tuple(sorted(blocked)),
            admitted=tuple(sorted(admitted)),
            as_of=scope.as_of if len(self._bounded) else None,
        )

    def check(self, rows: NDArray[np.int64], scope: CompiledScope) -> None:
        """Look at each row once more before it leaves, from the document's own values up.

        Raises:
            AccessDenied: A row is outside the scope. Nothing of the result may be used.
        """
        table, documents = scope.table, self.documents[rows]
        classes = self.classes[rows].tolist()
        valid = (self.valid_from[rows] <= scope.as_of) & (scope.as_of < self.valid_to[rows])
        verdicts: dict[tuple[int, int], bool] = {}
        for row, document, number, holds in zip(rows, documents.tolist(), classes, valid.tolist(), strict=True):
            doc_id, declared = self._doc_ids[document], self._declared[document]
            if doc_id in table.deleted or doc_id in table.overrides:
                permitted = scope.permits(number, declared, doc_id, None, None)
            else:
                # Documents share their values as objects: a result has few pairs of class and values.
                pair = (number, id(declared))
                permitted = verdicts[pair] if pair in verdicts else scope.permits_class(number, declared)
                verdicts[pair] = permitted
            if not (permitted and holds):
                raise ScopeViolation(
                    "a row outside the caller's scope came out of a search and was withheld, with all of its results",
                    where=f"segment {self.segment}, row {int(row)}, access revision {scope.revision}",
                    fix="run `babelray generations verify --deep`: an index or a column of this segment is damaged",
                )

    def _special_documents(self, scope: CompiledScope) -> tuple[set[int], set[int]]:
        rows = self._row_of_document
        table = scope.table
        overridden = {rows[doc_id] for doc_id in table.overrides if doc_id in rows}
        deleted = {rows[doc_id] for doc_id in table.deleted if doc_id in rows}
        tenants = set(table.of_tenant.get(scope.scope.tenant_id, ()))
        admitted = {rows[doc_id] for doc_id in scope.documents if doc_id in rows}
        # An override counts only inside the tenant that the document was indexed for.
        admitted = {row for row in admitted if self._class_of_document.get(row, -1) in tenants}
        return overridden | deleted, admitted

    def _allowed(self, scope: CompiledScope) -> NDArray[np.bool_]:
        blocked, admitted = self._special_documents(scope)
        allowed = np.isin(self.classes, np.array(scope.classes, dtype=np.uint32))
        if blocked:
            allowed &= ~np.isin(self.documents, np.array(sorted(blocked), dtype=np.uint32))
        if admitted:
            allowed |= np.isin(self.documents, np.array(sorted(admitted), dtype=np.uint32))
        return allowed

    def _at_time(self, bits: Bits, as_of: int) -> Bits:
        """Clear the rows that do not hold at a time; only rows with a bound are looked at."""
        bounded = self._bounded
        if not len(bounded):
            return bits
        outside = bounded[(self.valid_from[bounded] > as_of) | (self.valid_to[bounded] <= as_of)]
        cleared = bits.copy()
        masks = ~(np.uint8(1) << (outside % 8).astype(np.uint8))
        np.bitwise_and.at(cleared, outside // 8, masks)
        return cleared
