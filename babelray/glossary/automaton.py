"""The compiled glossary: every form of every term in one Aho-Corasick automaton, looked up in one pass."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ahocorasick_rs import AhoCorasick, Implementation
from ahocorasick_rs import MatchKind as Search

from babelray.glossary.breaks import base_language
from babelray.glossary.inflect.forms import Form, MatchKind, expand
from babelray.glossary.inflect.rules import language_rules
from babelray.glossary.normalize import fold_text
from babelray.glossary.terms import Term

MAX_DFA_PATTERNS = 20_000
"""Above this a DFA takes too much memory; the contiguous NFA is some 3 times slower and far smaller."""


@dataclass(frozen=True, slots=True)
class Hit:
    """An occurrence of a form in a folded text, not yet checked for anything."""

    term: int
    form: Form
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FoldedForm:
    """One form of one term as the automaton holds it; what a glossary generation keeps, so that it is made once.

    Attributes:
        term: Position in the sequence of terms.
        folded: The form as it looks in a projection.
    """

    term: int
    form: Form
    folded: str


def folded_forms(terms: Iterable[Term], locale: str, first: int = 0) -> Iterator[FoldedForm]:
    """All forms of terms.

    Args:
        terms: All of one source language.
        locale: Their source locale.
        first: Position of the first one.
    """
    for number, term in enumerate(terms, start=first):
        for form in expand(term, locale):
            folded = fold_text(form.text, locale)
            if folded:
                yield FoldedForm(number, form, folded)


class Automaton:
    """Forms of the terms of one source language.

    Args:
        terms: All of one source language; positions in this sequence identify them in hits.
        locale: Their source locale.
        forms: Theirs, made before; made here by default.
    """

    def __init__(self, terms: Sequence[Term], locale: str, forms: Iterable[FoldedForm] | None = None) -> None:
        self.locale = locale
        entries: dict[str, list[tuple[int, Form]]] = {}
        for one in folded_forms(terms, locale) if forms is None else forms:
            entries.setdefault(one.folded, []).append((one.term, one.form))
        patterns = sorted(entries)
        self._entries = [_best_of_each_term(entries[pattern]) for pattern in patterns]
        kind = Implementation.DFA if len(patterns) <= MAX_DFA_PATTERNS else Implementation.ContiguousNFA
        self._search = AhoCorasick(patterns, matchkind=Search.Standard, implementation=kind)
        self.patterns = len(patterns)
        self.compound_words = _compound_words(patterns, self._entries, locale)

    def find(self, folded: str) -> Iterator[Hit]:
        """Every occurrence of every form, overlapping ones included."""
        for pattern, start, end in self._search.find_matches_as_indexes(folded, overlapping=True):
            for term, form in self._entries[pattern]:
                yield Hit(term, form, start, end)


def _best_of_each_term(entries: list[tuple[int, Form]]) -> list[tuple[int, Form]]:
    """Forms of one folded pattern: for each term its most trusted one that ignores case, and each one that does not."""
    if len(entries) == 1:
        return entries
    best: dict[tuple[int, str], tuple[int, Form]] = {}
    for number, form in sorted(
        entries, key=lambda e: (e[0], e[1].cased, e[1].kind.rank, e[1].rule.count("+"), e[1].rule)
    ):
        best.setdefault((number, form.text if form.cased else ""), (number, form))
    return list(best.values())


def _compound_words(patterns: list[str], entries: list[list[tuple[int, Form]]], locale: str) -> frozenset[str]:
    rules = language_rules(base_language(locale))
    if rules is None or not rules.compound_words:
        return frozenset()
    kinds = (MatchKind.EXACT, MatchKind.ALIAS, MatchKind.INFLECTED)
    own = {
        p
        for p, forms in zip(patterns, entries, strict=True)
        if p.isalpha() and len(p) > 3 and forms[0][1].kind in kinds
    }
    listed = {fold_text(word, locale) for word in rules.compound_words}
    plurals = {
        fold_text(form, locale)
        for word in rules.compound_words
        for forms in rules.word_slots(word.capitalize(), "noun").values()
        for form in forms
    }
    return frozenset(own | listed | plurals)


def same_case(surface: str, form: str) -> bool:
    """Whether a text's words have exactly the letters of a form, white space aside."""
    return unicodedata.normalize("NFC", " ".join(surface.split())) == unicodedata.normalize(
        "NFC", " ".join(form.split())
    )
