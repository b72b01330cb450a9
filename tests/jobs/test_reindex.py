"""The reindex job end to end on a local Ray cluster, with the hash embedder."""

from datetime import UTC, datetime

import pytest

from babelray.config import HashSettings, RetrievalSettings
from babelray.errors import ConfigError, GateFailed, IncompleteRun, InputError, ModelKeyMismatch
from babelray.index.access import AccessScope
from babelray.index.reader import open_generation
from babelray.retrieval.engine import Parts, Retriever
from babelray.retrieval.request import Request
from babelray.text.language import LanguagePolicy
from jobs.ledger import read_rejects
from jobs.reindex import status
from models.embedders.hashed import HashEmbedder
from models.identifier import FastTextIdentifier
from tests.jobs.job_worlds import JobWorld, english, write_page

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def scope(tenant: str, *groups: str) -> AccessScope:
    return AccessScope(tenant_id=tenant, groups=frozenset(groups), as_of=NOW)


def found(world: JobWorld, text: str, who: AccessScope, generation: str | None = None) -> list[str]:
    """Source addresses of the candidates of a search, best first."""
    opened = open_generation(world.store, world.settings.index, generation, world.settings.cache_dir)
    assert isinstance(world.settings.embedder, HashSettings)
    embedder = HashEmbedder(world.settings.embedder)
    retriever = Retriever(opened, Parts(LanguagePolicy(FastTextIdentifier()), RetrievalSettings(), embedder))
    response = retriever.retrieve(Request(query=text, explain=True), who)
    retriever.close()
    assert response.trace is not None
    return [one.source_uri for one in response.trace.candidates]


def test_a_corpus_in_five_formats_is_published_and_searchable_under_a_scope(world):
    summary = world.run()
    assert (summary.documents, summary.published, summary.failed) == (22, True, {})
    assert summary.rejects_by_reason == {"empty": 1, "wrong_encoding": 1}
    assert summary.prepared_now == summary.embedded_now == summary.units > 1
    assert summary.blocks_by_kind["heading"] >= 12 and {"en", "de"} <= set(summary.chunks_by_language)
    assert summary.chunks + summary.sentences == summary.texts >= summary.distinct_texts
    assert world.receipts("prepare") == world.receipts("embed") == summary.units
    manifest = world.catalog().current()
    assert world.current() == summary.generation == world.plan().record.generation
    shown = world.catalog().show(manifest.generation)
    assert shown.counts.documents == 22 and shown.counts.quarantined_units == 0
    assert sum(segment.rows for segment in shown.segments) == summary.chunks
    assert found(world, english(4), scope("acme"))[0].endswith("page004.md")
    assert found(world, english(102), scope("acme", "staff"))[0].startswith("rows.jsonl")
    assert not [uri for uri in found(world, english(102), scope("acme")) if uri.startswith("rows")]
    assert {uri.split("#")[0] for uri in found(world, "Karte KX-202", scope("other"))} == {"rows.parquet"}
    assert found(world, english(4), scope("nobody")) == []
    plan = world.plan()
    rows = [row for unit in plan.record.units for row in read_rejects(world.store, plan.prepare_layout, unit)]
    assert {(row["source_uri"], row["reason"]) for row in rows} == {
        ("broken.md", "wrong_encoding"),
        ("empty.md", "empty"),
    }
    workers = {
        stage: {mark.worker for unit in plan.record.units for mark in plan.ledger(stage, world.store).marks(unit)}
        for stage in ("prepare", "embed")
    }
    assert not workers["prepare"] & workers["embed"], "a CPU task must never run inside an embed actor"


def test_running_again_does_nothing_and_upgrades_reuse_what_they_can(world):
    first = world.run()
    before = world.shards()
    again = world.run()
    assert again.already_built and again.published
    assert (again.prepared_now, again.embedded_now, again.computed_tokens) == (0, 0, 0)
    assert again.generation == first.generation
    assert len(world.catalog().pointer().history) == 1

    other_kind = world.with_(vectors={"kind": "ivf_sq8", "recall_floor": 0.0}).run()
    assert other_kind.generation != first.generation
    assert (other_kind.prepared_now, other_kind.embedded_now) == (0, 0)
    assert world.shards() == before

    upgraded = world.with_(embedder={"dimension": 48})
    second = upgraded.run()
    assert (second.prepared_now, second.embedded_now) == (0, second.units)
    assert world.current() == second.generation
    assert before.items() <= world.shards().items()
    assert found(upgraded, english(4), scope("acme"))[0].endswith("page004.md")
    with pytest.raises(ModelKeyMismatch):
        found(upgraded, english(4), scope("acme"), generation=first.generation)
    world.catalog().rollback(to=first.generation)
    assert found(world, english(4), scope("acme"))[0].endswith("page004.md")


def test_limit_takes_a_sample_into_a_generation_of_its_own(world):
    summary = world.run(limit=3, publish=False)
    assert not summary.published and world.current() == ""
    assert 1 <= summary.documents + sum(summary.rejects_by_reason.values()) <= 9
    assert status(world.settings, limit=3)["built"]
    with pytest.raises(InputError, match="never started"):
        status(world.settings)


def test_the_reject_budget_keeps_a_generation_from_being_published(world):
    for n in range(9):
        (world.pages / f"bad{n}.md").write_bytes(b"\xe9 is not UTF-8")
    with pytest.raises(GateFailed, match="31% of the records were rejected"):
        world.run()
    assert world.current() == ""
    summary = world.run(publish=False)
    assert summary.already_built and summary.rejects_by_reason["wrong_encoding"] == 10
    world.catalog().publish(summary.generation)


def test_many_small_segments(world):
    summary = world.with_(units={"units_per_segment": 1}).run()
    assert summary.segments == summary.units > 3
    assert "page004.md" in found(world, english(4), scope("acme"))[:3]


def test_one_document(tmp_path):
    world = JobWorld.of_rows(tmp_path, rows=1)
    summary = world.run()
    assert (summary.documents, summary.segments, summary.published) == (1, 1, True)
    assert found(world, english(0), scope("acme")) == ["00000.md"]


def test_a_unit_without_any_document_is_no_problem(tmp_path):
    world = JobWorld.of_rows(tmp_path, rows=6, units=6)
    for n in range(6):
        (world.root / f"corpus/pages/empty{n}.md").write_text("<!-- nothing -->\n" * 4)
    summary = world.with_(units={"target_texts": 1, "units_per_segment": 1}).run()
    assert summary.documents == 6 and summary.rejects_by_reason == {"nothing_to_index": 6}


def test_nothing_that_can_be_indexed_is_an_incomplete_run(tmp_path):
    world = JobWorld.of_rows(tmp_path, rows=2)
    for page in (world.root / "corpus/pages").iterdir():
        page.write_text("")
    with pytest.raises(IncompleteRun, match="nothing could be indexed") as caught:
        world.run()
    assert "empty: 2" in str(caught.value)


def test_no_sources_is_said_before_anything_starts(world):
    with pytest.raises(InputError, match="hold nothing"):
        world.with_(sources=[]).run()
    assert not list(world.root.glob("store/**/*"))


def test_what_cannot_fit_is_refused_before_anything_is_written(world):
    with pytest.raises(ConfigError, match="GPUs"):
        world.with_(resources={"embed_actors": 2, "gpus_per_actor": 1}).run()
    with pytest.raises(ConfigError, match="no CPU for the tasks"):
        world.with_(resources={"embed_actors": 2}).run()
    assert not list(world.root.glob("store/**/*"))


def test_a_source_that_changes_under_the_job_fails_its_unit_and_the_next_run_is_fine(world, monkeypatch):
    import jobs.reindex

    def store_and_change(plan, units):
        store = original(plan, units)
        write_page(world.root / "corpus", 3, "Edited while the job ran.")
        return store

    original = jobs.reindex.store_plan
    with monkeypatch.context() as patch:
        patch.setattr(jobs.reindex, "store_plan", store_and_change)
        with pytest.raises(IncompleteRun, match="1 of") as caught:
            world.with_(units={"error_budget": 0.9}).run()
    assert "page003.md" in str(caught.value)
    assert world.current() == ""
    done = world.receipts("embed")
    summary = world.run()
    assert summary.published and summary.failed == {}
    assert summary.embedded_now == summary.units - done == 1, "a changed page changes its own unit only"
    assert found(world, "edited while", scope("acme"))[0].endswith("page003.md")


def test_the_error_budget_ends_the_job_early(tmp_path, monkeypatch):
    import jobs.reindex

    world = JobWorld.of_rows(tmp_path, rows=120, units=40)

    def store_and_change(plan, units):
        for page in (world.root / "corpus/pages").iterdir():
            page.write_text(page.read_text() + "changed")
        return original(plan, units)

    original = jobs.reindex.store_plan
    monkeypatch.setattr(jobs.reindex, "store_plan", store_and_change)
    with pytest.raises(IncompleteRun, match="units failed") as caught:
        world.with_(units={"error_budget": 0.1}).run()
    assert "units were not reached" in str(caught.value)
    assert world.receipts("embed") == 0
