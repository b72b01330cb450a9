"""Why a run is not finished, or its generation not published by itself."""

from collections.abc import Iterable

from babelray.config import Settings
from babelray.errors import GateFailed, IncompleteRun
from babelray.index.store import Store
from jobs.planning import Plan
from jobs.summary import Summary
from jobs.units import Unit

NOT_FAULTS = frozenset({"empty", "nothing_to_index"})
"""Reject reasons that no budget counts: documentation sites are full of pages that hold nothing but a title."""
_SHOWN = 5


def members(store: Store, plan: Plan, units: Iterable[str]) -> dict[str, list[str]]:
    """Unit -> the files (or pieces of tables) in it, for a reader who looks for the one that does harm."""
    found = {}
    for name in units:
        unit = Unit.from_bytes(store.read_bytes(plan.prepare_layout.unit(name)))
        found[name] = [f"{part.uri} [{part.start}:{part.stop}]" for part in unit.parts]
    return found


def units_failed(summary: Summary) -> IncompleteRun:
    """Units ended with an error, or not at all."""
    examples = [f"{unit}: {error}" for unit, error in list(summary.failed.items())[:_SHOWN]]
    if summary.unfinished:
        examples.append(f"{summary.unfinished} units were not reached, or lost with their workers")
    return IncompleteRun(
        f"{len(summary.failed)} of {summary.units} units failed",
        where=f"run {summary.run}",
        got="; ".join(examples),
        fix="remove the cause and run it again: finished units are kept",
    )


def nothing_indexed(summary: Summary) -> IncompleteRun:
    """Every unit ended, and there is not one chunk to search."""
    return IncompleteRun(
        "nothing could be indexed: every record was rejected or is in a quarantined unit",
        where=f"run {summary.run}, {summary.units} units, {len(summary.quarantined)} of them quarantined",
        got=_listed(summary.rejects_by_reason) or "no record at all",
        fix="look at the rejects' reasons, and at `sources`: path, format, columns",
    )


def unpublished(summary: Summary, settings: Settings, store: Store, plan: Plan) -> IncompleteRun | GateFailed | None:
    """Why a built generation is not published by itself, if there is a reason.

    Args:
        summary: Of the run.
        settings: Whose budgets count.
        store: Where units are described.
        plan: Of all units, also the quarantined.
    """
    if summary.quarantined:
        suspects = members(store, plan, summary.quarantined[:_SHOWN])
        return IncompleteRun(
            f"{len(summary.quarantined)} of {summary.units} units kill their workers and are quarantined",
            where=f"generation {summary.generation} holds the others",
            got="; ".join(f"{unit}: {', '.join(parts[:_SHOWN])}" for unit, parts in suspects.items()),
            fix="exclude the document (`sources`: exclude) or remove the cause and run again with --retry-quarantined; "
            f"or publish without: babelray generations publish {summary.generation}",
        )
    rejected = sum(count for reason, count in summary.rejects_by_reason.items() if reason not in NOT_FAULTS)
    share = rejected / max(rejected + summary.documents, 1)
    if share > settings.units.reject_budget:
        return GateFailed(
            f"{share:.0%} of the records were rejected",
            where=f"generation {summary.generation}",
            got=_listed(summary.rejects_by_reason),
            allowed=f"at most {settings.units.reject_budget:.0%} (units.reject_budget)",
            fix=f"look at the rejects, or publish all the same: babelray generations publish {summary.generation}",
        )
    return None


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items())
