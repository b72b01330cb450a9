"""The same words written otherwise: remarks and articles, hyphen, space and camel case, initialisms, approved clips."""

import re
from dataclasses import dataclass

from babelray.glossary.breaks import has_spaceless
from babelray.glossary.inflect.rules import LanguageRules

_REMARK = re.compile(r"^(?P<main>[^()（）]*[^()（）\s])\s*[(（](?P<remark>[^()（）*/+=%<>|\d]+)[)）]$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")
_MIXED = re.compile(
    r"(?<=[A-Za-z0-9])[ ]?(?=[\u3040-\u30ff\u4e00-\u9fff])|(?<=[\u3040-\u30ff\u4e00-\u9fff])[ ]?(?=[A-Za-z0-9])"
)
_WRAPPED = re.compile(r"^[`\"']+([^`\"']+)[`\"']+$")
MIN_INITIALISM = 3
MAX_INITIALISM = 6


@dataclass(frozen=True, slots=True)
class Base:
    """A citation form of a term: the text that inflection starts from.

    Attributes:
        rule: Empty for the term as it is written.
        verb: Whether a verb mark (`to deploy`) stood before it.
    """

    text: str
    rule: str
    verb: bool = False


def bases(source: str, rules: LanguageRules | None) -> list[Base]:
    """Citation forms of a written term, the term itself first.

    `Continuous Delivery (CD)` is also `Continuous Delivery` and `CD`; a remark that is no abbreviation of the words
    before it, nor spelled out by them, only explains and is dropped: `Vim (editor)`. `the docs` is also `docs`.
    """
    text = " ".join(source.split())
    found = [Base(text, "")]
    unwrapped = _WRAPPED.match(text)
    if unwrapped:
        found.append(Base(unwrapped[1].strip(), "quotes"))
    remark = _REMARK.match(text)
    if remark:
        main, inside = remark["main"].strip(), remark["remark"].strip()
        found.append(Base(main, "remark"))
        if is_initialism(inside, main) or is_initialism(main, inside):
            found.append(Base(inside, "remark"))
    if rules is not None:
        found += [base for b in list(found) if (base := _without_article(b.text, rules))]
    return found


def _without_article(text: str, rules: LanguageRules) -> Base | None:
    first, _, rest = text.partition(" ")
    if not rest:
        return None
    if first.lower() in rules.verb_marks:
        return Base(rest, "article", verb=True)
    return Base(rest, "article") if first.lower() in rules.articles else None


def is_initialism(short: str, words: str) -> bool:
    """Whether `short` is made of the first letters of `words`, in order; lower-case letters may stand for any word.

    `IaaS` for Infrastructure as a Service, `mTLS` for Mutual Transport Layer Security, `RBAC` for Role-Based Access
    Control.
    """
    if " " in short or not 2 <= len(short) <= 8 or not any(char.isupper() for char in short):
        return False
    parts = [part for part in re.split(r"[\s\-/]+", words) if part]
    if len(parts) < 2:
        return False
    initials = "".join(part[0].lower() for part in parts)
    wanted = short.lower()
    position = -1
    for char in wanted:
        position = initials.find(char, position + 1)
        if position < 0:
            return False
    content = [part for part in parts if part[0].isupper()] or parts
    return len(wanted) >= min(len(content), len(parts)) and initials[0] == wanted[0]


def spelled_otherwise(text: str, rules: LanguageRules | None) -> list[tuple[str, str]]:
    """Variants of a citation form with their rule, without the form itself."""
    found: list[tuple[str, str]] = []
    words = text.split()
    particles = rules.particles if rules else ()
    if "-" in text.strip("-"):
        found.append((text.replace("-", ""), "hyphen_closed"))
        if words[-1].rsplit("-", 1)[-1].lower() not in particles:
            found.append((text.replace("-", " "), "hyphen_open"))
    if 2 <= len(words) <= 4 and all(word.isalpha() and word.isascii() for word in words):
        if words[-1].lower() not in particles and words[0].lower() not in particles:
            found.append(("-".join(words), "hyphenated"))
        if len(words) <= 3 and all(len(word) >= 3 for word in words):
            found.append(("".join(word[0].upper() + word[1:] for word in words), "camel"))
    camel = _CAMEL.sub(" ", text) if " " not in text and not text.isupper() else text
    if camel != text and all(len(part) > 1 for part in camel.split(" ")):
        found += [(camel, "camel_open"), (camel.replace(" ", "-"), "camel_hyphenated")]
    if has_spaceless(text):
        found += [(_MIXED.sub("", text), "space"), (_MIXED.sub(" ", text), "space")]
        found += [(text.replace("・", ""), "middle_dot"), (text.replace("・", " "), "middle_dot")]
    if rules is not None:
        found += _same_words(text, words, rules)
    return [(form, rule) for form, rule in dict(reversed(found)).items() if form != text and form]


def _same_words(text: str, words: list[str], rules: LanguageRules) -> list[tuple[str, str]]:
    """Words of the language's table of equal spellings, in a phrase too; in one piece for scripts without spaces."""
    found = [(other, "spelling") for other in rules.same_words.get(text.lower(), rules.same_words.get(text, ()))]
    if has_spaceless(text):
        return found + [
            (text.replace(word, other), "spelling")
            for word, others in rules.same_words.items()
            if word in text and not any(o != word and word in o and o in text for o in others)
            for other in others
        ]
    if len(words) > 1:
        for i, word in enumerate(words):
            others = rules.same_words.get(word.lower(), rules.same_words.get(word, ()))
            found += [(" ".join([*words[:i], other, *words[i + 1 :]]), "spelling") for other in others]
    return found


def clips(text: str, rules: LanguageRules | None) -> list[str]:
    """Approved short words for the whole term: `config` for `configuration`."""
    short = rules.clips.get(text.lower()) if rules else None
    return [short] if short else []


def initialism(text: str) -> str | None:
    """The first letters of a term of three to six words, or None.

    Two letters are never generated: too many things share them. Nor is one if a word is written in capitals, holds
    digits, or is so short that its letter would stand for nothing (`for loop`, `of`).
    """
    words = [part for part in re.split(r"[\s\-]+", text) if part]
    if not MIN_INITIALISM <= len(words) <= MAX_INITIALISM:
        return None
    if not all(word.isalpha() and word.isascii() and (len(word) > 2) and not word.isupper() for word in words):
        return None
    return "".join(word[0].upper() for word in words)
