"""Settings of the vector index, of what a job asks of Ray, and of its work units."""

from typing import Literal

from pydantic import Field

from babelray.config.base import Group


class VectorSettings(Group):
    """The vector index of a generation."""

    kind: Literal["auto", "flat", "ivf_sq8"] = Field(default="auto", description="auto: flat while small, then ivf_sq8")
    recall_target: float = Field(default=0.97, ge=0.5, le=1.0, description="search parameters are tuned to reach it")
    recall_floor: float = Field(
        default=0.95, ge=0.0, le=1.0, description="below it, plain or filtered, publish is refused"
    )
    recall_k: int = Field(default=10, ge=1, le=100, description="recall is measured among so many results")
    heldout_queries: int = Field(
        default=200, ge=8, le=10_000, description="sentence vectors that stand for queries: half tune, half report"
    )
    train_sample: int = Field(default=262_144, ge=256, description="vectors that IVF is trained on")
    seed: int = Field(default=13, ge=0, description="of training and of the choice of held-out queries")


class ResourceSettings(Group):
    """What the job asks of Ray."""

    embed_actors: int = Field(default=1, ge=1, le=4096, description="pool size, full from the start; one a GPU")
    gpus_per_actor: float = Field(default=0.0, ge=0.0, le=16.0, description="0: the actors embed on the CPU")
    cpus_per_actor: float = Field(
        default=1.0, ge=0.1, le=256.0, description="what Ray reserves for an actor; its threads are `torch_threads`"
    )
    torch_threads: int = Field(
        default=0, ge=0, le=256, description="threads of an embed actor on CPU; 0: all cores / actors"
    )
    cpus_per_task: float = Field(default=1.0, ge=0.1, le=64.0, description="of prepare and build tasks")


class UnitSettings(Group):
    """Size of the work units and how failures of units are treated."""

    target_texts: int = Field(
        default=3000, ge=1, le=100_000, description="chunks and sentences a unit, estimated from bytes"
    )
    units_per_segment: int = Field(default=64, ge=1, le=10_000, description="the last segment may hold fewer")
    max_attempts: int = Field(
        default=3, ge=1, le=20, description="a unit that kills its worker this often is quarantined"
    )
    error_budget: float = Field(
        default=0.05, ge=0.0, le=1.0, description="share of units that may fail before the job ends"
    )
    reject_budget: float = Field(default=0.2, ge=0.0, le=1.0, description="share of records that may be rejected")
