"""One word -> one term: width and case folding, accents, Snowball stems. Knows no context."""

import re
import threading
import unicodedata
from functools import lru_cache
from typing import Any, Literal

import Stemmer

from babelray.text.scripts import script_of

Field = Literal["stemmed", "general"]

# Languages with a Snowball algorithm; others keep their words whole.
_ALGORITHMS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "st": "sesotho", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
    # Croatian and Bosnian share the inflection that the Serbian algorithm strips (it knows ijekavian forms too).
    "hr": "serbian", "bs": "serbian", "sh": "serbian",
}  # fmt: skip
# Latin words inside a text of these languages are nearly always English in technical writing; an English stem lets
# `Pods` in a Chinese page meet `Pod` in an English query.
_NOT_LATIN = frozenset(
    {
        "ar", "be", "bg", "el", "fa", "he", "hi", "hy", "ja", "ka", "kk", "km", "ko", "ky", "lo", "mk", "mn", "my",
        "ne", "ru", "sr-Cyrl", "ta", "tg", "th", "uk", "und", "ur", "yi", "zh", "zxx",
    }
)  # fmt: skip
DOTTED_I = frozenset({"tr", "az"})
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")
# Accents are spelling in these scripts' words but are often left out by those who type a query; in others (Cyrillic
# й, Indic vowels) a mark makes another letter.
_ACCENTED = frozenset({"Latn", "Grek", "Arab", "Hebr"})
_UNMARKED = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"})
_HAS_NUMBER = re.compile(r"\d")
_STEMMERS = threading.local()


def language_of(tag: str) -> str:
    """Primary language of a BCP 47 tag, in small letters (`zh-Hans` -> `zh`)."""
    return tag.partition("-")[0].partition("_")[0].lower()


@lru_cache(maxsize=4096)
def stem_algorithm(tag: str, *, latin: bool) -> str | None:
    """Name of the Snowball algorithm for words of a language, or nothing.

    Args:
        tag: BCP 47 tag of the block or query.
        latin: Whether the word is written in plain Latin letters.
    """
    language = language_of(tag)
    if latin and (language in _NOT_LATIN or tag in _NOT_LATIN):
        return "english"
    return _ALGORITHMS.get(language)


def stem(word: str, algorithm: str | None) -> str:
    """Snowball stem of a folded word; words with digits and words of one or two letters stay whole."""
    # The Serbian algorithm also writes Cyrillic as Latin, which the short words need too.
    if algorithm is None or (len(word) < 3 and algorithm != "serbian") or _HAS_NUMBER.search(word):
        return word
    # A Snowball object must not be used by two threads at once.
    stemmers: dict[str, Any] = _STEMMERS.__dict__
    stemmer = stemmers.get(algorithm)
    if stemmer is None:
        stemmer = stemmers[algorithm] = Stemmer.Stemmer(algorithm, 0)
    return str(stemmer.stemWord(word)) or word


def fold(word: str, tag: str, field: Field) -> str:
    """Width (NFKC) and case folding of one word.

    In the `stemmed` field Turkish and Azerbaijani keep dotted and dotless i apart; in the `general` field, which is the
    same for all languages, every i is one, and accents of Latin, Greek, Arabic and Hebrew are dropped.
    """
    if word.isascii() and not (field == "stemmed" and language_of(tag) in DOTTED_I):
        return word.lower()
    word = unicodedata.normalize("NFKC", _INVISIBLE.sub("", word))
    if field == "stemmed" and language_of(tag) in DOTTED_I:
        word = word.replace("I", "ı").replace("İ", "i")
    word = unicodedata.normalize("NFKC", word.casefold()).replace("i\u0307", "i").replace("’", "'")
    return _without_accents(word) if field == "general" else word


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    kept = []
    accented = False
    for char in unicodedata.normalize("NFD", word):
        if unicodedata.category(char) == "Mn":
            if not accented:
                kept.append(char)
            continue
        accented = script_of(char) in _ACCENTED
        kept.append(char)
    return unicodedata.normalize("NFKC", "".join(kept).translate(_UNMARKED))
