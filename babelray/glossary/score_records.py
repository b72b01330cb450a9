"""What is kept of every scored string: written by scoring, read by reports and calibration."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from babelray.glossary.adherence import ScoredString
from babelray.glossary.records import HintedTerm
from babelray.glossary.scoring import SCORING_VERSION, Blame, Status, TermVerdict
from babelray.glossary.terms import TermKind


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class VerdictRecord(_Record):
    """One term of one string.

    Attributes:
        renderings: The output's own words for it, folded; empty where nothing known was found.
        given: Whether the translator had the term.
        near: The best cosine with which retrieval saw the term in this string without giving it; None where it did not.
    """

    term_id: str
    source: str
    kind: TermKind
    status: Status
    blame: Blame
    required: int = Field(ge=0)
    found: int = Field(ge=0)
    given: bool = True
    renderings: tuple[str, ...] = ()
    near: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the constraint was honoured in full."""
        return self.status is Status.APPLIED


class CriterionRecord(_Record):
    """One of the team's own criteria: 0..1, or None where it needs a judge and there was none."""

    name: str
    score: float | None
    weight: float


class ScoreRecord(_Record):
    """One localized string with its verdicts.

    Attributes:
        scorer: What judged: `rules`, or the judge's version beside them.
        localizer: Version of the translator, which is never the scorer's.
        labelled: Whether people said anything about the string's terms.
        confirmed: Hints and near misses that people say stand in the source: what loosens a threshold.
        irrelevant: Those that they say do not: what tightens it.
        unseen: Terms that they say stand there and that no threshold within reach would have found.
        bent: Terms that were given, do not stand in the source, and whose rendering stands in the output.
        damages: Placeholders and tags that did not survive.
        unknown_rendering: The whole output of a string that is nothing but one term, where that is no known rendering.
    """

    version: Literal[1] = 1
    record_id: str
    payload: str
    pointer: str
    source_locale: str
    target_locale: str
    scoring_version: str = SCORING_VERSION
    scorer: str
    localizer: str
    localized_at: datetime
    scored_at: datetime
    thresholds_version: str = ""
    labelled: bool = False
    verdicts: tuple[VerdictRecord, ...] = ()
    confirmed: tuple[HintedTerm, ...] = ()
    irrelevant: tuple[HintedTerm, ...] = ()
    unseen: tuple[str, ...] = ()
    bent: tuple[str, ...] = ()
    damages: tuple[str, ...] = ()
    contested: int = 0
    criteria: tuple[CriterionRecord, ...] = ()
    unknown_rendering: str = ""

    @property
    def pair(self) -> tuple[str, str]:
        """Source and target locale."""
        return self.source_locale, self.target_locale

    @property
    def day(self) -> str:
        """ISO date of localizing."""
        return self.localized_at.date().isoformat()

    def of_kind(self, kind: TermKind) -> tuple[VerdictRecord, ...]:
        """Verdicts of one of the two classes, which are never added up."""
        return tuple(one for one in self.verdicts if one.kind is kind)


def score_record(
    scored: ScoredString, scorer: str, at: datetime, labels: Mapping[str, bool] | None = None
) -> ScoreRecord:
    """A scored string as it is kept.

    Args:
        scored: From a `Scorer`, with the same labels.
        scorer: What judged.
        at: When.
        labels: Term id -> whether people say that the source holds it; terms they were not asked about are missing.
    """
    record, score = scored.record, scored.score
    said = labels or {}
    verdicts = (*score.verbatim, *score.custom)
    given = {one.term_id for one in record.retrieved}
    seen = (*record.hints, *record.near_misses)
    near = {one.term_id: one.score for one in sorted(seen, key=lambda one: one.score)}
    words = len(record.source.rstrip())
    whole = {m.term.term_id for m in scored.present if (m.start, m.end) == (0, words)}
    unknown = any(not v.renderings and v.term.term_id in whole for v in verdicts)
    return ScoreRecord(
        record_id=record.record_id,
        payload=record.payload,
        pointer=record.pointer,
        source_locale=record.source_locale,
        target_locale=record.target_locale,
        scorer=scorer,
        localizer=record.translator.version if record.translator else "",
        localized_at=record.localized_at,
        scored_at=at,
        thresholds_version=record.thresholds_version,
        labelled=bool(said),
        verdicts=tuple(_verdict(verdict, near, given) for verdict in verdicts),
        confirmed=tuple(one for one in seen if said.get(one.term_id) is True),
        irrelevant=tuple(one for one in seen if said.get(one.term_id) is False),
        unseen=tuple(sorted(term for term, there in said.items() if there and term not in given and term not in near)),
        bent=tuple(term.term_id for term in score.irrelevant),
        damages=tuple(f"{one.problem} {one.kind} {one.detail}" for one in score.damages if one.fatal),
        contested=len(record.contested),
        criteria=tuple(CriterionRecord(name=c.name, score=c.score, weight=c.weight) for c in score.criteria),
        unknown_rendering=(record.output or "") if unknown else "",
    )


def _verdict(verdict: TermVerdict, near: Mapping[str, float], given: Collection[str]) -> VerdictRecord:
    return VerdictRecord(
        term_id=verdict.term.term_id,
        source=verdict.term.source,
        kind=verdict.term.kind,
        status=verdict.status,
        blame=verdict.blame,
        required=verdict.required,
        found=verdict.found,
        given=verdict.term.term_id in given,
        renderings=tuple(" ".join(words.casefold().split()) for words in verdict.renderings),
        near=near.get(verdict.term.term_id),
    )
