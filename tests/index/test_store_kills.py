"""A process killed before or after any system call of a commit leaves the old content or the new, whole."""

import shutil

import pytest

from babelray.index.store import open_store
from tests.index.kill_worlds import run_job, steps_of

OLD, NEW = b"old" * 500, b"new" * 1000


def start(root, old):
    store = open_store(str(root))
    if old is not None:
        store.write_atomic("a/b/file", old)
    return store


@pytest.mark.parametrize(
    ("job", "old"), [("write", OLD), ("write", None), ("put", OLD), ("create", None), ("swap", OLD), ("swap", None)]
)
def test_killed_anywhere_the_file_is_old_or_new_and_the_work_can_be_done_again(tmp_path, job, old):
    root = tmp_path / "store"
    start(root, old)
    steps = steps_of(job, root, tmp_path / "log")
    commit = "link" if job == "create" else "replace"
    assert steps.count(commit) == 1 and steps.index("fsync") < steps.index(commit) < len(steps) - 1
    seen = set()
    for number in range(1, len(steps) + 1):
        for after in (False, True):
            shutil.rmtree(root)
            store = start(root, old)
            assert run_job(job, root, number, after) == -9
            found = store.read_tagged("a/b/file")
            content = found[0] if found else None
            assert content in (old, NEW)
            committed = number > steps.index(commit) + 1 or (number == steps.index(commit) + 1 and after)
            assert (content == NEW) == committed
            seen.add(content)
            listed = [path for path, _ in store.files("a")]
            assert listed == (["a/b/file"] if content else []), "half-written files are not listed"
            assert run_job(job, root) == 0
            assert store.read_bytes("a/b/file") == NEW
    assert seen == {old, NEW}
