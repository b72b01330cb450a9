"""What labelled, scored records say about the threshold of a locale pair."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from babelray.glossary.records import HintedTerm
from babelray.glossary.score_records import ScoreRecord
from babelray.keys import digest_of

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Point:
    """One term that was seen by meaning in one string.

    Attributes:
        score: Cosine.
        meant: Whether people say that the source holds the term.
        held_out: Kept back to check a move, and never used to decide on it.
    """

    score: float
    meant: bool
    held_out: bool


@dataclass(slots=True)
class Evidence:
    """All that is known about one pair.

    Attributes:
        unseen: Meant terms that no threshold within reach would have found; no move helps them.
        translator_misses: Terms that were given and ignored. They say nothing about a threshold and never move one.
    """

    points: list[Point] = field(default_factory=list)
    unseen: int = 0
    translator_misses: int = 0

    def deciding(self) -> list[Point]:
        """Points that a move is decided by."""
        return [one for one in self.points if not one.held_out]

    def held_out(self) -> list[Point]:
        """Points that it is checked on."""
        return [one for one in self.points if one.held_out]


def gather(records: Iterable[ScoreRecord]) -> dict[Pair, Evidence]:
    """Evidence by pair. Half of the records, by their ids, are held out."""
    found: dict[Pair, Evidence] = defaultdict(Evidence)
    for record in records:
        evidence = found[record.pair]
        evidence.translator_misses += sum(verdict.given and not verdict.ok for verdict in record.verdicts)
        if not record.labelled:
            continue
        held_out = int(digest_of(record.record_id), 16) % 2 == 1
        evidence.unseen += len(record.unseen)
        evidence.points += _points(record.confirmed, True, held_out) + _points(record.irrelevant, False, held_out)
    return dict(found)


def _points(hints: Iterable[HintedTerm], meant: bool, held_out: bool) -> list[Point]:
    return [Point(one.score, meant, held_out) for one in hints]


def recall(points: Iterable[Point], threshold: float) -> float | None:
    """Share of the meant terms at or above a threshold; None without any."""
    scores = [one.score for one in points if one.meant]
    return sum(score >= threshold for score in scores) / len(scores) if scores else None


def precision(points: Iterable[Point], threshold: float) -> float | None:
    """Share of meant terms among those at or above a threshold; None where there are none."""
    kept = [one.meant for one in points if one.score >= threshold]
    return sum(kept) / len(kept) if kept else None
