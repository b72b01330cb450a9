"""Receipts: the one mechanism of resuming, of accounting, and of giving up on a unit that kills its worker.

A stage first marks its attempt, then writes its outputs, then commits a receipt that names them. What has a receipt is
done; what has too many attempts and no receipt is quarantined. Prepare receipts belong to a text policy and embed
receipts to a model key, not to one run, so that later runs share the work.
"""

import io
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from babelray.index.digests import FileRecord
from babelray.index.layout import RunLayout
from babelray.index.store import Store
from babelray.text.types import Reject

REJECTS_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("source_uri", "locator", "reason", "detail", "sample")],
)


class Outcome(StrEnum):
    """How a unit ended in a stage."""

    DONE = "done"
    QUARANTINED = "quarantined"


class Receipt(BaseModel):
    """What a stage did with a unit.

    Attributes:
        outputs: Files that were in place before this receipt was written.
        counts: Sums that may be added up over units, such as `documents`, `tokens` or `blocks.heading`.
        rejects: Reason -> records refused by policy.
        seconds: Wall time, by step.
        details: What the next stage needs to know.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: str
    unit: str
    outcome: Outcome = Outcome.DONE
    attempt: int = 1
    outputs: tuple[FileRecord, ...] = ()
    counts: dict[str, int] = {}
    rejects: dict[str, int] = {}
    seconds: dict[str, float] = {}
    details: dict[str, Any] = {}


class Ledger:
    """Receipts and attempts of one stage.

    Args:
        store: Where they lie.
        layout: Folder they belong to.
        stage: `prepare`, `embed` or `build`.
        max_attempts: Attempts that may end without a receipt.
    """

    def __init__(self, store: Store, layout: RunLayout, stage: str, max_attempts: int) -> None:
        self._store = store
        self._layout = layout
        self._stage = stage
        self._max_attempts = max_attempts

    def receipts(self, units: Iterable[str] | None = None) -> dict[str, Receipt]:
        """Receipts by unit; of some units, or of all there are."""
        if units is None:
            folder = self._layout.receipts(self._stage)
            units = [path.rpartition("/")[2].removesuffix(".json") for path, _ in self._store.files(folder)]
        found = ((unit, self.receipt(unit)) for unit in units)
        return {unit: receipt for unit, receipt in found if receipt is not None}

    def done(self) -> set[str]:
        """Units with a receipt; one listing, nothing is read."""
        folder = self._layout.receipts(self._stage)
        return {path.rpartition("/")[2].removesuffix(".json") for path, _ in self._store.files(folder)}

    def receipt(self, unit: str) -> Receipt | None:
        """The receipt of a unit, if it has one."""
        path = self._layout.receipt(self._stage, unit)
        return Receipt.model_validate_json(self._store.read_bytes(path)) if self._store.exists(path) else None

    def attempts(self, unit: str) -> int:
        """Attempts that were begun and neither committed nor released."""
        number = 0
        while self._store.exists(self._layout.attempt(self._stage, unit, number + 1)):
            number += 1
        return number

    def begin(self, unit: str, worker: str) -> int | None:
        """Mark an attempt.

        Returns:
            Its number from 1; `None` if the unit has used up its attempts, which quarantines it.
        """
        number = self.attempts(unit) + 1
        if number > self._max_attempts:
            self.commit(Receipt(stage=self._stage, unit=unit, outcome=Outcome.QUARANTINED, attempt=number - 1))
            return None
        self._store.create_if_absent(self._layout.attempt(self._stage, unit, number), worker.encode())
        return number

    def release(self, unit: str, number: int) -> None:
        """Take an attempt back: it ended with an error of its own and did not take its worker with it."""
        self._store.delete(self._layout.attempt(self._stage, unit, number))

    def commit(self, receipt: Receipt) -> Receipt:
        """Write a receipt; if another worker was first, its receipt is the one that counts."""
        path = self._layout.receipt(self._stage, receipt.unit)
        if self._store.create_if_absent(path, receipt.model_dump_json(indent=1).encode()):
            return receipt
        return Receipt.model_validate_json(self._store.read_bytes(path))

    def forget(self, unit: str) -> None:
        """Remove receipt and attempts of a unit, so that it is processed again."""
        self._store.delete(self._layout.receipt(self._stage, unit))
        for number in range(self.attempts(unit), 0, -1):
            self._store.delete(self._layout.attempt(self._stage, unit, number))

    def write_rejects(self, unit: str, rejects: Sequence[Reject]) -> FileRecord | None:
        """Keep refused records, one row each; nothing is written where none was."""
        if not rejects:
            return None
        rows = [{name: getattr(reject, name) for name in REJECTS_SCHEMA.names} for reject in rejects]
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows, schema=REJECTS_SCHEMA), sink, compression="zstd")
        return self._store.write_atomic(self._layout.rejects(unit), sink.getvalue())


def total(receipts: Iterable[Receipt]) -> tuple[Counter[str], Counter[str]]:
    """Counts and rejects of many receipts, added up."""
    counts: Counter[str] = Counter()
    rejects: Counter[str] = Counter()
    for receipt in receipts:
        counts.update(receipt.counts)
        rejects.update(receipt.rejects)
    return counts, rejects


def read_rejects(store: Store, layout: RunLayout, unit: str) -> list[dict[str, str]]:
    """Refused records of a unit."""
    path = layout.rejects(unit)
    if not store.exists(path):
        return []
    rows: list[dict[str, str]] = pq.read_table(io.BytesIO(store.read_bytes(path))).to_pylist()
    return rows


def to_json(value: BaseModel) -> bytes:
    """A record as stored: sorted, indented, readable."""
    return json.dumps(value.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False).encode()
