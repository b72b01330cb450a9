"""Glossary terms of a text for any language pair, also from their target back to their source."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from threading import Lock

from babelray.glossary.locales import ANY, serves
from babelray.glossary.match import EnforcedMatch, MatchScope, TermMatcher
from babelray.glossary.normalize import fold_text
from babelray.glossary.terms import Term, TermKind
from babelray.keys import digest_of


def _now() -> datetime:
    return datetime.now(UTC)


class TermLookup:
    """Finds which terms bind a translator. Safe between threads.

    Args:
        terms: Of any tenants and locales.
        reverse: Also use terms backwards; a name that several terms translate to is contested and binds nothing.
        now: Terms that do not hold at this time are left out.
    """

    def __init__(self, terms: Sequence[Term], *, reverse: bool = True, now: Callable[[], datetime] = _now) -> None:
        self._terms = (*terms, *(reversed_terms(terms) if reverse else ()))
        self._now = now
        self._matchers: dict[str, TermMatcher] = {}
        self._lock = Lock()
        self.version = digest_of(sorted((one.model_dump(mode="json") for one in self._terms), key=digest_of))
        self.pairs = frozenset((one.source_locale, one.target_locale) for one in self._terms)

    def __len__(self) -> int:
        """Terms in both directions."""
        return len(self._terms)

    def knows(self, source: str, target: str) -> bool:
        """Whether any term is for the pair."""
        return any(serves(left, source) is not None and serves(right, target) is not None for left, right in self.pairs)

    def find(self, text: str, source: str, target: str, tenant_id: str, domain: str = "") -> tuple[EnforcedMatch, ...]:
        """The terms of a text that bind its translation, by start, disjoint; contested ones left out.

        Args:
            text: In the source language.
            source: BCP 47 language of the text.
            target: BCP 47 language of the translation.
            tenant_id: Only its terms are seen.
            domain: Its terms and those of no domain; empty: all.
        """
        if not self.knows(source, target):
            return ()
        domains = frozenset({domain}) if domain else None
        scope = MatchScope(target, tenant_id=tenant_id, domains=domains, as_of=self._now())
        return self._matcher(source).match(text, scope).selected

    def _matcher(self, source: str) -> TermMatcher:
        with self._lock:
            if source not in self._matchers:
                self._matchers[source] = TermMatcher(self._terms, source)
            return self._matchers[source]


def reversed_terms(terms: Sequence[Term]) -> list[Term]:
    """Terms from their target back to their source, but those that a term of that direction exists for.

    Context words, hints and listed forms are of the source language and are not taken along.
    """
    forward = {(one.tenant_id, one.source_locale, fold_text(one.source, one.source_locale)) for one in terms}
    return [
        Term(
            term_id=one.term_id,
            tenant_id=one.tenant_id,
            domain=one.domain,
            source_locale=one.target_locale,
            target_locale=one.source_locale,
            source=one.target,
            target=one.source,
            kind=TermKind.CUSTOM_TRANSLATION,
            valid_from=one.valid_from,
            valid_to=one.valid_to,
            version=one.version,
        )
        for one in terms
        if one.kind is TermKind.CUSTOM_TRANSLATION
        and one.target_locale != ANY
        and (one.tenant_id, one.target_locale, fold_text(one.target, one.target_locale)) not in forward
    ]
