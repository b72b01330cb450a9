"""What a query is before anything is searched: its languages, its anchors, its type, its limits in time."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class Record(BaseModel):
    """Base of what plans and traces are made of: frozen, and serialized to the same JSON each time."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class QueryType(StrEnum):
    """How a query is best searched; one query may have several types (multilingual-rag, section 2)."""

    SAME_LANGUAGE = "same_language"
    CROSS_LANGUAGE = "cross_language"
    CODE_SWITCH = "code_switch"
    EXACT_IDENTIFIER = "exact_identifier"
    ALIAS = "alias"
    COMPARISON = "comparison"
    TIME_SENSITIVE = "time_sensitive"
    MULTI_HOP = "multi_hop"


class LanguageShare(Record):
    """One entry of a language distribution."""

    language: str
    probability: float


class AnchorRecord(Record):
    """Something in the query that every rewriting must keep.

    Attributes:
        type: A name of `babelray.text.anchors.AnchorType` or `babelray.text.query_anchors.ConstraintType`.
        start, end: Code point span; `query[start:end] == value`.
        normalized: What is compared across languages: `30 day` for `30 天`, `not` for `不`.
    """

    type: str
    start: int
    end: int
    value: str
    normalized: str
    must_preserve: bool = True


class Freshness(Record):
    """A period that the query asks about. It filters on the documents' update time only where a caller allows it."""

    start: datetime | None = None
    end: datetime | None = None
    text: str = Field(description="the words that say so")


class Suspicion(Record):
    """Something in a text that may be meant to deceive a reader or a model; it is flagged, never removed.

    Attributes:
        kind: `confusable`, `mixed_script`, `hidden_character`, `instruction` or `encoded_instruction`.
    """

    kind: str
    start: int
    end: int
    detail: str


class QueryAnalysis(Record):
    """All that is known of a query by looking at it alone.

    Attributes:
        text: As typed.
        normalized: NFKC with hidden characters taken out, beside the original and never in its place.
        language: Most probable BCP 47 tag; `und` where nothing can be said.
        candidates: Distribution, most probable first.
        languages: Whose word tables it was read with, most probable first; none where its scripts decided.
        scripts: ISO 15924 code -> share.
        groups: Sides of a comparison, as written; each deserves evidence of its own.
    """

    text: str
    normalized: str
    language: str
    candidates: tuple[LanguageShare, ...] = ()
    languages: tuple[str, ...] = ()
    scripts: dict[str, float] = {}
    low_confidence: bool = False
    code_switching: bool = False
    types: tuple[QueryType, ...] = ()
    anchors: tuple[AnchorRecord, ...] = ()
    freshness: Freshness | None = None
    groups: tuple[str, ...] = ()
    suspicions: tuple[Suspicion, ...] = ()
    domain: str = ""
    policy_version: str = ""
