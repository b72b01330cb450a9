"""The plan of a reindex: which units, under which names everything will be stored. Decided before any work begins."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict

from babelray.config import Settings
from babelray.index.layout import LAYOUT, RunLayout
from babelray.index.store import Store, open_store
from babelray.keys import (
    ANCHORS_VERSION,
    MANIFEST_SCHEMA_VERSION,
    ModelKey,
    digest_of,
)
from babelray.text.analysis import analyzer_version
from babelray.text.chunks import policy_digest
from babelray.text.language import LanguagePolicy
from babelray.text.readers import list_parts
from jobs.ledger import Ledger, to_json
from jobs.units import BYTES_A_TEXT, Unit, group_parts, limited, source_values
from models.identifier import FastTextIdentifier
from models.registry import ensure_on_node, model_key

JOB = "reindex"


class PlanRecord(BaseModel):
    """The plan as stored beside the receipts; nothing in it grows with the corpus but the names of units."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    generation: str
    index: str
    corpus: str
    corpus_revision: str
    policy_digest: str
    language_policy_version: str
    model_key: ModelKey
    settings: dict[str, Any]
    limit: int | None
    units: tuple[str, ...]
    parts: int
    input_bytes: int
    estimated_texts: int
    parts_by_format: dict[str, int]


@dataclass(frozen=True)
class Plan:
    """A plan with what is needed to carry it out.

    Attributes:
        record: What is stored.
        settings: The settings it was made from.
        invocation: Random name of this start of the job, which tells its attempts from those of others.
    """

    record: PlanRecord
    settings: Settings
    invocation: str = field(default_factory=lambda: uuid4().hex[:12])

    @property
    def run_layout(self) -> RunLayout:
        """Build receipts, the trained index, the statistics."""
        return LAYOUT.run(JOB, self.record.run)

    @property
    def prepare_layout(self) -> RunLayout:
        """Units, prepare receipts and rejects: shared by all runs of this corpus under this text policy."""
        return LAYOUT.run("prepare", f"{self.record.corpus}-{self.record.policy_digest}")

    @property
    def embed_layout(self) -> RunLayout:
        """Embed receipts and golden vectors: shared by all such runs with this model key."""
        key = self.record.model_key.digest
        return LAYOUT.run("embed", f"{self.record.corpus}-{self.record.policy_digest}-{key}")

    def ledger(self, stage: str, store: Store) -> Ledger:
        """The receipts of a stage."""
        layouts = {"prepare": self.prepare_layout, "embed": self.embed_layout, "build": self.run_layout}
        return Ledger(store, layouts[stage], stage, self.settings.units.max_attempts, self.invocation)

    def prepared(self, unit: str) -> str:
        """Path of a unit's prepared shard."""
        return LAYOUT.prepared(self.record.corpus, self.record.policy_digest, unit)

    def embedded(self, unit: str) -> str:
        """Path of a unit's embedded shard."""
        return LAYOUT.embedded(self.record.corpus, self.record.policy_digest, self.record.model_key.digest, unit)

    def segments(self, units: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Segment number -> its units; units are named by hashes, so each segment is a random sample."""
        size = self.settings.units.units_per_segment
        return {f"{at // size:04d}": tuple(units[at : at + size]) for at in range(0, len(units), size)}

    def without(self, units: Iterable[str]) -> "Plan":
        """The plan of the other units: another run and another generation, since it holds something else."""
        left_out = sorted(units)
        if not left_out:
            return self
        record = self.record
        kept = tuple(unit for unit in record.units if unit not in set(left_out))
        run = digest_of([record.run, "without", left_out])
        changes = {"run": run, "generation": f"g{run[:12]}", "units": kept, "corpus_revision": digest_of(kept)}
        return replace(self, record=record.model_copy(update=changes))

    def for_workers(self) -> "Plan":
        """The plan without the list of units, which no worker needs and every task would carry."""
        return replace(self, record=self.record.model_copy(update={"units": ()}))


def make_plan(settings: Settings, limit: int | None = None) -> tuple[Plan, list[Unit]]:
    """Decide units and names. Reads every byte of the input once, for its digest; writes nothing.

    Args:
        settings: Of the job.
        limit: Take only so many parts (files, or pieces of about a megabyte of a table), sampled by hash.

    Raises:
        InputError: The sources hold nothing, or cannot be read.
        ConfigError: The embedder cannot be used.
    """
    ensure_on_node(settings.embedder, settings.cache_dir)
    key = model_key(settings.embedder, settings.cache_dir)
    languages = LanguagePolicy(FastTextIdentifier())
    policy = policy_digest(settings.text, languages.version)
    parts = (part for number, source in enumerate(settings.sources) for part in list_parts(source, number))
    units = group_parts(limited(parts, limit), settings.sources, settings.units.target_texts)
    revision = digest_of([unit.unit_id for unit in units])
    run = digest_of(
        {
            "index": settings.index,
            "corpus": settings.corpus,
            "revision": revision,
            "policy": policy,
            "model_key": key.digest,
            "vectors": settings.vectors.model_dump(mode="json"),
            "units_per_segment": settings.units.units_per_segment,
            "sources": [source_values(source) for source in settings.sources],
            "versions": [analyzer_version(), ANCHORS_VERSION, MANIFEST_SCHEMA_VERSION],
        }
    )
    size = sum(unit.size for unit in units)
    record = PlanRecord(
        run=run,
        generation=f"g{run[:12]}",
        index=settings.index,
        corpus=settings.corpus,
        corpus_revision=revision,
        policy_digest=policy,
        language_policy_version=languages.version,
        model_key=key,
        settings=settings.model_dump(mode="json"),
        limit=limit,
        units=tuple(unit.unit_id for unit in units),
        parts=sum(len(unit.parts) for unit in units),
        input_bytes=size,
        estimated_texts=max(size // BYTES_A_TEXT, 1),
        parts_by_format=dict(Counter(part.format for unit in units for part in unit.parts)),
    )
    return Plan(record, settings), units


def store_plan(plan: Plan, units: list[Unit]) -> Store:
    """Write what workers and `status` read: each unit's parts, and the plan."""
    store = open_store(plan.settings.store)
    for unit in units:
        store.create_if_absent(plan.prepare_layout.unit(unit.unit_id), unit.to_bytes())
    store.write_atomic(plan.run_layout.plan, to_json(plan.record))
    return store
