"""What a job decides without Ray: what fits, what a run did, who may be in an actor, what is not published."""

import threading

import pytest
from ray.exceptions import RayTaskError, WorkerCrashedError

from babelray.config import Settings
from babelray.errors import ConfigError, GateFailed, IncompleteRun
from babelray.text.readers import InputPart
from jobs.cluster import actor_options, connect, readable, task_options
from jobs.ledger import Outcome, Receipt
from jobs.planning import make_plan
from jobs.preflight import check_fits, estimate
from jobs.stages.embed import Turns, embedder_threads
from jobs.summary import Summary, manifest_counts, totals
from jobs.units import Unit
from jobs.verdict import nothing_indexed, units_failed, unpublished


def settings(**values) -> Settings:
    return Settings.model_validate({"embedder": {"kind": "hash"}, **values})


def fits(cpus, gpus, index_bytes=0, **resources):
    check_fits(settings(resources=resources), cpus, gpus, index_bytes)


@pytest.mark.parametrize(
    ("cpus", "gpus", "resources"),
    [
        (2, 0, {}),
        (3, 0, {"embed_actors": 2}),
        (1, 0, {"cpus_per_actor": 0.5, "cpus_per_task": 0.5}),
        (3, 2, {"embed_actors": 2, "gpus_per_actor": 1}),
        (2, 0.5, {"gpus_per_actor": 0.5}),
    ],
)
def test_what_fits_is_let_through(cpus, gpus, resources):
    fits(cpus, gpus, **resources)


@pytest.mark.parametrize(
    ("cpus", "gpus", "resources", "got", "allowed"),
    [
        (8, 1, {"embed_actors": 2, "gpus_per_actor": 1}, "2 x 1 = 2", "at most 1"),
        (8, 0, {"gpus_per_actor": 0.5}, "1 x 0.5 = 0.5", "at most 0"),
        (2, 0, {"embed_actors": 2}, "2 x 1 + 1", "at most 2 CPUs"),
        (1, 0, {}, "1 x 1 + 1", "at most 1 CPUs"),
        (4, 0, {"cpus_per_actor": 3.5}, "1 x 3.5 + 1", "at most 4 CPUs"),
    ],
)
def test_what_cannot_fit_is_refused_with_the_numbers(cpus, gpus, resources, got, allowed):
    with pytest.raises(ConfigError) as caught:
        fits(cpus, gpus, **resources)
    assert (caught.value.got, caught.value.allowed) == (got, allowed)


def test_an_index_larger_than_the_disk_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="disk is too small"):
        check_fits(settings(store=str(tmp_path / "not" / "there")), 2, 0, index_bytes=2**60)


def test_the_estimate_follows_bytes_and_machines(tmp_path):
    (tmp_path / "a.md").write_text("word " * 22_000)
    values = {"sources": [{"path": str(tmp_path)}], "store": str(tmp_path / "s"), "cache": str(tmp_path / "c")}
    plan, _ = make_plan(settings(**values))
    assert plan.record.estimated_texts == 1000
    one, four = estimate(plan, 1, 0), estimate(plan, 4, 0)
    assert one.texts == 1000 and one.tokens == 38_000
    assert one.seconds == pytest.approx(4 * four.seconds)
    assert one.index_bytes == 1000 * 64 * 2 + 201 * 64 + 165_000
    on_gpu, _ = make_plan(settings(**values, resources={"gpus_per_actor": 1}))
    assert estimate(on_gpu, 4, 1).seconds < four.seconds


@pytest.mark.parametrize(
    ("cpus", "actors", "configured", "on_gpu", "threads"),
    [(8, 1, 0, False, 8), (8, 3, 0, False, 2), (2, 4, 0, False, 1), (8, 2, 6, False, 6), (8, 1, 0, True, None)],
)
def test_threads_of_a_forward_pass(cpus, actors, configured, on_gpu, threads):
    assert embedder_threads(cpus, actors, configured, on_gpu) == threads


def test_retries_are_bounded_and_leave_room_for_the_quarantine_receipt():
    chosen = settings(units={"max_attempts": 2, "error_budget": 0.1}, resources={"gpus_per_actor": 1})
    assert task_options(chosen) == {"num_cpus": 1.0, "max_retries": 2}
    options = actor_options(chosen, units=100)
    assert (options["num_gpus"], options["num_cpus"]) == (1.0, 1.0)
    assert options["max_restarts"] == 8 + 3 * 11


class TestTurns:
    def test_some_come_in_together_and_one_alone_waits_for_all(self):
        turns = Turns(2)
        inside, log = threading.Barrier(3, timeout=10), []

        def together():
            with turns.take(alone=False):
                inside.wait()
                leave.wait(10)
                log.append("together")

        def alone():
            with turns.take(alone=True):
                log.append("alone")

        leave = threading.Event()
        threads = [threading.Thread(target=together) for _ in range(2)]
        for thread in threads:
            thread.start()
        inside.wait()
        single = threading.Thread(target=alone)
        single.start()
        single.join(0.05)
        assert single.is_alive() and log == []
        leave.set()
        for thread in [*threads, single]:
            thread.join(10)
        assert log == ["together", "together", "alone"]

    def test_nobody_is_inside_beside_one_alone(self):
        turns, guard = Turns(2), threading.Lock()
        inside: list[bool] = []
        bad: list[list[bool]] = []

        def caller(alone: bool):
            for _ in range(50):
                with turns.take(alone=alone):
                    with guard:
                        inside.append(alone)
                        if (True in inside and len(inside) > 1) or len(inside) > 2:
                            bad.append(list(inside))
                    with guard:
                        inside.remove(alone)

        threads = [threading.Thread(target=caller, args=(number % 2 == 0,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert not any(thread.is_alive() for thread in threads) and bad == []


def prepared(unit="u", **values) -> Receipt:
    return Receipt(stage="prepare", unit=unit, **values)


PREPARED = {
    "a": prepared(
        "a",
        counts={"documents": 2, "chunks": 3, "sentences": 5, "blocks.heading": 1, "chunks.en": 2, "chunks.de": 1},
        rejects={"empty": 1},
        seconds={"prepare": 1.0},
    ),
    "b": prepared("b", counts={"documents": 1, "chunks": 1, "sentences": 1, "chunks.en": 1}, rejects={"binary": 2}),
    "dead": prepared("dead", outcome=Outcome.QUARANTINED),
}
EMBEDDED = {
    "a": Receipt(stage="embed", unit="a", counts={"texts": 8, "tokens": 60, "padded_tokens": 80, "refused.nan": 1}),
    "b": Receipt(stage="embed", unit="b", counts={"texts": 2, "tokens": 12, "padded_tokens": 16, "truncated": 1}),
}


def test_totals_come_from_receipts_alone():
    found = totals(PREPARED, EMBEDDED)
    assert (found["documents"], found["chunks"], found["texts"], found["tokens"]) == (3, 4, 10, 72)
    assert found["chunks_by_language"] == {"en": 3, "de": 1}
    assert found["rejects_by_reason"] == {"empty": 1, "binary": 2}
    assert found["refused_by_reason"] == {"nan": 1}
    assert found["padding_waste"] == pytest.approx(0.25)
    assert found["quarantined"] == ("dead",)


def test_a_manifest_counts_what_is_in_its_generation():
    done = {unit: one for unit, one in PREPARED.items() if one.outcome is Outcome.DONE}
    counts = manifest_counts(done, {"a": EMBEDDED["a"]}, quarantined=2)
    assert (counts.documents, counts.tokens, counts.quarantined_units) == (2, 60, 2)


def test_no_receipts_are_zeros():
    assert totals({}, {})["padding_waste"] == 0.0
    assert Summary(run="r", generation="g", index="i", model="m").tokens_a_second == 0.0


def summary(**values) -> Summary:
    return Summary(run="r", generation="g", index="i", model="m", units=10, **values)


def plan_of(tmp_path):
    (tmp_path / "a.md").write_text("# A\n\nText.\n")
    values = {"sources": [{"path": str(tmp_path)}], "store": str(tmp_path / "s"), "cache": str(tmp_path / "c")}
    return make_plan(settings(**values))


class TestVerdicts:
    def test_failed_and_unreached_units_are_counted_apart(self):
        error = units_failed(summary(failed={"u1": "OSError: no"}, unfinished=4))
        assert isinstance(error, IncompleteRun) and error.exit_code == 7
        assert error.what == "1 of 10 units failed" and "u1: OSError: no; 4 units were not reached" in str(error.got)

    def test_nothing_indexed_gives_the_reasons(self):
        assert nothing_indexed(summary(rejects_by_reason={"empty": 3})).got == "empty: 3"

    def test_quarantined_units_are_named_with_their_files(self, tmp_path):
        from babelray.index.store import open_store

        plan, _ = plan_of(tmp_path)
        store = open_store(plan.settings.store)
        unit = Unit("u1", (InputPart(0, "bad.md", "markdown", 0, 9, 9, "0" * 16),))
        store.write_atomic(plan.prepare_layout.unit("u1"), unit.to_bytes())
        error = unpublished(summary(quarantined=("u1",)), plan.settings, store, plan)
        assert isinstance(error, IncompleteRun) and error.got == "u1: bad.md [0:9]"

    @pytest.mark.parametrize(
        ("documents", "rejects", "refused"),
        [(8, {"binary": 2}, False), (7, {"binary": 3}, True), (1, {"empty": 50, "nothing_to_index": 9}, False)],
    )
    def test_a_reject_budget_counts_faults_only(self, tmp_path, documents, rejects, refused):
        plan, _ = plan_of(tmp_path)
        found = unpublished(summary(documents=documents, rejects_by_reason=rejects), plan.settings, None, plan)
        assert isinstance(found, GateFailed) == refused


def test_a_plan_without_some_units_is_another_run_and_generation(tmp_path):
    plan, units = plan_of(tmp_path)
    assert plan.without([]) is plan
    other = plan.without([units[0].unit_id])
    assert other.record.units == () and other.record.generation != plan.record.generation
    assert other.invocation == plan.invocation and plan.for_workers().record.units == ()
    assert other.record.run == plan.without([units[0].unit_id]).record.run


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"publish": False}, ["run", "units", "policy_digest"]),
        ({"resources": {"torch_threads": 2}}, ["run", "units", "policy_digest"]),
        ({"vectors": {"kind": "flat"}}, ["units", "policy_digest"]),
        ({"embedder": {"kind": "hash", "seed": 5}}, ["units", "policy_digest"]),
        ({"units": {"units_per_segment": 2}}, ["units", "policy_digest"]),
        ({"text": {"max_tokens": 99}}, ["units"]),
        ({"index": "other"}, ["units", "policy_digest"]),
    ],
)
def test_names_change_with_what_they_stand_for_and_with_nothing_else(tmp_path, change, same):
    plan, _ = plan_of(tmp_path)
    values = plan.settings.model_dump(mode="json")
    changed = Settings.model_validate(
        {**values, **{k: {**values[k], **v} if isinstance(v, dict) else v for k, v in change.items()}}
    )
    other, _ = make_plan(changed)
    for name in ("run", "units", "policy_digest"):
        assert (getattr(plan.record, name) == getattr(other.record, name)) == (name in same), name
    assert (plan.record.generation == other.record.generation) == ("run" in same)


@pytest.mark.parametrize("address", ["10.0.0.1:6379", ""])
def test_a_cluster_that_cannot_be_reached_is_one_message(monkeypatch, address):
    def refused(**_):
        raise ConnectionError("Failed to connect to Ray cluster\nwith many lines")

    monkeypatch.setattr("jobs.cluster.ray.is_initialized", lambda: False)
    monkeypatch.setattr("jobs.cluster.ray.init", refused)
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(ConfigError, match="cannot start or join Ray") as caught:
        connect(settings())
    assert caught.value.got == f"{address} Failed to connect to Ray cluster".strip()


class TestRaysErrors:
    def test_our_own_error_comes_out_as_it_was(self):
        ours = ConfigError("no", where="here")
        assert readable(RayTaskError("f", "a traceback", ours), "building") is ours

    def test_another_becomes_the_last_line_of_its_account(self):
        found = readable(RayTaskError("f", "Traceback ...\n  File x\nOSError: disk\n", OSError("disk")), "building")
        assert isinstance(found, IncompleteRun)
        assert (found.what, found.got) == ("building ended with an error", "OSError: disk")

    def test_a_dead_worker_has_no_cause(self):
        assert isinstance(readable(WorkerCrashedError(), "building"), IncompleteRun)
