"""The ways there are from one language to another: routes of the settings first, then single translators in order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from babelray.config import RouteSettings
from babelray.errors import ConfigError
from babelray.glossary.locales import serves
from babelray.protocols import Translator


@dataclass(frozen=True, slots=True)
class Way:
    """One or more translators, each going on where the one before ended.

    Attributes:
        languages: Passed through, one more than there are steps.
    """

    languages: tuple[str, ...]
    steps: tuple[Translator, ...]

    @property
    def name(self) -> str:
        """Names of the steps."""
        return "+".join(step.name for step in self.steps)

    @property
    def model(self) -> str:
        """Models of the steps."""
        return "+".join(step.model for step in self.steps)

    @property
    def version(self) -> str:
        """Versions of the steps."""
        return "+".join(step.version for step in self.steps)

    @property
    def external(self) -> tuple[str, ...]:
        """Names of the steps that texts leave for."""
        return tuple(step.name for step in self.steps if step.external)

    @property
    def applies_glossary(self) -> bool:
        """Whether a step replaces glossary terms by itself."""
        return any(step.glossary_version is not None for step in self.steps)


def check_routes(routes: Sequence[RouteSettings], translators: Mapping[str, Translator]) -> None:
    """Refuse routes that cannot be gone.

    Raises:
        ConfigError: A step names an unknown translator, or one that does not know the step's languages.
    """
    for route in routes:
        where = f"route {' > '.join(route.languages)}"
        for number, name in enumerate(route.translators):
            source, target = route.languages[number : number + 2]
            if name not in translators:
                raise ConfigError(
                    "a route names an unknown translator",
                    where=where,
                    got=name,
                    allowed=", ".join(translators) or "none",
                )
            if not translators[name].knows(source, target):
                known = ", ".join(f"{left}>{right}" for left, right in sorted(translators[name].pairs()))
                raise ConfigError(
                    f"translator {name} does not know a step of the route",
                    where=where,
                    got=f"{source}>{target}",
                    allowed=known or "no pair",
                )


def ways_between(
    source: str, target: str, routes: Sequence[RouteSettings], translators: Mapping[str, Translator]
) -> list[Way]:
    """All ways between two BCP 47 languages, in the order in which they are tried."""
    found = [
        Way(route.languages, tuple(translators[name] for name in route.translators))
        for route in routes
        if serves(route.languages[0], source) is not None and serves(route.languages[-1], target) is not None
    ]
    found += [Way((source, target), (one,)) for one in translators.values() if one.knows(source, target)]
    return found
