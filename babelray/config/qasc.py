"""Settings of query-adaptive semantic chunking (QASC)."""

from typing import Literal

from pydantic import Field

from babelray.config.base import Group


class QascSettings(Group):
    """How the best candidates' documents are cut again for one query; `babelray.retrieval.qasc` has the method."""

    profile: Literal["off", "paper", "balanced", "precise"] = Field(
        default="balanced", description="off: chunks stay as they were indexed"
    )
    documents: int = Field(default=5, ge=1, le=100, description="documents of the best candidates that are cut again")
    token_budget: int = Field(default=1024, ge=16, le=100_000, description="tokens of all passages of one answer")
