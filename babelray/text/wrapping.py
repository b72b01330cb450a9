"""How the two sides of a wrapped line join: by a space, or by nothing where the script writes none."""

import unicodedata


def joint(text: str, start: int, end: int) -> str:
    """What stands for the line end `text[start:end]` when its paragraph is read as one line."""
    if start == 0 or end >= len(text):
        return ""
    return "" if _unspaced(text[start - 1]) and _unspaced(text[end]) else " "


def _unspaced(char: str) -> bool:
    """Whether a character is Chinese or Japanese writing: wide, but no Hangul, which has spaces between words."""
    return char >= "\u2e80" and unicodedata.east_asian_width(char) in "WF" and not "\uac00" <= char <= "\ud7a3"
