"""How one threshold moves: little, only on enough evidence, and only for what a threshold can help.

Terms that people meant and that lay under the threshold loosen it; hints that were not meant tighten it. What a
translator ignored moves nothing. A move has to hold on records that it was not decided by.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from babelray.config import CalibrationSettings
from babelray.glossary.calibration.evidence import Evidence, Point, precision, recall


class Direction(StrEnum):
    """What a calibration did with a threshold."""

    KEPT = "kept"
    LOOSENED = "loosened"
    TIGHTENED = "tightened"


@dataclass(frozen=True, slots=True)
class Move:
    """One decision, with its reason in words."""

    direction: Direction
    threshold: float
    reason: str


def decide(current: float, evidence: Evidence, settings: CalibrationSettings, last: Direction = Direction.KEPT) -> Move:
    """Decide on the threshold of one pair.

    Args:
        current: In force.
        evidence: Of records that were made under it or near it.
        settings: Targets, step, floors.
        last: What the last calibration did: going back the other way needs twice the evidence.
    """
    points = evidence.deciding()
    sample = len(evidence.points)
    if sample < settings.minimum_sample:
        return _kept(current, f"{sample} labelled hints, {settings.minimum_sample} are needed")
    missed = 1 - (recall(points, current) or 0.0) if any(one.meant for one in points) else 0.0
    found = precision(points, current)
    irrelevant = 0.0 if found is None else 1 - found
    said = f"{missed:.0%} of meant terms under it, {irrelevant:.0%} of hints irrelevant, {sample} labelled"
    wanted = _wanted(missed, irrelevant, settings)
    if wanted is Direction.KEPT:
        return _kept(current, f"{said}: within its targets")
    if last is not Direction.KEPT and last is not wanted and sample < 2 * settings.minimum_sample:
        return _kept(current, f"{said}: turning back needs {2 * settings.minimum_sample} labelled hints")
    threshold = _moved(current, wanted, points, settings)
    if threshold == current:
        return _kept(current, f"{said}: no move within a step helps")
    refused = _gate(current, threshold, wanted, evidence.held_out(), settings)
    if refused:
        return _kept(current, f"{said}: {wanted} to {threshold:.4f} refused, {refused}")
    return Move(wanted, threshold, f"{said}: {wanted} from {current:.4f} to {threshold:.4f}")


def _kept(current: float, reason: str) -> Move:
    return Move(Direction.KEPT, current, reason)


def _wanted(missed: float, irrelevant: float, settings: CalibrationSettings) -> Direction:
    """The direction of what is further beyond its target; nothing while both are near theirs."""
    over_missed = missed - settings.miss_target - settings.hysteresis
    over_irrelevant = irrelevant - settings.irrelevant_target - settings.hysteresis
    if max(over_missed, over_irrelevant) <= 0:
        return Direction.KEPT
    # Equal complaints: a hint too few is asked about again next week, a hint too many is in people's way now.
    return Direction.LOOSENED if over_missed > over_irrelevant else Direction.TIGHTENED


def _moved(current: float, wanted: Direction, points: Sequence[Point], settings: CalibrationSettings) -> float:
    """The nearest threshold within a step that meets the target of its complaint, or a whole step."""
    if wanted is Direction.LOOSENED:
        farthest = max(current - settings.step, settings.lowest)
        candidates = sorted(
            {one.score for one in points if one.meant and farthest <= one.score < current}, reverse=True
        )
        good = (c for c in candidates if 1 - (recall(points, c) or 0.0) <= settings.miss_target)
    else:
        farthest = min(current + settings.step, settings.highest)
        # Just above an irrelevant hint is the first threshold that is rid of it.
        candidates = sorted({one.score + 1e-4 for one in points if not one.meant and current <= one.score < farthest})
        good = (c for c in candidates if 1 - (precision(points, c) or 1.0) <= settings.irrelevant_target)
    return round(next(good, farthest), 4)


def _gate(
    current: float, threshold: float, wanted: Direction, held_out: Sequence[Point], settings: CalibrationSettings
) -> str:
    """Why the held-out records speak against a move; empty if they do not."""
    before, after = recall(held_out, current), recall(held_out, threshold)
    clean_before, clean_after = precision(held_out, current), precision(held_out, threshold)
    if wanted is Direction.LOOSENED:
        if clean_after is not None and clean_after < settings.precision_floor:
            return (
                f"held-out precision would be {clean_after:.2f}, at least {settings.precision_floor:.2f} is asked for"
            )
        if before is not None and after is not None and after < before:
            return "held-out recall would fall"
        return ""
    if after is not None and after < settings.recall_floor:
        return f"held-out recall would be {after:.2f}, at least {settings.recall_floor:.2f} is asked for"
    if clean_before is not None and clean_after is not None and clean_after < clean_before:
        return "held-out precision would fall"
    return ""
