"""What QASC is measured against: ways to cut a text that know nothing of the query, and single sentences.

Every method gets the same documents, the same model and the same token budget, and fills the budget best first; the
unit that does not fit is cut off where the budget ends.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from qasc_corpora import KeptVectors

from babelray.index.document_sentences import DocumentSentences
from babelray.keys import Role
from babelray.text.tokens import count_tokens

FIXED = (64, 128, 256, 512, 1024)
RECURSIVE = (128,)
SEMANTIC = (60, 75, 90)
"""Percentile of a document's distances between neighbouring sentences, above which a chunk ends."""
SEPARATORS = ("\n\n", "\n", ". ", " ")
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Words:
    """Words of a document with their tokens, so that any span can be counted and cut."""

    spans: list[Span]
    tokens: list[int]

    @classmethod
    def of(cls, text: str) -> "Words":
        """All words between white space; a long unspaced one is taken apart."""
        spans = [match.span() for match in re.finditer(r"[^\s\u3000-\u9fff]+|[\u3000-\u9fff]", text)]
        return cls(spans, [count_tokens(text[start:end]) for start, end in spans])

    def cut(self, start: int, end: int, budget: int) -> tuple[int, int, bool]:
        """End of the longest beginning of a span within a budget, its tokens, and whether anything was cut off."""
        last, used = start, 0
        for at in range(bisect_left(self.spans, (start, 0)), bisect_left(self.spans, (end, 0))):
            if used + self.tokens[at] > budget:
                return last, used, True
            last, used = self.spans[at][1], used + self.tokens[at]
        return last, used, False


@dataclass(frozen=True, slots=True)
class Cutting:
    """Chunks of all documents by one method, with their vectors."""

    spans: Mapping[str, list[Span]]
    vectors: Mapping[str, NDArray[np.float32]]


def fixed(words: Words, size: int) -> list[Span]:
    """Runs of words of at most `size` tokens, whatever they mean."""
    spans: list[Span] = []
    used = size + 1
    for (start, end), tokens in zip(words.spans, words.tokens, strict=True):
        if used + tokens > size:
            spans.append((start, end))
            used = tokens
        else:
            spans[-1] = (spans[-1][0], end)
            used += tokens
    return spans


def recursive(text: str, size: int, at: int = 0, separators: Sequence[str] = SEPARATORS) -> list[Span]:
    """By the coarsest separator that gives parts under `size`; small parts next to each other are joined again."""
    if count_tokens(text) <= size or not separators:
        return [(at, at + len(text))] if text.strip() else []
    spans: list[Span] = []
    position = 0
    for part in re.split(f"(?<={re.escape(separators[0])})", text):
        for start, end in recursive(part, size, position, separators[1:]):
            if spans and count_tokens(text[spans[-1][0] : end]) <= size:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        position += len(part)
    return [(at + start, at + end) for start, end in spans]


def semantic(document: DocumentSentences, percentile: float) -> list[Span]:
    """Sentences in a row until the meaning of the next one is too far from the one before."""
    if len(document) < 2:
        return list(zip(document.starts.tolist(), document.ends.tolist(), strict=True))
    distances = 1 - np.einsum("ij,ij->i", document.vectors[1:], document.vectors[:-1])
    breaks = np.flatnonzero(distances > np.percentile(distances, percentile)) + 1
    groups = np.split(np.arange(len(document)), breaks)
    return [(int(document.starts[group[0]]), int(document.ends[group[-1]])) for group in groups]


def cuttings(
    documents: Mapping[str, DocumentSentences], words: Mapping[str, Words], vectors: KeptVectors
) -> dict[str, Cutting]:
    """All chunkings by name, encoded like chunks of an index."""
    spans: dict[str, dict[str, list[Span]]] = {}
    for size in FIXED:
        spans[f"fixed {size}"] = {name: fixed(words[name], size) for name in documents}
    for size in RECURSIVE:
        spans[f"recursive {size}"] = {name: recursive(one.text, size) for name, one in documents.items()}
    for percentile in SEMANTIC:
        spans[f"semantic p{percentile}"] = {name: semantic(one, percentile) for name, one in documents.items()}
    return {method: Cutting(of_method, _encoded(documents, of_method, vectors)) for method, of_method in spans.items()}


def _encoded(
    documents: Mapping[str, DocumentSentences], spans: Mapping[str, list[Span]], vectors: KeptVectors
) -> dict[str, NDArray[np.float32]]:
    texts = [documents[name].text[start:end].strip() for name, of_one in spans.items() for start, end in of_one]
    found = vectors.get(texts, Role.PASSAGE)
    bounds = np.cumsum([len(of_one) for of_one in spans.values()])[:-1]
    return dict(zip(spans, np.split(found, bounds), strict=True))


def best_chunks(
    query: NDArray[np.float32], pool: Sequence[str], cutting: Cutting, words: Mapping[str, Words], budget: int,
    most: int | None = None,
) -> dict[str, list[Span]]:  # fmt: skip
    """Chunks of the pool's documents, most similar first, until the budget or the number is reached."""
    scored = [
        (-float(score), name, span)
        for name in pool
        for score, span in zip(cutting.vectors[name] @ query, cutting.spans[name], strict=True)
    ]
    return fill([(name, span) for _, name, span in sorted(scored)[:most]], words, budget)


def top_sentences(
    query: NDArray[np.float32], pool: Sequence[DocumentSentences], words: Mapping[str, Words], budget: int,
    around: int = 0, *, whole: bool = False,
) -> dict[str, list[Span]]:  # fmt: skip
    """The most similar sentences; with `around` so many neighbours on each side, as the sentence-window method does.

    Args:
        query: float32 (d,).
        pool: Documents.
        words: Of the documents.
        budget: Tokens.
        around: Neighbours on each side.
        whole: Pass over a sentence that does not fit, as QASC does, instead of cutting it off.
    """
    scored = [(-float(score), one.doc_id, at, one) for one in pool for at, score in enumerate(one.vectors @ query)]
    units, seen = [], set()
    for _, name, at, one in sorted(scored, key=lambda item: item[:3]):
        for near in range(max(0, at - around), min(len(one), at + around + 1)):
            if (name, near) not in seen:
                seen.add((name, near))
                units.append((name, (int(one.starts[near]), int(one.ends[near]))))
    return fill(units, words, budget, whole=whole)


def fill(
    units: Sequence[tuple[str, Span]], words: Mapping[str, Words], budget: int, *, whole: bool = False
) -> dict[str, list[Span]]:
    """Units in their order until the budget is used up; the last one is cut off, or with `whole` passed over."""
    returned: dict[str, list[Span]] = {}
    for name, (start, end) in units:
        last, used, shortened = words[name].cut(start, end, budget)
        if shortened and whole:
            continue
        if used:
            returned.setdefault(name, []).append((start, last))
        budget -= used
        if shortened:
            break
    return returned
