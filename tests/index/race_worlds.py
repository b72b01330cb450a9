"""Processes that publish or read at the same time."""

from multiprocessing import get_context

from babelray.errors import PublishConflict
from babelray.index.generations import Catalog
from babelray.index.layout import LAYOUT
from babelray.index.pointer import move_pointer, read_pointer
from babelray.index.store import open_store

CONTEXT = get_context("spawn")


def race(store, rounds, publish):
    """Two processes, many rounds; returns for each process what happened in each round."""
    barrier, results = CONTEXT.Barrier(2), CONTEXT.Queue()
    workers = [
        CONTEXT.Process(target=_race, args=(store.uri, name, rounds, publish, barrier, results)) for name in "ab"
    ]
    for worker in workers:
        worker.start()
    outcomes = dict(results.get(timeout=120) for _ in workers)
    for worker in workers:
        worker.join(30)
        assert worker.exitcode == 0
    return outcomes


def _race(uri, name, rounds, publish, barrier, results):
    store, outcomes, layout = open_store(uri), [], LAYOUT.index("main")
    catalog = Catalog(store, "main")
    for number in range(rounds):
        seen = read_pointer(store, layout)
        current = seen[0].generation if seen[0] else ""
        mine = f"{name}{number % 2}"
        barrier.wait(60)
        try:
            if publish:
                catalog.publish(mine, expected=current, by=name, reason=str(number))
            else:
                move_pointer(store, layout, seen, mine, "publish", name, str(number))
        except PublishConflict as conflict:
            outcomes.append(("lost", str(conflict.got)))
        else:
            outcomes.append(("won", mine))
        barrier.wait(60)
    results.put((name, outcomes))


def watch(store, readers=2):
    """Start processes that read the pointer until it says `done`; returns them and their queue of findings."""
    results, started = CONTEXT.Queue(), CONTEXT.Barrier(readers + 1)
    processes = [CONTEXT.Process(target=_watch, args=(store.uri, started, results)) for _ in range(readers)]
    for process in processes:
        process.start()
    started.wait(60)
    return processes, results


def _watch(uri, started, results):
    store, layout = open_store(uri), LAYOUT.index("main")
    reads, versions, length = 0, 0, 0
    started.wait(60)
    while True:
        pointer, _ = read_pointer(store, layout)
        reads += 1
        assert pointer is not None and pointer.history[-1].generation == pointer.generation
        assert len(pointer.history) >= length, "the pointer went back in time"
        versions += len(pointer.history) > length
        length = len(pointer.history)
        if pointer.history[-1].by == "done":
            results.put((reads, versions))
            return
