"""The glossary job: terms to a compiled generation, forms by tasks and vectors by actors, block by block."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any
from uuid import uuid4

import numpy as np
import ray
from ray.data import ActorPoolStrategy
from ray.exceptions import RayError

from babelray.config import Settings
from babelray.errors import IncompleteRun, InputError
from babelray.glossary.automaton import folded_forms
from babelray.glossary.generation import (
    FORMS_VERSION,
    GlossaryGenerations,
    GlossaryManifest,
    generation_id,
    pack_forms,
    terms_digest,
    unpack_forms,
)
from babelray.glossary.listed import listed_forms
from babelray.glossary.match import terms_of
from babelray.glossary.terms import Term
from babelray.glossary.vector_cache import pack_vectors, unpack_vectors
from babelray.index.digests import FileRecord
from babelray.index.golden import make_golden
from babelray.index.layout import LAYOUT, RunLayout
from babelray.index.store import Store, open_store
from babelray.keys import ModelKey, Role
from jobs.cluster import actor_options, cluster_resources, connect, readable, result_of, task_options
from jobs.ledger import Ledger, Receipt
from jobs.progress import Progress
from jobs.stages.embed import embedder_threads
from jobs.stages.unit_work import FAILED, Row, run_unit
from models.localizers.registry import load_terms, profile_of
from models.registry import build_embedder, ensure_on_node, model_key

JOB = "glossary"
FORMS, VECTORS = "forms", "vectors"
BLOCK = 2000
"""Terms, or forms, of one unit of work: seconds each."""


@dataclass(frozen=True, slots=True)
class GlossaryPlan:
    """What is built, and the names of its blocks.

    Attributes:
        units: Stage -> blocks, each `<locale>:<start>:<stop>`.
    """

    settings: Settings
    generation: str
    glossaries: dict[str, int]
    digest: str
    key: ModelKey | None
    units: dict[str, tuple[str, ...]]
    invocation: str = field(default_factory=lambda: uuid4().hex[:12])

    @property
    def layout(self) -> RunLayout:
        """Receipts, terms and finished blocks."""
        return LAYOUT.run(JOB, self.generation)

    @property
    def terms_path(self) -> str:
        """The terms as they were when the build was planned."""
        return f"{self.layout.root}/terms.jsonl"

    def ledger(self, stage: str, store: Store) -> Ledger:
        """The receipts of a stage."""
        return Ledger(store, self.layout, stage, self.settings.units.max_attempts, self.invocation)

    def block(self, stage: str, unit: str) -> str:
        """Path of a finished block."""
        return f"{self.layout.root}/{stage}/{unit.replace(':', '-')}.parquet"

    def locales(self) -> tuple[str, ...]:
        """Source locales of the terms."""
        return tuple(sorted({unit.partition(":")[0] for unit in self.units[FORMS]}))


def build(settings: Settings, *, publish: bool = True, progress: Progress | None = None) -> GlossaryManifest:
    """Compile the glossaries of the settings, and put the result in force; resumes whatever an earlier build left.

    Raises:
        ConfigError: No glossary is named, or the embedder cannot be used.
        InputError: The glossaries hold no term.
        IncompleteRun: Blocks failed; building again goes on.
    """
    progress = progress or Progress.silent()
    plan, terms = _plan(settings)
    store = open_store(settings.store)
    generations = GlossaryGenerations(store, settings.localization.name)
    if not store.exists(generations.layout(plan.generation).manifest):
        connect(settings)
        lines = "".join(f"{term.model_dump_json()}\n" for term in terms)
        store.create_if_absent(plan.terms_path, lines.encode())
        for stage, work in _stages(plan):
            _follow(plan, store, stage, work, progress)
        progress.step("writing the generation")
        options = task_options(settings)
        # In a task, so that the driver holds no vectors.
        written = ray.remote(**options)(_assemble).remote(plan)
        result_of(written, "writing the glossary generation")
    if publish:
        generations.publish(plan.generation, reason="glossary build")
    return generations.show(plan.generation)


def _plan(settings: Settings) -> tuple[GlossaryPlan, tuple[Term, ...]]:
    known = load_terms(settings, profile_of(settings))
    if not known.terms:
        raise InputError("the glossaries hold no term", where=", ".join(known.versions))
    key = None
    if settings.localization.hints.enabled:
        ensure_on_node(settings.embedder, settings.cache_dir)
        key = model_key(settings.embedder, settings.cache_dir)
    locales = sorted({term.source_locale for term in known.terms})
    units: dict[str, list[str]] = {FORMS: [], VECTORS: []}
    for locale in locales:
        terms = terms_of(known.terms, locale)
        units[FORMS] += _blocks(locale, len(terms))
        if key is not None:
            units[VECTORS] += _blocks(locale, len(listed_forms(terms, locale)[0]))
    digest = terms_digest(known.terms)
    plan = GlossaryPlan(
        settings=settings,
        generation=generation_id(digest, locales, key),
        glossaries=dict(known.versions),
        digest=digest,
        key=key,
        units={stage: tuple(names) for stage, names in units.items()},
    )
    return plan, known.terms


def _blocks(locale: str, count: int) -> Iterator[str]:
    for start in range(0, count, BLOCK):
        yield f"{locale}:{start}:{min(start + BLOCK, count)}"


def _stages(plan: GlossaryPlan) -> Iterator[tuple[str, Callable[[list[str]], ray.data.Dataset]]]:
    settings = plan.settings
    # No worker needs the names of all blocks.
    workers = replace(plan, units={FORMS: tuple(f"{locale}:0:0" for locale in plan.locales()), VECTORS: ()})
    yield FORMS, lambda todo: _rows(todo).map(partial(expand_block, plan=workers), **task_options(settings))
    resources = settings.resources

    def embedding(todo: list[str]) -> ray.data.Dataset:
        threads = embedder_threads(
            cluster_resources()[0], resources.embed_actors, resources.torch_threads, resources.gpus_per_actor > 0
        )
        return _rows(todo).map_batches(
            EmbedForms,
            fn_constructor_kwargs={"plan": workers, "threads": threads},
            batch_size=1,
            compute=ActorPoolStrategy(size=min(resources.embed_actors, len(todo))),
            **actor_options(settings, len(todo)),
        )

    yield VECTORS, embedding


def _follow(
    plan: GlossaryPlan, store: Store, stage: str, work: Callable[[list[str]], ray.data.Dataset], progress: Progress
) -> None:
    ledger = plan.ledger(stage, store)
    ledger.forget_damaged([_name(unit) for unit in plan.units[stage]])
    done = ledger.done()
    todo = [unit for unit in plan.units[stage] if _name(unit) not in done]
    progress.step(f"{stage}: {len(todo)} of {len(plan.units[stage])} blocks")
    if not todo:
        return
    failed: dict[str, str] = {}
    progress.start(total=len(plan.units[stage]), done=len(plan.units[stage]) - len(todo))
    try:
        for row in work(todo).iter_rows():
            progress.unit(str(row["unit"]), str(row["outcome"]), int(row["tokens"]))
            if row["outcome"] == FAILED:
                failed[str(row["unit"])] = str(row["error"])
    except RayError as error:
        raise readable(error, stage) from error
    finally:
        progress.stop()
    left = set(map(_name, todo)) - {u for u, one in ledger.receipts(map(_name, todo)).items() if one.outcome == "done"}
    if left:
        raise IncompleteRun(
            f"{len(left)} of {len(plan.units[stage])} blocks of the glossary were not built",
            where=f"glossary generation {plan.generation}, {stage}",
            got="; ".join(f"{unit}: {failed.get(unit, 'its worker died')}" for unit in sorted(left)[:5]),
            fix="remove the cause and build again: finished blocks are kept",
        )


def _rows(names: Sequence[str]) -> ray.data.Dataset:
    return ray.data.from_items([{"block": name} for name in names], override_num_blocks=len(names))


def _name(unit: str) -> str:
    return unit.replace(":", "-")


@lru_cache(maxsize=4)
def _terms(store: str, path: str, locale: str) -> tuple[Term, ...]:
    lines = open_store(store).read_bytes(path).decode("utf-8").splitlines()
    return terms_of([Term.model_validate_json(line) for line in lines], locale)


def expand_block(row: Row, *, plan: GlossaryPlan) -> Row:
    """Write all forms of one block of terms."""
    store, unit = open_store(plan.settings.store), str(row["block"])
    locale, start, stop = _parsed(unit)

    def work(attempt: int) -> Receipt:
        began = time.perf_counter()
        terms = _terms(plan.settings.store, plan.terms_path, locale)[start:stop]
        forms = list(folded_forms(terms, locale, first=start))
        record = store.write_atomic(plan.block(FORMS, unit), pack_forms(forms))
        return Receipt(
            stage=FORMS, unit=_name(unit), attempt=attempt, outputs=(record,), counts={"forms": len(forms)},
            seconds={FORMS: time.perf_counter() - began},
        )  # fmt: skip

    return run_unit(plan.ledger(FORMS, store), _name(unit), work)


class EmbedForms:
    """A Ray Data actor that embeds one block of forms a call.

    Args:
        plan: What is built.
        threads: Threads of a forward pass on the CPU.
    """

    def __init__(self, plan: GlossaryPlan, threads: int | None) -> None:
        settings = plan.settings
        self._plan, self._store = plan, open_store(settings.store)
        ensure_on_node(settings.embedder, settings.cache_dir)
        self._embedder = build_embedder(settings.embedder, settings.cache_dir, threads=threads)
        self._forms = {
            locale: listed_forms(_terms(settings.store, plan.terms_path, locale), locale)[0]
            for locale in plan.locales()
        }

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Embed the block of a one-row batch."""
        unit = str(batch["block"][0])
        ledger = self._plan.ledger(VECTORS, self._store)
        result = run_unit(ledger, _name(unit), lambda attempt: self._embed(unit, attempt))
        return {name: [value] for name, value in result.items()}

    def _embed(self, unit: str, attempt: int) -> Receipt:
        began = time.perf_counter()
        locale, start, stop = _parsed(unit)
        forms = self._forms[locale][start:stop]
        encoded = self._embedder.encode(forms, Role.QUERY)
        data = pack_vectors(forms, encoded.vectors.astype(np.float16))
        record = self._store.write_atomic(self._plan.block(VECTORS, unit), data)
        return Receipt(
            stage=VECTORS, unit=_name(unit), attempt=attempt, outputs=(record,),
            counts={"texts": len(forms), "tokens": int(encoded.tokens.sum()), "refused": len(encoded.refused)},
            seconds={VECTORS: time.perf_counter() - began},
        )  # fmt: skip


def _parsed(unit: str) -> tuple[str, int, int]:
    locale, start, stop = unit.split(":")
    return locale, int(start), int(stop)


def _assemble(plan: GlossaryPlan) -> None:
    """Join the blocks into the files of the generation; the manifest last."""
    settings = plan.settings
    store = open_store(settings.store)
    layout = LAYOUT.glossary_generation(settings.localization.name, plan.generation)
    terms = store.read_bytes(plan.terms_path)
    files: list[FileRecord] = [store.write_atomic(layout.terms, terms)]
    counts = {FORMS: 0, VECTORS: 0}
    for locale in plan.locales():
        paths = [plan.block(FORMS, unit) for unit in plan.units[FORMS] if unit.startswith(f"{locale}:")]
        forms = [form for path in paths for form in unpack_forms(store.read_bytes(path))]
        files.append(store.write_atomic(layout.forms(locale), pack_forms(forms)))
        counts[FORMS] += len(forms)
        if plan.key is not None:
            paths = [plan.block(VECTORS, unit) for unit in plan.units[VECTORS] if unit.startswith(f"{locale}:")]
            blocks = [unpack_vectors(store.read_bytes(path)) for path in paths]
            texts = [text for part, _ in blocks for text in part]
            vectors = np.concatenate([part for _, part in blocks])
            files.append(store.write_atomic(layout.vectors(locale), pack_vectors(texts, vectors)))
            counts[VECTORS] += len(texts)
    golden = None
    if plan.key is not None:
        golden = make_golden(build_embedder(settings.embedder, settings.cache_dir))
    manifest = GlossaryManifest(
        generation=plan.generation,
        name=settings.localization.name,
        glossaries=plan.glossaries,
        terms_digest=plan.digest,
        forms_version=FORMS_VERSION,
        model_key=plan.key,
        golden=golden,
        source_locales=plan.locales(),
        terms=len(terms.splitlines()),
        forms=counts[FORMS],
        vectors=counts[VECTORS],
        files=tuple(files),
        created_at=datetime.now(UTC),
    )
    store.write_atomic(layout.manifest, manifest.model_dump_json(indent=1).encode())
