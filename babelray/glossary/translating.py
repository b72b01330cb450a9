"""What localization asks of whatever translates: strings with all that binds them in, outputs or failures out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from babelray.glossary.codes import lost_codes
from babelray.glossary.constraints import Constraints
from babelray.glossary.match import EnforcedMatch
from babelray.glossary.protect import Protected, verify_protected
from babelray.glossary.records import Failure, TranslatorUsed


@dataclass(frozen=True, slots=True)
class Bound:
    """One string and what binds its translation.

    Attributes:
        text: The string, placeholders and tags in place.
        protected: What must come back as it is.
        matches: Terms that stand in the string, without overlap; their renderings are wanted.
        preloaded: The constraints of the whole request, where its terms are few enough to hand over all of them; else
            the matches say it all.
    """

    text: str
    protected: tuple[Protected, ...]
    matches: tuple[EnforcedMatch, ...]
    preloaded: Constraints | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """What became of one string: an output with where it came from, or a failure with a detail."""

    output: str | None
    used: TranslatorUsed | None = None
    failure: Failure | None = None
    detail: str = ""


@dataclass(slots=True)
class Spent:
    """What translating has cost so far.

    Attributes:
        tokens_in, tokens_out: As the service counted them; 0 where it does not say.
        cost: In the currency of the configured prices.
    """

    requests: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = field(default=0.0)

    def add(self, other: "Spent") -> None:
        """Add what another one has spent."""
        self.requests += other.requests
        self.retries += other.retries
        self.tokens_in += other.tokens_in
        self.tokens_out += other.tokens_out
        self.cost += other.cost


@runtime_checkable
class BoundTranslator(Protocol):
    """Translates strings under constraints. Never raises for a single string: each has an output or a failure."""

    @property
    def name(self) -> str:
        """What profiles and routes call it."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same string may get another output."""
        ...

    @property
    def external(self) -> bool:
        """Whether strings leave for a service that others run."""
        ...

    @property
    def spent(self) -> Spent:
        """So far, by this object."""
        ...

    def can(self, source: str, target: str) -> bool:
        """Whether it translates between two BCP 47 locales."""
        ...

    def translate(self, strings: Sequence[Bound], source: str, target: str, *, tenant_id: str) -> list[Rendered]:
        """One result a string, in order. Safe to call from several threads."""
        ...


def failed(strings: Sequence[Bound], failure: Failure, detail: str) -> list[Rendered]:
    """The same failure for every string."""
    return [Rendered(None, failure=failure, detail=detail) for _ in strings]


def damages(string: Bound, result: Rendered) -> list[str]:
    """What a translation lost that breaks a program or misleads its users; nothing where there is no translation."""
    if result.output is None:
        return []
    found = [
        f"{one.problem} {one.kind} {one.detail}" for one in verify_protected(string.text, result.output) if one.fatal
    ]
    lost = lost_codes(string.text, result.output, string.protected, string.matches)
    return [*found, *(f"lost code {code}" for code in lost)]
