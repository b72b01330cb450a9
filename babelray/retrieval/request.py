"""What a caller asks and what comes back."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from babelray.retrieval.citations import Citation, Preview
from babelray.retrieval.query import QueryAnalysis, Record, Suspicion
from babelray.retrieval.trace import ChannelPlace, DegradationTrace, Trace


class Request(Record):
    """One search. The access scope is not part of it: trusted code hands it over beside the request.

    Attributes:
        answer_language: BCP 47; the query's own language where none is given. Previews are translated into it.
        interface_locale: How dates and numbers are shown; handed through.
        knowledge_bases, groups, statuses: Narrow the caller's scope; they can never widen it.
        fresh_only: Keep only documents updated in the period that the query names.
        previews: Add machine translations of the quotes, marked as such.
        explain: Keep a trace of every candidate.
    """

    query: str
    k: int = Field(default=10, ge=1, le=1000)
    token_budget: int | None = Field(default=None, ge=16, le=100_000)
    answer_language: str | None = None
    interface_locale: str | None = None
    domain: str = ""
    knowledge_bases: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    statuses: tuple[str, ...] | None = None
    fresh_only: bool = False
    previews: bool = False
    explain: bool = False


class Status(StrEnum):
    """How a search ended."""

    OK = "ok"
    NEEDS_CLARIFICATION = "needs_clarification"
    NO_EVIDENCE = "no_evidence"


class Clarification(Record):
    """A name in the query that may mean several things.

    Attributes:
        name: As it stands in the query.
        candidates: Id -> how that meaning is called.
    """

    name: str
    candidates: dict[str, str]


class Passage(Record):
    """One passage of an answer: a piece of an original document that can be cited.

    Attributes:
        score: Comparable within one answer only.
        tokens: By the model-free counter.
        seeds: Spans of the sentences that the passage was grown from; empty where chunks stayed as indexed.
        channels: Places of the best candidate that the passage comes from.
        suspicions: What in the quote may be meant to deceive a reader or a model (confusable letters, hidden
            characters, instructions), by its place in the original. Whoever hands the quote to a model should know.
    """

    rank: int
    score: float
    citation: Citation
    tokens: int
    seeds: tuple[tuple[int, int], ...] = ()
    channels: dict[str, ChannelPlace] = Field(default_factory=dict)
    chunk_id: str = ""
    knowledge_base_id: str = ""
    suspicions: tuple[Suspicion, ...] = ()
    preview: Preview | None = None


class Response(Record):
    """The answer to a request. `degraded` says what was done without; an empty answer is never silent about it."""

    request_id: str
    status: Status
    index: str
    generation: str
    model_key: str
    access_revision: str
    analysis: QueryAnalysis
    answer_language: str
    interface_locale: str
    evidence_languages: tuple[str, ...]
    passages: tuple[Passage, ...]
    clarifications: tuple[Clarification, ...] = ()
    degraded: tuple[DegradationTrace, ...] = ()
    trace: Trace | None = None


def response_schema() -> dict[str, Any]:
    """JSON schema of `Response`, trace included."""
    return Response.model_json_schema(mode="serialization")
