"""Engine profiles: what one product injects into every request, and where its text may go."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from babelray.config import DataBoundary
from babelray.errors import ConfigError
from babelray.glossary.locales import ANY, serves
from babelray.glossary.modes import DEFAULT_PRELOAD_LIMIT
from babelray.glossary.redaction import check_service


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Criterion(_Part):
    """A scoring rule of the team's own.

    `must_match` and `must_not_match` are regular expressions over the output; `max_growth` bounds its length over the
    source's; `judge` hands `description` to a model that is not the localizer.
    """

    name: str = Field(min_length=1, max_length=100)
    description: str = ""
    kind: Literal["must_match", "must_not_match", "max_growth", "judge"]
    pattern: re.Pattern[str] | None = None
    growth: float | None = Field(default=None, gt=0, le=20)
    locales: tuple[str, ...] = Field(default=(), description="target locales; empty for all")
    weight: float = Field(default=1.0, gt=0, le=100)

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        needs = {"must_match": "pattern", "must_not_match": "pattern", "max_growth": "growth"}.get(self.kind)
        if needs and getattr(self, needs) is None:
            raise ValueError(f"criterion {self.name}: {self.kind} needs `{needs}`")
        if self.kind == "judge" and not self.description:
            raise ValueError(f"criterion {self.name}: a judge needs a description")
        return self


class Route(_Part):
    """Translators of a pair, tried in order; `*` stands for any locale."""

    source: str = ANY
    target: str = ANY
    translators: tuple[str, ...] = Field(min_length=1)


class EngineProfile(_Part):
    """Everything one product's localization is made with.

    Precedence in the prompt: glossary, then instructions, then voice.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")
    tenant_id: str = "default"
    glossaries: tuple[str, ...] = ()
    domains: tuple[str, ...] | None = Field(default=None, description="terms of these domains and of none; null: all")
    brand_voice: str = ""
    instructions: Mapping[str, tuple[str, ...]] = Field(
        default_factory=dict, description="target locale, or * for all, -> rules for the translator"
    )
    criteria: tuple[Criterion, ...] = ()
    routes: tuple[Route, ...] = ()
    boundary: DataBoundary = DataBoundary()
    inflected_targets: tuple[str, ...] = Field(
        default=(), description="target locales in which a custom translation may be inflected"
    )
    preload_limit: int = Field(default=DEFAULT_PRELOAD_LIMIT, ge=0, le=10_000)

    def instructions_for(self, target: str) -> tuple[str, ...]:
        """Rules for a target locale: those for all first, then by how specific their locale is."""
        known = [(specific, locale) for locale in self.instructions if (specific := serves(locale, target)) is not None]
        return tuple(rule for _, locale in sorted(known) for rule in self.instructions[locale])

    def translators_for(self, source: str, target: str) -> tuple[str, ...]:
        """Translators of the most specific route of a pair; empty if none is set."""
        best: tuple[int, tuple[str, ...]] = (-1, ())
        for route in self.routes:
            left, right = serves(route.source, source), serves(route.target, target)
            if left is not None and right is not None and left + right > best[0]:
                best = (left + right, route.translators)
        return best[1]

    def allows_inflection(self, target: str) -> bool:
        """Whether a custom translation may be inflected in a target locale."""
        return any(serves(locale, target) is not None for locale in self.inflected_targets)

    def criteria_for(self, target: str) -> tuple[Criterion, ...]:
        """Criteria of a target locale."""
        return tuple(
            c for c in self.criteria if not c.locales or any(serves(loc, target) is not None for loc in c.locales)
        )

    def instruction_criteria(self, target: str) -> tuple[Criterion, ...]:
        """The rules for a target locale as criteria of a judge: whether the translator followed them."""
        return tuple(
            Criterion(name=f"instruction {number}", description=rule, kind="judge")
            for number, rule in enumerate(self.instructions_for(target), start=1)
        )

    def check_service(self, service: str) -> None:
        """Refuse a service that this product's text may not go to.

        Raises:
            AccessDenied: It is not among the boundary's services.
        """
        check_service(self.boundary, service, self.name)


def load_profile(path: Path) -> EngineProfile:
    """A profile from a YAML file.

    Raises:
        ConfigError: The file is unreadable, no YAML, or has an unknown or wrong field.
    """
    try:
        return EngineProfile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError("cannot read the engine profile", where=path, got=error.strerror) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError("the engine profile is not YAML", where=path, got=str(error)) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            f"engine profile, `{place}`: {first['msg']}", where=path, got=repr(first.get("input"))[:200]
        ) from None
