import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.errors import ConfigError, InputError, PublishConflict
from babelray.index.digests import sha256_of
from babelray.index.local_store import LocalStore
from babelray.index.store import checked, open_store


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.services)])
def store(request, tmp_path):
    if request.param == "s3":
        return open_store(request.getfixturevalue("new_s3_store")())
    return open_store(str(tmp_path / "store"))


@pytest.fixture
def folder_store(tmp_path):
    return open_store(str(tmp_path / "store"))


@pytest.mark.parametrize(
    "path",
    ["", ".", "/", "/etc/passwd", "..", "../x", "a/../b", "a/..", "a\\b", "a\0b", ".locks/a", "a/.tmp-1", ".tmp-x/a"],
)
def test_paths_that_leave_the_store_or_are_reserved_are_refused_everywhere(store, tmp_path, path):
    source = tmp_path / "source"
    source.write_bytes(b"x")
    calls = [
        lambda: store.read_bytes(path),
        lambda: store.open_input(path),
        lambda: store.write_atomic(path, b""),
        lambda: store.put_file(source, path),
        lambda: store.create_if_absent(path, b""),
        lambda: store.read_tagged(path),
        lambda: store.compare_and_swap(path, None, b""),
        lambda: list(store.files(path)),
        lambda: store.folders(path),
        lambda: store.exists(path),
        lambda: store.delete(path),
        lambda: store.sweep(path, timedelta()),
        lambda: store.local_path(path),
    ]
    for call in calls:
        with pytest.raises(InputError, match="not a path inside the store"):
            call()
    assert not (tmp_path / "store").exists(), "nothing was created"


@given(st.text(alphabet="ab./\\-~", max_size=12))
def test_a_checked_path_stays_under_the_root(path):
    try:
        clean = checked(path)
    except InputError:
        return
    assert os.path.normpath(f"/root/{clean}").startswith("/root/") and not clean.startswith("/")
    assert checked(clean) == clean


def test_spellings_of_one_path_are_one_file(store):
    store.write_atomic("a/./b//c", b"1")
    assert store.read_bytes("a/b/c") == b"1"


@pytest.mark.parametrize("uri", ["gs://bucket", "http://host/x"])
def test_other_schemes_are_refused_by_name(uri):
    with pytest.raises(ConfigError, match="not a store that can be written to") as caught:
        open_store(uri)
    assert caught.value.got == uri


@pytest.mark.parametrize("uri", ["", "  ", "file://", "file://relative/folder"])
def test_a_store_needs_a_folder(uri):
    with pytest.raises(ConfigError):
        open_store(uri)


def test_a_file_uri_and_a_folder_are_the_same_store(tmp_path):
    open_store(f"file://{tmp_path}/s").write_atomic("a", b"1")
    assert open_store(str(tmp_path / "s")).read_bytes("a") == b"1"


def test_opening_creates_nothing(tmp_path):
    store = open_store(str(tmp_path / "later"))
    assert list(store.files("indexes")) == [] and store.folders("indexes") == []
    assert store.read_tagged("indexes/a") is None and not store.exists("indexes/a")
    assert not (tmp_path / "later").exists()


def test_what_is_written_is_read_and_described(store, tmp_path):
    record = store.write_atomic("a/b", b"one")
    assert (record.path, record.size, record.sha256) == ("a/b", 3, sha256_of(b"one"))
    assert store.write_atomic("a/b", b"").size == 0
    assert store.read_bytes("a/b") == b"" and store.open_input("a/b").read() == b""
    source = tmp_path / "source"
    source.write_bytes(b"two" * 100_000)
    assert store.put_file(source, "a/c") == store.write_atomic("a/c", b"two" * 100_000)
    with store.open_input("a/c") as stream:
        stream.seek(3)
        assert stream.read(3) == b"two"


@pytest.mark.parametrize("read", ["read_bytes", "open_input"])
@pytest.mark.parametrize("path", ["missing", "a/b/below-a-file", "a"])
def test_reading_what_is_no_file_names_it(store, read, path):
    store.write_atomic("a/b", b"1")
    with pytest.raises(InputError, match="no such file") as caught:
        getattr(store, read)(path)
    assert caught.value.got == path


def test_a_file_where_a_folder_is_needed_is_named(folder_store):
    folder_store.write_atomic("a", b"1")
    with pytest.raises(InputError, match="a file stands"):
        folder_store.write_atomic("a/b", b"2")


def test_listing_is_sorted_and_hides_temporary_files_and_locks(store):
    for path in ("x/b/2", "x/b/1", "x/a", "x/b.c", "y/1"):
        store.write_atomic(path, path.encode())
    store.compare_and_swap("x/pointer", None, b"p")
    if isinstance(store, LocalStore):
        (store.local_path("x/b") / ".tmp-stray").write_bytes(b"half")
    assert list(store.files("x")) == [("x/a", 3), ("x/b.c", 5), ("x/b/1", 5), ("x/b/2", 5), ("x/pointer", 1)]
    assert store.folders("x") == ["b"]


def test_sweeping_removes_only_old_temporary_files(folder_store):
    store = folder_store
    store.write_atomic("x/b/1", b"1")
    old, new = store.local_path("x/b") / ".tmp-old", store.local_path("x/b") / ".tmp-new"
    for path in (old, new, store.local_path("x/b/1")):
        path.write_bytes(b"half")
    for path in (old, store.local_path("x/b/1")):
        os.utime(path, (time.time() - 7200, time.time() - 7200))
    assert store.sweep("y", timedelta(hours=1)) == 0
    assert store.sweep("x", timedelta(hours=1)) == 1
    assert (old.exists(), new.exists(), store.exists("x/b/1")) == (False, True, True)


def test_deleting_takes_a_file_or_a_folder_and_what_is_absent_is_no_error(store):
    for path in ("x/a", "x/b/c"):
        store.write_atomic(path, b"1")
    store.delete("x/a")
    store.delete("x/b")
    store.delete("x/nothing")
    assert list(store.files("x")) == []


def test_of_many_threads_that_create_a_file_one_wins(store):
    with ThreadPoolExecutor(8) as pool:
        # A server that locks a key waits a good while where eight are after it.
        for number in range(20 if isinstance(store, LocalStore) else 4):
            won = list(pool.map(lambda n, at=number: store.create_if_absent(f"f/{at}", b"%d" % n), range(8)))
            assert won.count(True) == 1
            assert store.read_bytes(f"f/{number}") == b"%d" % won.index(True)


def test_swapping_needs_the_tag_that_is_there(store):
    with pytest.raises(PublishConflict, match="changed the file first"):
        store.compare_and_swap("p", "0" * 64, b"1")
    first = store.compare_and_swap("p", None, b"1")
    assert store.read_tagged("p") == (b"1", first)
    with pytest.raises(PublishConflict):
        store.compare_and_swap("p", None, b"2")
    second = store.compare_and_swap("p", first, b"2")
    with pytest.raises(PublishConflict) as caught:
        store.compare_and_swap("p", first, b"3")
    assert caught.value.got == second and store.read_bytes("p") == b"2"


def test_increments_by_swap_lose_nothing(store):
    store.write_atomic("n", b"0")

    def increment(_):
        tries = 0
        while True:
            data, tag = store.read_tagged("n")
            try:
                store.compare_and_swap("n", tag, b"%d" % (int(data) + 1))
            except PublishConflict:
                tries += 1
            else:
                return tries

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(increment, range(100)))
    assert store.read_bytes("n") == b"100"
