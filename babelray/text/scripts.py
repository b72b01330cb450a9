"""Which writing systems a text uses, by the Unicode data of the `regex` package.

A distribution maps ISO 15924 codes to shares of the letters and numbers of a text, summing to 1; numbers and the few
letters that belong to no single script count as `Zyyy` (common). Punctuation, marks and symbols count for nothing.
Kana and Han stay apart here: that Han next to kana is Japanese is a matter of language (`babelray.text.language`).
"""

import unicodedata
from collections import Counter

import regex

from babelray.text.tables import read_words

COMMON = "Zyyy"
HAN = "Hani"
KANA = frozenset({"Hira", "Kana"})
# Scripts that are written without spaces between words, or (Hangul) glued to Latin words by particles: a Latin token
# may begin or end right beside their letters.
UNSPACED = frozenset({"Hani", "Hira", "Kana", "Bopo", "Hang", "Thai", "Laoo", "Khmr", "Mymr", "Yiii", "Tibt"})


class _ScriptTable(dict[str, str]):
    """Character -> script code, `Zyyy`, or the empty string for what is neither letter nor number; filled on demand."""

    def __init__(self) -> None:
        super().__init__()
        codes = read_words("scripts.txt")
        self._pattern = regex.compile("|".join(rf"(?P<{code}>\p{{Script={code}}})" for code in codes))
        # The marks of length and voice are `Common` in Unicode because both kana use them; they are nothing else.
        self.update(dict.fromkeys("ーｰﾞﾟ", "Kana"))

    def __missing__(self, char: str) -> str:
        category = unicodedata.category(char)[0]
        script = ""
        if category == "L":
            found = self._pattern.match(char)
            script = str(found.lastgroup) if found else COMMON
        elif category == "N":
            found = self._pattern.match(char)
            # 〇 and the Roman numerals are written with a script; decimal digits of any script are numbers first.
            script = str(found.lastgroup) if found and not char.isdecimal() else COMMON
        self[char] = script
        return script


_TABLE = _ScriptTable()


def script_of(char: str) -> str:
    """ISO 15924 code of one letter, `Zyyy` for a number, an empty string for anything else."""
    return _TABLE[char]


def count_scripts(text: str) -> dict[str, int]:
    """Number of letters and numbers of each script, most frequent first, ties by code."""
    counts: dict[str, int] = {}
    for char, number in Counter(text).items():
        script = _TABLE[char]
        if script:
            counts[script] = counts.get(script, 0) + number
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def script_distribution(text: str) -> dict[str, float]:
    """Share of each script among the letters and numbers of a text.

    Returns:
        ISO 15924 code -> share in 0..1, largest first, summing to 1; empty where there is neither letter nor number.
    """
    counts = count_scripts(text)
    total = sum(counts.values())
    return {script: number / total for script, number in counts.items()}
