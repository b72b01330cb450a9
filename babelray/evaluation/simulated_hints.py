"""Weeks of labelled hints that a given threshold would have produced, for finding out how calibration behaves.

Cosines of meant and of other terms are drawn from two normal distributions. What lies over the threshold is shown and
labelled, what lies a little under it is a near miss and labelled too, the rest nobody sees.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from babelray.config import CalibrationSettings
from babelray.glossary.calibration.calibrating import calibrate
from babelray.glossary.calibration.thresholds_store import ThresholdSet
from babelray.glossary.records import HintedTerm
from babelray.glossary.score_records import ScoreRecord, VerdictRecord
from babelray.glossary.scoring import Blame, Status
from babelray.glossary.terms import TermKind
from babelray.glossary.thresholds import Thresholds
from babelray.keys import ModelKey

PAIR = ("en", "es")
START = datetime(2026, 1, 5, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class World:
    """What a week is drawn from.

    Attributes:
        meant_at, other_at: Mean cosine of windows that mean a term, and of those that do not.
        spread: Standard deviation of both.
        meant, other: Windows a week.
        faults: Share of given terms that the translator ignores.
    """

    meant_at: float = 0.96
    other_at: float = 0.90
    spread: float = 0.015
    meant: int = 60
    other: int = 200
    faults: float = 0.0


@dataclass(frozen=True, slots=True)
class Week:
    """What one week showed.

    Attributes:
        recall: Of meant terms, by the threshold that was in force.
        precision: Of the hints shown; None where none was.
        adherence: Of given terms, which the translator decides.
    """

    threshold: float
    recall: float
    precision: float | None
    adherence: float
    direction: str


def simulate(
    world: World,
    weeks: int,
    settings: CalibrationSettings,
    key: ModelKey,
    *,
    threshold: float,
    margin: float = 0.03,
    change: Callable[[World, int], World] | None = None,
    seed: int = 0,
) -> list[Week]:
    """Calibrate once a week.

    Args:
        world: As it is in the first week.
        weeks: How many.
        settings: Of the calibration.
        key: Any model key.
        threshold: In force at first.
        margin: How far under the threshold near misses are kept.
        change: The world of a week, from the first one and the week's number.
        seed: Of the draws.
    """
    rng = np.random.default_rng(seed)
    current, made = Thresholds("start", threshold), None
    found: list[Week] = []
    for number in range(weeks):
        now = change(world, number) if change else world
        at = START + timedelta(weeks=number)
        least = current.of(*PAIR)
        records, shown = _week(now, least, margin, current.version, at, rng)
        moves, fresh = calibrate(records, current, made, key, settings, at)
        made = fresh or made
        direction = moves[PAIR].direction.value if PAIR in moves else "kept"
        found.append(replace(shown, threshold=least, direction=direction))
        current = _in_force(current, made)
    return found


def _in_force(current: Thresholds, made: ThresholdSet | None) -> Thresholds:
    return made.thresholds() if made else current


def _week(
    world: World, least: float, margin: float, version: str, at: datetime, rng: np.random.Generator
) -> tuple[list[ScoreRecord], Week]:
    meant = np.clip(rng.normal(world.meant_at, world.spread, world.meant), -1, 1)
    other = np.clip(rng.normal(world.other_at, world.spread, world.other), -1, 1)
    ignored = rng.random(world.meant) < world.faults
    records = [
        _record(f"{at:%Y%m%d}-{kind}-{number}", float(score), least, margin, kind == "meant", bool(fault), version, at)
        for kind, scores, faults in (("meant", meant, ignored), ("other", other, np.zeros(world.other, dtype=bool)))
        for number, (score, fault) in enumerate(zip(scores, faults, strict=True))
    ]
    hits, noise = int((meant >= least).sum()), int((other >= least).sum())
    return records, Week(
        threshold=least,
        recall=hits / world.meant,
        precision=hits / (hits + noise) if hits + noise else None,
        adherence=1 - float(ignored.mean()),
        direction="kept",
    )


def _record(
    name: str, score: float, least: float, margin: float, meant: bool, fault: bool, version: str, at: datetime
) -> ScoreRecord:
    seen = (HintedTerm(term_id="t", start=0, end=1, surface="w", score=score, threshold=least),)
    visible = seen if score >= least - margin else ()
    status, blame = (Status.MISSED, Blame.TRANSLATOR) if fault else (Status.APPLIED, Blame.NONE)
    verdict = VerdictRecord(
        term_id="g", source="given", kind=TermKind.CUSTOM_TRANSLATION, status=status, blame=blame, required=1,
        found=int(not fault), given=True,
    )  # fmt: skip
    return ScoreRecord(
        record_id=name,
        payload="p",
        pointer="/p",
        source_locale=PAIR[0],
        target_locale=PAIR[1],
        scorer="rules",
        localizer="simulated",
        localized_at=at,
        scored_at=at,
        thresholds_version=version,
        labelled=True,
        verdicts=(verdict,),
        confirmed=visible if meant else (),
        irrelevant=() if meant else visible,
        unseen=("t",) if meant and not visible else (),
    )
