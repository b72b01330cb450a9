"""Scores of localized records: the scorer finds the terms of each source by itself and compares with what was given."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from babelray.glossary.inflect.forms import MatchKind
from babelray.glossary.localizing import PRELOADED
from babelray.glossary.match import EnforcedMatch, MatchScope, TermMatcher
from babelray.glossary.profile import EngineProfile
from babelray.glossary.records import LocalizedString
from babelray.glossary.scoring import Judge, Score, TermVerdict, score_string
from babelray.glossary.terms import Term


@dataclass(frozen=True, slots=True)
class ScoredString:
    """A record with its verdicts.

    Attributes:
        present: The terms that stand in the source, by the scorer's own matching.
    """

    record: LocalizedString
    present: tuple[EnforcedMatch, ...]
    score: Score

    @property
    def lost(self) -> tuple[TermVerdict, ...]:
        """Required terms that were not honoured in full."""
        return self.score.lost


class Scorer:
    """Scores records of one source locale.

    Args:
        matcher: Made by the scorer from the glossary, not the localizer's own.
        profile: For the team's criteria and for whether targets may be inflected.
        judge: For criteria that need a model; never the localizer's.
    """

    def __init__(self, matcher: TermMatcher, profile: EngineProfile, judge: Judge | None = None) -> None:
        self._matcher, self._profile, self._judge = matcher, profile, judge
        self._known: dict[MatchScope, dict[str, Term]] = {}

    def score(self, record: LocalizedString, labels: Mapping[str, bool] | None = None) -> ScoredString | None:
        """Verdicts on one record; None where it has no output, which is a failure and not a matter of terms.

        Args:
            record: What localizing wrote.
            labels: Term id -> whether people say that the source holds it; they overrule what is found here.
        """
        if record.output is None:
            return None
        domains = None if self._profile.domains is None else frozenset(self._profile.domains)
        # The terms that held when the string was localized, whatever holds today.
        scope = MatchScope(record.target_locale, record.tenant_id, domains, record.localized_at)
        present = self._matcher.match(record.source, scope, pointer=record.pointer).selected
        if labels:
            present = _labelled(present, labels, self._terms(scope))
        known = self._terms(scope)
        retrieved = [known[one] for one in _given(record, present) if one in known]
        score = score_string(
            record.source, record.output, record.target_locale, present, retrieved, self._profile, self._judge
        )
        return ScoredString(record, present, score)

    def _terms(self, scope: MatchScope) -> dict[str, Term]:
        if scope not in self._known:
            # Records of one run share few moments; a long run must not keep them all.
            self._known = {scope: self._matcher.by_id(scope)}
        return self._known[scope]


def _labelled(
    present: Sequence[EnforcedMatch], labels: Mapping[str, bool], known: Mapping[str, Term]
) -> tuple[EnforcedMatch, ...]:
    """Matches as people see them: without those that they deny, with those that only they see."""
    kept = [match for match in present if labels.get(match.term.term_id) is not False]
    there = {match.term.term_id for match in kept}
    added = [
        EnforcedMatch(known[term_id], MatchKind.ALIAS, 0, 0, "", known[term_id].source, "label")
        for term_id, stands in sorted(labels.items())
        if stands and term_id not in there and term_id in known
    ]
    return (*kept, *added)


def _given(record: LocalizedString, present: Sequence[EnforcedMatch]) -> Iterator[str]:
    """Ids of the terms that count as given: what was found, and of a preloaded glossary what stands in the string.

    A preloaded term that does not stand there is no irrelevant retrieval: the whole glossary went along.
    """
    here = {match.term.term_id for match in present}
    for one in record.retrieved:
        if one.how != PRELOADED or one.term_id in here:
            yield one.term_id
