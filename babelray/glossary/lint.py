"""What is wrong with a glossary: conflicts that nobody may guess away, and aliases or targets that look mistaken."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from langcodes import tag_is_valid

from babelray.glossary.breaks import base_language, has_spaceless, word_spans
from babelray.glossary.inflect.forms import expand
from babelray.glossary.inflect.spelling import is_initialism
from babelray.glossary.locales import ANY
from babelray.glossary.ngrams import stop_words
from babelray.glossary.normalize import fold_text
from babelray.glossary.protect import verify_protected
from babelray.glossary.terms import Term, TermKind


class Severity(StrEnum):
    """`error`: the glossary contradicts itself. `warning`: a person should look."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding.

    Attributes:
        code: Short name for counting and for tests.
        where: Term ids, or the line of a file.
    """

    severity: Severity
    code: str
    where: tuple[str, ...]
    message: str


def lint(terms: Sequence[Term]) -> list[Problem]:
    """All findings on a glossary, errors first, in a stable order."""
    found = [*find_conflicts(terms), *(problem for term in terms for problem in lint_term(term))]
    return sorted(found, key=lambda p: (p.severity, p.code, p.where))


def find_conflicts(terms: Sequence[Term]) -> list[Problem]:
    """Terms that cannot both hold: for one tenant, domain, source and overlapping targets and times.

    Two targets for one source, one source both verbatim and translated, the same term twice, an alias that is another
    term's source, and one id for two sources: verdicts and approvals name terms by their ids.
    """
    named: dict[tuple[str, str, str], list[Term]] = defaultdict(list)
    groups: dict[tuple[str, str, str], list[Term]] = defaultdict(list)
    sources: dict[tuple[str, str], list[Term]] = defaultdict(list)
    for term in terms:
        language = base_language(term.source_locale)
        folded = fold_text(term.source, term.source_locale)
        groups[term.tenant_id, language, folded].append(term)
        named[term.tenant_id, term.term_id, language].append(term)
        sources[language, folded].append(term)
    found = [
        problem
        for group in groups.values()
        for first, second in combinations(group, 2)
        if _meet(first, second) and (problem := _clash(first, second))
    ]
    found += [
        Problem(Severity.ERROR, "one_id_two_sources", (a.term_id,), f"`{a.source}` and `{b.source}` have one id")
        for same in named.values()
        for a, b in combinations(same, 2)
        if a.source != b.source and _meet(a, b)
    ]
    for term in terms:
        for alias in term.aliases:
            key = (base_language(term.source_locale), fold_text(alias, term.source_locale))
            others = [t for t in sources.get(key, ()) if t.term_id != term.term_id and _meet(t, term)]
            if others:
                message = f"alias `{alias}` of `{term.source}` is the source of another term"
                found.append(Problem(Severity.ERROR, "alias_is_term", (term.term_id, others[0].term_id), message))
    return found


def _meet(a: Term, b: Term) -> bool:
    """Whether two terms can apply to one request."""
    if a.tenant_id != b.tenant_id or a.domain != b.domain:
        return False
    if a.target_locale != b.target_locale and ANY not in (a.target_locale, b.target_locale):
        return False
    a_before_b = a.valid_to is not None and b.valid_from is not None and a.valid_to <= b.valid_from
    b_before_a = b.valid_to is not None and a.valid_from is not None and b.valid_to <= a.valid_from
    return not a_before_b and not b_before_a


def _clash(a: Term, b: Term) -> Problem | None:
    where = (a.term_id, b.term_id)
    pair = f"`{a.source}` {a.source_locale}->{b.target_locale if a.target_locale == ANY else a.target_locale}"
    if a.kind is not b.kind:
        return Problem(Severity.ERROR, "two_kinds", where, f"{pair} is both non-translatable and translated")
    if a.rendering != b.rendering:
        renderings = f"`{a.rendering}` and `{b.rendering}`"
        if a.kind is TermKind.NON_TRANSLATABLE:
            return Problem(Severity.ERROR, "two_spellings", where, f"{pair} is kept in two spellings: {renderings}")
        return Problem(Severity.ERROR, "two_targets", where, f"{pair} has two targets: {renderings}")
    return Problem(Severity.WARNING, "duplicate", where, f"{pair} is listed twice with the same rendering")


def lint_term(term: Term) -> Iterator[Problem]:
    """Findings on one term alone."""
    for code, message in (*_alias_findings(term), *_target_findings(term), *_source_findings(term)):
        severity = Severity.ERROR if code in ("bad_locale", "forbidden_is_target") else Severity.WARNING
        yield Problem(severity, code, (term.term_id,), f"`{term.source}`: {message}")


def _alias_findings(term: Term) -> Iterator[tuple[str, str]]:
    made = {fold_text(form.text, term.source_locale) for form in expand(term.model_copy(update={"aliases": ()}))}
    source_words = _words(term.source, term.source_locale)
    seen: set[str] = set()
    for alias in term.aliases:
        folded = fold_text(alias, term.source_locale)
        if folded in seen:
            yield "alias_twice", f"alias `{alias}` is listed twice"
        elif folded in made:
            yield "alias_needless", f"alias `{alias}` is found without being listed"
        elif len(folded) < 2 or (len(folded) == 2 and not alias.isupper() and not has_spaceless(alias)):
            yield "alias_short", f"alias `{alias}` is so short that it will meet other words"
        elif folded in stop_words(base_language(term.source_locale)):
            yield "alias_function_word", f"alias `{alias}` is a function word"
        elif term.kind is TermKind.CUSTOM_TRANSLATION and folded == fold_text(term.target, term.target_locale):
            yield "alias_is_target", f"alias `{alias}` is the target, not another name in the source language"
        elif not _related(alias, term, source_words):
            message = f"alias `{alias}` shares no word with it and is no initialism of it: a synonym, or another thing?"
            yield "alias_unrelated", message
        seen.add(folded)


def _related(alias: str, term: Term, source_words: set[str]) -> bool:
    if is_initialism(alias, term.source) or is_initialism(term.source, alias):
        return True
    words = _words(alias, term.source_locale)
    if words & source_words:
        return True
    starts = {w[:4] for w in source_words if len(w) > 3}
    return any(word[:4] in starts for word in words if len(word) > 3) or any(
        short and all(c in iter(long) for c in short)
        for short, long in ((alias.lower(), iter(term.source.lower())),)
        if len(alias) <= 5
    )


def _words(text: str, locale: str) -> set[str]:
    folded = fold_text(text, locale)
    stops = stop_words(base_language(locale))
    return {folded[a:b] for a, b in word_spans(folded, locale)} - stops


def _target_findings(term: Term) -> Iterator[tuple[str, str]]:
    forbidden = {fold_text(f, term.target_locale) for f in term.forbidden_translations}
    if fold_text(term.rendering, term.target_locale) in forbidden:
        yield "forbidden_is_target", f"`{term.rendering}` is both required and forbidden"
    if term.kind is TermKind.NON_TRANSLATABLE:
        return
    if term.target == term.source:
        yield "target_is_source", "its target equals it: is it non-translatable?"
    if re.search(r"[;；/／]|, |、", term.target) and not re.search(r"[;；/／,、]", term.source):
        yield "target_alternatives", f"target `{term.target}` looks like several: choose one, the others go nowhere"
    if re.search(r"[(（]", term.target) and not re.search(r"[(（]", term.source):
        yield "target_remark", f"target `{term.target}` holds a remark, which would have to stand in every translation"
    if verify_protected(term.source, term.target):
        yield "target_placeholders", "source and target have different placeholders or tags"


def _source_findings(term: Term) -> Iterator[tuple[str, str]]:
    for tag in (term.source_locale, term.target_locale):
        if tag != ANY and not tag_is_valid(tag):
            yield "bad_locale", f"`{tag}` is not a valid BCP 47 tag"
    words = word_spans(term.source, term.source_locale)
    folded = fold_text(term.source, term.source_locale)
    if not words:
        yield "no_words", "it holds no letter or digit and can never be found"
    elif folded in stop_words(base_language(term.source_locale)):
        yield "function_word", "it is a function word and will bind in almost every string"
    elif len(words) == 1 and len(folded) <= 2 and not has_spaceless(folded):
        yield "short", "it is so short that it will meet other words; consider `case: sensitive` or `only_with`"


def errors_of(problems: Iterable[Problem]) -> list[Problem]:
    """Only what keeps a glossary from being stored."""
    return [problem for problem in problems if problem.severity is Severity.ERROR]
