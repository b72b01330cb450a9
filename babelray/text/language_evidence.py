"""What the characters and small words of a text say about its language, as log-likelihoods; tables in the `.tsv` files.

The identifier's weights see character n-grams; they know neither which letters an alphabet lacks nor that `wie` is
German. Both hold for a text of three words, where the weights guess.
"""

import math
import re
from dataclasses import dataclass
from functools import lru_cache

import regex

from babelray.text.han import han_use
from babelray.text.tables import read_rows

# One letter that an alphabet does not have: loanwords and names bring some, so it is strong but no proof.
_FOREIGN_LETTER = math.log(0.12)
_MAX_FOREIGN = 3
# One small word that a language does not have while another has it.
_FOREIGN_WORD = math.log(0.4)
_MAX_WORDS = 8
# One Han character outside the national set of a writing.
_FOREIGN_HAN = math.log(0.05)
_MAX_HAN = 6
# Japanese prose cannot do long without kana, Chinese has kana only in quotations.
_HAN_WITHOUT_KANA = math.log(0.7)
_FREE_HAN = 4
_KANA_IN_CHINESE = math.log(0.02)
_MAX_KANA = 4
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa\u30fc\uff66-\uff9d]")

_ASCII_RUN = re.compile(r"[!-~]+")
_TECHNICAL = re.compile(r"[\d_/\\@#=<>{}$%|~^]|[a-z][A-Z]|[A-Za-z]\.[A-Za-z]|::|^-|[A-Za-z]\(|[a-z]-[a-z]+-[a-z]")
_ACRONYM = re.compile(r"(?<![^\W_])[A-Z]{2,}s?(?![^\W_])")
_WORD = regex.compile(r"[\p{L}\p{M}]+")


@dataclass(frozen=True, slots=True)
class Language:
    """One row of `languages.tsv`.

    Attributes:
        scripts: ISO 15924 codes that the language is written in.
        weight: Relative frequency where nothing is known of a text.
        letters: Small letters beyond a-z (for Cyrillic all of them), or `None` where not listed.
    """

    scripts: frozenset[str]
    weight: float
    letters: frozenset[str] | None


@lru_cache(maxsize=1)
def languages() -> dict[str, Language]:
    """All languages that the identifier may name, with `zh` still undivided."""
    table = {}
    for tag, scripts, weight, letters in read_rows("languages.tsv", 4):
        known = None if letters == "?" else frozenset(letters.replace("-", ""))
        table[tag] = Language(frozenset(scripts.split()), float(weight), known)
    return table


@lru_cache(maxsize=1)
def _function_words() -> dict[str, frozenset[str]]:
    """Word -> languages in which it is a small word."""
    found: dict[str, set[str]] = {}
    for tag, words in read_rows("function_words.tsv", 2):
        for word in words.split():
            found.setdefault(word.casefold(), set()).add(tag)
    return {word: frozenset(tags) for word, tags in found.items()}


@lru_cache(maxsize=1)
def _languages_with_words() -> frozenset[str]:
    return frozenset(tag for tag, _ in read_rows("function_words.tsv", 2))


def natural_text(text: str) -> str:
    """The text without tokens that belong to no language: identifiers, paths, versions, URLs, flags, numbers.

    They stand in pages of every language and pull the identifier towards English or nonsense. Length is not kept.
    """
    return _ASCII_RUN.sub(lambda run: " " if _TECHNICAL.search(run.group()) else run.group(), text)


def without_acronyms(text: str) -> str:
    """The text without words in capitals, where it has small letters too."""
    shorter = _ACRONYM.sub(" ", text)
    return shorter if any(char.islower() for char in shorter) else text


def words_of(text: str) -> list[str]:
    """Case-folded words, letters only."""
    return [match.casefold() for match in _WORD.findall(text)]


def letter_evidence(letters: frozenset[str], tag: str) -> float:
    """Log-likelihood of a language by the letters of a text (small, without a-z)."""
    row = languages().get(tag)
    if not letters or row is None or row.letters is None:
        return 0.0
    return _FOREIGN_LETTER * min(len(letters - row.letters), _MAX_FOREIGN)


def known_words(words: list[str]) -> list[frozenset[str]]:
    """For each small word of the text, up to a limit, the languages that have it."""
    table = _function_words()
    return [table[word] for word in dict.fromkeys(words) if word in table][:_MAX_WORDS]


def word_evidence(known: list[frozenset[str]], tag: str) -> float:
    """Log-likelihood of a language by the small words of a text; without a word list it loses half as much for each."""
    missing = sum(tag not in owners for owners in known)
    return _FOREIGN_WORD * missing * (1.0 if tag in _languages_with_words() else 0.5)


def han_evidence(text: str) -> dict[str, float]:
    """Log-likelihood of a text of Han and kana under zh-Hans, zh-Hant and ja, by its characters alone."""
    use = han_use(text)
    kana = len(_KANA.findall(text))
    evidence = {
        "zh-Hans": _FOREIGN_HAN * min(use.not_simplified, _MAX_HAN),
        "zh-Hant": _FOREIGN_HAN * min(use.not_traditional, _MAX_HAN),
        "ja": _FOREIGN_HAN * min(use.not_japanese, _MAX_HAN),
    }
    if kana:
        # A single の or a quoted word weighs little in a long Chinese text, and everything beside two Han characters.
        strength = min(_MAX_KANA, 10.0 * kana / (kana + use.total))
        for tag in ("zh-Hans", "zh-Hant"):
            evidence[tag] += _KANA_IN_CHINESE * strength
    else:
        evidence["ja"] += _HAN_WITHOUT_KANA * max(0, min(use.total, 24) - _FREE_HAN)
    return evidence
