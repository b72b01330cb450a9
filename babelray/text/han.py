"""Han characters: one simplified form for matching, and what a character says about who wrote it.

Simplification goes character by character with OpenCC's table. OpenCC's own phrase rules read better, but depend on the
context, and a query does not have the context of the page that it must match.

Who uses a character is read off the national character sets: GB 2312 holds the simplified forms, Big5 the traditional
ones, JIS X 0208 the Japanese ones. A character in just one of them is evidence; most are shared and say nothing.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from opencc import OpenCC

HAS_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003347f]")
_BLOCKS = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x20000, 0x2FA20))


@lru_cache(maxsize=1)
def simplification_table() -> dict[int, int]:
    """Code point -> code point of its simplified form, for `str.translate`; holds only what changes."""
    characters = [chr(point) for first, stop in _BLOCKS for point in range(first, stop)]
    converted = OpenCC("t2s").convert("\n".join(characters)).split("\n")
    pairs = zip(characters, converted, strict=True)
    return {ord(old): ord(new) for old, new in pairs if old != new and len(new) == 1}


def simplify(text: str) -> str:
    """The text with every Han character in its simplified form; same length, other characters untouched."""
    return text.translate(simplification_table()) if HAS_HAN.search(text) else text


@dataclass(frozen=True, slots=True)
class HanUse:
    """Numbers of Han characters that a writing does not use.

    Attributes:
        total: All Han characters looked at.
        not_simplified, not_traditional, not_japanese: How many of them are outside the set of that writing; those in
            none of the three sets are left out.
    """

    total: int
    not_simplified: int
    not_traditional: int
    not_japanese: int


def _encodable(char: str, charset: str) -> bool:
    try:
        char.encode(charset)
    except UnicodeEncodeError:
        return False
    return True


@lru_cache(maxsize=32768)
def _membership(char: str) -> tuple[bool, bool, bool]:
    """Whether a character is in the simplified, the traditional and the Japanese set.

    Hong Kong's supplement also lists many simplified forms; of those only what GB 2312 lacks counts as traditional.
    """
    simplified = _encodable(char, "gb2312")
    traditional = _encodable(char, "big5") or (not simplified and _encodable(char, "big5hkscs"))
    return simplified, traditional, _encodable(char, "shift_jis")


def han_use(text: str) -> HanUse:
    """Count what the Han characters of a text say about its writing."""
    members = [_membership(char) for char in HAS_HAN.findall(text)]
    known = [member for member in members if any(member)]
    return HanUse(
        total=len(members),
        not_simplified=sum(not cn for cn, _, _ in known),
        not_traditional=sum(not tw for _, tw, _ in known),
        not_japanese=sum(not jp for _, _, jp in known),
    )
