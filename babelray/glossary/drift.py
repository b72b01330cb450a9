"""Terminology over many strings: one term rendered several ways, and adherence by pair and day."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from babelray.glossary.score_records import ScoreRecord, VerdictRecord
from babelray.glossary.scoring import Blame, Status
from babelray.glossary.terms import TermKind

UNKNOWN = ""
"""Stands for a rendering that could not be told: the term's translation is somewhere in a longer sentence."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TermDrift:
    """How one term is rendered for one pair.

    Attributes:
        renderings: The output's words, folded, or `UNKNOWN` -> how often, most frequent first.
        surfaces: Rendering -> up to five places (file and pointer) where it stands.
    """

    term_id: str
    source: str
    pair: Pair
    renderings: dict[str, int]
    surfaces: dict[str, tuple[str, ...]]

    @property
    def drift(self) -> float:
        """Share of the occurrences that do not have the most frequent rendering, 0..1; unknown ones count."""
        total = sum(self.renderings.values())
        return 1 - max(self.renderings.values()) / total if total else 0.0


@dataclass(slots=True)
class ClassTally:
    """Counts of verdicts of one class."""

    strings: int = 0
    by_status: Counter[Status] = field(default_factory=Counter)
    by_blame: Counter[Blame] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """All verdicts."""
        return self.by_status.total()

    @property
    def adherence(self) -> float | None:
        """Share of verdicts that are `applied`; `None` without verdicts."""
        return self.by_status[Status.APPLIED] / self.total if self.total else None

    def add(self, verdicts: Sequence[VerdictRecord]) -> None:
        """Count the verdicts of one string."""
        self.strings += bool(verdicts)
        self.by_status.update(v.status for v in verdicts)
        self.by_blame.update(v.blame for v in verdicts if not v.ok)


@dataclass(slots=True)
class Tally:
    """Counts of one pair and day; the two classes are never added up."""

    verbatim: ClassTally = field(default_factory=ClassTally)
    custom: ClassTally = field(default_factory=ClassTally)
    irrelevant: int = 0
    contested: int = 0
    damaged: int = 0
    strings: int = 0
    criteria: dict[str, list[float]] = field(default_factory=dict)


class TermReport:
    """Collects scored strings and reports on them."""

    def __init__(self) -> None:
        self._renderings: dict[tuple[Pair, str], Counter[str]] = defaultdict(Counter)
        self._places: dict[tuple[Pair, str, str], list[str]] = defaultdict(list)
        self._sources: dict[str, str] = {}
        self._tallies: dict[tuple[Pair, str], Tally] = defaultdict(Tally)

    def add(self, record: ScoreRecord) -> None:
        """Take in one scored string."""
        tally = self._tallies[record.pair, record.day]
        tally.strings += 1
        tally.verbatim.add(record.of_kind(TermKind.NON_TRANSLATABLE))
        tally.custom.add(record.of_kind(TermKind.CUSTOM_TRANSLATION))
        tally.irrelevant += len(record.bent)
        tally.contested += record.contested
        tally.damaged += bool(record.damages)
        for criterion in record.criteria:
            if criterion.score is not None:
                tally.criteria.setdefault(criterion.name, []).append(criterion.score)
        for verdict in record.verdicts:
            self._add_renderings(record, verdict)

    def _add_renderings(self, record: ScoreRecord, verdict: VerdictRecord) -> None:
        """A string that is nothing but the term shows its rendering even if it is none that the glossary knows."""
        known = list(verdict.renderings)
        if not known and record.unknown_rendering:
            known = [" ".join(record.unknown_rendering.casefold().split())]
        known += [UNKNOWN] * max(verdict.required - len(known), 0)
        self._sources[verdict.term_id] = verdict.source
        place = f"{record.payload}{record.pointer}"
        for rendering in known:
            self._renderings[record.pair, verdict.term_id][rendering] += 1
            places = self._places[record.pair, verdict.term_id, rendering]
            if len(places) < 5 and place not in places:
                places.append(place)

    def drifting(self, least: int = 2) -> list[TermDrift]:
        """Terms with at least `least` different known renderings, most frequent term first."""
        found = []
        for (pair, term_id), counts in self._renderings.items():
            if len(counts.keys() - {UNKNOWN}) >= least:
                ordered = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
                places = {r: tuple(self._places[pair, term_id, r]) for r in ordered}
                found.append(TermDrift(term_id, self._sources[term_id], pair, ordered, places))
        return sorted(found, key=lambda d: (-sum(d.renderings.values()), d.pair, d.term_id))

    def over_time(self) -> list[tuple[Pair, str, Tally]]:
        """Counts by pair and day, in that order."""
        return [(pair, day, tally) for (pair, day), tally in sorted(self._tallies.items())]
