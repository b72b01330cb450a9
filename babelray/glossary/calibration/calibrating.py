"""One calibration: from scored records to a new version of the thresholds, or to none."""

from collections.abc import Iterable
from datetime import datetime

from babelray.config import CalibrationSettings
from babelray.glossary.calibration.evidence import gather
from babelray.glossary.calibration.rule import Direction, Move, decide
from babelray.glossary.calibration.thresholds_store import PairThreshold, ThresholdSet
from babelray.glossary.score_records import ScoreRecord
from babelray.glossary.thresholds import Thresholds
from babelray.keys import ModelKey, digest_of

Pair = tuple[str, str]


def calibrate(
    records: Iterable[ScoreRecord],
    current: Thresholds,
    before: ThresholdSet | None,
    key: ModelKey,
    settings: CalibrationSettings,
    at: datetime,
) -> tuple[dict[Pair, Move], ThresholdSet | None]:
    """Decide for every pair that the records speak of.

    Args:
        records: Scored and, where they are to move anything, labelled.
        current: Thresholds in force; records made under others are left out, since their near misses are others.
        before: The calibrated set in force, if there is one.
        key: Of the model whose cosines they are.
        settings: Targets, step, floors.
        at: When.

    Returns:
        What was decided for each pair and why, and the new set; None where nothing moved.
    """
    last = {(one.source_locale, one.target_locale): one for one in before.pairs} if before else {}
    evidence = gather(one for one in records if one.thresholds_version in ("", current.version))
    moves = {
        pair: decide(current.of(*pair), found, settings, last[pair].direction if pair in last else Direction.KEPT)
        for pair, found in sorted(evidence.items())
    }
    if all(move.direction is Direction.KEPT for move in moves.values()):
        return moves, None
    kept = {pair: one for pair, one in last.items() if pair not in moves}
    made = [
        PairThreshold(
            source_locale=pair[0],
            target_locale=pair[1],
            threshold=move.threshold,
            direction=move.direction,
            reason=move.reason,
        )
        for pair, move in moves.items()
    ]
    pairs = tuple(sorted([*kept.values(), *made], key=lambda one: (one.source_locale, one.target_locale)))
    identity = [current.version, key.digest, [one.model_dump(mode="json") for one in pairs], at.isoformat()]
    return moves, ThresholdSet(
        version=f"t{digest_of(identity, length=12)}",
        parent=current.version,
        model_key=key.digest,
        default=current.default,
        pairs=pairs,
        made_at=at,
    )
