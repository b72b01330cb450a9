"""Characters that no reader sees: zero-width signs, controls of writing direction, tags, fillers."""

from collections.abc import Iterator
from typing import NamedTuple

import regex

_CANDIDATE = regex.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef]+"
)
_RIGHT_TO_LEFT = regex.compile(r"[\p{Script=Hebr}\p{Script=Arab}\p{Script=Syrc}\p{Script=Thaa}\p{Script=Nkoo}]")
# Scripts whose writing needs joiners, or whose words a zero-width space may divide.
_NEEDS_JOINER = regex.compile(
    r"[\p{Script=Arab}\p{Script=Deva}\p{Script=Beng}\p{Script=Gujr}\p{Script=Guru}\p{Script=Knda}\p{Script=Mlym}"
    r"\p{Script=Orya}\p{Script=Sinh}\p{Script=Taml}\p{Script=Telu}\p{Script=Mong}\p{Script=Syrc}\p{Script=Thai}"
    r"\p{Script=Khmr}\p{Script=Laoo}\p{Script=Mymr}\p{Script=Tibt}]"
)
_JOINERS = frozenset("\u200b\u200c\u200d\u2060")
_MARKS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u2066\u2067\u2068\u2069")
_HARMLESS = frozenset("\u00ad\ufeff\u034f")
"""Hyphenation hints, byte order marks: left over by editors all the time. Taken out, but no reason for suspicion."""
_EMOJI = regex.compile(r"[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f#*0-9\u20e3]")
_FLAG = "\U0001f3f4"


class Hidden(NamedTuple):
    """A run of characters that are not seen; `suspicious` where good writing has no use for them there."""

    start: int
    end: int
    suspicious: bool


def find_hidden(text: str) -> Iterator[Hidden]:
    """All runs of unseen characters except those that the writing around them needs, in order."""
    right_to_left: bool | None = None
    for match in _CANDIDATE.finditer(text):
        run = match.group()
        before = text[match.start() - 1 : match.start()]
        after = text[match.end() : match.end() + 1]
        if _is_written(run, before, after):
            continue
        if set(run) <= _HARMLESS:
            yield Hidden(match.start(), match.end(), suspicious=False)
            continue
        if set(run) <= _MARKS:
            if right_to_left is None:
                right_to_left = bool(_RIGHT_TO_LEFT.search(text))
            if right_to_left:
                continue
        # A zero-width sign or two beside a space or at an end divide no word: translation tools leave them over.
        is_left_over = len(run) < 3 and set(run) <= _JOINERS and not (_is_wordlike(before) and _is_wordlike(after))
        yield Hidden(match.start(), match.end(), suspicious=not is_left_over)


def _is_wordlike(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")


def _is_written(run: str, before: str, after: str) -> bool:
    """Whether a run is part of an emoji, a flag, a variant of a character, or of a script that needs it."""
    if before == _FLAG and all("\U000e0020" <= char <= "\U000e007f" for char in run):
        return True
    if len(run) == 1 and (run == "\ufe0f" or run == "\ufe0e" or "\U000e0100" <= run <= "\U000e01ef"):
        return bool(before) and not before.isspace()
    if len(run) == 1 and "\ufe00" <= run <= "\ufe0d":
        return bool(before) and not before.isascii()
    if all(char in "\u200d\ufe0f" for char in run) and len(run) < 3:
        return bool(_EMOJI.match(before))
    if len(run) == 1 and run in _JOINERS:
        return bool(_NEEDS_JOINER.match(before) or _NEEDS_JOINER.match(after))
    return False
