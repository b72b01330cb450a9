"""Kills at seeded random points: what was finished stays, the rest is byte for byte as if nothing had happened."""

import random

import pytest

from tests.jobs.job_worlds import JobWorld
from tests.jobs.kills import Command, at_work, kill_worker

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]

UNITS = 20
PAGES = 30
"""Of a unit: it is long enough at work to be killed in the middle."""
SEED = 20_240_521


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> JobWorld:
    world = JobWorld.of_rows(tmp_path_factory.mktemp("killed"), rows=PAGES * UNITS, units=UNITS)
    return world.with_(embedder={"dimension": 768})


@pytest.fixture(scope="module")
def undisturbed(corpus, ray_cluster) -> JobWorld:
    world = corpus.in_store("undisturbed")
    summary = world.run()
    assert summary.units >= 12, "enough units to be killed among"
    return world


def computed_in_vain(world: JobWorld) -> set[str]:
    """Units whose vectors were written and whose receipt was not: they will be computed again."""
    plan = world.plan()
    return {unit for unit in at_work(world, "embed") if world.store.exists(plan.embedded(unit))}


def assert_same(world: JobWorld, undisturbed: JobWorld) -> None:
    assert world.shards() == undisturbed.shards()
    ours, theirs = (one.catalog().current().generation for one in (world, undisturbed))
    assert ours == theirs
    digests = [one.catalog().show(ours).content_digest for one in (world, undisturbed)]
    assert digests[0] == digests[1]
    assert world.catalog().verify(ours, deep=True)


def assert_little_is_lost(world: JobWorld) -> str:
    """What a killed run leaves begun: one unit of each prepare worker; of the embed actor one whose vectors were being
    computed, and one that was being read and tokenized."""
    prepare, embed, computed = at_work(world, "prepare"), at_work(world, "embed"), computed_in_vain(world)
    assert len(prepare) <= 2 and len(embed) <= 2 and len(computed) <= 1
    return f"begun and not finished: prepare {len(prepare)}, embed {len(embed)}, of them written {len(computed)}"


def test_interrupted_then_its_driver_killed_then_finished(corpus, undisturbed, ray_cluster):
    chance = random.Random(SEED)
    world = corpus.in_store("driver")
    first = Command(world, ray_cluster).until_embedded(chance.randint(1, UNITS // 3))
    assert first.interrupt() == 130, first.output()
    assert "Traceback" not in first.output() and "run it again" in first.output()
    left = world.receipts("embed")
    assert 0 < left < UNITS
    second = Command(world, ray_cluster).until_embedded(left + chance.randint(1, UNITS // 3))
    second.until_at_work("embed").kill()
    lost = assert_little_is_lost(world)
    summary = world.run()
    assert 0 < summary.embedded_now < summary.units - left
    assert_same(world, undisturbed)
    print("driver killed:", lost)


def test_everything_killed_at_once(corpus, undisturbed):
    chance = random.Random(SEED + 1)
    world = corpus.in_store("all")
    command = Command(world).until_embedded(chance.randint(1, UNITS // 2))
    command.until_at_work("prepare").kill_all()
    lost = assert_little_is_lost(world)
    world.run()
    assert_same(world, undisturbed)
    print("everything killed:", lost)


def test_an_embed_actor_and_a_prepare_worker_killed_under_a_living_driver(corpus, undisturbed, ray_cluster):
    chance = random.Random(SEED + 2)
    world = corpus.in_store("workers")
    command = Command(world, ray_cluster)
    points = sorted(chance.sample(range(1, UNITS // 2), 2))
    stages = chance.sample(["embed", "prepare"], 2)
    hit: set[tuple[str, str]] = set()
    for point, stage in zip(points, stages, strict=True):
        command.until_embedded(point).until_at_work(stage)
        hit.add((stage, kill_worker(world, stage)))
    assert command.wait() == 0, command.output()
    plan = world.plan()
    twice = {
        (stage, unit)
        for stage in stages
        for unit in plan.record.units
        if len(plan.ledger(stage, world.store).marks(unit)) > 1
    }
    assert sum(stage == "prepare" for stage, _ in twice) <= 1 and sum(stage == "embed" for stage, _ in twice) <= 2
    assert_same(world, undisturbed)
    print("units at work in the two killed workers:", sorted(hit), "begun twice:", sorted(twice))


def test_two_runs_of_the_same_settings_at_once(corpus, undisturbed, ray_cluster):
    both = corpus.in_store("both").with_(resources={"cpus_per_actor": 0.5, "cpus_per_task": 0.5})
    commands = [Command(both, ray_cluster), Command(both, ray_cluster)]
    codes = [command.wait() for command in commands]
    # The publisher that comes second may find the pointer moved under it; it says so, and the index is published.
    assert sorted(codes) in ([0, 0], [0, 5]), [command.output() for command in commands]
    assert_same(both, undisturbed)
