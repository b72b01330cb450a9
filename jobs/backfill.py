"""The backfill job: plan, run, status. Ray carries names of units; everything else goes through the store."""

import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Any

import ray
from ray.data import ActorPoolStrategy, Dataset
from ray.exceptions import RayError

from babelray.config import Settings
from babelray.errors import IncompleteRun, InputError
from babelray.index.store import Store, open_store
from babelray.text.readers import InputPart
from jobs.backfill_outputs import BackfillOutputs
from jobs.backfill_plan import BackfillPlan, make_backfill_plan, store_backfill_plan
from jobs.backfill_summary import BackfillSummary, summarize
from jobs.cluster import actor_options, cluster_resources, connect, readable, result_of, task_options
from jobs.ledger import Outcome, Receipt, to_json
from jobs.progress import Progress
from jobs.stages import localize, windows
from jobs.stages.embed import embedder_threads
from jobs.stages.unit_work import FAILED, Row
from jobs.units import Unit
from models.localizers.registry import build_translator_of_profile


def run(
    settings: Settings,
    *,
    limit: int | None = None,
    retry_quarantined: bool = False,
    progress: Progress | None = None,
) -> BackfillSummary:
    """Localize a backlog; resumes whatever an earlier run left.

    Args:
        settings: Of the job.
        limit: Sample only so many parts of the backlog.
        retry_quarantined: Try units again that killed their workers before.
        progress: Told of every unit that ends.

    Raises:
        ConfigError: The settings name what is not there; nothing was written.
        IncompleteRun: Units failed or are quarantined; running again goes on.
    """
    progress = progress or Progress.silent()
    progress.step("planning")
    plan, units, terms = make_backfill_plan(settings, limit)
    # What cannot be used fails here, with one message, and not in every worker.
    build_translator_of_profile(settings.localization.translation, plan.profile, terms)
    connect(settings)
    store = store_backfill_plan(plan, units, terms)
    job = _Job(plan, store, progress)
    job.heal(retry_quarantined=retry_quarantined)
    if settings.localization.hints.enabled:
        job.find_hints()
    job.localize()
    job.assemble(units)
    summary = job.summary()
    store.write_atomic(plan.layout.stats, to_json(summary))
    progress.show(summary)
    if summary.failed or summary.unfinished or summary.quarantined:
        raise _incomplete(summary)
    return summary


def status(settings: Settings, limit: int | None = None) -> dict[str, Any]:
    """What is done of a run, by its receipts; needs no Ray.

    Raises:
        InputError: Such a run was never started.
    """
    plan, _, _ = make_backfill_plan(settings, limit)
    store = open_store(settings.store)
    if not store.exists(plan.layout.plan):
        raise InputError(
            "this run was never started",
            where=f"{store.uri}, run {plan.record.run}",
            fix="`babelray backfill run` with the same settings and backlog starts it",
        )
    stages = {}
    for stage, names in _stages(plan).items():
        receipts = plan.ledger(stage, store).receipts(names)
        given_up = sorted(unit for unit, one in receipts.items() if one.outcome is Outcome.QUARANTINED)
        stages[stage] = {"done": len(receipts) - len(given_up), "of": len(names), "quarantined": given_up}
    return {"run": plan.record.run, "output": settings.localization.output, "stages": stages}


def _stages(plan: BackfillPlan) -> dict[str, tuple[str, ...]]:
    """Stage -> the names of what it works on."""
    if plan.record.model_key is None:
        return {localize.STAGE: plan.record.units}
    return {
        windows.COLLECT: plan.record.units,
        windows.EMBED: plan.partitions,
        localize.STAGE: plan.record.units,
    }


class _Job:
    """One invocation over a plan."""

    def __init__(self, plan: BackfillPlan, store: Store, progress: Progress) -> None:
        self._plan, self._store, self._progress = plan, store, progress
        self._failed: dict[str, str] = {}
        self._localized_now = 0
        self._seconds: dict[str, float] = {}
        self._began = time.perf_counter()

    def heal(self, *, retry_quarantined: bool) -> None:
        """Have units done again whose outputs are gone or damaged, or that are to be tried again."""
        for stage, names in _stages(self._plan).items():
            ledger = self._plan.ledger(stage, self._store)
            for unit, problem in ledger.forget_damaged(names).items():
                self._progress.note(f"{stage} of {unit} is done again: {problem}")
            for unit, one in ledger.receipts(names).items() if retry_quarantined else ():
                if one.outcome is Outcome.QUARANTINED:
                    ledger.forget(unit)

    def find_hints(self) -> None:
        """Collect what no term covers, then embed each window once over the whole backlog."""
        settings, workers = self._plan.settings, self._plan.for_workers()
        todo = self._todo(windows.COLLECT)
        self._follow(_rows(todo).map(partial(windows.collect_windows, plan=workers), **task_options(settings)), todo,
                     windows.COLLECT)  # fmt: skip
        if self._todo(windows.COLLECT):
            # A window that is missing would silently be a hint that is missing.
            raise _incomplete(self.summary())
        todo = self._todo(windows.EMBED)
        resources = settings.resources
        threads = embedder_threads(
            cluster_resources()[0], resources.embed_actors, resources.torch_threads, resources.gpus_per_actor > 0
        )
        dataset = _rows(todo).map_batches(
            windows.EmbedWindows,
            fn_constructor_kwargs={"plan": workers, "threads": threads},
            batch_size=1,
            compute=ActorPoolStrategy(size=max(min(resources.embed_actors, len(todo)), 1)),
            **actor_options(settings, len(todo)),
        )
        self._follow(dataset, todo, windows.EMBED)
        if self._todo(windows.EMBED):
            raise _incomplete(self.summary())

    def localize(self) -> None:
        """Localize what has no receipt."""
        settings = self._plan.settings
        todo = self._todo(localize.STAGE)
        options = {**actor_options(settings, len(todo)), "num_gpus": 0}
        dataset = _rows(todo).map_batches(
            localize.LocalizeUnits,
            fn_constructor_kwargs={"plan": self._plan.for_workers()},
            batch_size=1,
            compute=ActorPoolStrategy(size=max(min(settings.localization.actors, len(todo)), 1)),
            **options,
        )
        self._follow(dataset, todo, localize.STAGE)

    def assemble(self, units: list[Unit]) -> None:
        """Put files together whose parts are all localized."""
        settings = self._plan.settings.localization
        if settings.translation is None or self._todo(localize.STAGE):
            return
        files: dict[tuple[int, str], list[InputPart]] = defaultdict(list)
        for unit in units:
            for part in unit.parts:
                if part.format != "json":
                    files[part.source, part.uri].append(part)
        work = [
            _assemble.options(**task_options(self._plan.settings)).remote(
                settings.output, parts, settings.backlog[source], settings.targets
            )
            for (source, _), parts in sorted(files.items())
        ]
        for one in work:
            result_of(one, "putting files together")
        self._lap("assemble")

    def summary(self) -> BackfillSummary:
        """Totals so far."""
        plan = self._plan
        names = _stages(plan)
        receipts: dict[str, dict[str, Receipt]] = {
            stage: plan.ledger(stage, self._store).receipts(names.get(stage, ()))
            for stage in (windows.COLLECT, windows.EMBED, localize.STAGE)
        }
        left = [unit for unit in plan.record.units if unit not in receipts[localize.STAGE]]
        fields = summarize(receipts)
        return BackfillSummary.model_validate(
            {
                **fields,
                "run": plan.record.run,
                "name": plan.record.name,
                "output": plan.settings.localization.output,
                "glossaries": plan.record.glossaries,
                "translated": plan.settings.localization.translation is not None,
                "units": len(plan.record.units),
                "localized_now": self._localized_now,
                "failed": self._failed,
                "unfinished": len([unit for unit in left if f"{localize.STAGE} {unit}" not in self._failed]),
                "seconds": {**self._seconds, "total": round(time.perf_counter() - self._began, 3)},
            }
        )

    def _todo(self, stage: str) -> list[str]:
        done = self._plan.ledger(stage, self._store).done()
        return [unit for unit in _stages(self._plan)[stage] if unit not in done]

    def _follow(self, dataset: Dataset, todo: list[str], stage: str) -> None:
        names = _stages(self._plan)[stage]
        self._progress.step(f"{stage}: {len(todo)} of {len(names)}")
        if not todo:
            return
        self._progress.start(total=len(names), done=len(names) - len(todo))
        try:
            for row in _stream(dataset, stage):
                self._progress.unit(str(row["unit"]), str(row["outcome"]), int(row["tokens"]))
                if row["outcome"] == FAILED:
                    self._failed[f"{stage} {row['unit']}"] = str(row["error"])
                    self._progress.note(f"{stage} of {row['unit']} failed: {row['error']}")
                    if len(self._failed) > self._plan.settings.units.error_budget * len(names):
                        self._progress.note("the error budget is spent: stopping")
                        break
                elif stage == localize.STAGE and row["outcome"] == Outcome.DONE.value:
                    self._localized_now += 1
        finally:
            self._progress.stop()
        self._lap(stage)

    def _lap(self, name: str) -> None:
        spent = sum(self._seconds.values())
        self._seconds[name] = round(time.perf_counter() - self._began - spent, 3)


@ray.remote
def _assemble(output: str, parts: list[InputPart], backlog: Any, targets: tuple[str, ...]) -> None:
    outputs = BackfillOutputs(open_store(output))
    for target in targets:
        if not outputs.is_whole(parts[0].uri, target):
            outputs.assemble(parts, backlog, target)


def _rows(names: list[str]) -> Dataset:
    # One block a unit: a block is what Ray schedules, retries and gives up.
    return ray.data.from_items([{"unit": name} for name in names], override_num_blocks=max(len(names), 1))


def _stream(dataset: Dataset, what: str) -> Iterator[Row]:
    try:
        yield from dataset.iter_rows()
    except RayError as error:
        raise readable(error, what) from error


def _incomplete(summary: BackfillSummary) -> IncompleteRun:
    examples = [f"{unit}: {error}" for unit, error in list(summary.failed.items())[:5]]
    examples += [f"{unit} kills its worker and is quarantined" for unit in summary.quarantined[:5]]
    if summary.unfinished:
        examples.append(f"{summary.unfinished} units were not reached, or lost with their workers")
    return IncompleteRun(
        f"the backlog is not localized: {len(summary.failed)} of {summary.units} units failed",
        where=f"run {summary.run}",
        got="; ".join(examples),
        fix="remove the cause and run it again: finished units are kept; --retry-quarantined tries quarantined ones",
    )
