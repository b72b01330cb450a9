"""Changes of rights as an operator writes them, and what they make of a table. Pure: no store here."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from babelray.errors import InputError
from babelray.index.access import AccessClass, AccessTable, AccessValues


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ClassSelector(_Record):
    """Which classes: all whose *declared* values agree with what is given. The tenant is always given.

    Declared values never change, so that a file of changes means the same each time it is applied.
    """

    tenant_id: str = Field(min_length=1)
    knowledge_base_id: str | None = None
    groups: tuple[str, ...] | None = Field(default=None, description="exactly these groups, in any order")
    status: str | None = None

    def matches(self, declared: AccessValues) -> bool:
        """Whether a class is meant."""
        return (
            declared.tenant_id == self.tenant_id
            and self.knowledge_base_id in (None, declared.knowledge_base_id)
            and self.status in (None, declared.status)
            and (self.groups is None or tuple(sorted(set(self.groups))) == declared.groups)
        )


class NewValues(_Record):
    """Values to set; what is left out stays. There is no tenant: to move a document, index it for the other one."""

    knowledge_base_id: str | None = Field(default=None, min_length=1)
    groups: tuple[str, ...] | None = Field(default=None, description="`*` is everyone of the tenant, [] nobody")
    status: str | None = Field(default=None, min_length=1)

    def over(self, values: AccessValues) -> AccessValues:
        """The given values with these in their place."""
        return replace(values, **self.model_dump(exclude_none=True))


class SetClass(_Record):
    """Change what classes mean, and with them all of their documents."""

    action: Literal["set_class"]
    where: ClassSelector
    set: NewValues


class ResetClass(_Record):
    """Give classes back what their sources declare."""

    action: Literal["reset_class"]
    where: ClassSelector


class SetDocument(_Record):
    """Give one document values of its own, whatever its class."""

    action: Literal["set_document"]
    doc_id: str = Field(min_length=1)
    tenant_id: str = Field(min_length=1, description="must be the document's own tenant, else nobody sees it")
    knowledge_base_id: str = Field(min_length=1)
    groups: tuple[str, ...]
    status: str = Field(default="active", min_length=1)


class ResetDocument(_Record):
    """Let the document's class decide again."""

    action: Literal["reset_document"]
    doc_id: str = Field(min_length=1)


class DeleteDocument(_Record):
    """Hide a document from everybody, in every generation, until it is restored."""

    action: Literal["delete_document"]
    doc_id: str = Field(min_length=1)


class RestoreDocument(_Record):
    """Undo a deletion."""

    action: Literal["restore_document"]
    doc_id: str = Field(min_length=1)


Change = Annotated[
    SetClass | ResetClass | SetDocument | ResetDocument | DeleteDocument | RestoreDocument,
    Field(discriminator="action"),
]
_CHANGES: TypeAdapter[list[Change]] = TypeAdapter(list[Change])


def parse_changes(loaded: Any, where: str) -> list[Change]:
    """Changes from what a YAML or JSON file holds: a list, or a mapping with the one key `changes`.

    Raises:
        InputError: The entry, the field and what is wrong with it.
    """
    if isinstance(loaded, dict) and set(loaded) == {"changes"}:
        loaded = loaded["changes"]
    try:
        return _CHANGES.validate_python(loaded)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        location = ".".join(str(part) for part in problem["loc"]) or "the whole file"
        raise InputError(
            f"an access change cannot be read: {problem['msg']}",
            where=f"{where}, entry {location}",
            got=repr(problem.get("input"))[:200],
            fix="see `babelray access apply --help` for the actions and their fields",
        ) from None


def changed_table(table: AccessTable, changes: Iterable[Change]) -> AccessTable:
    """The table after the changes, in order; its revision still has to be given by who stores it.

    Raises:
        InputError: A class selector matches nothing: most likely a mistake in it, and rights would stay as they are.
    """
    classes = list(table.classes)
    overrides = dict(table.overrides)
    deleted = set(table.deleted)
    for number, change in enumerate(changes):
        match change:
            case SetClass() | ResetClass():
                _change_classes(classes, change, number)
            case SetDocument():
                overrides[change.doc_id] = AccessValues(
                    change.tenant_id, change.knowledge_base_id, change.groups, change.status
                )
            case ResetDocument():
                overrides.pop(change.doc_id, None)
            case DeleteDocument():
                deleted.add(change.doc_id)
            case RestoreDocument():
                deleted.discard(change.doc_id)
    return AccessTable(table.revision, tuple(classes), overrides, frozenset(deleted))


def _change_classes(classes: list[AccessClass], change: SetClass | ResetClass, number: int) -> None:
    matching = [at for at, one in enumerate(classes) if change.where.matches(one.declared)]
    if not matching:
        raise InputError(
            "no access class matches",
            where=f"entry {number}, where",
            got=change.where.model_dump(exclude_none=True),
            fix="`babelray access classes` lists the declared values; nothing was changed",
        )
    for at in matching:
        one = classes[at]
        effective = change.set.over(one.effective) if isinstance(change, SetClass) else one.declared
        classes[at] = AccessClass(one.declared, effective)
