"""Publishers and readers at the same time, in real processes."""

from itertools import pairwise

import pytest

from babelray.index.generations import Catalog
from tests.index.kill_worlds import move
from tests.index.race_worlds import race, watch
from tests.index.small_generations import plant


@pytest.mark.parametrize(("publish", "rounds"), [(True, 25), (False, 150)])
def test_of_two_publishers_exactly_one_wins_each_round(tmp_path, publish, rounds):
    store = plant(tmp_path / "store", ["a0", "a1", "b0", "b1"])
    outcomes = race(store, rounds, publish)
    history = Catalog(store, "main").current().history
    assert len(history) == rounds, "each round has one event, and none is lost"
    assert [event.reason for event in history] == [str(number) for number in range(rounds)]
    for number, event in enumerate(history):
        ends = {name: outcomes[name][number] for name in "ab"}
        loser = "b" if event.by == "a" else "a"
        assert ends[event.by] == ("won", event.generation)
        assert ends[loser][0] == "lost"
        assert ends[loser][1].startswith(f"{event.generation}, publish at") and f"by {event.by}" in ends[loser][1]
    assert all(later.replaced == earlier.generation for earlier, later in pairwise(history))


def test_readers_never_see_a_torn_pointer(tmp_path):
    store = plant(tmp_path / "store", ["g1"])
    move(store, "g1")
    processes, results = watch(store)
    for number in range(198):
        move(store, f"g{number % 3}")
    move(store, "g1", by="done")
    found = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(30)
        assert process.exitcode == 0
    # What they saw changed under them, or nothing was tested.
    assert all(reads >= versions > 20 for reads, versions in found)
