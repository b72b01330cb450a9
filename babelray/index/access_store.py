"""The access table in the store: immutable Arrow revisions, and one pointer that is swapped.

A revision is written first, the pointer after it; so a reader finds either the old table or the new one whole. Two
writers race for the pointer: the one that comes second reads again and puts its change on top of the other's.
"""

import io
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from babelray.errors import IntegrityError, PublishConflict
from babelray.index.access import AccessClass, AccessTable, AccessValues
from babelray.index.access_changes import Change, changed_table
from babelray.index.layout import LAYOUT
from babelray.index.store import Store
from babelray.keys import digest_of

MAX_TRIES = 100
"""A lost race means that another writer got through, so that this many in a row are a fault and not bad luck."""
HISTORY_KEPT = 100
_RESTORE = "restore the file from a copy of the store; until then nothing of this index can be served"

_VALUES = pa.struct(
    [
        pa.field("tenant_id", pa.string(), nullable=False),
        pa.field("knowledge_base_id", pa.string(), nullable=False),
        pa.field("groups", pa.list_(pa.string()), nullable=False),
        pa.field("status", pa.string(), nullable=False),
    ]
)
TABLE_SCHEMA = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),  # class | override | deleted
        pa.field("number", pa.uint32()),  # of a class
        pa.field("doc_id", pa.string()),  # of an override or a deletion
        pa.field("declared", _VALUES),  # of a class
        pa.field("effective", _VALUES),  # of a class or an override
    ]
)


@dataclass(frozen=True, slots=True)
class PointedTable:
    """The current table, and the tag of the pointer that named it (`None`: there is no pointer yet)."""

    table: AccessTable
    tag: Any
    history: tuple[dict[str, Any], ...] = ()


def read_current(store: Store, index: str) -> PointedTable:
    """The access table in force; an empty one where none was ever written, by which nobody sees anything.

    Raises:
        IntegrityError: The pointer or its table is damaged.
    """
    layout = LAYOUT.index(index)
    found = store.read_tagged(layout.access_pointer)
    if found is None:
        return PointedTable(AccessTable(), None)
    data, tag = found
    revision, history = _parse_pointer(data, layout.access_pointer)
    return PointedTable(read_table(store, index, revision), tag, history)


def current_revision(store: Store, index: str) -> str:
    """Name of the revision in force, without reading its table.

    Raises:
        IntegrityError: The pointer is damaged.
    """
    path = LAYOUT.index(index).access_pointer
    found = store.read_tagged(path)
    return _parse_pointer(found[0], path)[0] if found else AccessTable().revision


def _parse_pointer(data: bytes, where: str) -> tuple[str, tuple[dict[str, Any], ...]]:
    """Revision and history."""
    try:
        pointer = json.loads(data)
        return str(pointer["revision"]), tuple(pointer["history"])
    except (ValueError, KeyError, TypeError) as error:
        raise IntegrityError(
            "the access pointer cannot be read", where=where, got=repr(error)[:200], fix=_RESTORE
        ) from error


def read_table(store: Store, index: str, revision: str) -> AccessTable:
    """One revision.

    Raises:
        IntegrityError: Its content is not what its name says.
    """
    path = LAYOUT.index(index).access_table(revision)
    table = decode_table(store.read_bytes(path), revision, path)
    if revision.rpartition("-")[2] != _content_digest(table):
        raise IntegrityError(
            "an access table is not what its name says",
            where=path,
            got=_content_digest(table),
            fix=_RESTORE,
        )
    return table


def register_classes(store: Store, index: str, declared: Iterable[AccessValues]) -> dict[AccessValues, int]:
    """Class numbers for declared values; those that are new are appended, with themselves as effective values.

    Existing numbers and changed rights stay as they are, so that indexing a corpus again undoes no change.

    Returns:
        The number of every value asked for.
    """
    wanted = sorted(set(declared))

    def append(table: AccessTable) -> AccessTable:
        fresh = [AccessClass(one, one) for one in wanted if one not in table.numbers]
        return AccessTable(table.revision, (*table.classes, *fresh), table.overrides, table.deleted)

    table = _swap(store, index, append, note=f"registered classes for {len(wanted)} declared values")
    return {one: table.numbers[one] for one in wanted}


def apply_changes(
    store: Store, index: str, changes: Iterable[Change], *, note: str = "", expected: str | None = None
) -> AccessTable:
    """Change rights; in force for every search that reads the table after this returns.

    Args:
        store: Where the index lies.
        index: Its name.
        changes: Applied in order, all or none.
        note: Kept in the history.
        expected: Revision that the operator looked at; with it, a table that has moved on is not touched.

    Returns:
        The new table; the old one if the changes change nothing.

    Raises:
        InputError: A change cannot be applied; nothing was changed.
        PublishConflict: The revision is not `expected`.
    """
    listed = list(changes)

    def change(table: AccessTable) -> AccessTable:
        if expected is not None and table.revision != expected:
            raise PublishConflict(
                "the access table has changed in the meantime",
                where=index,
                got=table.revision,
                allowed=expected,
                fix="look at `babelray access show` and apply again",
            )
        return changed_table(table, listed)

    return _swap(store, index, change, note=note or f"{len(listed)} changes")


def _swap(store: Store, index: str, change: Callable[[AccessTable], AccessTable], note: str) -> AccessTable:
    layout = LAYOUT.index(index)
    for _ in range(MAX_TRIES):
        pointed = read_current(store, index)
        changed = change(pointed.table)
        digest = _content_digest(changed)
        if digest == _content_digest(pointed.table):
            return pointed.table
        number = len(pointed.history) and int(pointed.history[-1]["number"])
        table = AccessTable(f"{number + 1:06d}-{digest}", changed.classes, changed.overrides, changed.deleted)
        # The name holds the digest of the content: if it is there already, it is the same table.
        store.create_if_absent(layout.access_table(table.revision), encode_table(table))
        entry = {
            "number": number + 1,
            "revision": table.revision,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "note": note,
        }
        pointer = {"revision": table.revision, "history": [*pointed.history, entry][-HISTORY_KEPT:]}
        data = json.dumps(pointer, indent=2, ensure_ascii=False).encode()
        try:
            store.compare_and_swap(layout.access_pointer, pointed.tag, data)
        except PublishConflict:
            continue
        return table
    raise PublishConflict(
        "the access table could not be changed: other writers were always first",
        where=layout.access_pointer,
        got=f"{MAX_TRIES} lost races",
        fix="see what else is writing access tables of this index",
    )


def encode_table(table: AccessTable) -> bytes:
    """A revision as an Arrow IPC file; equal tables give equal bytes."""
    rows = [
        {"kind": "class", "number": number, "declared": _as_dict(one.declared), "effective": _as_dict(one.effective)}
        for number, one in enumerate(table.classes)
    ]
    rows += [
        {"kind": "override", "doc_id": doc_id, "effective": _as_dict(values)}
        for doc_id, values in sorted(table.overrides.items())
    ]
    rows += [{"kind": "deleted", "doc_id": doc_id} for doc_id in sorted(table.deleted)]
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, TABLE_SCHEMA) as writer:
        writer.write_table(pa.Table.from_pylist(rows, schema=TABLE_SCHEMA))
    return sink.getvalue()


def decode_table(data: bytes, revision: str, where: str) -> AccessTable:
    """Read what `encode_table` wrote.

    Raises:
        IntegrityError: Not such a file, another schema, or class numbers that are not 0, 1, 2...
    """
    try:
        with pa.ipc.open_file(pa.BufferReader(data)) as reader:
            table = reader.read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise IntegrityError(
            "an access table cannot be read", where=where, got=str(error)[:200], fix=_RESTORE
        ) from error
    if not table.schema.equals(TABLE_SCHEMA):
        raise IntegrityError(
            "an access table has another schema", where=where, got=table.schema.names, allowed=TABLE_SCHEMA.names
        )
    rows = table.to_pylist()
    classes = [row for row in rows if row["kind"] == "class"]
    if [row["number"] for row in classes] != list(range(len(classes))):
        raise IntegrityError("the classes of an access table are not numbered in order", where=where, fix=_RESTORE)
    return AccessTable(
        revision,
        tuple(AccessClass(_as_values(row["declared"]), _as_values(row["effective"])) for row in classes),
        {row["doc_id"]: _as_values(row["effective"]) for row in rows if row["kind"] == "override"},
        frozenset(row["doc_id"] for row in rows if row["kind"] == "deleted"),
    )


def _content_digest(table: AccessTable) -> str:
    return digest_of(
        [
            [[_as_dict(one.declared), _as_dict(one.effective)] for one in table.classes],
            {doc_id: _as_dict(values) for doc_id, values in table.overrides.items()},
            sorted(table.deleted),
        ]
    )


def _as_dict(values: AccessValues) -> dict[str, Any]:
    return {
        "tenant_id": values.tenant_id,
        "knowledge_base_id": values.knowledge_base_id,
        "groups": list(values.groups),
        "status": values.status,
    }


def _as_values(row: dict[str, Any]) -> AccessValues:
    return AccessValues(row["tenant_id"], row["knowledge_base_id"], tuple(row["groups"]), row["status"])
