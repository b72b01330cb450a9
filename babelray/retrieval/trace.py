"""The trace of a search: what was done when, and for each candidate where it came from and why it stayed or went."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from pydantic import Field

from babelray.retrieval.plan import QueryPlan
from babelray.retrieval.query import Record


class StageTrace(Record):
    """One step of a search; steps may overlap in time.

    Attributes:
        start_ms: Since the search began.
        count: What came out of it: variants, candidates, passages.
    """

    name: str
    start_ms: float
    milliseconds: float
    count: int = 0


class ChannelPlace(Record):
    """Where one channel put a candidate. BM25 and cosine scores are not comparable with each other."""

    rank: int
    score: float
    variant_id: str


class CandidateTrace(Record):
    """One chunk that some channel found.

    Attributes:
        language: Of the passage; with the query's language it makes the language pair.
        anchors: Exact tokens of the query that stand in the chunk.
        removed_reason: Empty for one that reached the answer.
    """

    chunk_id: str
    doc_id: str
    source_uri: str
    language: str
    channels: dict[str, ChannelPlace]
    fused_rank: int
    fused_score: float
    rerank_rank: int | None = None
    rerank_score: float | None = None
    anchors: tuple[str, ...] = ()
    removed_reason: str = ""


class DegradationTrace(Record):
    """A part that was done without; `reason` is one of the names of the degradation matrix."""

    reason: str
    fallback: str
    detail: str = ""


class Trace(Record):
    """Everything that tells why a search answered as it did."""

    request_id: str
    plan: QueryPlan
    stages: tuple[StageTrace, ...]
    channel_counts: dict[str, int]
    union: int = Field(description="different chunks that the channels found")
    candidates: tuple[CandidateTrace, ...] = ()
    degraded: tuple[DegradationTrace, ...] = ()
    cached: bool = False


class StageClock:
    """Takes the time of steps, also of steps in several threads."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._lock = Lock()
        self._stages: list[StageTrace] = []

    @contextmanager
    def stage(self, name: str) -> Iterator["Tally"]:
        """Time a step; the step says how much came out of it."""
        tally = Tally()
        start = time.perf_counter()
        try:
            yield tally
        finally:
            end = time.perf_counter()
            record = StageTrace(
                name=name,
                start_ms=round((start - self._began) * 1000, 3),
                milliseconds=round((end - start) * 1000, 3),
                count=tally.count,
            )
            with self._lock:
                self._stages.append(record)

    def stages(self) -> tuple[StageTrace, ...]:
        """Steps in the order in which they began."""
        with self._lock:
            return tuple(sorted(self._stages, key=lambda one: (one.start_ms, one.name)))


class Tally:
    """How much came out of a step."""

    def __init__(self) -> None:
        self.count = 0
