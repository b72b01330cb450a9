"""Divides the words of a text by script and leaves out what belongs to no language."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import regex

from babelray.text import language_evidence as evidence
from babelray.text.scripts import COMMON, count_scripts

_HAN_GROUP = frozenset({"Hani", "Hira", "Kana", "Bopo"})
# One Han character is about a word's half, a Latin letter a fifth: shares are compared in this weight.
_LETTER_WEIGHT = {"Hani": 2.5, "Hira": 1.5, "Kana": 1.5, "Hang": 2.0}
_PROSE_LETTERS = 40
# The evidence of a text is long complete by then, and time is linear in the length.
_MAX_READ = 4000


@dataclass(frozen=True, slots=True)
class Part:
    """The words of one text that are in one script.

    Attributes:
        script: `Hani` stands for Han and kana together.
        weight: Letters in the unit of a Latin letter.
        mixed: Whether the text has words in other scripts too.
        technical: Whether the text has no words but those of identifiers.
    """

    text: str
    script: str
    letters: int
    weight: float
    mixed: bool
    technical: bool


def is_names(part: Part) -> bool:
    """Whether a Latin part of a mixed text is only names and loanwords."""
    if not part.mixed or part.script != "Latn" or part.letters >= _PROSE_LETTERS:
        return False
    return len(evidence.known_words([word for word in evidence.words_of(part.text) if len(word) > 1])) < 2


@lru_cache(maxsize=256)
def _outside(script: str) -> regex.Pattern[str]:
    """Letters of other scripts."""
    inside = "Hani}\\p{Script=Hira}\\p{Script=Kana}\\p{Script=Bopo" if script == "Hani" else script
    return regex.compile(rf"[\p{{L}}\p{{M}}--[\p{{Script={inside}}}\p{{Script=Zinh}}ーｰ]]+", regex.V1)


def divide(text: str, scripts: Mapping[str, int]) -> list[Part]:
    """The words of a text by script, largest weight first; technical tokens left out unless there is nothing else."""
    if not any(script != COMMON for script in scripts):
        return []
    natural = evidence.natural_text(text[:_MAX_READ])
    counts = count_scripts(natural)
    technical = not any(script != COMMON for script in counts)
    if technical:
        natural, counts = text[:_MAX_READ], count_scripts(text[:_MAX_READ])
    groups: dict[str, tuple[int, float]] = {}
    for script, number in counts.items():
        if script == COMMON:
            continue
        group = "Hani" if script in _HAN_GROUP else script
        letters, weight = groups.get(group, (0, 0.0))
        groups[group] = letters + number, weight + number * _LETTER_WEIGHT.get(script, 1.0)
    if "Hang" in groups and "Hani" in groups and groups["Hang"][0] >= groups["Hani"][0] * 0.3 and "Hira" not in counts:
        letters, weight = groups.pop("Hani")
        groups["Hang"] = groups["Hang"][0] + letters, groups["Hang"][1] + weight
    mixed = len(groups) > 1
    parts = [
        Part(_outside(script).sub(" ", natural) if mixed else natural, script, letters, weight, mixed, technical)
        for script, (letters, weight) in groups.items()
    ]
    return sorted(parts, key=lambda part: (-part.weight, part.script))
