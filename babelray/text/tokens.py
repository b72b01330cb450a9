"""Counting tokens without a model: deterministic, the same for every embedder, and rarely under a real count.

Prepared shards hold no model, so chunk caps need a count that depends on none. Each class of characters counts one
token a run of so many characters; the run lengths were fitted on multilingual documentation against the 250,000-piece
Unigram vocabulary that multilingual-e5 and XLM-R share (`benchmarks/token_count_check.py` repeats the comparison).
"""

import re

_PIECE = re.compile(
    r"[A-Z]?[a-z\u00df-\u00ff]{1,5}|[A-Z]{1,2}|[0-9]{1,2}|[\u3400-\u9fff]|[\u3040-\u30ff]{1,2}|[\uac00-\ud7a3]{1,2}|\w{1,2}|[^\w\s]"
)

MAX_TOKENS_PER_CHARACTER = 1
"""No text counts more tokens than this times its length."""


def count_tokens(text: str) -> int:
    """Estimated tokens of a text, special tokens and templates not counted.

    Sub-additive: the count of two texts together is at most the sum of their counts, so a sum is a safe bound.
    """
    return len(_PIECE.findall(text))
