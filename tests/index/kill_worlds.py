"""Processes that die on purpose: work that is killed before or after its n-th system call of a commit."""

import os
import signal
from multiprocessing import get_context
from pathlib import Path

from babelray.index.generations import Catalog
from babelray.index.layout import LAYOUT
from babelray.index.pointer import move_pointer, read_pointer
from babelray.index.store import open_store

CALLS = ("replace", "link", "fsync", "unlink", "mkdir")
"""Every system call by which a commit changes a folder or makes bytes durable."""
_FSYNC = os.fsync


class _Wrapped:
    """Counts calls inside the store and ends the process before or after the n-th one, without any clean-up."""

    count = 0

    def __init__(self, call, root, die_at, after, log):
        self._call, self._root, self._die_at, self._after, self._log = call, root, die_at, after, log

    def __call__(self, *args, **kwargs):
        if not (self._call is _FSYNC or str(args[0]).startswith(self._root)):
            return self._call(*args, **kwargs)
        _Wrapped.count += 1
        number = _Wrapped.count
        if self._log is not None:
            with Path(self._log).open("a") as log:
                log.write(f"{self._call.__name__}\n")
        if number == self._die_at and not self._after:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return self._call(*args, **kwargs)
        finally:
            if number == self._die_at and self._after:
                os.kill(os.getpid(), signal.SIGKILL)


def _work(job, root, die_at, after, log):
    for name in CALLS:
        setattr(os, name, _Wrapped(getattr(os, name), root, die_at, after, log))
    JOBS[job](open_store(root))


def run_job(job, root, die_at=0, after=False, log=None):
    """Run a job in a process of its own; returns its exit code, -9 where it was killed."""
    # The fork server starts from a process without threads, so that a child is a real and a quick one.
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.index.kill_worlds", "babelray.index.open_segment", "pandas"])
    process = context.Process(target=_work, args=(job, str(root), die_at, after, log and str(log)))
    process.start()
    process.join(60)
    assert process.exitcode is not None
    return process.exitcode


def steps_of(job, root, log):
    """The commit calls that a job makes when nothing kills it."""
    assert run_job(job, root, log=log) == 0
    return Path(log).read_text().split()


def move(store, generation, action="publish", by="t", reason=""):
    """Move the pointer of `main` without looking at the generation."""
    layout = LAYOUT.index("main")
    return move_pointer(store, layout, read_pointer(store, layout), generation, action, by, reason)


def _put(store):
    local = Path(store.uri).parent / "local.bin"
    local.write_bytes(b"new" * 1000)
    store.put_file(local, "a/b/file")


def _swap(store):
    found = store.read_tagged("a/b/file")
    store.compare_and_swap("a/b/file", found and found[1], b"new" * 1000)


def _move_forever(store):
    while True:
        for generation in ("g1", "g2", "g3"):
            move(store, generation, by="mover")


JOBS = {
    "write": lambda store: store.write_atomic("a/b/file", b"new" * 1000),
    "put": _put,
    "create": lambda store: store.create_if_absent("a/b/file", b"new" * 1000),
    "swap": _swap,
    "publish": lambda store: Catalog(store, "main").publish("g2", by="killed"),
    "rollback": lambda store: Catalog(store, "main").rollback(by="killed"),
    "move forever": _move_forever,
}
