"""The records that glossaries and entity lists are made of."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, model_validator


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
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    version: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _target_fits_kind(self) -> "Term":
        if self.kind is TermKind.CUSTOM_TRANSLATION and not self.target:
            raise ValueError(f"term {self.term_id}: a custom translation needs a target")
        if self.kind is TermKind.NON_TRANSLATABLE and self.target not in ("", self.source):
            raise ValueError(f"term {self.term_id}: a non-translatable term has no other target")
        return self


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
