"""The rule file of a language, and the forms of a single word."""

import re
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

PartOfSpeech = Literal["noun", "verb", "adjective"]
_ACRONYM = re.compile(r"[A-Z][A-Z0-9]*[A-Z0-9]|[A-Z]")
MIN_LETTERS = 3
"""Shorter words are not inflected: `ad` would give `added`."""


MAX_REMEMBERED = 200_000


def _fill(ending: str, match: re.Match[str]) -> str:
    """`match.expand`, without parsing the template each time."""
    if "\\" not in ending:
        return ending
    for number, group in enumerate(match.groups(default=""), start=1):
        ending = ending.replace(f"\\{number}", group)
    return ending


class WordRule(BaseModel):
    r"""An ending and what takes its place in each slot (plural, past...).

    The first rule of a part of speech whose ending matches is the only one that applies. Alternatives of a slot are
    separated by `|`; `\1` stands for a group of the ending.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pos: PartOfSpeech
    ending: re.Pattern[str]
    slots: dict[str, str]


class LanguageRules(BaseModel):
    """All that is known of a language; an absent field means that the language does without it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: str
    phrase: Literal["last", "agree", "case", "product", "whole"] = Field(
        description="which words of a phrase change: the last or the one before a connector; all of them alike up to a "
        "connector; all alike in case and number up to the first noun; adjectives freely and the last noun; none"
    )
    articles: tuple[str, ...] = Field(default=(), description="dropped from the front of a term")
    verb_marks: tuple[str, ...] = Field(default=(), description="the same, and what follows is a verb: `to`")
    connectors: tuple[str, ...] = ()
    cased: bool = Field(default=False, description="endings look at the word's own case (German nouns)")
    acronym_slots: dict[str, str] = Field(default={}, description="endings that an all-capitals word takes")
    rules: tuple[WordRule, ...] = ()
    slots: tuple[str, ...] = Field(default=(), description="names of the slots of a case language, in order")
    irregular: dict[str, dict[str, str]] = Field(default={}, description="word -> slot -> forms; instead of the rules")
    uninflected: tuple[str, ...] = ()
    not_verbs: tuple[str, ...] = Field(default=(), description="words that only look like an infinitive")
    never: dict[str, tuple[str, ...]] = Field(default={}, description="word -> its formal forms that are other words")
    leading_verbs: tuple[str, ...] = Field(default=(), description="verbs that a phrase may begin with: `associate IP`")
    particles: tuple[str, ...] = Field(default=(), description="`plug-in` is not written `plug in`")
    spellings: tuple[tuple[str, ...], ...] = Field(default=(), description="groups of equal words: e-mail, email")
    clips: dict[str, str] = Field(default={}, description="approved short words: configuration -> config")
    common_words: tuple[str, ...] = Field(
        default=(), description="words that an initialism or a name may look like: WHO, AIDS, Go; case then decides"
    )
    compound_links: tuple[str, ...] = ()
    compound_words: tuple[str, ...] = Field(default=(), description="words that may stand beside a term in a compound")
    suffixes: tuple[str, ...] = Field(default=(), description="written to a noun without a space: Korean particles")

    @cached_property
    def by_pos(self) -> dict[str, tuple[WordRule, ...]]:
        """The rules of each part of speech, in order."""
        return {p: tuple(r for r in self.rules if r.pos == p) for p in ("noun", "verb", "adjective")}

    @cached_property
    def same_words(self) -> dict[str, tuple[str, ...]]:
        """Each word of `spellings` with the others of its group."""
        return {word: tuple(w for w in group if w != word) for group in self.spellings for word in group}

    @cached_property
    def ambiguous_words(self) -> frozenset[str]:
        """`common_words` as a set."""
        return frozenset(self.common_words)

    @cached_property
    def _slots_of(self) -> dict[tuple[str, PartOfSpeech], dict[str, list[str]]]:
        """Words already worked out: phrases of one glossary share most of their words."""
        return {}

    @cached_property
    def frozen_words(self) -> frozenset[str]:
        """Words that never inflect."""
        return frozenset(self.uninflected)

    def word_slots(self, word: str, pos: PartOfSpeech) -> dict[str, list[str]]:
        """Forms of one word as one part of speech, by slot; empty if it has none."""
        known = self._slots_of.get((word, pos))
        if known is None:
            if len(self._slots_of) >= MAX_REMEMBERED:
                self._slots_of.clear()
            known = self._slots_of[word, pos] = self._work_out(word, pos)
        return known

    def _work_out(self, word: str, pos: PartOfSpeech) -> dict[str, list[str]]:
        lower = word.lower()
        if _ACRONYM.fullmatch(word):
            slots = self.acronym_slots if pos == "noun" else {}
            return {slot: [word + ending for ending in endings.split("|")] for slot, endings in slots.items()}
        if lower in self.frozen_words or (pos == "verb" and lower in self.not_verbs):
            return {}
        if len(lower) < MIN_LETTERS and lower.isascii():
            return {}
        if self.cased and pos == "noun" and word[0].islower():
            return {}
        banned = self.never.get(lower, ())
        found: dict[str, list[str]] = {}
        exceptions = self.irregular.get(lower, {})
        for slot, forms in exceptions.items():
            if self._slot_owner.get(slot, pos) == pos:
                found[slot] = forms.split("|")
        for rule in self.by_pos[pos]:
            match = rule.ending.search(word if self.cased else lower)
            if match:
                stem = word[: match.start()] if len(word) == len(lower) else lower[: match.start()]
                for slot, endings in rule.slots.items():
                    if slot not in exceptions:
                        found[slot] = [stem + _fill(ending, match) for ending in endings.split("|")]
                break
        return {slot: kept for slot, forms in found.items() if (kept := [f for f in forms if f.lower() not in banned])}

    @cached_property
    def _slot_owner(self) -> dict[str, str]:
        """The part of speech of each slot that only one has; exceptions name slots only."""
        owners: dict[str, set[str]] = {}
        for rule in self.rules:
            for slot in rule.slots:
                owners.setdefault(slot, set()).add(rule.pos)
        return {slot: next(iter(pos)) for slot, pos in owners.items() if len(pos) == 1}


@cache
def language_rules(language: str) -> LanguageRules | None:
    """The rules of a base language; `None` if there is no file for it, and then a term has only its listed forms."""
    path = Path(__file__).parent / f"{language}.json"
    return LanguageRules.model_validate_json(path.read_text(encoding="utf-8")) if path.is_file() else None


def inflected_languages() -> tuple[str, ...]:
    """Base languages that have rules."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.json")))
