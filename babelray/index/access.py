"""Who may see which rows: one compiled scope for every channel.

A row carries the number of its access class, fixed when its segment is built. A class stands for one distinct
*declared* (tenant, knowledge base, groups, status). What a class means today, its *effective* values, lies in the
index's access table, beside per-document overrides and deleted documents; so a change of rights touches no vector.

Everything fails closed: an unknown class, an empty list of groups, a tenant nobody knows all mean "not visible". A
document never changes its tenant here: for that it has to be indexed again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_validator

from babelray.errors import AccessDenied
from babelray.keys import digest_of
from babelray.text.types import EVERYONE, Document

ACTIVE = "active"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970 UTC, exact for every datetime; without a zone it is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def is_valid_at(as_of: int, valid_from: int | None, valid_to: int | None) -> bool:
    """Whether a row holds at a time: `valid_from` is the first microsecond that counts, `valid_to` the first after.

    Half-open, so that two revisions of a page that meet at one instant never show both and never neither.
    """
    return (valid_from is None or valid_from <= as_of) and (valid_to is None or as_of < valid_to)


@dataclass(frozen=True, slots=True, order=True)
class AccessValues:
    """What decides about a document: declared by its source, or effective by the access table.

    Attributes:
        groups: Sorted, unique; `*` lets everyone of the tenant in, an empty tuple nobody.
    """

    tenant_id: str
    knowledge_base_id: str
    groups: tuple[str, ...]
    status: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", tuple(sorted(set(self.groups))))

    @classmethod
    def of(cls, document: Document) -> Self:
        """The values that a document declares."""
        return cls(document.tenant_id, document.knowledge_base_id, tuple(document.acl_groups), document.status)


class AccessScope(BaseModel):
    """What one caller may see, made by trusted code from the caller's identity. Every search requires one.

    It can be narrowed, never widened: what a request body or a plan asks for goes through `narrow`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tenant_id: str = Field(min_length=1)
    groups: frozenset[str] = Field(default=frozenset(), description="groups of the caller; `*` is not one of them")
    knowledge_bases: frozenset[str] | None = Field(default=None, description="None: all of the tenant")
    as_of: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC))
    statuses: frozenset[str] = frozenset({ACTIVE})

    @field_validator("groups")
    @classmethod
    def _real_groups(cls, value: frozenset[str]) -> frozenset[str]:
        if EVERYONE in value or "" in value:
            raise ValueError(f"`{EVERYONE}` and the empty name mark documents; a caller is in named groups only")
        return value

    def narrow(
        self,
        *,
        groups: Iterable[str] | None = None,
        knowledge_bases: Iterable[str] | None = None,
        statuses: Iterable[str] | None = None,
    ) -> "AccessScope":
        """A scope that sees at most what this one sees; `None` leaves a part as it is.

        Tenant and time belong to the identity and cannot be asked for.

        Raises:
            AccessDenied: Something is asked for that this scope does not hold.
        """
        bases = self.knowledge_bases
        if knowledge_bases is not None:
            wanted = frozenset(knowledge_bases)
            bases = _subset("knowledge_bases", wanted, wanted if bases is None else bases)
        return AccessScope(
            tenant_id=self.tenant_id,
            groups=_subset("groups", groups, self.groups),
            knowledge_bases=bases,
            as_of=self.as_of,
            statuses=_subset("statuses", statuses, self.statuses),
        )

    def allows(self, values: AccessValues) -> bool:
        """Whether a document with these effective values is visible, its validity aside."""
        return (
            values.tenant_id == self.tenant_id
            and values.status in self.statuses
            and (self.knowledge_bases is None or values.knowledge_base_id in self.knowledge_bases)
            and (EVERYONE in values.groups or not self.groups.isdisjoint(values.groups))
        )

    @property
    def digest(self) -> str:
        """Names the scope, its time included; part of every cache key."""
        bases = None if self.knowledge_bases is None else sorted(self.knowledge_bases)
        parts = [self.tenant_id, sorted(self.groups), bases, sorted(self.statuses), to_micros(self.as_of)]
        return digest_of(parts)


def _subset(name: str, asked: Iterable[str] | None, held: frozenset[str]) -> frozenset[str]:
    if asked is None:
        return held
    wanted = frozenset(asked)
    if not wanted <= held:
        raise AccessDenied(
            "a request may only narrow the caller's scope",
            where=name,
            got=sorted(wanted - held),
            allowed=sorted(held),
            fix="ask for a part of what the identity grants",
        )
    return wanted


@dataclass(frozen=True, slots=True)
class AccessClass:
    """One class: its declared values never change, its effective ones do (but for the tenant)."""

    declared: AccessValues
    effective: AccessValues


@dataclass(frozen=True)
class AccessTable:
    """One immutable revision of an index's rights.

    Attributes:
        classes: The class number is the position; classes are only ever appended.
        overrides: Document id -> its own effective values, instead of those of its class.
        deleted: Document ids that nobody sees, whatever generation holds them.
    """

    revision: str = "empty"
    classes: tuple[AccessClass, ...] = ()
    overrides: Mapping[str, AccessValues] = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()

    @cached_property
    def numbers(self) -> dict[AccessValues, int]:
        """Declared values -> class number."""
        return {one.declared: number for number, one in enumerate(self.classes)}

    @cached_property
    def of_tenant(self) -> dict[str, list[int]]:
        """Tenant -> its class numbers, so that compiling a scope does not walk the other tenants' classes."""
        numbers: dict[str, list[int]] = {}
        for number, one in enumerate(self.classes):
            numbers.setdefault(one.effective.tenant_id, []).append(number)
        return numbers

    def effective(self, number: int, doc_id: str) -> AccessValues | None:
        """What decides about a document today, by its override or else its class; `None`: nobody sees it."""
        if doc_id in self.deleted or not 0 <= number < len(self.classes):
            return None
        values = self.classes[number].effective
        override = self.overrides.get(doc_id)
        if override is None:
            return values
        # An override that names another tenant than the row's own is a mistake that would cross the hard wall.
        return override if override.tenant_id == values.tenant_id else None


@dataclass(frozen=True, slots=True)
class CompiledScope:
    """A scope evaluated on one revision of the table: the same object for every channel.

    Attributes:
        classes: Sorted numbers of the allowed classes.
        documents: Overridden documents that are allowed, provided that their class is of the scope's tenant.
        digest: Names the allowed classes and documents; with segment and revision it is the key of a bitmap.
        as_of: Microseconds since 1970 UTC.
        verdicts: What has been asked of `permits_class`.
    """

    scope: AccessScope
    table: AccessTable
    classes: tuple[int, ...]
    documents: frozenset[str]
    digest: str
    as_of: int
    verdicts: dict[tuple[int, AccessValues], bool] = field(default_factory=dict, compare=False, repr=False)

    @property
    def revision(self) -> str:
        """Revision of the access table that was read."""
        return self.table.revision

    def permits(
        self, number: int, declared: AccessValues, doc_id: str, valid_from: int | None, valid_to: int | None
    ) -> bool:
        """Check one row from scratch: scope against table, without the compiled sets.

        Args:
            number: Class in the row column.
            declared: Values kept with the document; they must be those that the class was made for, so that a
                damaged row column cannot let a document out.
            doc_id: Stable document id.
            valid_from: Microseconds, inclusive; `None` unbounded.
            valid_to: Microseconds, exclusive; `None` unbounded.
        """
        if self.table.numbers.get(declared) != number:
            return False
        values = self.table.effective(number, doc_id)
        return values is not None and self.scope.allows(values) and is_valid_at(self.as_of, valid_from, valid_to)

    def permits_class(self, number: int, declared: AccessValues) -> bool:
        """What `permits` says of a document that has no entry of its own in the table, its validity aside.

        Remembered for the request: its results name few classes, many times.
        """
        known = self.verdicts.get((number, declared))
        if known is None:
            right = self.table.numbers.get(declared) == number
            known = right and self.scope.allows(self.table.classes[number].effective)
            self.verdicts[number, declared] = known
        return known


def compile_scope(table: AccessTable, scope: AccessScope) -> CompiledScope:
    """Evaluate a scope on a table, once a request."""
    classes = tuple(
        number for number in table.of_tenant.get(scope.tenant_id, ()) if scope.allows(table.classes[number].effective)
    )
    documents = frozenset(
        doc_id for doc_id, values in table.overrides.items() if doc_id not in table.deleted and scope.allows(values)
    )
    digest = digest_of([scope.tenant_id, classes, sorted(documents)])
    return CompiledScope(scope, table, classes, documents, digest, to_micros(scope.as_of))
