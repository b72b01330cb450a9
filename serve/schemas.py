"""What the endpoint is asked, with bounds on everything. What it answers is JSON of the engine's own records."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from babelray.config import NAME_PATTERN

MAX_QUERY = 4000
Locale = Annotated[str, Field(min_length=2, max_length=35, pattern=r"^[A-Za-z][A-Za-z0-9-]*$")]
Name = Annotated[str, Field(min_length=1, max_length=256)]
RequestId = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RetrieveBody(_Body):
    """A search. Filters narrow what the caller's token grants and never widen it."""

    query: str = Field(min_length=1, max_length=MAX_QUERY)
    index: str | None = Field(default=None, pattern=NAME_PATTERN)
    k: int = Field(default=10, ge=1, le=100)
    token_budget: int | None = Field(default=None, ge=16, le=20_000)
    answer_language: Locale | None = None
    interface_locale: Locale | None = None
    domain: str = Field(default="", max_length=100)
    knowledge_bases: Annotated[tuple[Name, ...], Field(max_length=100)] | None = None
    groups: Annotated[tuple[Name, ...], Field(max_length=100)] | None = None
    statuses: Annotated[tuple[Name, ...], Field(max_length=20)] | None = None
    fresh_only: bool = False
    previews: bool = False
    explain: bool = False


class MatchBody(_Body):
    """Strings whose terms are asked for."""

    strings: tuple[Annotated[str, Field(max_length=20_000)], ...] = Field(min_length=1, max_length=200)
    source: Locale = "en"
    target: Locale


class LocalizeBody(_Body):
    """A payload to localize."""

    payload: str = Field(min_length=1, max_length=500_000, description="a JSON text")
    source: Locale = "en"
    target: Locale


class FeedbackBody(_Body):
    """A report about an answer: kept for evaluation, with who reported but without their token."""

    request_id: RequestId
    kind: Literal["wrong_citation", "wrong_translation", "missing", "other"]
    passage: int | None = Field(default=None, ge=1, le=1000, description="rank of the passage, from 1")
    comment: str = Field(default="", max_length=4000)


class EmbeddingsBody(BaseModel):
    """As OpenAI's API has it; unknown fields are ignored as there."""

    model_config = ConfigDict(frozen=True)

    input: (
        Annotated[str, Field(min_length=1, max_length=20_000)]
        | Annotated[
            tuple[Annotated[str, Field(min_length=1, max_length=20_000)], ...], Field(min_length=1, max_length=256)
        ]
    )
    model: str = Field(min_length=1, max_length=256, description="name of an index: its model embeds")
    encoding_format: Literal["float", "base64"] = "float"
    input_type: Literal["query", "passage"] = Field(
        default="passage", description="which side of a search the texts are"
    )


Answer = dict[str, Any]
