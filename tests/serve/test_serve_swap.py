"""Generations replaced while searches run: no request fails, none mixes two, and a broken one is never taken up."""

import threading
import time
from datetime import UTC, datetime

import pytest

from babelray.config import Settings
from babelray.errors import InputError
from babelray.index.access import AccessScope
from babelray.index.access_changes import parse_changes
from babelray.index.access_store import apply_changes
from babelray.retrieval.request import Request
from serve.live_index import LiveIndex, find_index
from serve.metrics import Metrics
from tests.jobs.job_worlds import JobWorld, english, write_page

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]


def scope(tenant="acme"):
    return AccessScope(tenant_id=tenant, groups=frozenset(), as_of=datetime.now(UTC))


@pytest.fixture
def world(tmp_path):
    made = JobWorld.create(tmp_path)
    made.run()
    return made


@pytest.fixture
def live(world):
    opened = LiveIndex("trip", world.settings, Metrics())
    yield opened
    opened.close()


def search(live, query=None):
    with live.use() as retriever:
        return retriever.retrieve(Request(query=query or english(4), k=3), scope())


def another(world, n):
    """One more generation, not published."""
    write_page(world.root / "corpus", n)
    return world.run(publish=False).generation


def test_publishing_and_rolling_back_under_load_fails_no_search_and_mixes_none(world, live):
    first = world.current()
    second = another(world, 40)
    stop, failures, seen = threading.Event(), [], set()
    known = {first: 12, second: 13}

    def load():
        while not stop.is_set():
            try:
                with live.use() as retriever:
                    answer = retriever.retrieve(Request(query=english(4), k=3), scope())
                    # What the answer names is what it was searched in, to its end.
                    assert answer.generation == retriever.generation.manifest.generation in known
                    assert answer.passages
                seen.add(answer.generation)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what this test looks for
                failures.append(repr(error))

    threads = [threading.Thread(target=load) for _ in range(3)]
    for one in threads:
        one.start()
    for number in range(6):
        if number % 2:
            world.catalog().rollback()
        else:
            world.catalog().publish(second)
        assert live.refresh() is True
        time.sleep(0.15)
    stop.set()
    for one in threads:
        one.join()
    assert failures == [] and seen == {first, second}


def test_the_old_generation_is_closed_by_its_last_search(world, live):
    second = another(world, 41)
    with live.use() as old:
        world.catalog().publish(second)
        assert live.refresh() and live.generation == second
        assert old.retrieve(Request(query=english(4), k=1), scope()).passages, "it still answers"
        assert not old._pool._shutdown
    assert old._pool._shutdown


def test_the_model_is_loaded_once_for_generations_of_one_model(world, live):
    before = live.embedder
    world.catalog().publish(another(world, 42))
    live.refresh()
    assert live.embedder is before


def encoders():
    return {one for one in threading.enumerate() if one.name == "encode"}


def test_no_thread_of_a_model_outlives_its_index(world):
    before = encoders()
    opened = LiveIndex("trip", world.settings, Metrics())
    world.catalog().publish(another(world, 45))
    assert opened.refresh() and search(opened).passages
    assert len(encoders() - before) == 1
    opened.close()
    assert encoders() <= before


def test_a_broken_generation_is_refused_once_and_the_old_one_goes_on(world, live, caplog):
    first, second = world.current(), another(world, 43)
    world.catalog().publish(second)
    folder = world.store.local_path(world.catalog().layout(second).root)
    victim = next(folder.rglob("chunks.arrow"))
    good = victim.read_bytes()
    victim.write_bytes(b"rotten")
    assert live.refresh() is False and live.generation == first
    assert second in live.refused and search(live).generation == first
    caplog.clear()
    assert live.refresh() is False and not caplog.records, "it is not tried again and again"
    victim.write_bytes(good)
    world.catalog().publish(another(world, 44))
    assert live.refresh() is True and live.refused == {}


def test_another_model_is_refused_and_said(world, live):
    other = world.with_(embedder={"dimension": 16})
    other.run()
    assert live.refresh() is False
    assert "not the one that this generation was built with" in next(iter(live.refused.values()))
    assert search(live).passages


def test_rights_are_taken_up_without_a_new_generation(world, live):
    doc_id = search(live).passages[0].citation.doc_id
    apply_changes(world.store, "trip", parse_changes([{"action": "delete_document", "doc_id": doc_id}], "test"))
    live.refresh()
    assert doc_id not in {one.citation.doc_id for one in search(live).passages}


def test_two_indexes_with_different_models_live_in_one_process(world, tmp_path):
    small = world.with_(embedder={"dimension": 16}, index="small")
    small.run()
    indexes = {
        "trip": LiveIndex("trip", world.settings, Metrics()),
        "small": LiveIndex("small", Settings.model_validate(small.values), Metrics()),
    }
    try:
        models = {name: search(one).model_key for name, one in indexes.items()}
        assert len(set(models.values())) == 2
        assert find_index(indexes, "small") is indexes["small"]
        with pytest.raises(InputError, match="no such index"):
            find_index(indexes, None)
    finally:
        for one in indexes.values():
            one.close()
