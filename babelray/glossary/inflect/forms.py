"""All forms under which a term may stand in a text, each with its kind and the rule that made it."""

import re
from dataclasses import dataclass
from enum import StrEnum

from babelray.glossary.breaks import base_language
from babelray.glossary.inflect.phrases import inflect
from babelray.glossary.inflect.rules import LanguageRules, language_rules
from babelray.glossary.inflect.spelling import Base, bases, clips, initialism, spelled_otherwise
from babelray.glossary.ngrams import stop_words
from babelray.glossary.terms import Term, TermKind

_ALL_CAPITALS = re.compile(r"[A-ZÀ-ÖØ-Þ][A-ZÀ-ÖØ-Þ0-9]*s?")

_JOINED_WORDS = re.compile(r"^[^ ]*[a-z0-9][A-Z][^ ]*$")


class MatchKind(StrEnum):
    """How a text's words relate to a term's; the order is that of trust."""

    EXACT = "exact"
    ALIAS = "alias"
    SPELLING = "spelling"
    INFLECTED = "inflected"
    INITIALISM = "initialism"
    CLIP = "clip"
    COMPOUND = "compound"

    @property
    def rank(self) -> int:
        """0 for the most trusted kind."""
        return _RANKS[self]


_RANKS = {kind: rank for rank, kind in enumerate(MatchKind)}


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a term.

    Attributes:
        rule: What produced it, outermost last: `hyphen_open+plural`; empty for a form the glossary lists.
        cased: Whether the text must have the form's own case.
    """

    text: str
    kind: MatchKind
    rule: str
    cased: bool = False


def expand(term: Term, locale: str | None = None) -> list[Form]:
    """Forms of a term, most trusted first, each text once.

    Args:
        term: Its listed forms and aliases are always taken; the rest unless `term.expand` is false.
        locale: Language of the rules; the term's source locale by default.
    """
    rules = language_rules(base_language(locale or term.source_locale))
    made = [Form(term.source, MatchKind.EXACT, "", _needs_case(term.source, term, rules))]
    made += [Form(form, MatchKind.EXACT, "", _needs_case(form, term, rules)) for form in term.surface_forms]
    made += [Form(alias, MatchKind.ALIAS, "", _needs_case(alias, term, rules)) for alias in term.aliases]
    if term.expand:
        made += _generated(term.source, term, rules, of_alias=False)
        for listed in (*term.surface_forms, *term.aliases):
            made += _generated(listed, term, rules, of_alias=True)
    best: dict[tuple[str, bool], Form] = {}
    for form in sorted(made, key=lambda f: (f.kind.rank, f.rule.count("+"), f.rule)):
        best.setdefault((form.text, form.cased), form)
    return list(best.values())


def _generated(written: str, term: Term, rules: LanguageRules | None, *, of_alias: bool) -> list[Form]:
    found: list[Form] = []
    for base in bases(written, rules):
        if base.rule:
            found.append(Form(base.text, MatchKind.SPELLING, base.rule, _needs_case(base.text, term, rules)))
        variants = [
            (base.text, base.rule),
            *((t, _joined(base.rule, r)) for t, r in spelled_otherwise(base.text, rules)),
        ]
        for text, rule in variants:
            if text != base.text:
                found.append(Form(text, MatchKind.SPELLING, rule, _needs_case(text, term, rules)))
            found += _inflected(text, rule, base, term, rules)
        if not of_alias:
            found += _shortened(base, term, rules)
    return found


def _inflected(text: str, rule: str, base: Base, term: Term, rules: LanguageRules | None) -> list[Form]:
    if rules is None:
        return []
    pos = term.part_of_speech or ("verb" if base.verb else "")
    if not pos and term.kind is TermKind.NON_TRANSLATABLE and text[:1].isupper():
        # A name is kept as it is; only its plural and genitive are still the name.
        pos = "proper"
    if not pos and (_JOINED_WORDS.search(text) or (" " in base.text and " " not in text)):
        # Words written as one, `ConfigMap` or `data-frame`, stand for a thing.
        pos = "noun"
    cased = _needs_case(text, term, rules)
    return [Form(form, MatchKind.INFLECTED, _joined(rule, slot), cased) for form, slot in inflect(text, rules, pos)]


def _shortened(base: Base, term: Term, rules: LanguageRules | None) -> list[Form]:
    found = [Form(clip, MatchKind.CLIP, "clip") for clip in clips(base.text, rules)]
    if rules is not None:
        found += [
            Form(form, MatchKind.CLIP, _joined("clip", slot))
            for clip in clips(base.text, rules)
            for form, slot in inflect(clip, rules, "noun")
        ]
    letters = initialism(base.text)
    if letters and not base.verb and (rules is None or letters.lower() not in rules.common_words):
        found.append(Form(letters, MatchKind.INITIALISM, "initialism", cased=True))
        found.append(Form(f"{letters}s", MatchKind.INITIALISM, "initialism+plural", cased=True))
    return found


def _needs_case(text: str, term: Term, rules: LanguageRules | None) -> bool:
    """Whether only the form's own case is the term: by the term's wish, or because folded it is another word."""
    if term.case != "auto":
        return term.case == "sensitive"
    if len(text) == 1:
        return text.isascii()
    if rules is None:
        return False
    lower = text.lower()
    if rules.cased and text[:1].isupper() and lower in stop_words(rules.language):
        return True  # `Sie` is not `sie`
    if lower not in rules.ambiguous_words and lower.removesuffix("s") not in rules.ambiguous_words:
        return False
    return _ALL_CAPITALS.fullmatch(text) is not None or (term.kind is TermKind.NON_TRANSLATABLE and text[:1].isupper())


def _joined(first: str, second: str) -> str:
    return f"{first}+{second}" if first and second else first or second
