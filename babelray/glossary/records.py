"""What is kept of every localized string: written when it is localized, read by scoring and calibration."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from babelray.glossary.modes import RetrievalMode

RECORDS_VERSION = 1
"""Of the fields; a reader refuses records of a higher one."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Failure(StrEnum):
    """Why a string has no output."""

    NO_TRANSLATOR = "no_translator"
    UPSTREAM = "upstream"
    BOUNDARY = "boundary"
    PROTECTED_DAMAGED = "protected_damaged"
    TERM_CONTESTED = "term_contested"
    TOO_LONG = "too_long"
    UNREADABLE = "unreadable"


class RetrievedTerm(_Record):
    """A term that the translator was given.

    Attributes:
        start, end: Span in the source string; both 0 for a preloaded term, which stands nowhere in particular.
        how: The `MatchKind` of an enforced match, or `preload`.
    """

    term_id: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    surface: str
    how: str
    rule: str = ""


class HintedTerm(_Record):
    """A term that was found by meaning and binds nobody."""

    term_id: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    surface: str
    score: float
    threshold: float


class TranslatorUsed(_Record):
    """Where an output came from; the fields of `babelray.protocols.Translation`."""

    translator: str
    model: str
    version: str
    route: tuple[str, ...] = ()
    translation_id: str = ""
    glossary_version: str | None = None


class LocalizedString(_Record):
    """One string for one target locale, with all that is needed to score it and to find the step that lost a term.

    Attributes:
        record_id: Digest of payload name, position, pair, tenant and source text: the same string of the same run has
            the same id wherever and whenever it is done again.
        position: In `Payload.strings`; pointers are not unique when an object repeats a key.
        glossaries: Name -> version.
        output: The translation; empty string only where the source has no words; None where there is none, and then
            `failure` says why.
        near_misses: What lay a little under the threshold; read by calibration, given to nobody.
        contested: Groups of term ids that claim one span with different renderings; none of them was given.
    """

    version: Literal[1] = 1
    record_id: str
    payload: str
    pointer: str
    position: int = Field(ge=0)
    tenant_id: str
    profile: str
    source_locale: str
    target_locale: str
    source: str
    output: str | None
    mode: RetrievalMode
    retrieved: tuple[RetrievedTerm, ...] = ()
    hints: tuple[HintedTerm, ...] = ()
    near_misses: tuple[HintedTerm, ...] = ()
    contested: tuple[tuple[str, ...], ...] = ()
    glossaries: dict[str, int] = Field(default_factory=dict)
    constraints_version: str = ""
    thresholds_version: str = ""
    translator: TranslatorUsed | None = None
    failure: Failure | None = None
    detail: str = ""
    localized_at: datetime
