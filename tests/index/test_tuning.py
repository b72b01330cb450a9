import numpy as np
import pytest

from babelray.config import VectorSettings
from babelray.errors import InputError
from babelray.index.tuning import PLAN_SHARES, REPORT_SHARES, TuningSegment, sample_queries, tune
from babelray.index.vector_report import PlanStep, SearchPlan, VectorReport
from babelray.index.vectors import SegmentVectors, VectorBuilder, train

DIMENSION = 24


def clustered(rng, rows, centres):
    vectors = centres[rng.integers(0, len(centres), rows)] + 0.7 * rng.standard_normal((rows, DIMENSION))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    rng = np.random.default_rng(11)
    centres = rng.standard_normal((40, DIMENSION))
    blocks = [clustered(rng, 3000, centres) for _ in range(2)]
    queries = clustered(rng, 60, centres).astype(np.float32)
    present = [rng.random(3000) > 0.02 for _ in blocks]
    return blocks, present, queries, tmp_path_factory.mktemp("tuning")


def segments_of(parts, kind):
    blocks, present, _, folder = parts
    trained = train(blocks[0].astype(np.float32), kind, VectorSettings())
    segments = []
    for number, block in enumerate(blocks):
        builder = VectorBuilder(DIMENSION, trained)
        builder.add(block, present[number])
        exact, approximate = folder / f"{kind}{number}", folder / f"{kind}{number}a"
        files = builder.write(exact, approximate)
        segments.append(
            TuningSegment(SegmentVectors.load(exact, files[1] if len(files) > 1 else None), present[number])
        )
    return segments


def test_flat_finds_everything_under_every_filter(parts):
    report = tune(segments_of(parts, "flat"), parts[2], "flat", VectorSettings())
    assert report.recall == 1.0
    assert report.filtered_recall == dict.fromkeys(REPORT_SHARES, 1.0)
    assert report.passed and report.plan.steps == () and report.nlist == 0


def test_ivf_reaches_the_floor_plain_and_filtered(parts):
    settings = VectorSettings(kind="ivf_sq8", recall_target=0.97, recall_floor=0.93)
    report = tune(segments_of(parts, "ivf_sq8"), parts[2], "ivf_sq8", settings)
    assert report.nlist > 1
    assert report.passed, report.shortfalls()
    assert report.plan.steps[0].recall >= 0.97
    assert [step.share for step in report.plan.steps] == sorted(PLAN_SHARES, reverse=True)
    assert all(step.scan_micros > 0 for step in report.plan.steps)
    assert VectorReport.model_validate_json(report.model_dump_json()) == report


def test_nothing_to_measure_is_an_error(parts):
    segments = segments_of(parts, "flat")
    with pytest.raises(InputError, match="cannot be measured"):
        tune(segments, parts[2][:0], "flat", VectorSettings())
    assert tune(segments, parts[2][:1], "flat", VectorSettings()).recall == 1.0
    with pytest.raises(InputError, match="at least 2 queries"):
        tune(segments_of(parts, "ivf_sq8"), parts[2][:1], "ivf_sq8", VectorSettings())
    bare = [TuningSegment(segments[0].vectors, np.zeros(3000, dtype=bool))]
    with pytest.raises(InputError, match="cannot be measured"):
        tune(bare, parts[2], "flat", VectorSettings())


def step(share, nprobe, probe, scan):
    return PlanStep(share=share, nprobe=nprobe, recall=0.98 if nprobe else None, probe_micros=probe, scan_micros=scan)


def test_the_plan_takes_the_cheaper_way_by_measured_cost():
    plan = SearchPlan(
        rows=1000,
        steps=(step(1.0, 8, 100, 5000), step(0.5, 16, 150, 6000), step(0.1, 64, 300, 200), step(0.01, None, None, 30)),
    )
    assert plan.nprobe(1000, 1000) == 8
    assert plan.nprobe(1000, 999) == 16, "between two shares the smaller one decides"
    assert plan.nprobe(1000, 500) == 16
    assert plan.nprobe(1000, 499) is None, "scanning a tenth was cheaper"
    assert plan.nprobe(1000, 10) is None, "no number of lists reached the target"
    assert plan.nprobe(1000, 1) is None, "never measured"
    assert plan.nprobe(0, 0) is None


def test_a_recall_under_the_floor_is_named():
    report = VectorReport(kind="ivf_sq8", recall=0.99, filtered_recall={0.5: 0.96, 0.01: 0.9}, target=0.97, floor=0.95)
    assert not report.passed
    assert report.shortfalls() == ["recall@10 0.900 (1.0% of rows allowed) is under the floor 0.95"]


def test_queries_are_sampled_from_all_sources_without_the_refused():
    rng = np.random.default_rng(0)
    sources = [clustered(rng, 50, rng.standard_normal((3, DIMENSION))) for _ in range(3)]
    sources[1][:25] = 0
    queries = sample_queries(sources, 12, seed=1)
    assert queries.shape == (12, DIMENSION) and queries.dtype == np.float32
    assert (np.abs(queries).sum(axis=1) > 0).all()
    np.testing.assert_array_equal(queries, sample_queries(sources, 12, seed=1))
    assert sample_queries([], 5, seed=1).shape[0] == 0
