"""Matches of a glossary in a string: what binds a translator, where it stands, and why it was taken."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import groupby

from babelray.glossary.automaton import Automaton, FoldedForm, Hit, same_case
from babelray.glossary.boundaries import Boundaries
from babelray.glossary.breaks import base_language
from babelray.glossary.inflect.forms import MatchKind
from babelray.glossary.inflect.rules import language_rules
from babelray.glossary.listed import listed_forms
from babelray.glossary.locales import serves
from babelray.glossary.ngrams import NGram, longest_term, ngrams, uncovered
from babelray.glossary.normalize import Normalized, fold_text, normalize
from babelray.glossary.protect import Protected, find_protected
from babelray.glossary.sieve import WindowSieve
from babelray.glossary.spans import Taken
from babelray.glossary.terms import Term, TermKind

MAX_SCOPES = 256
"""Scopes whose terms are remembered: a few per pair and tenant; the oldest makes room."""


@dataclass(frozen=True, slots=True)
class MatchScope:
    """Which terms a request may use.

    Attributes:
        target_locale: BCP 47 of the translation that is wanted.
        tenant_id: Only this tenant's terms are seen.
        domains: Terms of these domains and of no domain; `None` takes all.
        as_of: The time at which terms must be valid; `None` ignores validity.
    """

    target_locale: str
    tenant_id: str = "default"
    domains: frozenset[str] | None = None
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class EnforcedMatch:
    """A term found by form. It binds the translator.

    Attributes:
        start, end: Span in the string as it stands in the payload.
        surface: The string's own words there.
        form: The form of the term that they are.
        rule: What produced that form; empty for a listed one.
        score: 1 for every enforced match: it is certain by form. Hints have a cosine here.
    """

    term: Term
    kind: MatchKind
    start: int
    end: int
    surface: str
    form: str
    rule: str
    score: float = 1.0

    @property
    def rendering(self) -> str:
        """What the term becomes here; a translation takes on the capital that a sentence or label gave the term."""
        wanted = self.term.rendering
        if self.term.kind is not TermKind.CUSTOM_TRANSLATION or self.form[:1].isupper():
            return wanted
        return wanted[:1].upper() + wanted[1:] if self.surface[:1].isupper() else wanted


@dataclass(frozen=True, slots=True)
class Hint:
    """A term found by meaning, over its pair's threshold. It never binds; approving it makes an alias."""

    term: Term
    start: int
    end: int
    surface: str
    score: float
    threshold: float


@dataclass(frozen=True, slots=True)
class StringMatches:
    """All that was found in one string.

    Attributes:
        enforced: Every match, overlapping ones included, by start, longest first.
        selected: Those that go into the prompt: longest wins, then trust, then specificity; they do not overlap.
        contested: Groups of equally good matches of one span that ask for different renderings. None of them is
            selected: the glossary must decide, nothing is guessed.
        open_ngrams: Windows that no enforced match covers and that may mean a term, ready to be embedded for hints.
    """

    text: str
    protected: tuple[Protected, ...]
    normalized: Normalized
    enforced: tuple[EnforcedMatch, ...]
    selected: tuple[EnforcedMatch, ...]
    contested: tuple[tuple[EnforcedMatch, ...], ...] = ()
    open_ngrams: tuple[NGram, ...] = field(default=(), repr=False)


class TermMatcher:
    """Finds the terms of one source language in strings.

    Args:
        terms: Of any locales; those of another source language are left out.
        source_locale: BCP 47 of the strings.
        forms: Of the terms that are left, made before; made here by default.
    """

    def __init__(self, terms: Sequence[Term], source_locale: str, forms: Iterable[FoldedForm] | None = None) -> None:
        self.source_locale = source_locale
        self.terms = terms_of(terms, source_locale)
        self.automaton = Automaton(self.terms, source_locale, forms)
        self.longest = longest_term((term.source for term in self.terms), source_locale)
        self._rules = language_rules(base_language(source_locale))
        self._allowed: dict[MatchScope, frozenset[int]] = {}
        self._dated = frozenset(n for n, t in enumerate(self.terms) if t.valid_from or t.valid_to)
        self._context = {
            n: _context_words(t, source_locale) for n, t in enumerate(self.terms) if t.only_with or t.not_with
        }

    @cached_property
    def listed(self) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
        """The different listed forms of the terms, folded and sorted, and the places of their terms."""
        return listed_forms(self.terms, self.source_locale)

    @cached_property
    def _sieve(self) -> WindowSieve:
        return WindowSieve(self.listed[0], self.source_locale)

    def count(self, scope: MatchScope) -> int:
        """Number of terms a scope allows: what the mode is chosen by."""
        return len(self._allow(scope)) - len(self._expired(scope))

    def allowed(self, scope: MatchScope) -> list[Term]:
        """The terms a scope allows, in the glossary's order."""
        return [self.terms[number] for number in sorted(self.allowed_numbers(scope))]

    def by_id(self, scope: MatchScope) -> dict[str, Term]:
        """The terms a scope allows by their id; of two of one id the one for the more specific target locale."""
        found: dict[str, tuple[int, Term]] = {}
        for term in self.allowed(scope):
            exact = serves(term.target_locale, scope.target_locale) or 0
            if term.term_id not in found or exact > found[term.term_id][0]:
                found[term.term_id] = (exact, term)
        return {term_id: term for term_id, (_, term) in found.items()}

    def allowed_numbers(self, scope: MatchScope) -> frozenset[int]:
        """Positions in `terms` of the terms a scope allows."""
        return self._allow(scope) - self._expired(scope)

    def match(self, text: str, scope: MatchScope, *, pointer: str = "", with_ngrams: bool = False) -> StringMatches:
        """Find the terms of a string.

        Args:
            text: A string value of a payload, JSON escapes decoded.
            scope: Tenant, domains, validity and target.
            pointer: The string's JSON Pointer; its words count for terms that are narrowed by context.
            with_ngrams: Also give the windows left open for hints.
        """
        protected = find_protected(text)
        view = normalize(text, self.source_locale, protected)
        allowed = self._allow(scope)
        found = self._enforced(view, pointer, allowed, scope.as_of) if allowed else []
        selected, contested = select(found, scope.target_locale)
        grams: tuple[NGram, ...] = ()
        if with_ngrams:
            windows = ngrams(view, self.source_locale, self.longest)
            left = uncovered(windows, [(m.start, m.end) for m in found])
            grams = tuple(gram for gram in left if self._sieve.keeps(gram))
        return StringMatches(text, protected, view, tuple(found), selected, contested, grams)

    def _allow(self, scope: MatchScope) -> frozenset[int]:
        """Numbers of the terms of a scope, validity aside: it changes with every request's clock, the rest does not."""
        key = replace(scope, as_of=None)
        known = self._allowed.get(key)
        if known is None:
            known = frozenset(n for n, term in enumerate(self.terms) if _in_scope(term, scope))
            if len(self._allowed) >= MAX_SCOPES:
                self._allowed.pop(next(iter(self._allowed)))
            self._allowed[key] = known
        return known

    def _expired(self, scope: MatchScope) -> frozenset[int]:
        """Numbers of the scope's terms that do not hold at its time."""
        dated = self._dated & self._allow(scope)
        return frozenset(number for number in dated if not self.terms[number].is_valid(scope.as_of))

    def _enforced(
        self, view: Normalized, pointer: str, allowed: frozenset[int], as_of: datetime | None
    ) -> list[EnforcedMatch]:
        borders = Boundaries(view.text, self.source_locale, self._rules, self.automaton.compound_words)
        checked: dict[tuple[int, int], MatchKind | None] = {}
        found: dict[tuple[int, int, int], EnforcedMatch] = {}
        for hit in self.automaton.find(view.text):
            if hit.term not in allowed or (hit.term in self._dated and not self.terms[hit.term].is_valid(as_of)):
                continue
            span = (hit.start, hit.end)
            if span not in checked:
                whole = borders.whole_words(*span)
                checked[span] = MatchKind.EXACT if whole else MatchKind.COMPOUND if borders.in_compound(*span) else None
            place = checked[span]
            match = self._accept(hit, place, view) if place else None
            if match is None or not self._fits_context(hit.term, view, pointer):
                continue
            known = found.get((hit.term, match.start, match.end))
            if known is None or match.kind.rank < known.kind.rank:
                found[hit.term, match.start, match.end] = match
        return sorted(found.values(), key=lambda m: (m.start, -m.end, m.kind.rank, m.term.term_id))

    def _accept(self, hit: Hit, place: MatchKind, view: Normalized) -> EnforcedMatch | None:
        start, end = view.to_original(hit.start, hit.end)
        surface = view.original[start:end]
        if hit.form.cased and not same_case(surface, hit.form.text):
            return None
        kind, rule = hit.form.kind, hit.form.rule
        if place is MatchKind.COMPOUND:
            if kind not in (MatchKind.EXACT, MatchKind.ALIAS, MatchKind.SPELLING):
                return None
            kind, rule = MatchKind.COMPOUND, "compound"
        return EnforcedMatch(self.terms[hit.term], kind, start, end, surface, hit.form.text, rule)

    def _fits_context(self, number: int, view: Normalized, pointer: str) -> bool:
        context = self._context.get(number)
        if context is None:
            return True
        wanted, unwanted = context
        around = f"{view.text} {fold_text(pointer.replace('/', ' ').replace('_', ' '), self.source_locale)}"
        return (not wanted or any(w in around for w in wanted)) and not any(w in around for w in unwanted)


def terms_of(terms: Iterable[Term], source_locale: str) -> tuple[Term, ...]:
    """The terms that may stand in strings of a locale, in their order."""
    return tuple(term for term in terms if serves(term.source_locale, source_locale) is not None)


def _in_scope(term: Term, scope: MatchScope) -> bool:
    if term.tenant_id != scope.tenant_id or (scope.domains is not None and term.domain not in ("", *scope.domains)):
        return False
    return serves(term.target_locale, scope.target_locale) is not None


def _context_words(term: Term, locale: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(fold_text(w, locale) for w in term.only_with), tuple(fold_text(w, locale) for w in term.not_with)


def select(
    matches: Sequence[EnforcedMatch], target_locale: str
) -> tuple[tuple[EnforcedMatch, ...], tuple[tuple[EnforcedMatch, ...], ...]]:
    """Choose what goes into the prompt.

    The longest match of a place wins; of one span the most trusted kind, then the term with a domain over one without,
    then the more specific target locale. What is still equal but asks for different renderings is contested.

    Args:
        matches: All matches of one string.
        target_locale: Of the request; a term's own may be more or less specific.

    Returns:
        The selected matches by start, without overlap, and the groups of contested ones.
    """

    def order(match: EnforcedMatch) -> tuple[int, int, int, int, int]:
        domain = 0 if match.term.domain else 1
        specific = serves(match.term.target_locale, target_locale) or 0
        return (match.start - match.end, match.kind.rank, domain, -specific, match.start)

    chosen: list[EnforcedMatch] = []
    contested: list[tuple[EnforcedMatch, ...]] = []
    taken = Taken()
    ranked = sorted(matches, key=lambda m: (order(m), m.term.term_id))
    # Equal in everything that decides are neighbours in this order.
    for _, group in groupby(ranked, key=lambda m: (order(m), m.end)):
        equal = tuple(group)
        match = equal[0]
        if taken.meets(match.start, match.end):
            continue
        taken.add(match.start, match.end)
        if len({(m.term.kind, m.term.rendering) for m in equal}) > 1:
            contested.append(equal)
        else:
            chosen.append(match)
    return tuple(sorted(chosen, key=lambda m: m.start)), tuple(contested)
