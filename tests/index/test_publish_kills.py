"""A publisher killed at any instant leaves the old generation or the new one published, whole; doing it again works."""

import os
import random
import signal
import time
from multiprocessing import get_context

import pytest

from babelray.index.generations import Catalog
from babelray.index.layout import LAYOUT
from babelray.index.pointer import read_pointer
from tests.index import kill_worlds
from tests.index.kill_worlds import move, run_job, steps_of
from tests.index.small_generations import plant

POINTER = LAYOUT.index("main").current


@pytest.mark.parametrize(("job", "before", "after"), [("publish", "g1", "g2"), ("rollback", "g2", "g1")])
def test_killed_at_any_step_of_moving_the_pointer(tmp_path, job, before, after):
    root = tmp_path / "store"
    store = plant(root, ["g1", "g2"])
    catalog = Catalog(store, "main")
    catalog.publish("g1")
    if before == "g2":
        catalog.publish("g2")
    start, events = store.read_bytes(POINTER), len(catalog.current().history)
    steps = steps_of(job, root, tmp_path / "log")
    swap = steps.index("replace") + 1
    assert len(steps) >= 4 and steps[-1] == "fsync"
    for number in range(1, len(steps) + 1):
        for late in (False, True):
            store.write_atomic(POINTER, start)
            assert run_job(job, root, number, late) == -9
            pointer = catalog.current()
            moved = number > swap or (number == swap and late)
            assert pointer.generation == (after if moved else before)
            assert len(pointer.history) == events + moved
            assert catalog.verify(pointer.generation, deep=True).deep
            # A rollback that got through is done: doing it again would go back one more step.
            if not (moved and job == "rollback"):
                assert run_job(job, root) == 0
            history = catalog.current().history
            assert catalog.current().generation == after and len(history) == events + 1
            assert (history[-1].by, history[-1].replaced) == ("killed", before)


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_instants_the_pointer_is_never_torn(tmp_path, seed):
    store = plant(tmp_path / "store", ["g1"])
    layout, rng = LAYOUT.index("main"), random.Random(seed)
    move(store, "g1")
    context = get_context("forkserver")
    for _ in range(8):
        process = context.Process(target=kill_worlds._work, args=("move forever", store.uri, 0, False, None))
        process.start()
        seen = read_pointer(store, layout)
        while read_pointer(store, layout) == seen and process.is_alive():
            time.sleep(0.001)  # until the process is at work
        time.sleep(rng.random() * 0.03)
        os.kill(process.pid, signal.SIGKILL)
        process.join(30)
        pointer, tag = read_pointer(store, layout)
        assert pointer is not None and tag is not None
        for earlier, later in zip(pointer.history, pointer.history[1:], strict=False):
            assert later.replaced == earlier.generation
        # The lock died with its holder: another writer gets through at once.
        assert move(store, "g1", by="survivor").history[-1].by == "survivor"
