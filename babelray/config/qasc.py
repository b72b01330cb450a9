"""Settings of query-adaptive semantic chunking (QASC)."""

from typing import Literal

from pydantic import Field

from babelray.config.base import Group


class PaperWindowSettings(Group):
    """The method with raw cosines, as the paper has it; for comparison."""

    percentile: float = Field(default=75.0, ge=0, le=100, description="of a document's cosines; seeds are at or above")
    pooled: bool = Field(default=False, description="one percentile over all documents instead of one for each")
    window: int = Field(default=2, ge=0, le=64, description="sentences on each side of a seed, at most")
    adaptive: bool = Field(default=False, description="a window ends before a sentence under `boundary_percentile`")
    boundary_percentile: float = Field(default=50.0, ge=0, le=100, description="of a document's cosines")
    decay: float = Field(default=0.5, ge=0, le=10, description="a sentence weighs exp(-decay x distance to the seed)")
    keep: float = Field(default=0.6, ge=0, le=2, description="share of the seed threshold that a passage has to reach")
    max_tokens: int = Field(default=512, ge=16, le=8192, description="of a merged passage")


class UnitWindowSettings(Group):
    """The method on scores in standard deviations of the query's own candidates, so that no cosine range matters."""

    parent_weight: float = Field(default=0.5, ge=0, le=10, description="of the chunk's cosine beside the sentence's")
    percentile: float = Field(default=80.0, ge=0, le=100, description="of all candidates; seeds are at or above")
    seed_margin: float = Field(default=0.6, ge=0, le=20, description="a seed is at most so far below the best sentence")
    window: int = Field(default=4, ge=0, le=64, description="sentences on each side of a seed, within its block")
    neighbour_margin: float = Field(
        default=20.0, ge=0, le=20, description="a neighbour is at most so far below its seed; 20: no limit"
    )
    max_tokens: int = Field(default=512, ge=16, le=8192, description="of a merged passage")
    keep_margin: float = Field(default=0.4, ge=0, le=20, description="a passage is at most so far below the best one")


class AutoWindowSettings(Group):
    """A learned rule: the set of sentences that most probably is the evidence, as wide as the query needs."""

    width: float = Field(default=1.0, ge=0.1, le=10, description="over 1 takes more text, under 1 less")


class QascSettings(Group):
    """How the best candidates' documents are cut again for one query; `babelray.retrieval.qasc` has the method."""

    profile: Literal["off", "paper", "balanced", "precise", "auto"] = Field(
        default="balanced", description="off: chunks stay as they were indexed"
    )
    documents: int = Field(default=5, ge=1, le=100, description="documents of the best candidates that are cut again")
    token_budget: int = Field(default=1024, ge=16, le=100_000, description="tokens of all passages of one answer")
    floor: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="least cosine of a seed; none: what was measured for the model",
    )
    whole_below: int = Field(default=4, ge=0, le=64, description="documents of fewer sentences are not cut")
    paper: PaperWindowSettings = Field(default=PaperWindowSettings(), description="of the profile `paper`")
    balanced: UnitWindowSettings = Field(default=UnitWindowSettings(), description="of the profile `balanced`")
    precise: UnitWindowSettings = Field(
        default=UnitWindowSettings(
            parent_weight=0.25, percentile=70.0, window=3, neighbour_margin=0.8, max_tokens=128, keep_margin=1.2
        ),
        description="of the profile `precise`",
    )
    auto: AutoWindowSettings = Field(default=AutoWindowSettings(), description="of the profile `auto`")
