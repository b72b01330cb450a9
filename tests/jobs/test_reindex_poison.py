"""Units that kill their workers, disks that are full, embedders that do not load, files that are lost."""

import pytest

from babelray.errors import IncompleteRun, InputError
from jobs.reindex import status
from tests.jobs import poisons
from tests.jobs.job_worlds import JobWorld, english

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]


@pytest.fixture
def small(tmp_path) -> JobWorld:
    return JobWorld.of_rows(tmp_path, rows=16, units=8)


def unit_of(world, page: str) -> str:
    plan = world.plan()
    from jobs.planning import make_plan

    return next(unit.unit_id for unit in make_plan(plan.settings)[1] if any(part.uri == page for part in unit.parts))


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_what_kills_its_worker_is_quarantined_alone_and_healed_on_request(small, monkeypatch):
    for name in ("kills-prepare.md", "kills-embed.md"):
        (small.pages / name).write_text(f"# {name}\n\n{english(7)}\n")
    small = small.with_(units={"max_attempts": 2})
    guilty = {unit_of(small, "kills-prepare.md"), unit_of(small, "kills-embed.md")}
    assert len(guilty) == 2, "the two pages fall into different units"
    with monkeypatch.context() as patch:
        poisons.use(patch)
        with pytest.raises(IncompleteRun, match="2 of") as caught:
            small.run()
    assert caught.value.exit_code == 7
    assert "kills-embed.md" in str(caught.value) and "kills-prepare.md" in str(caught.value)
    plan, store = small.plan(), small.store
    embed = plan.ledger("embed", store).receipts(plan.record.units)
    prepare = plan.ledger("prepare", store).receipts(plan.record.units)
    bad = {unit for group in (prepare, embed) for unit, one in group.items() if one.outcome == "quarantined"}
    assert bad == guilty, "a unit that was at work beside the guilty one is innocent"
    assert max(one.attempt for one in embed.values() if one.outcome == "done") == 2, "one was beside it and died along"
    left = plan.without(guilty).record.generation
    shown = small.catalog().show(left)
    lost = set().union(*(poisons.pages(plan, unit) for unit in guilty))
    assert (shown.counts.quarantined_units, shown.counts.documents) == (2, 18 - len(lost))
    assert small.current() == ""

    with pytest.raises(IncompleteRun, match="quarantined"):
        small.run()
    shown_status = status(small.settings)["stages"]
    assert list(shown_status["embed"]["quarantined"]) == [unit_of(small, "kills-embed.md")]
    healed = small.run(retry_quarantined=True)
    assert healed.published and healed.generation == plan.record.generation != left
    assert (healed.documents, healed.prepared_now, healed.embedded_now) == (18, 1, 2)


def test_a_full_disk_fails_units_with_the_systems_words_and_the_next_run_goes_on(small, monkeypatch):
    (small.pages / "full-disk.md").write_text(f"# Full\n\n{english(7)}\n")
    with monkeypatch.context() as patch:
        poisons.use(patch)
        with pytest.raises(IncompleteRun, match="No space left on device"):
            small.run()
    assert small.run().published


def test_an_embedder_that_does_not_load_is_said_in_one_message(small, monkeypatch):
    (small.pages / "no-embedder.md").write_text("# No\n\nembedder")
    poisons.use(monkeypatch)
    with pytest.raises(IncompleteRun, match="weights are damaged") as caught:
        small.run()
    assert "Traceback" not in str(caught.value)


def test_a_corpus_of_which_every_unit_is_quarantined_says_so(tmp_path, monkeypatch):
    world = JobWorld.of_rows(tmp_path, rows=1, units=1).with_(units={"max_attempts": 1})
    (world.pages / "00000.md").rename(world.pages / "kills-embed.md")
    poisons.use(monkeypatch)
    monkeypatch.setattr(poisons, "COMPANY_SECONDS", 0)
    with pytest.raises(IncompleteRun, match="nothing could be indexed") as caught:
        world.run()
    assert "1 of them quarantined" in str(caught.value)


def test_lost_shards_and_torn_receipts_are_made_again(small):
    first = small.run()
    plan, store, before = small.plan(), small.store, small.shards()
    units = plan.record.units
    store.delete(plan.prepared(units[0]))
    store.write_atomic(plan.embedded(units[1]), b"cut")
    store.write_atomic(plan.embed_layout.receipt("embed", units[2]), b'{"stage": "em')
    again = small.run()
    assert again.already_built and (again.prepared_now, again.embedded_now) == (1, 2)
    assert small.shards() == before
    store.delete(small.catalog().layout(first.generation).root)
    rebuilt = small.run()
    assert rebuilt.published and not rebuilt.already_built
    assert small.catalog().verify(first.generation, deep=True)


def test_the_same_document_in_two_segments_is_one_clean_message(small):
    rows = '{"id": "same", "text": "One."}\n'
    values = small.values["sources"]
    for name in ("a", "b"):
        (small.root / f"{name}.jsonl").write_text(rows)
        values = [*values, {"path": str(small.root / f"{name}.jsonl"), "format": "jsonl"}]
    doubled = small.with_(sources=values, units={"target_texts": 1, "units_per_segment": 1})
    with pytest.raises(InputError, match="twice") as caught:
        doubled.run()
    assert "Traceback" not in str(caught.value) and type(caught.value) is InputError
