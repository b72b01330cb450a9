"""Prepare: parts of the input to a prepared shard. A CPU task; nothing in it knows a model of embeddings."""

import time
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from babelray.index.access import AccessValues
from babelray.index.shards import write_prepared
from babelray.index.store import Store, open_store
from babelray.text.language import LanguagePolicy
from babelray.text.prepare import prepare_document
from babelray.text.readers import read_part
from babelray.text.types import Document, PreparedDocument, Reject
from jobs.ledger import Receipt
from jobs.planning import Plan
from jobs.stages.unit_work import Row, run_unit
from jobs.units import Unit
from models.identifier import FastTextIdentifier

STAGE = "prepare"


@lru_cache(maxsize=1)
def _languages() -> LanguagePolicy:
    # Once a worker process: a Ray task has no object of its own that outlives it.
    return LanguagePolicy(FastTextIdentifier())


def prepare_unit(row: Row, *, plan: Plan) -> Row:
    """Prepare one unit."""
    store = open_store(plan.settings.store)
    unit = str(row["unit"])
    return run_unit(plan.ledger(STAGE, store), unit, lambda attempt: _prepare(store, plan, unit, attempt))


def _prepare(store: Store, plan: Plan, name: str, attempt: int) -> Receipt:
    began = time.perf_counter()
    unit = Unit.from_bytes(store.read_bytes(plan.prepare_layout.unit(name)))
    prepared: list[PreparedDocument] = []
    rejects: list[Reject] = []
    for record in _records(plan, unit):
        if isinstance(record, Reject):
            rejects.append(record)
            continue
        one = prepare_document(record, _languages(), plan.settings.text)
        if one.chunks:
            prepared.append(one)
        else:
            rejects.append(_nothing_to_index(record))
    shard = write_prepared(store, plan.prepared(name), prepared)
    kept = plan.ledger(STAGE, store).write_rejects(name, rejects)
    return Receipt(
        stage=STAGE,
        unit=name,
        attempt=attempt,
        outputs=(shard, kept) if kept else (shard,),
        counts=_counts(prepared),
        rejects=dict(Counter(reject.reason for reject in rejects)),
        seconds={"prepare": time.perf_counter() - began},
        details={
            "access": [_as_list(values) for values in sorted({AccessValues.of(one.document) for one in prepared})],
            "newest": max(
                (one.document.updated_at.isoformat() for one in prepared if one.document.updated_at), default=None
            ),
        },
    )


def _records(plan: Plan, unit: Unit) -> Iterator[Document | Reject]:
    for part in unit.parts:
        yield from read_part(part, plan.settings.sources[part.source], plan.settings.text)


def _nothing_to_index(document: Document) -> Reject:
    return Reject(
        source_uri=document.source_uri,
        locator=document.doc_id,
        reason="nothing_to_index",
        detail="the document has no text beside markup, comments and front matter",
        sample=document.text[:200],
    )


def _counts(prepared: list[PreparedDocument]) -> dict[str, int]:
    # A unit without a document says so with zeros.
    counts: Counter[str] = Counter(dict.fromkeys(("documents", "chunks", "sentences", "blocks"), 0))
    for one in prepared:
        counts["documents"] += 1
        counts["chunks"] += len(one.chunks)
        counts["sentences"] += len(one.sentences)
        counts["blocks"] += len(one.blocks)
        counts.update(f"blocks.{block.kind.value}" for block in one.blocks)
        counts["blocks_low_confidence"] += sum(block.low_confidence for block in one.blocks)
        counts["blocks_code_switching"] += sum(block.code_switching for block in one.blocks)
        counts.update(f"chunks.{chunk.languages[0] if chunk.languages else 'und'}" for chunk in one.chunks)
    return dict(counts)


def _as_list(values: AccessValues) -> list[object]:
    return [values.tenant_id, values.knowledge_base_id, list(values.groups), values.status]
