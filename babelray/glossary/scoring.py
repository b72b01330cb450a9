"""Adherence, by rules: were the terms of a string honoured, and if not, whose miss was it.

Verdicts on verbatim terms and on custom translations are kept apart: one number over both hides a name that was
translated and a translation that was left out. Scoring sees the source, the output and what was retrieved; it finds
the terms that are present by itself.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from babelray.errors import ConfigError
from babelray.glossary.match import EnforcedMatch
from babelray.glossary.occurrences import Occurrence, OutputText
from babelray.glossary.profile import Criterion, EngineProfile
from babelray.glossary.protect import Damage, verify_protected
from babelray.glossary.terms import Term, TermKind

SCORING_VERSION = "scoring-1"


class Status(StrEnum):
    """`partial`: the rendering stands in the output less often than the term in the source."""

    APPLIED = "applied"
    PARTIAL = "partial"
    MISSED = "missed"
    FORBIDDEN = "forbidden"


class Blame(StrEnum):
    """`retrieval`: the term stood in the source but was not given to the translator. `translator`: it was given."""

    NONE = "none"
    RETRIEVAL = "retrieval"
    TRANSLATOR = "translator"


@dataclass(frozen=True, slots=True)
class TermVerdict:
    """One term of one string.

    Attributes:
        required: Times the term stands in the source.
        found: Times its rendering stands in the output.
        renderings: The output's own words for it, forbidden ones included; empty where nothing known was found.
    """

    term: Term
    status: Status
    blame: Blame
    required: int
    found: int
    renderings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the constraint was honoured in full."""
        return self.status is Status.APPLIED


@dataclass(frozen=True, slots=True)
class CriterionVerdict:
    """One of the team's own criteria: 0..1, or `None` where it needs a judge and there is none."""

    name: str
    score: float | None
    weight: float


@dataclass(frozen=True, slots=True)
class Score:
    """Verdicts on one string.

    Attributes:
        irrelevant: Retrieved terms that do not stand in the source, yet whose rendering stands in the output: text was
            bent to a term that does not apply.
        needless: Retrieved terms that do not stand in the source and were rightly ignored.
    """

    verbatim: tuple[TermVerdict, ...]
    custom: tuple[TermVerdict, ...]
    damages: tuple[Damage, ...]
    irrelevant: tuple[Term, ...]
    needless: tuple[Term, ...]
    criteria: tuple[CriterionVerdict, ...] = ()

    @property
    def lost(self) -> tuple[TermVerdict, ...]:
        """Every required term that was not honoured in full."""
        return tuple(v for v in (*self.verbatim, *self.custom) if not v.ok)

    @property
    def intact(self) -> bool:
        """Whether all placeholders and tags survived: a string that is not intact goes to nobody."""
        return not any(damage.fatal for damage in self.damages)


class Judge(Protocol):
    """Scores what rules cannot. Never the model that localized."""

    @property
    def version(self) -> str:
        """Names model and revision."""
        ...

    def judge(self, source: str, output: str, rule: str) -> float:
        """How well an output follows a rule, 0..1.

        Raises:
            UpstreamError: The model failed.
        """
        ...


def check_independent(judge: Judge, localizer_version: str) -> None:
    """Refuse a judge that is the localizer.

    Raises:
        ConfigError: Both have the same version.
    """
    if judge.version == localizer_version:
        fix = "choose another model for scoring"
        raise ConfigError("a model may not score its own translations", where="judge", got=judge.version, fix=fix)


def score_string(
    source: str,
    output: str,
    target_locale: str,
    present: Sequence[EnforcedMatch],
    retrieved: Sequence[Term],
    profile: EngineProfile | None = None,
    judge: Judge | None = None,
) -> Score:
    """Score one localized string.

    Args:
        source: The string as it was given to the localizer.
        output: What came back, placeholders restored.
        target_locale: BCP 47 of the output.
        present: The terms that stand in the source: the scorer's own selected matches, or labels by people.
        retrieved: The terms that the translator was given.
        profile: For the team's criteria and for whether targets may be inflected; without one they may not.
        judge: For criteria of kind `judge`, and for whether the profile's instructions were followed.
    """
    text = OutputText(output, target_locale)
    inflected = profile.allows_inflection(target_locale) if profile else False
    given = {term.term_id for term in retrieved}
    counts: dict[str, int] = {}
    terms: dict[str, Term] = {}
    for match in present:
        terms[match.term.term_id] = match.term
        counts[match.term.term_id] = counts.get(match.term.term_id, 0) + 1
    verdicts = [_verdict(term, counts[i], i in given, text, inflected) for i, term in terms.items()]
    absent = [term for term in {t.term_id: t for t in retrieved}.values() if term.term_id not in terms]
    # What the source holds by itself (a name that needs no glossary) is no trace of a term.
    origin = OutputText(source, target_locale)
    bent = [t for t in absent if _find(t, text, inflected) and not _find(t, origin, inflected=False)]
    criteria = profile.criteria_for(target_locale) if profile else ()
    if profile is not None and judge is not None:
        criteria = (*criteria, *profile.instruction_criteria(target_locale))
    return Score(
        verbatim=tuple(v for v in verdicts if v.term.kind is TermKind.NON_TRANSLATABLE),
        custom=tuple(v for v in verdicts if v.term.kind is TermKind.CUSTOM_TRANSLATION),
        damages=tuple(verify_protected(source, output)),
        irrelevant=tuple(bent),
        needless=tuple(t for t in absent if t not in bent),
        criteria=tuple(_criterion(c, source, output, judge) for c in criteria),
    )


def _find(term: Term, text: OutputText, inflected: bool) -> list[Occurrence]:
    """A verbatim term keeps its case; a translation may begin a sentence."""
    verbatim = term.kind is TermKind.NON_TRANSLATABLE
    return text.find(term.rendering, inflected=inflected and not verbatim, cased=verbatim)


def _verdict(term: Term, required: int, given: bool, text: OutputText, inflected: bool) -> TermVerdict:
    found = _find(term, text, inflected)
    forbidden = [
        occurrence
        for word in term.forbidden_translations
        for occurrence in text.find(word, inflected=inflected, cased=False)
        if not any(occurrence.start < o.end and o.start < occurrence.end for o in found)
    ]
    if forbidden:
        status = Status.FORBIDDEN
    elif len(found) >= required:
        status = Status.APPLIED
    else:
        status = Status.PARTIAL if found else Status.MISSED
    blame = Blame.NONE if status is Status.APPLIED else Blame.TRANSLATOR if given else Blame.RETRIEVAL
    renderings = tuple(o.surface for o in (*found, *forbidden))
    return TermVerdict(term, status, blame, required, len(found), renderings)


def _criterion(criterion: Criterion, source: str, output: str, judge: Judge | None) -> CriterionVerdict:
    score: float | None = None
    if criterion.kind == "max_growth":
        assert criterion.growth is not None
        score = float(len(output) <= criterion.growth * max(len(source), 1))
    elif criterion.pattern is not None:
        matched = re.search(criterion.pattern, output) is not None
        score = float(matched == (criterion.kind == "must_match"))
    elif judge is not None:
        score = min(max(judge.judge(source, output, criterion.description), 0.0), 1.0)
    return CriterionVerdict(criterion.name, score, criterion.weight)
