"""Receipts: the one mechanism of resuming, of accounting, and of giving up on a unit that kills its worker.

A stage first marks its attempt, then writes its outputs, then commits a receipt that names them. What has a receipt is
done; what took its worker with it too often is quarantined. Prepare receipts belong to a text policy and embed receipts
to a model key, not to one run, so that later runs share the work.
"""

import io
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from babelray.errors import IntegrityError
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


class Mark(BaseModel):
    """One attempt that was begun.

    Attributes:
        invocation: Of the job: one start of the driver.
        worker: Host and process.
        alone: Whether no other unit was in the same process; if one was, either may be what killed it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    invocation: str
    worker: str
    alone: bool = True


_LOST_WITH_DRIVER = 3
"""Times `max_attempts`: a unit at work in so many invocations that died as a whole is taken for their cause."""


class Ledger:
    """Receipts and attempts of one stage.

    Args:
        store: Where they lie.
        layout: Folder they belong to.
        stage: `prepare`, `embed` or `build`.
        max_attempts: Workers that a unit may take with it.
        invocation: Whose attempts are marked here.
    """

    def __init__(self, store: Store, layout: RunLayout, stage: str, max_attempts: int, invocation: str) -> None:
        self._store = store
        self._layout = layout
        self._stage = stage
        self._max_attempts = max_attempts
        self._invocation = invocation

    def receipts(self, units: Iterable[str]) -> dict[str, Receipt]:
        """Receipts by unit, of those units that have one.

        Raises:
            IntegrityError: One cannot be read.
        """
        found = ((unit, self.receipt(unit)) for unit in units)
        return {unit: receipt for unit, receipt in found if receipt is not None}

    def done(self) -> set[str]:
        """Units with a receipt; one listing, nothing is read."""
        folder = self._layout.receipts(self._stage)
        return {path.rpartition("/")[2].removesuffix(".json") for path, _ in self._store.files(folder)}

    def receipt(self, unit: str) -> Receipt | None:
        """The receipt of a unit, if it has one.

        Raises:
            IntegrityError: It cannot be read.
        """
        path = self._layout.receipt(self._stage, unit)
        return self._read(path) if self._store.exists(path) else None

    def marks(self, unit: str) -> list[Mark]:
        """Attempts that were begun and not released, in their order."""
        found: list[Mark] = []
        while self._store.exists(path := self._layout.attempt(self._stage, unit, len(found) + 1)):
            found.append(Mark.model_validate_json(self._store.read_bytes(path)))
        return found

    def deaths(self, unit: str) -> int:
        """Workers that the unit is held to have taken with it.

        Not every attempt without a receipt is one: the last of another invocation may have ended with its driver, or
        still be at work; and of several units in a process that died, each is only a suspect the first time.
        """
        marks = self.marks(unit)
        if len(marks) >= _LOST_WITH_DRIVER * self._max_attempts:
            return len(marks)
        count = 0
        for invocation, group in _by_invocation(marks).items():
            excused = (invocation != self._invocation) + (not group[0].alone)
            count += max(len(group) - excused, 0)
        return count

    def begin(self, unit: str, worker: str, *, alone: bool = True) -> int | None:
        """Mark an attempt.

        Returns:
            Its number from 1; `None` if the unit has used up its attempts, which quarantines it.
        """
        if self.deaths(unit) >= self._max_attempts:
            self.commit(
                Receipt(
                    stage=self._stage, unit=unit, outcome=Outcome.QUARANTINED, attempt=max(len(self.marks(unit)), 1)
                )
            )
            return None
        mark = Mark(invocation=self._invocation, worker=worker, alone=alone).model_dump_json().encode()
        number = 1
        # Another run of the same units may mark at the same time: each attempt gets a number of its own.
        while not self._store.create_if_absent(self._layout.attempt(self._stage, unit, number), mark):
            number += 1
        return number

    def release(self, unit: str, number: int) -> None:
        """Take an attempt back: it ended with an error of its own and did not take its worker with it."""
        self._store.delete(self._layout.attempt(self._stage, unit, number))

    def commit(self, receipt: Receipt) -> Receipt:
        """Write a receipt; if another worker was first, its receipt is the one that counts."""
        path = self._layout.receipt(self._stage, receipt.unit)
        if self._store.create_if_absent(path, receipt.model_dump_json(indent=1).encode()):
            return receipt
        return self._read(path)

    def forget(self, unit: str) -> None:
        """Remove receipt and attempts of a unit, so that it is processed again."""
        self._store.delete(self._layout.receipt(self._stage, unit))
        for number in range(len(self.marks(unit)), 0, -1):
            self._store.delete(self._layout.attempt(self._stage, unit, number))

    def forget_damaged(self, units: Iterable[str]) -> dict[str, str]:
        """Forget units whose receipt cannot be read or whose outputs are gone or have another size.

        Whatever a receipt promises is looked up before later stages build on it; their content is checked by its
        checksums when it is read.

        Args:
            units: To look at; those without a receipt are passed over.

        Returns:
            Unit -> what was wrong.
        """
        found: dict[str, str] = {}
        sizes: dict[str, int] = {}
        for unit in units:
            try:
                receipt = self.receipt(unit)
            except IntegrityError as error:
                found[unit] = error.what
                continue
            for output in receipt.outputs if receipt else ():
                folder = output.path.rpartition("/")[0]
                if folder not in sizes:
                    # One listing a folder instead of one question a file.
                    sizes |= {folder: 0, **dict(self._store.files(folder))}
                if sizes.get(output.path) != output.size:
                    found[unit] = f"{output.path} is gone or damaged"
        for unit in found:
            self.forget(unit)
        return found

    def _read(self, path: str) -> Receipt:
        try:
            return Receipt.model_validate_json(self._store.read_bytes(path))
        except ValidationError as error:
            raise IntegrityError(
                "a receipt cannot be read",
                where=path,
                got=f"{error.error_count()} faults, the first: {error.errors(include_url=False)[0]['msg']}",
                fix="run the job again: it processes the unit anew",
            ) from None

    def write_rejects(self, unit: str, rejects: Sequence[Reject]) -> FileRecord | None:
        """Keep refused records, one row each; nothing is written where none was."""
        if not rejects:
            return None
        rows = [{name: getattr(reject, name) for name in REJECTS_SCHEMA.names} for reject in rejects]
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows, schema=REJECTS_SCHEMA), sink, compression="zstd")
        return self._store.write_atomic(self._layout.rejects(unit), sink.getvalue())


def _by_invocation(marks: Iterable[Mark]) -> dict[str, list[Mark]]:
    groups: dict[str, list[Mark]] = {}
    for mark in marks:
        groups.setdefault(mark.invocation, []).append(mark)
    return groups


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
