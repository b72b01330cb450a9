"""How a generation's vectors are searched, and how well: the tuned plan and the measured recall. No faiss here.

Both stand in the manifest, so this module is what its reader needs and nothing more.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

IndexKind = Literal["flat", "ivf_sq8"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlanStep(_Record):
    """What was measured where a filter leaves this share of the rows, and so what is done from here up."""

    share: float = Field(gt=0, le=1, description="allowed rows / rows")
    nprobe: int | None = Field(default=None, ge=1, description="fewest lists that reach the target; None: none do")
    recall: float | None = Field(default=None, ge=0, le=1, description="on the tuning queries, at nprobe")
    probe_micros: float | None = Field(default=None, ge=0, description="median of one query at nprobe, one thread")
    scan_micros: float = Field(ge=0, description="median of one exact scan, one thread")

    @property
    def probes(self) -> bool:
        """Whether probing the approximate index is both good enough and cheaper than scanning."""
        return self.nprobe is not None and self.probe_micros is not None and self.probe_micros < self.scan_micros


class SearchPlan(_Record):
    """Chooses per segment and query between probing and scanning exactly, by measured cost.

    Attributes:
        refine: Candidates taken from the quantized index for each result wanted, then scored from fp16.
        rows: Rows of the segment that the costs were measured on; both costs grow with the rows, so that the choice
            depends on the share alone.
        steps: By falling share. Below the smallest share nothing was measured, and the scan is cheap: always scan.
    """

    refine: int = Field(default=4, ge=1, le=64)
    rows: int = Field(default=0, ge=0)
    steps: tuple[PlanStep, ...] = ()

    def nprobe(self, rows: int, allowed: int) -> int | None:
        """Lists to probe when `allowed` of `rows` pass the filter, or `None` for an exact scan.

        Between two measured shares the smaller one decides, since the fewer rows pass, the more lists are needed.
        """
        if rows == 0:
            return None
        share = allowed / rows
        fitting = [step for step in self.steps if step.share <= share]
        if not fitting:
            return None
        step = max(fitting, key=lambda one: one.share)
        return step.nprobe if step.probes else None


class VectorReport(_Record):
    """Kind, plan and recall against an exact search of the same rows, as searched by the plan."""

    kind: IndexKind
    metric: Literal["inner_product"] = "inner_product"
    nlist: int = Field(default=0, ge=0, description="0 for flat")
    plan: SearchPlan = SearchPlan()
    recall: float = Field(ge=0, le=1, description="recall@k without a filter")
    filtered_recall: dict[float, float] = Field(default_factory=dict, description="allowed share -> worst recall@k")
    recall_k: int = Field(default=10, ge=1)
    queries: int = Field(default=0, ge=0, description="queries that the recall was measured on, not tuned on")
    target: float = Field(ge=0, le=1)
    floor: float = Field(ge=0, le=1)
    machine: str = Field(default="", description="where the costs were measured")

    def shortfalls(self) -> list[str]:
        """One line for every measured recall under the floor; empty when the generation may be published."""
        measured = {"unfiltered": self.recall}
        measured.update({f"{share:.1%} of rows allowed": value for share, value in self.filtered_recall.items()})
        return [
            f"recall@{self.recall_k} {value:.3f} ({name}) is under the floor {self.floor}"
            for name, value in measured.items()
            if value < self.floor
        ]

    @property
    def passed(self) -> bool:
        """Whether every measured recall reaches the floor."""
        return not self.shortfalls()
