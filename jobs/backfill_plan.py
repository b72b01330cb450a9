"""The plan of a backfill: which units, which terms, and a run name that covers all that shapes the outputs."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict

from babelray.config import Settings
from babelray.errors import ConfigError, InputError
from babelray.glossary.backlog import source_of
from babelray.glossary.calibration.thresholds_store import current_thresholds
from babelray.glossary.constraints import PROMPT_VERSION
from babelray.glossary.generation import GlossaryGenerations
from babelray.glossary.marks import MARKS_VERSION
from babelray.glossary.match import TermMatcher
from babelray.glossary.profile import EngineProfile
from babelray.glossary.records import RECORDS_VERSION
from babelray.glossary.terms import Term
from babelray.glossary.thresholds import Thresholds
from babelray.index.layout import LAYOUT, RunLayout
from babelray.index.store import Store, open_store
from babelray.keys import ModelKey, digest_of
from babelray.text.readers import InputPart, list_parts
from jobs.ledger import Ledger, to_json
from jobs.units import Unit, group_parts, limited
from models.localizers.registry import load_terms, profile_of
from models.registry import ensure_on_node, model_key

JOB = "backfill"
UNITS_A_PARTITION = 4
MAX_PARTITIONS = 256


class BackfillRecord(BaseModel):
    """The plan as stored beside the receipts.

    Attributes:
        model_key: Of the model that finds hints; None without hints.
        partitions: Groups of windows, by hash, that are embedded together.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    name: str
    profile: dict[str, Any]
    glossaries: dict[str, int]
    targets: tuple[str, ...]
    model_key: ModelKey | None
    thresholds_version: str
    settings: dict[str, Any]
    limit: int | None
    units: tuple[str, ...]
    parts: int
    input_bytes: int
    partitions: int


@dataclass(frozen=True)
class BackfillPlan:
    """A plan with what is needed to carry it out.

    Attributes:
        thresholds: Least cosines of hints.
        invocation: Random name of this start of the job, which tells its attempts from those of others.
    """

    record: BackfillRecord
    settings: Settings
    profile: EngineProfile
    thresholds: Thresholds
    invocation: str = field(default_factory=lambda: uuid4().hex[:12])

    @property
    def layout(self) -> RunLayout:
        """Units, receipts, rejects, windows and hits of the run."""
        return LAYOUT.run(JOB, self.record.run)

    @property
    def terms_path(self) -> str:
        """The terms as they were when the run was planned: workers may not reach the database."""
        return f"{self.layout.root}/terms.jsonl"

    def ledger(self, stage: str, store: Store) -> Ledger:
        """The receipts of a stage."""
        return Ledger(store, self.layout, stage, self.settings.units.max_attempts, self.invocation)

    def windows(self, unit: str) -> str:
        """Path of a unit's open windows."""
        return f"{self.layout.root}/windows/{unit}.parquet"

    def hits(self, partition: str) -> str:
        """Path of what a partition's windows are similar to."""
        return f"{self.layout.root}/hits/{partition}.parquet"

    @property
    def partitions(self) -> tuple[str, ...]:
        """Names of the groups of windows."""
        return tuple(f"{number:04d}" for number in range(self.record.partitions))

    @property
    def source_locales(self) -> tuple[str, ...]:
        """Of all sources of the backlog."""
        return tuple(sorted({one.source_locale for one in self.settings.localization.backlog}))

    def for_workers(self) -> "BackfillPlan":
        """The plan without the list of units, which no worker needs and every task would carry."""
        return replace(self, record=self.record.model_copy(update={"units": ()}))

    def matcher(self, store: Store, source_locale: str) -> TermMatcher:
        """The run's terms, compiled once a process, or taken from the compiled glossary in force if it is of them."""
        return _matcher(store.uri, self.terms_path, self.record.name, source_locale)


@lru_cache(maxsize=4)
def _matcher(uri: str, path: str, name: str, source_locale: str) -> TermMatcher:
    store = open_store(uri)
    terms = [Term.model_validate_json(line) for line in store.read_bytes(path).decode("utf-8").splitlines()]
    glossary = GlossaryGenerations(store, name).find(terms)
    return glossary.matcher(source_locale) if glossary else TermMatcher(terms, source_locale)


def make_backfill_plan(settings: Settings, limit: int | None = None) -> tuple[BackfillPlan, list[Unit], list[Term]]:
    """Decide units and names. Reads every byte of the backlog once, for its digest; writes nothing.

    Args:
        settings: Of the job.
        limit: Take only so many parts (files, or pieces of about a megabyte), sampled by hash.

    Raises:
        ConfigError: No backlog, no target or no glossary is named.
        InputError: The backlog holds nothing, or a glossary does not exist.
    """
    localization = settings.localization
    for name, values in (("backlog", localization.backlog), ("targets", localization.targets)):
        if not values:
            raise ConfigError(
                f"nothing to localize: no {name}",
                where=f"localization.{name}",
                fix="name a settings file with --config; configs/localize-demo.yaml is an example",
            )
    profile = profile_of(settings)
    terms = load_terms(settings, profile)
    sources = tuple(source_of(one) for one in localization.backlog)
    units = group_parts(limited(_parts(settings), limit), sources, localization.strings_per_unit)
    key: ModelKey | None = None
    thresholds = Thresholds("", 1.0)
    if localization.hints.enabled:
        ensure_on_node(settings.embedder, settings.cache_dir)
        key = model_key(settings.embedder, settings.cache_dir)
        thresholds = current_thresholds(open_store(settings.store), localization, key)
    described = {
        "units": [unit.unit_id for unit in units],
        "locales": [one.source_locale for one in localization.backlog],
        "columns": [one.column for one in localization.backlog],
        "targets": localization.targets,
        "terms": digest_of([term.model_dump(mode="json") for term in terms.terms]),
        "profile": profile.model_dump(mode="json"),
        "translation": localization.translation.model_dump(mode="json") if localization.translation else None,
        "hints": [localization.hints.model_dump(mode="json"), key.digest if key else None, thresholds.version],
        "output": [localization.output, localization.incomplete_payloads],
        "versions": [PROMPT_VERSION, MARKS_VERSION, RECORDS_VERSION],
    }
    record = BackfillRecord(
        run=digest_of(described),
        name=localization.name,
        profile=profile.model_dump(mode="json"),
        glossaries=dict(terms.versions),
        targets=localization.targets,
        model_key=key,
        thresholds_version=thresholds.version,
        settings=settings.model_dump(mode="json"),
        limit=limit,
        units=tuple(unit.unit_id for unit in units),
        parts=sum(len(unit.parts) for unit in units),
        input_bytes=sum(unit.size for unit in units),
        partitions=min(max(-(-len(units) // UNITS_A_PARTITION), 1), MAX_PARTITIONS),
    )
    return BackfillPlan(record, settings, profile, thresholds), units, list(terms.terms)


def _parts(settings: Settings) -> Iterable[InputPart]:
    owner: dict[str, int] = {}
    for number, backlog in enumerate(settings.localization.backlog):
        for part in list_parts(source_of(backlog), number):
            if owner.setdefault(part.uri, number) != number:
                raise InputError(
                    "two backlogs hold a file of the same relative path: their outputs would be one file",
                    where=backlog.path,
                    got=part.uri,
                    fix="name the folder above both as one backlog, or run them with outputs of their own",
                )
            yield part


def store_backfill_plan(plan: BackfillPlan, units: list[Unit], terms: list[Term]) -> Store:
    """Write what workers and `status` read: each unit's parts, the terms, and the plan."""
    store = open_store(plan.settings.store)
    for unit in units:
        store.create_if_absent(plan.layout.unit(unit.unit_id), unit.to_bytes())
    lines = [json.dumps(term.model_dump(mode="json"), ensure_ascii=False, sort_keys=True) for term in terms]
    store.create_if_absent(plan.terms_path, "".join(f"{line}\n" for line in lines).encode())
    store.write_atomic(plan.layout.plan, to_json(plan.record))
    return store
