"""From a payload's strings to their localized records: terms found, constraints set, outputs verified.

The one path for a file, a backlog and a request. What is found, given, refused and lost stands in the records; scoring
reads them later, by itself.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from babelray.glossary.constraints import PROMPT_VERSION, Constraints, constraints_from_terms
from babelray.glossary.hints import HintFinder
from babelray.glossary.match import Hint, MatchScope, StringMatches, TermMatcher
from babelray.glossary.modes import RetrievalMode, choose_mode
from babelray.glossary.payload import Payload
from babelray.glossary.profile import EngineProfile
from babelray.glossary.records import Failure, HintedTerm, LocalizedString, RetrievedTerm
from babelray.glossary.segments import has_words
from babelray.glossary.terms import Term
from babelray.glossary.translating import Bound, BoundTranslator, Rendered, damages
from babelray.keys import digest_of

PRELOADED = "preload"
UNTRANSLATED = "no translator is set: the record says what binds one"
HALF_CHARACTER = "it holds half of a character (a lone surrogate)"
ID_LENGTH = 24

_HALVES = re.compile("[\ud800-\udfff]")


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class MatchedString:
    """A string of a payload with what was found in it."""

    payload: str
    pointer: str
    position: int
    matches: StringMatches
    hints: tuple[Hint, ...] = ()


class Localizer:
    """Localizes strings of one source locale under one profile.

    Args:
        matcher: Of the profile's glossaries.
        profile: What the product injects.
        translator: None: records say what binds a translation, and there is none.
        hints: None: enforced matches alone.
        glossaries: Name -> version of the matcher's terms.
        clock: Gives the time of records and of terms' validity.
    """

    def __init__(
        self,
        matcher: TermMatcher,
        profile: EngineProfile,
        translator: BoundTranslator | None = None,
        hints: HintFinder | None = None,
        *,
        glossaries: Mapping[str, int] | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self.matcher = matcher
        self.profile = profile
        self.translator = translator
        self.hints = hints
        self._glossaries = dict(glossaries or {})
        self._clock = clock

    def scope(self, target: str) -> MatchScope:
        """Which terms a request for a target locale may use, now."""
        domains = None if self.profile.domains is None else frozenset(self.profile.domains)
        return MatchScope(target, self.profile.tenant_id, domains, self._clock())

    def mode(self, target: str) -> RetrievalMode:
        """How requests for a target locale get their terms."""
        return choose_mode(self.matcher.count(self.scope(target)), self.profile.preload_limit)

    def match(self, payload: Payload, target: str, positions: Iterable[int] | None = None) -> list[MatchedString]:
        """Find the terms of a payload's strings.

        Args:
            payload: Parsed payload.
            target: BCP 47 locale.
            positions: In `payload.strings`; all by default.
        """
        scope = self.scope(target)
        wanted = range(len(payload.strings)) if positions is None else positions
        strings = [(number, payload.strings[number]) for number in wanted]
        with_ngrams = self.hints is not None and self.mode(target) is RetrievalMode.SEARCH
        found = [
            self.matcher.match(one.value, scope, pointer=one.pointer, with_ngrams=with_ngrams) for _, one in strings
        ]
        hints: Sequence[tuple[Hint, ...]] = [()] * len(found)
        if self.hints is not None and with_ngrams:
            hints = self.hints.find(found, scope)
        return [
            MatchedString(payload.name, one.pointer, number, matches, hinted)
            for (number, one), matches, hinted in zip(strings, found, hints, strict=True)
        ]

    def localize(self, payload: Payload, target: str, positions: Iterable[int] | None = None) -> list[LocalizedString]:
        """Localize the strings of a payload; one record each, in order."""
        return self.localize_matched(self.match(payload, target, positions), target)

    def localize_matched(self, strings: Sequence[MatchedString], target: str) -> list[LocalizedString]:
        """Localize strings whose terms have been found."""
        mode, at = self.mode(target), self._clock()
        allowed = self.matcher.allowed(self.scope(target)) if mode is RetrievalMode.PRELOAD else []
        preloaded = self._preloaded(allowed, target) if mode is RetrievalMode.PRELOAD else None
        rendered = self._rendered([one.matches for one in strings], target, preloaded)
        return [
            self._record(one, result, target, mode, allowed, at) for one, result in zip(strings, rendered, strict=True)
        ]

    def _preloaded(self, allowed: Sequence[Term], target: str) -> Constraints:
        return constraints_from_terms(allowed, self.matcher.source_locale, target, self.profile)

    def _rendered(self, strings: Sequence[StringMatches], target: str, preloaded: Constraints | None) -> list[Rendered]:
        """Only strings with words are sent, equal ones once."""
        results: dict[int, Rendered] = {}
        asked: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        for number, one in enumerate(strings):
            if _HALVES.search(one.text):
                results[number] = Rendered(None, failure=Failure.UNREADABLE, detail=HALF_CHARACTER)
            elif not has_words(one.text, one.protected):
                results[number] = Rendered(one.text)
            else:
                # The words around a string may narrow its terms, so that equal strings may be bound by others.
                asked.setdefault((one.text, tuple(match.term.term_id for match in one.selected)), []).append(number)
        firsts = [numbers[0] for numbers in asked.values()]
        for numbers, result in zip(
            asked.values(), self._sent([strings[n] for n in firsts], target, preloaded), strict=True
        ):
            results |= dict.fromkeys(numbers, result)
        return [results[number] for number in range(len(strings))]

    def _sent(self, strings: Sequence[StringMatches], target: str, preloaded: Constraints | None) -> list[Rendered]:
        source = self.matcher.source_locale
        if self.translator is None:
            return [Rendered(None, failure=Failure.NO_TRANSLATOR, detail=UNTRANSLATED) for _ in strings]
        if not strings:
            return []
        bound = [Bound(one.text, one.protected, one.selected, preloaded) for one in strings]
        answers = self.translator.translate(bound, source, target, tenant_id=self.profile.tenant_id)
        return [verified(one, answer) for one, answer in zip(bound, answers, strict=True)]

    def _record(
        self,
        string: MatchedString,
        result: Rendered,
        target: str,
        mode: RetrievalMode,
        allowed: Sequence[Term],
        at: datetime,
    ) -> LocalizedString:
        source, found = self.matcher.source_locale, string.matches
        given = [
            RetrievedTerm(term_id=m.term.term_id, start=m.start, end=m.end, surface=m.surface, how=m.kind, rule=m.rule)
            for m in found.selected
        ]
        matched = {match.term.term_id for match in found.selected}
        given += [
            RetrievedTerm(term_id=term.term_id, start=0, end=0, surface="", how=PRELOADED)
            for term in allowed
            if term.term_id not in matched
        ]
        return LocalizedString(
            record_id=record_id(string.payload, string.position, source, target, self.profile.tenant_id, found.text),
            payload=string.payload,
            pointer=whole_characters(string.pointer),
            position=string.position,
            tenant_id=self.profile.tenant_id,
            profile=self.profile.name,
            source_locale=source,
            target_locale=target,
            source=whole_characters(found.text),
            output=result.output,
            mode=mode,
            retrieved=tuple(given),
            hints=_hinted(h for h in string.hints if h.score >= h.threshold),
            near_misses=_hinted(h for h in string.hints if h.score < h.threshold),
            contested=tuple(tuple(sorted({m.term.term_id for m in group})) for group in found.contested),
            glossaries=self._glossaries,
            constraints_version=PROMPT_VERSION,
            thresholds_version=self.hints.thresholds.version if self.hints else "",
            translator=result.used,
            failure=result.failure,
            detail=result.detail,
            localized_at=at,
        )


def _hinted(hints: Iterable[Hint]) -> tuple[HintedTerm, ...]:
    return tuple(
        HintedTerm(
            term_id=one.term.term_id,
            start=one.start,
            end=one.end,
            surface=one.surface,
            score=round(one.score, 4),
            threshold=one.threshold,
        )
        for one in hints
    )


def verified(string: Bound, result: Rendered) -> Rendered:
    """A result that kept placeholders, tags and codes; else the failure that keeps it from everybody."""
    problems = damages(string, result)
    return Rendered(None, result.used, Failure.PROTECTED_DAMAGED, "; ".join(problems)) if problems else result


def whole_characters(text: str) -> str:
    """A text as it can be written down: halves of characters, which JSON escapes may hold, stand as U+FFFD."""
    return _HALVES.sub("\ufffd", text)


def record_id(payload: str, position: int, source: str, target: str, tenant_id: str, text: str) -> str:
    """Names one string of one payload for one pair and tenant."""
    return digest_of([payload, position, source, target, tenant_id, text], length=ID_LENGTH)
