import multiprocessing
from pathlib import Path

import pytest

from babelray.errors import IntegrityError
from models.node_folders import STAMP, make_once, problem_of, require_whole


def write_weights(folder: Path) -> None:
    (folder / "weights").write_bytes(b"12345")


def make_slowly_and_count(folder: Path, counts: Path, barrier) -> None:
    def make(target: Path) -> None:
        with counts.open("a") as stream:
            stream.write("x")
        write_weights(target)

    barrier.wait()
    make_once(folder, "v1", make)
    require_whole(folder, "v1")


def test_many_processes_make_it_once(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(6)
    folder, counts = tmp_path / "models" / "m", tmp_path / "counts"
    workers = [context.Process(target=make_slowly_and_count, args=(folder, counts, barrier)) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 6
    assert counts.read_text() == "x"


def test_failure_leaves_nothing_under_the_name_and_the_next_try_works(tmp_path):
    def fail(target: Path) -> None:
        write_weights(target)
        raise OSError("disk full")

    folder = tmp_path / "m"
    with pytest.raises(OSError, match="disk full"):
        make_once(folder, "v1", fail)
    assert {path.name for path in tmp_path.iterdir()} <= {"m.lock"}
    make_once(folder, "v1", write_weights)
    assert problem_of(folder, "v1", deep=True) is None


def test_whole_folder_is_not_made_again(tmp_path):
    folder = tmp_path / "m"
    make_once(folder, "v1", write_weights)
    make_once(folder, "v1", lambda _: pytest.fail("made twice"))


@pytest.mark.parametrize(
    ("damage", "deep_only"),
    [
        (lambda folder: (folder / "weights").write_bytes(b"1234"), False),
        (lambda folder: (folder / "weights").write_bytes(b"1234X"), True),
        (lambda folder: (folder / "weights").unlink(), False),
        (lambda folder: (folder / STAMP).unlink(), False),
        (lambda folder: (folder / STAMP).write_text("{"), False),
    ],
)
def test_damage_is_found_and_repaired(tmp_path, damage, deep_only):
    folder = tmp_path / "m"
    make_once(folder, "v1", write_weights)
    damage(folder)
    assert problem_of(folder, "v1", deep=True) is not None
    assert (problem_of(folder, "v1", deep=False) is None) == deep_only
    make_once(folder, "v1", write_weights)
    assert (folder / "weights").read_bytes() == b"12345"
    require_whole(folder, "v1")


def test_other_source_is_made_anew_and_refused_until_then(tmp_path):
    folder = tmp_path / "m"
    make_once(folder, "v1", write_weights)
    with pytest.raises(IntegrityError, match="made from v1, not from v2"):
        require_whole(folder, "v2")
    make_once(folder, "v2", write_weights)
    require_whole(folder, "v2")


def test_missing_folder_says_what_to_run(tmp_path):
    with pytest.raises(IntegrityError, match="babelray models prepare"):
        require_whole(tmp_path / "m", "v1")
