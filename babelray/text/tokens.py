"""Counting tokens without a model: deterministic, the same for every embedder, and rarely under a real count.

Prepared shards hold no model, so chunk caps need a count that depends on none. Each class of characters counts one
token a run of so many characters, or a share of a token each. The numbers were fitted on multilingual documentation
against the 250,000-piece Unigram vocabulary that multilingual-e5 and XLM-R share, then rounded up: a chunk that counts
too much is a little short, one that counts too little is truncated (`benchmarks/token_count_check.py`).
"""

import math
import re

_ASCII = r"[A-Z]?[a-z]{1,5}|[A-Z]{1,2}|[0-9]{1,2}|[^\w\s]|_"
# A space before a symbol or an unspaced script is often a token of its own; so is the beginning of a text there.
_PIECE_ASCII = re.compile(rf"(?:\A|\s)(?=[^\w\s])|{_ASCII}")
_PIECE = re.compile(
    r"(?:\A|\s)(?=[^\w\s]|[\u3040-\u30ff\u3400-\u9fff])"
    r"|[A-Z\u00c0-\u00de]?[a-z\u00df-\u00ff]{1,5}|[A-Z]{1,2}|[0-9]{1,2}"
    r"|_|[\u0370-\u03ff]{1,3}|[\u0400-\u052f]{1,4}"
    r"|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3][\w\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0e4e]{0,2}|[^\w\s]"
)
_HAN = re.compile(r"[\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_HAN_SHARE = 0.74
_KANA_SHARE = 0.5
_HANGUL_SHARE = 0.66

MAX_TOKENS_PER_CHARACTER = 2
"""No text counts more tokens than this times its length."""


def count_tokens(text: str) -> int:
    """Estimated tokens of a text, special tokens and templates not counted.

    Sub-additive: the count of two texts joined, with or without a space, is at most the sum of their counts.
    """
    if text.isascii():
        return len(_PIECE_ASCII.findall(text))
    shares = (
        _HAN_SHARE * len(_HAN.findall(text))
        + _KANA_SHARE * len(_KANA.findall(text))
        + _HANGUL_SHARE * len(_HANGUL.findall(text))
    )
    return len(_PIECE.findall(text)) + math.ceil(shares)
