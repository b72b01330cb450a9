"""The listed forms of a glossary's terms: what is embedded for hints and what windows are sieved by."""

from collections.abc import Sequence

from babelray.glossary.normalize import fold_text
from babelray.glossary.terms import Term


def term_forms(term: Term, locale: str) -> tuple[str, ...]:
    """What of a term is embedded: its listed forms, folded as windows are. Inflected ones are found by form."""
    forms = (term.source, *term.aliases, *term.surface_forms)
    return tuple(dict.fromkeys(folded for form in forms if (folded := fold_text(form, locale))))


def listed_forms(terms: Sequence[Term], locale: str) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """The different forms of terms of one source locale, sorted, and the places of their terms."""
    owners: dict[str, list[int]] = {}
    for number, term in enumerate(terms):
        for form in term_forms(term, locale):
            owners.setdefault(form, []).append(number)
    forms = tuple(sorted(owners))
    return forms, tuple(tuple(owners[form]) for form in forms)
