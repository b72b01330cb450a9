"""Inflected forms of a term of one or more words: which words of a phrase change, and which change together."""

from itertools import product

from babelray.glossary.inflect.rules import LanguageRules, PartOfSpeech

Form = tuple[str, str]
"""A form and the rule (slot) that produced it."""

MAX_PRODUCT = 60
"""Forms of one phrase at most: German adjectives and nouns combine freely, and no real phrase has more."""

_ALL: tuple[PartOfSpeech, ...] = ("noun", "adjective", "verb")


def inflect(text: str, rules: LanguageRules, part_of_speech: str = "") -> list[Form]:
    """Forms of a term, without the term itself.

    Args:
        text: The term, articles and remarks removed, single spaces.
        rules: Of its language.
        part_of_speech: From the glossary; empty allows all that the rules offer.
    """
    words = text.split()
    if not words:
        return []
    pos = _allowed(part_of_speech)
    if rules.phrase == "whole" or len(words) == 1:
        forms = _single(text, rules, pos)
        if part_of_speech == "proper":
            forms = [form for form in forms if form[1] in ("plural", "genitive")]
    elif rules.phrase == "last":
        forms = _last(words, rules, pos)
    elif rules.phrase == "agree":
        forms = _agree(words, rules, pos)
    elif rules.phrase == "case":
        forms = _case(words, rules)
    else:
        forms = _product(words, rules)
    unique = {form: slot for form, slot in reversed(forms) if form and form != text}
    return sorted(unique.items())


def _allowed(part_of_speech: str) -> tuple[PartOfSpeech, ...]:
    for pos in _ALL:
        if part_of_speech == pos:
            return (pos,)
    return ("noun",) if part_of_speech == "proper" else _ALL


def _single(word: str, rules: LanguageRules, allowed: tuple[PartOfSpeech, ...]) -> list[Form]:
    return [(form, slot) for pos in allowed for slot, forms in rules.word_slots(word, pos).items() for form in forms]


def _head_end(words: list[str], rules: LanguageRules) -> int:
    """Number of words before the first connector: the part that holds the head of the phrase."""
    for i, word in enumerate(words):
        if i and (word.lower() in rules.connectors or word.lower().startswith(("d'", "l'"))):
            return i
    return len(words)


def _last(words: list[str], rules: LanguageRules, allowed: tuple[PartOfSpeech, ...]) -> list[Form]:
    """English: the head noun stands last, or last before a connector; a leading verb changes too."""
    head = _head_end(words, rules) - 1
    found: list[Form] = []
    nouns = _single(words[head], rules, ("noun",)) if "noun" in allowed else []
    found += [(_with(words, {head: form}), slot) for form, slot in nouns]
    if "verb" in allowed and words[0].lower() in rules.leading_verbs:
        for form, slot in _single(words[0], rules, ("verb",)):
            found.append((_with(words, {0: form}), slot))
            if head:
                found += [(_with(words, {0: form, head: noun}), f"{slot}+{other}") for noun, other in nouns]
    return found


def _agree(words: list[str], rules: LanguageRules, allowed: tuple[PartOfSpeech, ...]) -> list[Form]:
    """Romance languages: noun and adjectives take the plural together; a leading infinitive is conjugated alone."""
    head = _head_end(words, rules)
    found: list[Form] = []
    for slot in ("plural", "singular"):
        options = [_singles(word, rules, slot) for word in words[:head]]
        if any(options):
            choices = product(*(option or [word] for option, word in zip(options, words[:head], strict=True)))
            found += [(" ".join([*choice, *words[head:]]), slot) for choice in list(choices)[:MAX_PRODUCT]]
    verbs = _single(words[0], rules, ("verb",)) if "verb" in allowed else []
    found += [(_with(words, {0: form}), slot) for form, slot in verbs]
    return found


def _singles(word: str, rules: LanguageRules, slot: str) -> list[str]:
    return rules.word_slots(word, "noun").get(slot, [])


def _case(words: list[str], rules: LanguageRules) -> list[Form]:
    """Slavic languages: leading adjectives and the first noun share case and number; what follows stays."""
    tables: list[dict[str, list[str]]] = []
    for word in words[: _head_end(words, rules)]:
        adjective = rules.word_slots(word, "adjective")
        tables.append(adjective or rules.word_slots(word, "noun"))
        if not adjective:
            break
    found: list[Form] = []
    for slot in rules.slots:
        choices = product(*(table.get(slot) or [word] for table, word in zip(tables, words, strict=False)))
        found += [(" ".join([*choice, *words[len(tables) :]]), slot) for choice in list(choices)[:MAX_PRODUCT]]
    return found


def _product(words: list[str], rules: LanguageRules) -> list[Form]:
    """German: adjective endings depend on article and case, so they combine freely with the forms of the noun."""
    head = _head_end(words, rules) - 1
    options: list[list[str]] = []
    for i, word in enumerate(words):
        pos: PartOfSpeech | None = "noun" if i == head else "adjective" if i < head and word[0].islower() else None
        forms = [form for form, _ in _single(word, rules, (pos,))] if pos else []
        options.append([word, *forms])
    return [(" ".join(choice), "declined") for choice in list(product(*options))[:MAX_PRODUCT]]


def _with(words: list[str], changed: dict[int, str]) -> str:
    return " ".join(changed.get(i, word) for i, word in enumerate(words))
