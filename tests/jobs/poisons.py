"""Stages in which one page does harm: stand-ins for the job's own, pickled by value: Ray workers import no tests."""

import errno
import os
import signal
import time
from pathlib import Path
from unittest.mock import patch

from ray import cloudpickle

from babelray.index.store import open_store
from jobs.stages.embed import EmbedUnits
from jobs.stages.prepare import prepare_unit
from jobs.units import Unit

COMPANY_SECONDS = 15
"""How long the deadly unit waits for another one at its side."""


def use(monkeypatch) -> None:
    """Put the harmful stages in place of the job's."""
    import sys

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr("jobs.reindex.prepare_unit", prepare)
    monkeypatch.setattr("jobs.reindex.EmbedUnits", Embed)


def pages(plan, unit: str) -> set[str]:
    store = open_store(plan.settings.store)
    return {part.uri for part in Unit.from_bytes(store.read_bytes(plan.prepare_layout.unit(unit))).parts}


def prepare(row, *, plan):
    found = pages(plan, row["unit"])
    # The attempt is marked by the job's own code, and the harm is done inside of it.
    if "kills-prepare.md" in found:
        with patch("jobs.stages.prepare.prepare_document", _die):
            return prepare_unit(row, plan=plan)
    if "full-disk.md" in found:
        with patch("jobs.stages.prepare.write_prepared", _full):
            return prepare_unit(row, plan=plan)
    return prepare_unit(row, plan=plan)


def _die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def _full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


class Embed(EmbedUnits):
    """Dies over one page, and waits with it until another unit is at work beside it, the first time."""

    def __init__(self, plan, threads):
        if any(Path(source.path, "no-embedder.md").exists() for source in plan.settings.sources):
            raise RuntimeError("the weights are damaged")
        super().__init__(plan, threads)
        self._inside = 0

    def _embed(self, unit, attempt, device):
        self._inside += 1
        if "kills-embed.md" in pages(self._plan, unit):
            until = time.monotonic() + (COMPANY_SECONDS if attempt == 1 else 0)
            while self._inside < 2 and time.monotonic() < until:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)
        if any(Path(source.path, "kills-embed.md").exists() for source in self._plan.settings.sources):
            # Long enough for the other one to come in.
            time.sleep(0.2)
        receipt = super()._embed(unit, attempt, device)
        self._inside -= 1
        return receipt
