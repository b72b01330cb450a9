"""Build: embedded units to one segment. A CPU task a segment, side by side."""

import tempfile
import time
from pathlib import Path
from uuid import uuid4

from babelray.index.access import AccessValues
from babelray.index.layout import LAYOUT
from babelray.index.segments import build_segment
from babelray.index.store import Store, open_store
from jobs.ledger import Receipt
from jobs.planning import Plan
from jobs.stages.unit_work import Row, run_unit

STAGE = "build"

ClassNumbers = list[tuple[AccessValues, int]]


def build_one(row: Row, *, plan: Plan, classes: ClassNumbers) -> Row:
    """Build one segment; `row` holds its number and its units."""
    store = open_store(plan.settings.store)
    number, units = str(row["unit"]), str(row["units"]).split()
    return run_unit(
        plan.ledger(STAGE, store), number, lambda attempt: _build(store, plan, classes, number, units, attempt)
    )


def _build(store: Store, plan: Plan, classes: ClassNumbers, number: str, units: list[str], attempt: int) -> Receipt:
    began = time.perf_counter()
    # Every attempt writes into a folder of its own: the receipt says which one counts, and garbage collection removes
    # the others. Tantivy names its files at random, so two attempts in one folder would mix.
    name = f"{number}-{uuid4().hex[:8]}"
    target = LAYOUT.index(plan.record.index).generation(plan.record.generation).segment(name)
    trained = store.read_bytes(plan.run_layout.trained) if store.exists(plan.run_layout.trained) else None
    shards = [(plan.prepared(unit), plan.embedded(unit)) for unit in units]
    with tempfile.TemporaryDirectory(prefix="babelray-segment-") as work:
        record = build_segment(store, target, name, shards, dict(classes), plan.record.model_key, trained, Path(work))
    return Receipt(
        stage=STAGE,
        unit=number,
        attempt=attempt,
        outputs=tuple(record.files.values()),
        counts={"segments": 1, "rows": record.rows, "bytes": record.size},
        seconds={"build": time.perf_counter() - began},
        details={"segment": record.model_dump(mode="json"), "units": len(units)},
    )
