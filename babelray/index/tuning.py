"""Finds by measurement how a generation's vectors are best searched, and what recall that gives.

Half of the held-out queries choose the plan, the other half report, under other masks. Recall is measured against
inner products computed by numpy over the stored fp16 vectors, so that FAISS and its selectors are under test too.
"""

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from babelray.config import VectorSettings
from babelray.errors import InputError
from babelray.index.vector_report import IndexKind, PlanStep, SearchPlan, VectorReport
from babelray.index.vectors import Bits, Floats, Found, SegmentVectors, pack_rows

PLAN_SHARES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
REPORT_SHARES = (0.5, 0.1, 0.01, 0.001)
REFINES = (2, 4, 8, 16)
MEASURED_ROWS = 250_000
"""Segments are random samples of one corpus, so a quarter of a million rows stand for all of them."""
TIMED_QUERIES = 15
TIE = 1e-5
"""Scores this near are equal: numpy and FAISS add in different orders, and corpora hold equal texts."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class TuningSegment:
    """A segment under measurement.

    Attributes:
        vectors: Its vector files, opened.
        present: bool (rows,), false where a row has no vector.
    """

    vectors: SegmentVectors
    present: Mask


@dataclass(frozen=True)
class _Filter:
    """One mask over all segments."""

    masks: tuple[Mask, ...]

    @cached_property
    def bits(self) -> tuple[Bits, ...]:
        return tuple(pack_rows(mask) for mask in self.masks)

    @cached_property
    def allowed(self) -> tuple[int, ...]:
        return tuple(int(mask.sum()) for mask in self.masks)


class _Bench:
    """Segments, queries and their true scores."""

    def __init__(self, segments: Sequence[TuningSegment], queries: Floats, k: int) -> None:
        self.segments = segments
        self.queries = np.ascontiguousarray(queries, dtype=np.float32)
        self.k = k
        self._scores = [one.vectors.similarities(self.queries) for one in segments]

    def filters(self, share: float, seed: int) -> list[_Filter]:
        """Two masks of one share: rows at random, and the rows nearest to a random one.

        Rights mostly follow topics, and then an index by topic holds the allowed rows in few lists: the hard case.
        """
        rng = np.random.default_rng(seed)
        if share >= 1:
            return [_Filter(tuple(one.present for one in self.segments))]
        scattered = tuple(_nearest(one.present, rng.random(len(one.present)), share) for one in self.segments)
        host = self.segments[int(rng.integers(len(self.segments)))]
        centre = host.vectors.vectors(rng.choice(np.flatnonzero(host.present), size=1))
        grouped = tuple(_nearest(one.present, one.vectors.similarities(centre)[0], share) for one in self.segments)
        return [_Filter(scattered), _Filter(grouped)]

    def planned_recall(self, plan: SearchPlan, one: _Filter) -> float:
        """Recall of the search as it is served: the plan's choice, and a scan where probing finds too few."""
        return self._recall(one, lambda at, query: self._planned(at, query, plan, one))

    def probed_recall(self, filters: list[_Filter], nprobe: int, refine: int) -> float:
        """Worst recall over filters of probing alone: it only rises with nprobe, so that it can be searched."""

        def recall(one: _Filter) -> float:
            return self._recall(
                one,
                lambda at, query: self.segments[at].vectors.probe(query, self.k, one.bits[at], nprobe, refine),
            )

        return min(recall(one) for one in filters)

    def _planned(self, at: int, query: Floats, plan: SearchPlan, one: _Filter) -> Found:
        return self.segments[at].vectors.search(query, self.k, one.bits[at], one.allowed[at], plan)

    def _recall(self, one: _Filter, search: Callable[[int, Floats], Found]) -> float:
        """Mean share of the true best k that a search finds; 1 where nothing is allowed."""
        floors, count = self._truth(one)
        if count == 0:
            return 1.0
        shares = []
        for query, floor in zip(self.queries, floors, strict=True):
            found = np.concatenate([search(at, query).scores for at in range(len(self.segments))])
            best = -np.sort(-found)[: self.k]
            shares.append(float((best >= floor - TIE).sum()) / count)
        return float(np.mean(shares))

    def _truth(self, one: _Filter) -> tuple[Floats, int]:
        """float32 (q,): score of the last row that belongs to the true best; and how many belong to it."""
        best = []
        for scores, mask in zip(self._scores, one.masks, strict=True):
            allowed = scores[:, mask]
            keep = min(self.k, allowed.shape[1])
            best.append(np.partition(allowed, allowed.shape[1] - keep, axis=1)[:, allowed.shape[1] - keep :])
        merged = -np.sort(-np.concatenate(best, axis=1), axis=1)[:, : self.k]
        count = merged.shape[1]
        return (merged[:, -1] if count else np.zeros(len(self.queries), dtype=np.float32)), count


def sample_queries(sources: Sequence[NDArray[np.float16]], count: int, seed: int) -> Floats:
    """Held-out queries: stored sentence vectors, which are in the model's space but not in the index.

    Args:
        sources: float16 (n, d) each; zero rows (no vector) are left out.
        count: Queries wanted; fewer if there are fewer sentences.
        seed: Chooses them.
    """
    rng = np.random.default_rng(seed)
    each = -(-count // max(len(sources), 1))
    picked = []
    for source in sources:
        rows = np.sort(rng.choice(len(source), size=min(2 * each, len(source)), replace=False))
        block = np.asarray(source[rows], dtype=np.float32)
        picked.append(block[np.abs(block).sum(axis=1) > 0][:each])
    if not picked:
        return np.zeros((0, 0), dtype=np.float32)
    return np.concatenate(picked)[:count]


def tune(segments: Sequence[TuningSegment], queries: Floats, kind: IndexKind, settings: VectorSettings) -> VectorReport:
    """Choose the plan to reach `recall_target`, then measure what it gives.

    Args:
        segments: Opened segments; the first ones up to `MEASURED_ROWS` are measured.
        queries: float32 (q, d), not rows of the index.
        kind: What the segments were built as.
        settings: Target, floor, k and seed.

    Raises:
        InputError: There is nothing to measure: no query (for a tuned index two), or no row with a vector.
    """
    measured = _enough(segments)
    needed = 2 if kind == "ivf_sq8" else 1
    if len(queries) < needed or not any(one.present.any() for one in measured):
        raise InputError(
            "recall cannot be measured",
            got=f"{len(queries)} queries, {sum(int(one.present.sum()) for one in measured)} rows with a vector",
            allowed=f"at least {needed} queries and 1 row",
            fix="check the rejects and refused texts of the run: the corpus has no text that was embedded",
        )
    plan = SearchPlan(rows=measured[0].vectors.rows)
    if kind == "ivf_sq8":
        plan = _choose_plan(_Bench(measured, queries[::2], settings.recall_k), settings)
    # A flat index has nothing to tune, so all queries report.
    bench = _Bench(measured, queries[1::2] if kind == "ivf_sq8" else queries, settings.recall_k)
    filtered = {}
    for number, share in enumerate(REPORT_SHARES):
        masks = bench.filters(share, settings.seed + 1000 + number)
        filtered[share] = min(bench.planned_recall(plan, one) for one in masks)
    return VectorReport(
        kind=kind,
        nlist=measured[0].vectors.nlist,
        plan=plan,
        recall=bench.planned_recall(plan, bench.filters(1.0, settings.seed)[0]),
        filtered_recall=filtered,
        recall_k=settings.recall_k,
        queries=len(bench.queries),
        target=settings.recall_target,
        floor=settings.recall_floor,
        machine=machine_name(),
    )


def _enough(segments: Sequence[TuningSegment]) -> list[TuningSegment]:
    chosen: list[TuningSegment] = []
    for one in segments:
        if chosen and sum(len(other.present) for other in chosen) >= MEASURED_ROWS:
            break
        chosen.append(one)
    return chosen


def _choose_plan(bench: _Bench, settings: VectorSettings) -> SearchPlan:
    everything = bench.filters(1.0, settings.seed)[0]
    lists = max(one.vectors.nlist for one in bench.segments)
    refine = REFINES[-1]
    for candidate in REFINES:
        # With every list probed only quantization loses: half of what the target allows may go there.
        ceiling = bench.probed_recall([everything], lists, candidate)
        if ceiling >= (1 + settings.recall_target) / 2:
            refine = candidate
            break
    steps = []
    for number, share in enumerate(PLAN_SHARES):
        filters = bench.filters(share, settings.seed + number)
        steps.append(_measure_step(bench, share, filters, refine, lists, settings.recall_target))
    return SearchPlan(refine=refine, rows=bench.segments[0].vectors.rows, steps=tuple(steps))


def _measure_step(
    bench: _Bench, share: float, filters: list[_Filter], refine: int, lists: int, target: float
) -> PlanStep:
    nprobe, recall = 1, bench.probed_recall(filters, 1, refine)
    while recall < target and nprobe < lists:
        nprobe = min(2 * nprobe, lists)
        recall = bench.probed_recall(filters, nprobe, refine)
    reached = None
    if recall >= target:
        # The queries are a sample: twice the lists cost little and keep other queries above the target as well.
        reached = min(2 * nprobe, lists)
        recall = bench.probed_recall(filters, reached, refine)
    scan, probe = _costs(bench, filters, refine, reached)
    return PlanStep(
        share=share,
        nprobe=reached,
        recall=recall if reached else None,
        probe_micros=probe,
        scan_micros=scan,
    )


def _costs(bench: _Bench, filters: list[_Filter], refine: int, nprobe: int | None) -> tuple[float, float | None]:
    """Median microseconds of a scan and of a probe in the first segment, taken in turns so that load hits both."""
    vectors, scans, probes = bench.segments[0].vectors, [], []
    for query in bench.queries[:TIMED_QUERIES]:
        for one in filters:
            start = time.perf_counter()
            vectors.scan(query, bench.k, one.bits[0])
            between = time.perf_counter()
            scans.append((between - start) * 1e6)
            if nprobe is not None:
                vectors.probe(query, bench.k, one.bits[0], nprobe, refine)
                probes.append((time.perf_counter() - between) * 1e6)
    return float(np.median(scans)), float(np.median(probes)) if probes else None


def _nearest(present: Mask, order_by: NDArray[np.floating], share: float) -> Mask:
    """The rows with a vector that come first by falling value, as many as the share of all rows says."""
    wanted = min(int(np.ceil(share * len(present))), int(present.sum()))
    values = np.where(present, order_by, -np.inf)
    mask = np.zeros(len(present), dtype=bool)
    if wanted:
        mask[np.argpartition(-values, wanted - 1)[:wanted]] = True
    return mask


def machine_name() -> str:
    """Processor and number of cores, to tell where a measured cost comes from."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        if names:
            return f"{names[0]}, {len(names)} cores"
    return model
