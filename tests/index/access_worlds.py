"""Random tables, scopes and rows for the access tests, and the rules written out the slow way."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from babelray.index.access import AccessClass, AccessScope, AccessTable, AccessValues, to_micros
from babelray.index.row_access import ROWS_SCHEMA, RowAccess

TENANTS = ("a", "b", "c")
BASES = ("docs", "wiki", "blog")
GROUPS = ("dev", "ops", "hr", "all-hands")
STATUSES = ("active", "draft")
NOW = to_micros(datetime(2025, 6, 1, tzinfo=UTC))


@dataclass
class World:
    """A table, and rows of one segment as plain lists."""

    table: AccessTable
    doc_ids: list
    doc_class: list
    documents: list
    valid_from: list
    valid_to: list
    has_vector: list

    @property
    def rows(self):
        return len(self.documents)

    @property
    def classes(self):
        return [self.doc_class[document] for document in self.documents]

    @property
    def declared(self):
        """Of each document; a class that the table does not know has no values to match."""
        unknown = AccessValues("a", "lost", ("*",), "active")
        known = self.table.classes
        return [known[number].declared if number < len(known) else unknown for number in self.doc_class]

    def row_table(self):
        columns = [self.classes, self.documents, self.valid_from, self.valid_to, self.has_vector]
        arrays = [pa.array(column, type=field.type) for column, field in zip(columns, ROWS_SCHEMA, strict=True)]
        return pa.Table.from_arrays(arrays, schema=ROWS_SCHEMA)

    def row_access(self):
        return RowAccess("s0", self.row_table(), self.doc_ids, self.declared)

    def visible(self, scope, row):
        """The rules once more, long and separate from the code under test."""
        document = self.documents[row]
        doc_id, number = self.doc_ids[document], self.doc_class[document]
        if doc_id in self.table.deleted or number >= len(self.table.classes):
            return False
        effective = self.table.classes[number].effective
        override = self.table.overrides.get(doc_id)
        if override is not None:
            if override.tenant_id != effective.tenant_id:
                return False
            effective = override
        if effective.tenant_id != scope.tenant_id or effective.status not in scope.statuses:
            return False
        if scope.knowledge_bases is not None and effective.knowledge_base_id not in scope.knowledge_bases:
            return False
        if "*" not in effective.groups and not set(effective.groups) & set(scope.groups):
            return False
        as_of = to_micros(scope.as_of)
        start, stop = self.valid_from[row], self.valid_to[row]
        return (start is None or as_of >= start) and (stop is None or as_of < stop)


def random_values(rng, tenant=None):
    groups = [group for group in (*GROUPS, "*") if rng.random() < 0.25]
    return AccessValues(
        tenant or str(rng.choice(TENANTS)),
        str(rng.choice(BASES)),
        tuple(groups),
        str(rng.choice(STATUSES, p=[0.8, 0.2])),
    )


def random_world(rng, rows=60):
    declared = sorted({random_values(rng) for _ in range(int(rng.integers(1, 12)))})
    classes = tuple(
        AccessClass(one, random_values(rng, one.tenant_id) if rng.random() < 0.3 else one) for one in declared
    )
    documents = max(rows // 3, 1)
    doc_ids = [f"doc-{n}" for n in range(documents)]
    # One number more than the table has: a class that was never registered, or was lost.
    doc_class = [int(n) for n in rng.integers(0, len(classes) + 1, documents)]
    overrides = {
        doc_id: random_values(rng, None if rng.random() < 0.2 else _tenant(classes, doc_class[at]))
        for at, doc_id in enumerate(doc_ids)
        if rng.random() < 0.15
    }
    deleted = frozenset(doc_id for doc_id in [*doc_ids, "doc-elsewhere"] if rng.random() < 0.1)
    bounds = np.array([NOW - 1, NOW, NOW + 1])
    pick = lambda: int(rng.choice(bounds)) if rng.random() < 0.2 else None  # noqa: E731
    return World(
        table=AccessTable("r7", classes, overrides, deleted),
        doc_ids=doc_ids,
        doc_class=doc_class,
        documents=sorted(int(n) for n in rng.integers(0, documents, rows)),
        valid_from=[pick() for _ in range(rows)],
        valid_to=[pick() for _ in range(rows)],
        has_vector=[bool(rng.random() > 0.05) for _ in range(rows)],
    )


def _tenant(classes, number):
    return classes[number].declared.tenant_id if number < len(classes) else "a"


def random_scope(rng):
    bases = None if rng.random() < 0.5 else frozenset(base for base in BASES if rng.random() < 0.5)
    return AccessScope(
        tenant_id=str(rng.choice([*TENANTS, "unknown"])),
        groups=frozenset(group for group in GROUPS if rng.random() < 0.4),
        knowledge_bases=bases,
        statuses=frozenset(status for status in STATUSES if rng.random() < 0.7),
        as_of=datetime(2025, 6, 1, tzinfo=UTC),
    )
