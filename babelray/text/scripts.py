"""Which writing systems a text uses, by the Unicode data of the `regex` package.

A distribution maps ISO 15924 codes to shares of the letters and numbers of a text, summing to 1; numbers and the few
letters that belong to no single script count as `Zyyy` (common). Punctuation, marks and symbols count for nothing.
Kana and Han stay apart here: that Han next to kana is Japanese is a matter of language (`babelray.text.language`).
"""

import unicodedata
from collections import Counter

import regex

COMMON = "Zyyy"
HAN = "Hani"
KANA = frozenset({"Hira", "Kana"})
# Scripts that are written without spaces between words, or (Hangul) glued to Latin words by particles: a Latin token
# may begin or end right beside their letters.
UNSPACED = frozenset({"Hani", "Hira", "Kana", "Bopo", "Hang", "Thai", "Laoo", "Khmr", "Mymr", "Yiii", "Tibt"})

# Every script of Unicode that has letters, the frequent ones first since the alternation is tried in order.
_CODES = (
    "Latn Hani Hira Kana Hang Cyrl Arab Deva Grek Hebr Thai Beng Taml Telu Gujr Guru Knda Mlym Sinh Orya Geor Armn Ethi "
    "Khmr Mymr Laoo Tibt Mong Bopo Thaa Syrc Nkoo Tfng Cher Adlm Aghb Ahom Armi Avst Bali Bamu Bass Batk Bhks Brah Brai "
    "Bugi Buhd Cakm Cans Cari Cham Chrs Copt Cpmn Cprt Diak Dogr Dsrt Dupl Egyp Elba Elym Glag Gong Gonm Goth Gran Hano "
    "Hatr Hluw Hmng Hmnp Hung Ital Java Kali Kawi Khar Khoj Kits Kthi Lana Lepc Limb Lina Linb Lisu Lyci Lydi Mahj Maka "
    "Mand Mani Marc Medf Mend Merc Mero Modi Mroo Mtei Mult Nagm Nand Narb Nbat Newa Nshu Ogam Olck Orkh Orya Osge Osma "
    "Ougr Palm Pauc Perm Phag Phli Phlp Phnx Plrd Prti Rjng Rohg Runr Samr Sarb Saur Sgnw Shaw Shrd Sidd Sind Sogd Sogo "
    "Sora Soyo Sund Sylo Tagb Takr Tale Talu Tang Tavt Tglg Tirh Tnsa Toto Ugar Vaii Vith Wara Wcho Xpeo Xsux Yezi Yiii "
    "Zanb"
).split()


class _ScriptTable(dict[str, str]):
    """Character -> script code, `Zyyy`, or the empty string for what is neither letter nor number; filled on demand."""

    def __init__(self) -> None:
        super().__init__()
        codes = dict.fromkeys(_CODES)
        self._pattern = regex.compile("|".join(rf"(?P<{code}>\p{{Script={code}}})" for code in codes))
        # The long-vowel marks are `Common` in Unicode because both kana use them; they are never anything else.
        self.update(dict.fromkeys("ーｰ", "Kana"))

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
