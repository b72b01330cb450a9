"""The records that glossaries and entity lists are made of."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator


class TermKind(StrEnum):
    """How a term binds a translation."""

    NON_TRANSLATABLE = "non_translatable"
    CUSTOM_TRANSLATION = "custom_translation"


class Term(BaseModel):
    """A glossary term for one locale pair.

    A non-translatable term appears unchanged in the output; a custom translation overrides the translator's own
    choice. The two classes are scored apart.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    term_id: str = Field(min_length=1, max_length=256)
    tenant_id: str = "default"
    domain: str = ""
    source_locale: str = Field(min_length=2, description="BCP 47")
    target_locale: str = Field(min_length=1, description="BCP 47, or * for every target")
    source: str = Field(min_length=1, max_length=1024)
    target: str = Field(default="", max_length=1024, description="empty for a non-translatable term")
    kind: TermKind
    surface_forms: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    forbidden_translations: tuple[str, ...] = ()
    hint: str = ""
    case: Literal["auto", "sensitive", "insensitive"] = Field(
        default="auto", description="auto: only initialisms that are also words, and one-letter terms, need their case"
    )
    part_of_speech: Literal["", "noun", "verb", "adjective", "proper"] = Field(
        default="", description="narrows the inflected forms; a proper noun has none but its plural; empty allows all"
    )
    expand: bool = Field(default=True, description="false: only the listed forms, no inflection, variant or initialism")
    only_with: tuple[str, ...] = Field(
        default=(), description="narrows a generic word: one of these must stand in the string or its JSON Pointer"
    )
    not_with: tuple[str, ...] = Field(default=(), description="none of these may stand there")
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    version: int = Field(default=1, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _one_way_to_say_untranslated(cls, values: Any) -> Any:
        """A non-translatable term may name itself as target; it is kept with none, so that equal terms are equal."""
        if not isinstance(values, dict) or values.get("kind") != TermKind.NON_TRANSLATABLE:
            return values
        return values | {"target": ""} if values.get("target") == values.get("source") else values

    @property
    def rendering(self) -> str:
        """What must stand in the output: the target, or the source of a non-translatable term."""
        return self.source if self.kind is TermKind.NON_TRANSLATABLE else self.target

    def is_valid(self, as_of: datetime | None) -> bool:
        """Whether the term holds at a time (UTC where no zone is given); `None` asks for any time."""
        if as_of is None:
            return True
        moment = _utc(as_of)
        return (self.valid_from is None or _utc(self.valid_from) <= moment) and (
            self.valid_to is None or moment < _utc(self.valid_to)
        )

    @field_validator("term_id", "source", "target", "hint", "aliases", "surface_forms", "forbidden_translations")
    @classmethod
    def _holds_no_controls(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        """Databases refuse NUL, and no other control character but tab and line break stands in a text on purpose."""
        if any(ord(character) < ord(" ") and character not in "\t\r\n" for text in value for character in text):
            raise ValueError("a control character stands in it")
        return value

    @field_validator("term_id", "source")
    @classmethod
    def _is_visible(cls, value: str) -> str:
        if not any(character.isprintable() and not character.isspace() for character in value):
            raise ValueError("nothing in it can be seen")
        return value

    @model_validator(mode="after")
    def _validity_is_a_period(self) -> "Term":
        if self.valid_from and self.valid_to and _utc(self.valid_from) >= _utc(self.valid_to):
            raise ValueError(f"term {self.term_id}: valid_from is not before valid_to")
        return self

    @model_validator(mode="after")
    def _target_fits_kind(self) -> "Term":
        if self.kind is TermKind.CUSTOM_TRANSLATION and not self.target.strip():
            raise ValueError(f"term {self.term_id}: a custom translation needs a target")
        if self.kind is TermKind.NON_TRANSLATABLE and self.target not in ("", self.source):
            raise ValueError(f"term {self.term_id}: a non-translatable term has no other target")
        return self


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class Entity(BaseModel):
    """A thing with several names, used by the alias channel (Kubernetes, k8s, 库伯内特斯)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    entity_id: str = Field(min_length=1, max_length=256)
    canonical_name: str = Field(min_length=1, max_length=1024)
    aliases: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    domain: str = ""
    ambiguous: bool = Field(default=False, description="one alias may mean several entities: keep them apart")
    version: int = Field(default=1, ge=1)
