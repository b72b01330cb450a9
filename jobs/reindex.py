"""The reindex job: plan, run, status. Ray carries names of units; everything else goes through the store."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import ray
from ray.data import ActorPoolStrategy, Dataset
from ray.exceptions import RayError

from babelray.config import Settings
from babelray.errors import BabelrayError, GateFailed, IncompleteRun, InputError, PublishConflict
from babelray.index.generations import Catalog
from babelray.index.store import Store, open_store
from jobs.assemble import register_access, train_once, write_generation
from jobs.cluster import actor_options, cluster_resources, connect, readable, result_of, task_options
from jobs.ledger import Outcome, Receipt, to_json
from jobs.planning import Plan, make_plan, store_plan
from jobs.preflight import check_fits, estimate
from jobs.progress import Progress
from jobs.stages.build import build_one
from jobs.stages.embed import UNITS_IN_FLIGHT, EmbedUnits, embedder_threads
from jobs.stages.prepare import prepare_unit
from jobs.stages.unit_work import FAILED, Row
from jobs.summary import Summary, totals
from jobs.verdict import members, nothing_indexed, units_failed, unpublished

Receipts = dict[str, Receipt]


def run(
    settings: Settings,
    *,
    limit: int | None = None,
    publish: bool | None = None,
    retry_quarantined: bool = False,
    progress: Progress | None = None,
) -> Summary:
    """Build a generation of the corpus and publish it; resumes whatever an earlier run left.

    Args:
        settings: Of the job.
        limit: Sample only so many parts of the input.
        publish: Overrides `settings.publish`.
        retry_quarantined: Try units again that killed their workers before.
        progress: Told of every unit that ends.

    Raises:
        IncompleteRun: Units failed or are quarantined.
        GateFailed: Too many records were rejected, or recall is under its floor; the generation stays unpublished.
    """
    progress = progress or Progress.silent()
    progress.step("planning")
    plan, units = make_plan(settings, limit)
    connect(settings)
    cpus, gpus = cluster_resources()
    check_fits(settings, cpus, gpus, estimate(plan, cpus, gpus).index_bytes)
    clock = _Clock()
    store = store_plan(plan, units)
    del units
    _heal(plan, store, progress)
    if retry_quarantined:
        _forget_quarantined(plan, store)
    failed = _prepare_and_embed(plan, store, progress, clock)
    prepare, embed = _done(plan, store, "prepare"), _done(plan, store, "embed")
    summary = _summary(plan, store, failed, clock)
    problem: BabelrayError | None = None
    if failed or summary.unfinished:
        problem = units_failed(summary)
    elif not any(prepare[unit].counts["chunks"] for unit in embed):
        problem = nothing_indexed(summary)
    if problem is not None:
        store.write_atomic(plan.run_layout.stats, to_json(summary))
        raise problem
    whole, plan = plan, plan.without(summary.quarantined)
    already = _has_manifest(plan, store)
    if not already:
        store.write_atomic(plan.run_layout.plan, to_json(plan.record))
        _build(plan, store, prepare, embed, len(summary.quarantined), progress, clock)
    summary = summary.model_copy(update={"already_built": already, **_describe(plan, store)})
    wants = settings.publish if publish is None else publish
    problem = unpublished(summary, settings, store, whole)
    if wants and problem is None:
        progress.step("publishing")
        try:
            Catalog(store, settings.index).publish(plan.record.generation, reason=f"reindex run {plan.record.run}")
        except (GateFailed, PublishConflict) as error:
            # The generation is built and stays: its numbers are shown before the reason why it is not served.
            problem = error
        clock.lap("publish")
    summary = summary.model_copy(
        update={"published": wants and problem is None, "seconds": clock.seconds(), **clock.totals}
    )
    store.write_atomic(plan.run_layout.stats, to_json(summary))
    progress.finish(summary)
    if problem is not None and (wants or isinstance(problem, IncompleteRun)):
        raise problem
    return summary


def status(settings: Settings, limit: int | None = None) -> dict[str, Any]:
    """What is done of a run, by its receipts; needs no Ray. The input is read once, since its digests name the run.

    Raises:
        InputError: Such a run was never started.
    """
    plan, _ = make_plan(settings, limit)
    store = open_store(settings.store)
    if not store.exists(plan.run_layout.plan):
        raise InputError(
            "this run was never started",
            where=f"{store.uri}, run {plan.record.run}",
            fix="`babelray reindex run` with the same settings and input starts it",
        )
    units = set(plan.record.units)
    pointer = Catalog(store, settings.index).pointer()
    stages: dict[str, dict[str, Any]] = {}
    for stage in ("prepare", "embed"):
        ledger = plan.ledger(stage, store)
        receipts = ledger.receipts(sorted(ledger.done() & units))
        quarantined = [unit for unit, one in receipts.items() if one.outcome is Outcome.QUARANTINED]
        stages[stage] = {
            "done": len(receipts) - len(quarantined),
            "quarantined": members(store, plan, quarantined),
            "of": len(units),
        }
    # What was built is the generation of the units that can be embedded.
    plan = plan.without({unit for stage in stages.values() for unit in stage["quarantined"]})
    return {
        "run": plan.record.run,
        "generation": plan.record.generation,
        "model": plan.record.model_key.readable(),
        "stages": stages,
        "built": _has_manifest(plan, store),
        "published": bool(pointer and pointer.generation == plan.record.generation),
    }


class _Clock:
    """Wall seconds by step, from when Ray was up."""

    def __init__(self) -> None:
        self._began = self._last = time.perf_counter()
        self._laps: dict[str, float] = {}
        self.totals: dict[str, int] = {"prepared_now": 0, "embedded_now": 0, "computed_tokens": 0}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self._laps[name] = round(now - self._last, 3)
        self._last = now

    def seconds(self) -> dict[str, float]:
        return {**self._laps, "total": round(time.perf_counter() - self._began, 3)}


def _prepare_and_embed(plan: Plan, store: Store, progress: Progress, clock: _Clock) -> dict[str, str]:
    """Bring every unit to an embed receipt; returns those that raised an error, with it."""
    settings, units = plan.settings, set(plan.record.units)
    done = _finished(plan, store) & units
    todo = sorted(units - done)
    before = plan.ledger("prepare", store).done()
    progress.start(total=len(units), done=len(done))
    failed: dict[str, str] = {}
    try:
        for row in _stream(_embedding(plan, todo), "preparing and embedding") if todo else ():
            progress.unit(str(row["unit"]), str(row["outcome"]), int(row["tokens"]))
            if row["outcome"] == FAILED:
                failed[str(row["unit"])] = str(row["error"])
                progress.note(f"unit {row['unit']} failed: {row['error']}")
                if len(failed) > settings.units.error_budget * len(units):
                    progress.note("the error budget is spent: stopping")
                    break
            elif row["outcome"] == Outcome.DONE.value:
                clock.totals["embedded_now"] += 1
                clock.totals["computed_tokens"] += int(row["tokens"])
    finally:
        progress.stop()
    clock.totals["prepared_now"] = len((plan.ledger("prepare", store).done() - before) & units)
    clock.lap("prepare_and_embed")
    return failed


def _finished(plan: Plan, store: Store) -> set[str]:
    """Units with both receipts, or quarantined while they were prepared."""
    prepared, embedded = plan.ledger("prepare", store), plan.ledger("embed", store)
    there = prepared.done()
    both = there & embedded.done()
    rest = prepared.receipts(sorted((there - both) & set(plan.record.units)))
    return both | {unit for unit, receipt in rest.items() if receipt.outcome is Outcome.QUARANTINED}


def _embedding(plan: Plan, units: list[str]) -> Dataset:
    """The streaming part: prepare tasks feed a pool of embed actors, unit by unit."""
    settings = plan.settings
    resources = settings.resources
    cpus, _ = cluster_resources()
    threads = embedder_threads(cpus, resources.embed_actors, resources.torch_threads, resources.gpus_per_actor > 0)
    worker_plan = plan.for_workers()
    return (
        _units([{"unit": unit} for unit in units])
        .map(partial(prepare_unit, plan=worker_plan), **task_options(settings))
        .map_batches(
            EmbedUnits,
            fn_constructor_kwargs={"plan": worker_plan, "threads": threads},
            batch_size=1,
            compute=ActorPoolStrategy(
                size=min(resources.embed_actors, len(units)),
                max_concurrent_calls_per_actor=UNITS_IN_FLIGHT,
                # Without it Ray Data lets calls in side by side but runs them one after the other.
                enable_true_multi_threading=True,
                max_tasks_in_flight_per_actor=UNITS_IN_FLIGHT + 1,
            ),
            **actor_options(settings, len(units)),
        )
    )


def _describe(plan: Plan, store: Store) -> dict[str, Any]:
    """Fields of a summary that come from the manifest."""
    manifest = Catalog(store, plan.record.index).show(plan.record.generation)
    return {
        "run": plan.record.run,
        "generation": manifest.generation,
        "recall": manifest.vectors.recall,
        "filtered_recall": manifest.vectors.filtered_recall,
        "index_bytes": manifest.size,
        "segments": len(manifest.segments),
    }


def _build(
    plan: Plan,
    store: Store,
    prepare: Receipts,
    embed: Receipts,
    quarantined: int,
    progress: Progress,
    clock: _Clock,
) -> None:
    """Segments side by side, then the manifest."""
    settings = plan.settings
    units = tuple(sorted(embed))
    segments = plan.segments(units)
    rows = sum(prepare[unit].counts["chunks"] for unit in units)
    worker_plan = plan.for_workers()
    progress.step(f"building {len(segments)} segments")
    # In tasks, so that the driver holds no vectors.
    options = task_options(settings)
    result_of(ray.remote(**options)(train_once).remote(worker_plan, rows, units), "training the vector index")
    classes = register_access(plan, prepare)
    work = [{"unit": number, "units": " ".join(members)} for number, members in segments.items()]
    building = _units(work).map(partial(build_one, plan=worker_plan, classes=classes), **options)
    failed = {}
    for row in _stream(building, "building segments"):
        if row["outcome"] not in (Outcome.DONE.value, "skipped"):
            failed[str(row["unit"])] = str(row["error"] or row["outcome"])
    receipts = _done(plan, store, "build")
    missing = sorted(set(segments) - set(receipts))
    clock.lap("build")
    if missing:
        raise IncompleteRun(
            f"{len(missing)} of {len(segments)} segments were not built",
            where=f"run {plan.record.run}",
            got="; ".join(f"{number}: {failed.get(number, 'its worker died')}" for number in missing[:5]),
            fix="run it again: finished segments are kept",
        )
    progress.step("measuring recall and writing the manifest")
    segment_receipts = {number: receipts[number] for number in segments}
    written = ray.remote(**options)(write_generation).remote(worker_plan, prepare, embed, segment_receipts, quarantined)
    result_of(written, "measuring recall and writing the manifest")
    clock.lap("measure")


def _units(rows: list[dict[str, str]]) -> Dataset:
    # One block a unit: a block is what Ray schedules, retries and gives up.
    return ray.data.from_items(rows, override_num_blocks=len(rows))


def _stream(dataset: Dataset, what: str) -> Iterator[Row]:
    try:
        yield from dataset.iter_rows()
    except RayError as error:
        raise readable(error, what) from error


def _done(plan: Plan, store: Store, stage: str) -> Receipts:
    """Receipts of units that ended well."""
    ledger = plan.ledger(stage, store)
    wanted = ledger.done() if stage == "build" else ledger.done() & set(plan.record.units)
    return {unit: one for unit, one in ledger.receipts(sorted(wanted)).items() if one.outcome is Outcome.DONE}


def _heal(plan: Plan, store: Store, progress: Progress) -> None:
    """Have units done again whose files are gone or damaged, whatever their receipts say."""
    for stage in ("prepare", "embed", "build"):
        ledger = plan.ledger(stage, store)
        units = ledger.done() if stage == "build" else ledger.done() & set(plan.record.units)
        for unit, problem in ledger.forget_damaged(sorted(units)).items():
            progress.note(f"{stage} of unit {unit} is done again: {problem}")


def _forget_quarantined(plan: Plan, store: Store) -> None:
    for stage in ("prepare", "embed", "build"):
        ledger = plan.ledger(stage, store)
        units = ledger.done() if stage == "build" else ledger.done() & set(plan.record.units)
        for unit, receipt in ledger.receipts(sorted(units)).items():
            if receipt.outcome is Outcome.QUARANTINED:
                ledger.forget(unit)


def _has_manifest(plan: Plan, store: Store) -> bool:
    return store.exists(Catalog(store, plan.record.index).layout(plan.record.generation).manifest)


def _summary(plan: Plan, store: Store, failed: dict[str, str], clock: _Clock) -> Summary:
    units = set(plan.record.units)
    found = {stage: plan.ledger(stage, store).receipts(units) for stage in ("prepare", "embed")}
    return Summary(
        run=plan.record.run,
        generation=plan.record.generation,
        index=plan.record.index,
        model=plan.record.model_key.readable(),
        units=len(units),
        failed=failed,
        unfinished=len(units - _finished(plan, store) - set(failed)),
        seconds=clock.seconds(),
        **clock.totals,
        **totals(found["prepare"], found["embed"]),
    )
