"""Kills at seeded random points: what was finished stays, the rest is byte for byte as if nothing had happened."""

import random
import time

import pytest

from tests.jobs.job_worlds import JobWorld
from tests.jobs.kills import Command, kill_worker

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]

UNITS = 24
SEED = 20_240_521


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> JobWorld:
    return JobWorld.of_rows(tmp_path_factory.mktemp("killed"), rows=3 * UNITS, units=UNITS)


@pytest.fixture(scope="module")
def undisturbed(corpus, ray_cluster) -> JobWorld:
    world = corpus.in_store("undisturbed")
    summary = world.run()
    assert summary.units >= 12, "enough units to be killed among"
    return world


def begun_and_unfinished(world: JobWorld, stage: str) -> set[str]:
    plan = world.plan()
    ledger = plan.ledger(stage, world.store)
    return {unit for unit in plan.record.units if ledger.marks(unit) and ledger.receipt(unit) is None}


def computed_in_vain(world: JobWorld) -> set[str]:
    """Units whose vectors were written and whose receipt was not: they will be computed again."""
    plan = world.plan()
    return {unit for unit in begun_and_unfinished(world, "embed") if world.store.exists(plan.embedded(unit))}


def assert_same(world: JobWorld, undisturbed: JobWorld) -> None:
    assert world.shards() == undisturbed.shards()
    ours, theirs = (one.catalog().current().generation for one in (world, undisturbed))
    assert ours == theirs
    digests = [one.catalog().show(ours).content_digest for one in (world, undisturbed)]
    assert digests[0] == digests[1]
    assert world.catalog().verify(ours, deep=True)


def assert_little_is_lost(world: JobWorld) -> tuple[int, int]:
    """What a killed run leaves begun: one unit of each prepare worker; of the embed actor one with vectors computed,
    and one that was being read and tokenized."""
    prepare, embed = begun_and_unfinished(world, "prepare"), begun_and_unfinished(world, "embed")
    assert len(prepare) <= 2 and len(embed) <= 2
    assert len(computed_in_vain(world)) <= 1
    return len(prepare), len(embed)


def test_interrupted_then_its_driver_killed_then_finished(corpus, undisturbed, ray_cluster):
    chance = random.Random(SEED)
    world = corpus.in_store("driver")
    first = Command(world, ray_cluster).until_embedded(chance.randint(1, UNITS // 3))
    assert first.interrupt() == 130, first.output()
    assert "Traceback" not in first.output() and "run it again" in first.output()
    left = world.receipts("embed")
    assert 0 < left < UNITS
    second = Command(world, ray_cluster).until_embedded(left + chance.randint(1, UNITS // 3))
    time.sleep(chance.uniform(0, 0.3))
    second.kill()
    lost = assert_little_is_lost(world)
    summary = world.run()
    assert 0 < summary.embedded_now < summary.units - left
    assert_same(world, undisturbed)
    print("begun and not finished at the kill of the driver (prepare, embed):", lost)


def test_everything_killed_at_once(corpus, undisturbed):
    chance = random.Random(SEED + 1)
    world = corpus.in_store("all")
    command = Command(world).until_embedded(chance.randint(1, UNITS // 2))
    time.sleep(chance.uniform(0, 0.3))
    command.kill_all()
    lost = assert_little_is_lost(world)
    world.run()
    assert_same(world, undisturbed)
    print("begun and not finished when everything was killed (prepare, embed):", lost)


def test_an_embed_actor_and_a_prepare_worker_killed_under_a_living_driver(corpus, undisturbed, ray_cluster):
    chance = random.Random(SEED + 2)
    world = corpus.in_store("workers")
    command = Command(world, ray_cluster)
    points = sorted(chance.sample(range(1, UNITS - 6), 2))
    stages = chance.sample(["embed", "prepare"], 2)
    for point, stage in zip(points, stages, strict=True):
        command.until_embedded(point)
        time.sleep(chance.uniform(0, 0.2))
        kill_worker(world, stage)
    assert command.wait() == 0, command.output()
    plan = world.plan()
    twice = {
        stage: sum(len(plan.ledger(stage, world.store).marks(unit)) > 1 for unit in plan.record.units)
        for stage in ("prepare", "embed")
    }
    assert twice["prepare"] <= 1 and twice["embed"] <= 2
    assert_same(world, undisturbed)
    print("begun twice by one killed worker each:", twice)


def test_two_runs_of_the_same_settings_at_once(corpus, undisturbed, ray_cluster):
    both = corpus.in_store("both").with_(resources={"cpus_per_actor": 0.5, "cpus_per_task": 0.5})
    commands = [Command(both, ray_cluster), Command(both, ray_cluster)]
    codes = [command.wait() for command in commands]
    # The publisher that comes second may find the pointer moved under it; it says so, and the index is published.
    assert sorted(codes) in ([0, 0], [0, 5]), [command.output() for command in commands]
    assert_same(both, undisturbed)
