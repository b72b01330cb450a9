"""Terminology over many strings: one term rendered several ways, and adherence by pair and day."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from babelray.glossary.match import EnforcedMatch
from babelray.glossary.scoring import Blame, Score, Status, TermVerdict

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

    def add(self, verdicts: Sequence[TermVerdict]) -> None:
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
    damaged: int = 0
    strings: int = 0


class TermReport:
    """Collects scored strings and reports on them."""

    def __init__(self) -> None:
        self._renderings: dict[tuple[Pair, str], Counter[str]] = defaultdict(Counter)
        self._places: dict[tuple[Pair, str, str], list[str]] = defaultdict(list)
        self._sources: dict[str, str] = {}
        self._tallies: dict[tuple[Pair, str], Tally] = defaultdict(Tally)

    def add(
        self,
        pair: Pair,
        day: str,
        place: str,
        source: str,
        output: str,
        present: Sequence[EnforcedMatch],
        score: Score,
    ) -> None:
        """Take in one scored string.

        Args:
            pair: Source and target locale.
            day: ISO date; any other stable label of a period will do.
            place: Where users see the string: file and JSON Pointer.
            source: The source string.
            output: Its translation.
            present: Its selected matches.
            score: What `score_string` gave.
        """
        tally = self._tallies[pair, day]
        tally.strings += 1
        tally.verbatim.add(score.verbatim)
        tally.custom.add(score.custom)
        tally.irrelevant += len(score.irrelevant)
        tally.damaged += not score.intact
        whole = {m.term.term_id for m in present if (m.start, m.end) == (0, len(source.rstrip()))}
        for verdict in (*score.verbatim, *score.custom):
            self._add_renderings(pair, place, verdict, output if verdict.term.term_id in whole else None)

    def _add_renderings(self, pair: Pair, place: str, verdict: TermVerdict, label: str | None) -> None:
        """A string that is nothing but the term shows its rendering even if it is none that the glossary knows."""
        known = [r.casefold() for r in verdict.renderings]
        if not known and label is not None:
            known = [" ".join(label.casefold().split())]
        known += [UNKNOWN] * max(verdict.required - len(known), 0)
        self._sources[verdict.term.term_id] = verdict.term.source
        for rendering in known:
            self._renderings[pair, verdict.term.term_id][rendering] += 1
            places = self._places[pair, verdict.term.term_id, rendering]
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
