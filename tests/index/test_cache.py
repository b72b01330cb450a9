import shutil
from multiprocessing import get_context

import pytest

from babelray.errors import IntegrityError
from babelray.index.cache import materialize
from babelray.index.layout import LAYOUT
from babelray.index.manifest import read_manifest
from babelray.index.reader import open_generation
from babelray.index.store import open_store
from tests.index.cache_worlds import FarStore
from tests.index.small_generations import plant, planted

G1 = LAYOUT.index("main").generation("g1")


@pytest.fixture
def far(tmp_path):
    plant(tmp_path / "store", ["g1"])
    return FarStore(tmp_path / "store")


def first_segment(store):
    record = read_manifest(store, G1).segments[0]
    return G1.segment(record.name), record


def test_a_local_store_is_used_in_place(tmp_path):
    store = plant(tmp_path / "store", ["g1"])
    place, record = first_segment(store)
    assert materialize(store, place, record, tmp_path / "cache") == store.local_path(place.root)
    assert not (tmp_path / "cache").exists()


def test_a_far_segment_is_copied_once(far, tmp_path):
    place, record = first_segment(far)
    folder = materialize(far, place, record, tmp_path / "cache")
    assert sorted(far.opened) == sorted(f"{place.root}/{relative}" for relative in record.files)
    for relative, one in record.files.items():
        assert (folder / relative).read_bytes() == far.read_bytes(one.path)
    far.opened.clear()
    assert materialize(far, place, record, tmp_path / "cache") == folder and far.opened == []
    assert not list(folder.rglob(".tmp-*"))


def test_a_far_generation_can_be_opened(far, tmp_path):
    opened = open_generation(far, "main", "g1", tmp_path / "cache")
    assert [one.rows for one in opened.segments] == [one.rows for one in opened.manifest.segments]


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:-1] + bytes([data[-1] ^ 1]), None])
def test_a_damaged_copy_is_fetched_again(far, tmp_path, damage):
    place, record = first_segment(far)
    folder = materialize(far, place, record, tmp_path / "cache")
    copy = folder / "rows.arrow"
    if damage is None:
        copy.unlink()
    else:
        copy.write_bytes(damage(copy.read_bytes()))
    far.opened.clear()
    materialize(far, place, record, tmp_path / "cache")
    assert far.opened == [place.rows] and copy.read_bytes() == far.read_bytes(place.rows)


def test_damage_in_the_store_is_named_and_never_reaches_the_cache(far, tmp_path):
    place, record = first_segment(far)
    data = bytearray(far.read_bytes(place.chunks))
    data[100] ^= 1
    far.write_atomic(place.chunks, bytes(data))
    with pytest.raises(IntegrityError, match="other bytes") as caught:
        materialize(far, place, record, tmp_path / "cache")
    assert caught.value.where == place.chunks
    assert not list((tmp_path / "cache").rglob("chunks.arrow"))
    far.delete(place.chunks)
    with pytest.raises(IntegrityError, match="missing") as caught:
        materialize(far, place, record, tmp_path / "cache")
    assert caught.value.where == place.chunks


def test_two_builds_of_equal_content_have_copies_of_their_own(far, tmp_path):
    place, record = first_segment(far)
    one = materialize(far, place, record, tmp_path / "cache")
    relative = next(name for name in record.files if name.endswith("meta.json"))
    other = dict(record.files)
    other[relative] = far.write_atomic(f"{place.root}/{relative}", b"{ }")
    two = materialize(far, place, record.model_copy(update={"files": other}), tmp_path / "cache")
    assert one != two and (two / relative).read_bytes() == b"{ }" != (one / relative).read_bytes()


def _materialize(root, cache, results):
    store = FarStore(root)
    place, record = first_segment(store)
    materialize(store, place, record, cache)
    results.put(len(store.opened))


def test_processes_of_one_machine_share_one_copy(tmp_path):
    root = tmp_path / "store"
    plant(root, ["g1"])
    context = get_context("forkserver")
    results = context.Queue()
    processes = [context.Process(target=_materialize, args=(root, tmp_path / "cache", results)) for _ in range(3)]
    for process in processes:
        process.start()
    fetched = sorted(results.get(timeout=60) for _ in processes)
    for process in processes:
        process.join(30)
        assert process.exitcode == 0
    assert fetched == [0, 0, len(planted(open_store(str(root)), "g1").segments[0].files)]


def test_a_file_beside_the_segment_is_no_part_of_it(tmp_path):
    store = plant(tmp_path / "store", ["g1"])
    place, record = first_segment(store)
    store.write_atomic(f"{place.root}/stray", b"x")
    folder = materialize(store, place, record, tmp_path / "cache")
    assert (folder / "stray").exists() and "stray" not in record.files
    shutil.rmtree(folder)
    with pytest.raises(IntegrityError, match="missing"):
        materialize(store, place, record, tmp_path / "cache")
