import subprocess
import sys
from pathlib import Path

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelray.config import VectorSettings
from babelray.errors import IntegrityError
from babelray.index.vectors import (
    FLAT_UP_TO,
    SegmentVectors,
    VectorBuilder,
    check_bitmap,
    choose_kind,
    count_rows,
    in_bitmap,
    list_count,
    pack_rows,
    train,
)

DIMENSION = 16


def unit(rng, rows, dimension=DIMENSION):
    vectors = rng.standard_normal((rows, dimension)).astype(np.float32)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


def written(tmp_path, vectors, present, kind):
    trained = train(vectors.astype(np.float32), kind, VectorSettings())
    builder = VectorBuilder(vectors.shape[1], trained)
    half = len(vectors) // 2
    builder.add(vectors[:half], present[:half])
    builder.add(vectors[half:], present[half:])
    files = builder.write(tmp_path / "exact", tmp_path / "approximate")
    assert len(files) == (2 if kind == "ivf_sq8" else 1)
    return SegmentVectors.load(files[0], files[1] if len(files) == 2 else None)


def best_rows(vectors, query, allowed, k):
    scores = np.array([float(np.dot(row.astype(np.float32), query)) for row in vectors])
    order = sorted(np.flatnonzero(allowed), key=lambda row: (-scores[row], row))
    return order[:k], scores


@pytest.fixture(scope="module", params=["flat", "ivf_sq8"])
def opened(request, tmp_path_factory):
    rng = np.random.default_rng(5)
    vectors = unit(rng, 801)
    present = rng.random(801) > 0.05
    return vectors, present, written(tmp_path_factory.mktemp(request.param), vectors, present, request.param)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.001, 0.01, 0.1, 0.5, 1.0]), st.integers(1, 30))
def test_scan_and_probe_stay_inside_and_scan_misses_nothing(opened, seed, share, k):
    vectors, present, segment = opened
    rng = np.random.default_rng(seed)
    allowed = (rng.random(len(vectors)) < share) & present
    query = unit(rng, 1)[0].astype(np.float32)
    expected, scores = best_rows(vectors, query, allowed, k)
    scanned = segment.scan(query, k, pack_rows(allowed))
    assert len(scanned.rows) == len(expected)
    np.testing.assert_allclose(scanned.scores, scores[expected], atol=1e-5)
    assert allowed[scanned.rows].all()
    # Every list probed and every candidate refined: quantization alone may not lose more than the last places.
    probed = segment.probe(query, k, pack_rows(allowed), nprobe=max(segment.nlist, 1), refine=8)
    assert allowed[probed.rows].all()
    assert len(set(probed.rows) & set(scanned.rows)) >= 0.9 * len(expected) - 1
    narrow = segment.probe(query, k, pack_rows(allowed), nprobe=1, refine=1)
    assert allowed[narrow.rows].all()


def test_equal_scores_come_by_row(tmp_path):
    vectors = np.tile(unit(np.random.default_rng(1), 1), (9, 1))
    segment = written(tmp_path, vectors, np.ones(9, dtype=bool), "flat")
    found = segment.scan(vectors[0].astype(np.float32), 9, pack_rows(np.ones(9, dtype=bool)))
    assert found.rows.tolist() == list(range(9))


def test_a_short_bitmap_is_caught_before_faiss_drops_rows(opened):
    vectors, present, segment = opened
    query = vectors[700].astype(np.float32)
    short = pack_rows(present[:640])
    with pytest.raises(IntegrityError, match="does not fit"):
        segment.scan(query, 3, short)
    with pytest.raises(IntegrityError, match="does not fit"):
        segment.probe(query, 3, short, nprobe=4, refine=2)


def test_bits_beyond_the_rows_are_caught():
    check_bitmap(np.array([0b111], dtype=np.uint8), 3)
    with pytest.raises(IntegrityError, match="beyond"):
        check_bitmap(np.array([0b1111], dtype=np.uint8), 3)
    with pytest.raises(IntegrityError, match="does not fit"):
        check_bitmap(np.array([7], dtype=np.int64), 3)


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.data())
def test_bitmaps_are_read_as_they_were_packed(allowed, data):
    bits = pack_rows(np.array(allowed))
    rows = data.draw(st.lists(st.integers(0, len(allowed) - 1), max_size=10))
    assert in_bitmap(bits, np.array(rows, dtype=np.int64)).tolist() == [allowed[row] for row in rows]
    assert count_rows(bits) == sum(allowed)


def test_files_are_the_serialized_bytes_and_the_same_each_time(tmp_path):
    vectors = unit(np.random.default_rng(2), 300)
    present = np.ones(300, dtype=bool)
    contents = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        written(folder, vectors, present, "ivf_sq8")
        contents.append(((folder / "exact").read_bytes(), (folder / "approximate").read_bytes()))
    assert contents[0] == contents[1]
    index = faiss.read_index(str(tmp_path / "one" / "exact"))
    assert faiss.serialize_index(index).tobytes() == contents[0][0]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", ["flat", "ivf_sq8"])
def test_opened_files_are_mapped_not_read(tmp_path, kind):
    vectors = unit(np.random.default_rng(3), 2000, 64)
    segment = written(tmp_path, vectors, np.ones(2000, dtype=bool), kind)
    mapped = Path("/proc/self/maps").read_text()
    assert str(tmp_path / "exact") in mapped
    assert (str(tmp_path / "approximate") in mapped) == (kind == "ivf_sq8")
    np.testing.assert_array_equal(segment.vectors(np.array([7, 3])), vectors[[7, 3]].astype(np.float32))


def test_an_empty_segment_answers_nothing(tmp_path):
    builder = VectorBuilder(DIMENSION, None)
    builder.write(tmp_path / "exact", tmp_path / "approximate")
    segment = SegmentVectors.load(tmp_path / "exact", None)
    assert segment.scan(np.ones(DIMENSION, dtype=np.float32), 3, pack_rows(np.zeros(0, dtype=bool))).rows.size == 0


def test_damaged_and_foreign_files_are_refused(tmp_path):
    vectors = unit(np.random.default_rng(4), 400)
    written(tmp_path, vectors, np.ones(400, dtype=bool), "ivf_sq8")
    (tmp_path / "junk").write_bytes(b"not an index")
    with pytest.raises(IntegrityError, match="FAISS"):
        SegmentVectors.load(tmp_path / "junk", None)
    with pytest.raises(IntegrityError, match="flat fp16"):
        SegmentVectors.load(tmp_path / "approximate", None)
    small = VectorBuilder(DIMENSION, None)
    small.add(vectors[:3], np.ones(3, dtype=bool))
    small.write(tmp_path / "small", tmp_path / "unused")
    with pytest.raises(IntegrityError, match="disagree"):
        SegmentVectors.load(tmp_path / "small", tmp_path / "approximate")
    with pytest.raises(IntegrityError, match="dimension"):
        VectorBuilder(DIMENSION + 1, train(vectors.astype(np.float32), "ivf_sq8", VectorSettings()))


def test_the_kind_follows_the_size_unless_set():
    assert choose_kind(VectorSettings(), FLAT_UP_TO) == "flat"
    assert choose_kind(VectorSettings(), FLAT_UP_TO + 1) == "ivf_sq8"
    assert choose_kind(VectorSettings(kind="ivf_sq8"), 10) == "ivf_sq8"
    assert choose_kind(VectorSettings(kind="flat"), 10**9) == "flat"


def test_lists_grow_with_rows_as_far_as_the_sample_allows():
    assert list_count(100_000, 100_000) == 1024
    assert list_count(100_000, 39 * 64) == 64
    assert list_count(1, 1) == 1


def test_without_faiss_the_extra_to_install_is_named():
    code = "import sys; sys.modules['faiss'] = None; import babelray.index.vectors"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "babelray[cpu]" in done.stderr.splitlines()[-1]
