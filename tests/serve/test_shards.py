"""Shard groups: the same answers, bit for bit, as one process that holds everything."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from babelray.errors import UpstreamError
from babelray.index.access import AccessScope
from babelray.index.access_changes import parse_changes
from babelray.index.access_store import apply_changes
from babelray.index.reader import open_generation
from babelray.index.segment_search import LocalSearch, WordQuestion
from babelray.retrieval.request import Request
from serve.live_index import LiveIndex
from serve.metrics import Metrics
from serve.service import served_settings
from serve.shards import GENERATIONS_KEPT, ShardedSearch, ShardGroup
from tests.jobs.job_worlds import JobWorld, english, german, write_page

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]

SEGMENTS = 4


@pytest.fixture(scope="module")
def world(ray_cluster, tmp_path_factory):
    made = JobWorld.create(tmp_path_factory.mktemp("shards")).with_(units={"target_texts": 10, "units_per_segment": 1})
    made.run()
    return made


class Direct:
    """Asks a group in this process, the way that Serve does: later, in another thread."""

    def __init__(self, group, pool):
        self.group, self.pool, self.asked = group, pool, 0

    def __call__(self, question):
        self.asked += 1
        return self.pool.submit(self.group.answer, question)


@pytest.fixture
def asks(world):
    """Makes what asks a number of groups."""
    with ThreadPoolExecutor(8) as pool:
        yield lambda groups, of=world: [
            Direct(ShardGroup(served_settings(of.settings), number, groups), pool) for number in range(groups)
        ]


def scope(tenant="acme", groups=("staff",)):
    return AccessScope(tenant_id=tenant, groups=frozenset(groups), as_of=datetime(2026, 6, 1, tzinfo=UTC))


QUERIES = [english(4), german(7), "KX-203", "opens at 7 in the morning", "Ferry", "harbour library", "42 Euro"]


@pytest.mark.parametrize("groups", [1, 2, 3, 7])
def test_answers_are_those_of_one_process_bit_for_bit(world, asks, groups):
    alone, spread = LiveIndex("trip", world.settings, Metrics()), None
    try:
        spread = LiveIndex("trip", world.settings, Metrics(), asks(groups))
        for query in QUERIES:
            for who in (scope(), scope(groups=()), scope("other"), scope("nobody")):
                with alone.use() as one, spread.use() as other:
                    assert len(one.generation.segments) >= SEGMENTS
                    request = Request(query=query, k=5, explain=True)
                    found = [retriever.retrieve(request, who, request_id="r") for retriever in (one, other)]
                    plain = [response.model_dump(mode="json", exclude={"trace": {"stages"}}) for response in found]
                    assert plain[0] == plain[1]
    finally:
        alone.close()
        if spread:
            spread.close()


def test_each_group_holds_its_own_segments_and_the_front_holds_no_index(world, asks):
    spread = LiveIndex("trip", world.settings, Metrics(), asks(2))
    with spread.use() as retriever:
        generation = retriever.generation
        assert not any(hasattr(one, "lexical") for one in generation.segments)
        question = WordQuestion(())
        found = generation.search.search(question, generation.compile(scope()), 3)
        assert len(found) == len(generation.segments)
    spread.close()


def test_rights_are_those_of_the_front_whatever_the_group_knew(world, asks):
    store, live = world.store, LiveIndex("trip", world.settings, Metrics(), asks(2))

    def uris():
        with live.use() as retriever:
            answer = retriever.retrieve(Request(query=english(4), k=5), scope())
            return {one.citation.source_uri for one in answer.passages}

    with live.use() as retriever:
        hit = retriever.retrieve(Request(query=english(4), k=1), scope()).passages[0].citation
    assert hit.source_uri in uris()
    apply_changes(store, "trip", parse_changes([{"action": "delete_document", "doc_id": hit.doc_id}], "t"))
    live.refresh()
    assert hit.source_uri not in uris()
    apply_changes(store, "trip", parse_changes([{"action": "restore_document", "doc_id": hit.doc_id}], "t"))
    live.refresh()
    assert hit.source_uri in uris()
    with live.use() as retriever:
        assert retriever.generation.violations == 0
    live.close()


def test_a_group_opens_what_is_published_and_lets_go_of_what_is_old(ray_cluster, tmp_path):
    world = JobWorld.create(tmp_path)
    world.run()
    group = ShardGroup(served_settings(world.settings), 0, 2)
    seen = []
    for n in range(GENERATIONS_KEPT + 1):
        group.refresh()
        seen.append(world.current())
        write_page(world.root / "corpus", 50 + n)
        world.run()
    held = list(group._opened["trip"]._kept)
    assert held == seen[-GENERATIONS_KEPT:]


class Failing:
    """Fails some times, then answers."""

    def __init__(self, ask, errors):
        self.ask, self.errors, self.asked = ask, list(errors), 0

    def __call__(self, question):
        self.asked += 1
        pending = self.ask(question)
        if not self.errors:
            return pending
        error = self.errors.pop(0)

        class Broken:
            def result(self, timeout):
                raise error

        return Broken()


def searched(world, asks):
    generation = open_generation(world.store, "trip", None, world.settings.cache_dir)
    question = WordQuestion(())
    search = ShardedSearch(asks, generation.manifest, 5.0)
    return search.search(question, generation.compile(scope()), 3), LocalSearch(generation.segments).search(
        question, generation.compile(scope()), 3
    )


def test_a_replica_that_died_is_asked_once_more(world, asks):
    first, second = asks(2)
    failing = Failing(first, [ConnectionError("gone")])
    found, plain = searched(world, [failing, second])
    assert failing.asked == 2 and second.asked == 1
    assert [one.rows.tolist() for one in found] == [one.rows.tolist() for one in plain]


@pytest.mark.parametrize("errors", [[TimeoutError()], [ConnectionError(), ConnectionError()]])
def test_a_group_that_stays_silent_fails_the_search_rather_than_hide_its_part(world, asks, errors):
    first, second = asks(2)
    with pytest.raises(UpstreamError, match="group 1 of 2"):
        searched(world, [first, Failing(second, errors)])


def test_loading_a_generation_holds_up_nobody_who_has_theirs(world, asks, monkeypatch):
    group = ShardGroup(served_settings(world.settings), 0, 1)
    group.refresh()
    kept, entered, leave = group._opened["trip"], threading.Event(), threading.Event()

    def slow():
        entered.set()
        leave.wait(20)
        return {}

    loading = threading.Thread(target=kept.get, args=("another", slow))
    loading.start()
    assert entered.wait(20)
    assert kept.get(world.current(), lambda: pytest.fail("it is there")) is not None
    leave.set()
    loading.join()
