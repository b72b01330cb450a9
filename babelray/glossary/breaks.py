"""Word and sentence borders by ICU, as spans of code points, and which scripts need ICU to find words at all."""

import re
from bisect import bisect_left

from icu4py.breakers import BaseBreaker, SentenceBreaker, WordBreaker

Span = tuple[int, int]

_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af]"
)
"""Thai, Lao, Burmese, Khmer, kana and Han: scripts written without spaces between words."""


def base_language(locale: str) -> str:
    """`pt` of `pt-BR`; lower case."""
    return locale.replace("_", "-").split("-", 1)[0].lower()


def is_spaceless(char: str) -> bool:
    """Whether a character belongs to a script that is written without spaces between words."""
    return char >= "\u0e00" and _SPACELESS.match(char) is not None


def has_spaceless(text: str) -> bool:
    """Whether some character of a text belongs to such a script."""
    return _SPACELESS.search(text) is not None


def is_word_char(char: str) -> bool:
    """Letters, digits and the underscore; combining marks count as part of the word they modify."""
    return char.isalnum() or char == "_" or "\u0300" <= char <= "\u036f"


def word_spans(text: str, locale: str) -> list[Span]:
    """Spans of the segments that hold a letter or a digit, in order; spaces and punctuation are left out."""
    return [(a, b) for a, b in _segments(WordBreaker(text, locale), text) if any(map(is_word_char, text[a:b]))]


def word_borders(text: str, locale: str) -> frozenset[int]:
    """Every offset at which ICU sees a border between two segments, both ends of the text included."""
    return frozenset([0, *(b for _, b in _segments(WordBreaker(text, locale), text))])


def sentence_spans(text: str, locale: str) -> list[Span]:
    """Spans of the sentences, without the white space around them; a text of spaces has none."""
    spans = []
    for start, end in _segments(SentenceBreaker(text, locale), text):
        inside = text[start:end]
        left = len(inside) - len(inside.lstrip())
        right = len(inside.rstrip())
        if right > left:
            spans.append((start + left, start + right))
    return spans


def _segments(breaker: BaseBreaker, text: str) -> list[Span]:
    """Segments in code points; ICU counts UTF-16 units, which differ after the first character beyond the BMP."""
    spans: list[Span] = list(breaker.segments())
    if text.isascii() or max(text, default="") <= "\uffff":
        return spans
    wide = [i for i, char in enumerate(text) if char > "\uffff"]
    # The k-th wide character (from 0) at code point c starts at UTF-16 unit c + k.
    wide_units = [c + k for k, c in enumerate(wide)]
    return [(a - bisect_left(wide_units, a), b - bisect_left(wide_units, b)) for a, b in spans]
