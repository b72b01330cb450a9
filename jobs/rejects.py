"""Refused records of a run, as its prepare receipts kept them."""

from collections.abc import Iterator

from babelray.config import Settings
from babelray.index.store import open_store
from jobs.ledger import read_rejects
from jobs.planning import make_plan


def rejects(settings: Settings, limit: int | None = None) -> Iterator[dict[str, str]]:
    """Every refused record: where it came from, its reason code, what was wrong, its first characters.

    Args:
        settings: Of the job.
        limit: As the run was given.
    """
    plan, _ = make_plan(settings, limit)
    store = open_store(settings.store)
    for unit in plan.record.units:
        yield from read_rejects(store, plan.prepare_layout, unit)
