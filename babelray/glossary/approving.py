"""Approving a hint: the words that were found by meaning become an alias, which binds from the next version on."""

from collections.abc import Sequence

from babelray.errors import InputError
from babelray.glossary.lint import errors_of, lint
from babelray.glossary.locales import serves
from babelray.glossary.normalize import fold_text
from babelray.glossary.store import GlossaryStore, VersionInfo
from babelray.glossary.terms import Term


def approve(
    store: GlossaryStore,
    glossary: str,
    term_id: str,
    alias: str,
    *,
    target: str | None = None,
    tenant_id: str = "default",
    reason: str = "",
) -> VersionInfo:
    """Make words an alias of a term, as a new version of its glossary.

    Args:
        store: Of the glossary.
        glossary: Its name.
        term_id: The term that was hinted at.
        alias: The words, as they stand in the text.
        target: Only of the term for this locale; of all its locales by default.
        tenant_id: Whose term.
        reason: For the history.

    Raises:
        InputError: There is no such term, the words are one of its forms already, or they are another term's.
        PublishConflict: Somebody else changed the glossary meanwhile.
    """
    info = store.version(glossary)
    terms = store.terms(glossary, info.version)
    chosen = [
        term
        for term in terms
        if term.term_id == term_id
        and term.tenant_id == tenant_id
        and (target is None or serves(term.target_locale, target) is not None)
    ]
    if not chosen:
        fix = f"`babelray glossary list {glossary}` shows them"
        raise InputError("the glossary has no such term", where=glossary, got=term_id, fix=fix)
    words = " ".join(alias.split())
    fresh = [term for term in chosen if not _is_form(term, words)]
    if not words or not fresh:
        raise InputError("the words are a form of the term already", where=term_id, got=alias)
    _refuse_taken(terms, fresh, words)
    changed = [one.model_copy(update={"aliases": (*one.aliases, words)}) if one in fresh else one for one in terms]
    before = {str(problem) for problem in errors_of(lint(terms))}
    problems = [problem for problem in errors_of(lint(changed)) if str(problem) not in before]
    if problems:
        raise InputError("the alias contradicts the glossary", where=glossary, got=problems[0].message)
    note = f"approved {words!r} as alias of {term_id}" + (f": {reason}" if reason else "")
    return store.commit(glossary, changed, note=note, expected=info.version)


def _is_form(term: Term, words: str) -> bool:
    folded = fold_text(words, term.source_locale)
    forms = (term.source, *term.aliases, *term.surface_forms)
    return any(fold_text(form, term.source_locale) == folded for form in forms)


def _refuse_taken(terms: Sequence[Term], chosen: Sequence[Term], words: str) -> None:
    """Raises InputError where the words already stand for another term of the same pair."""
    for one in chosen:
        for other in terms:
            same = other.tenant_id == one.tenant_id and other.source_locale == one.source_locale
            rival = same and other.term_id != one.term_id and _meet(one.target_locale, other.target_locale)
            if rival and _is_form(other, words):
                raise InputError(
                    "the words stand for another term already",
                    where=f"{one.source_locale}>{one.target_locale}",
                    got=words,
                    allowed="words of no other term of the pair",
                    fix=f"settle it with the term {other.term_id} ({other.source}) first",
                )


def _meet(first: str, second: str) -> bool:
    """Whether a request may see terms for both locales."""
    return serves(first, second) is not None or serves(second, first) is not None
