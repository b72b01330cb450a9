"""The second look at the best candidates: by their sentences' vectors, or by a model that reads query and passage.

The new ranks are fused with the old ones, so that a second look that errs on one passage does not undo what all
channels agree on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from babelray.config import RerankSettings
from babelray.index.reader import OpenGeneration
from babelray.index.vectors import Floats
from babelray.protocols import Reranker
from babelray.retrieval.channels import Place
from babelray.retrieval.query import QueryAnalysis
from babelray.text.tokens import count_tokens

LEFT_OUT = float("-inf")
"""Score of a candidate that was not read again; it keeps its place behind those that were."""


@dataclass(frozen=True, slots=True)
class Reread:
    """Scores of a second look.

    Attributes:
        scores: One a candidate, higher is better; `LEFT_OUT` for one that was not read.
        unsupported: Languages of passages that the model was not made for.
    """

    scores: tuple[float, ...]
    unsupported: tuple[str, ...] = ()


def score_sentences(generation: OpenGeneration, places: Sequence[Place], query: Floats) -> Reread:
    """The best cosine between the query and a sentence of each candidate.

    Args:
        generation: Whose stored sentence vectors are read.
        places: n candidates, already checked against the scope.
        query: float32 (dimension,), unit length.
    """
    found = [generation.segments[segment].chunk_sentence_vectors(row) for segment, row in places]
    counts = np.array([len(one) for one in found])
    scores = np.full(len(places), LEFT_OUT)
    if counts.any():
        cosines = np.concatenate(found).astype(np.float32) @ query
        firsts = np.cumsum(counts) - counts
        held = np.flatnonzero(counts)
        scores[held] = np.maximum.reduceat(cosines, firsts[held])
    return Reread(tuple(scores.tolist()))


def score_pairs(
    reranker: Reranker,
    settings: RerankSettings,
    analysis: QueryAnalysis,
    translations: Mapping[str, str],
    passages: Sequence[tuple[str, str]],
) -> Reread:
    """A cross-encoder's scores.

    Args:
        reranker: Reads pairs.
        settings: Which query is paired with a passage.
        analysis: Of the query.
        translations: Language -> faithful translation of the query.
        passages: Text and language of n candidates, already cut to what the model can read.

    Returns:
        Scores; a passage for whose language pair the model was not made is left out. Under the strategy `best` a
        passage has the better score of the original and the translated query.
    """
    kinds = ("original", "translated") if settings.pairs == "best" else (settings.pairs,)
    pairs: dict[str, list[int]] = {}
    unsupported: dict[str, None] = {}
    for number, (_, language) in enumerate(passages):
        asked = []
        for kind in kinds:
            text, of = _query_for(kind, analysis, translations, language)
            if reranker.supports(of, language):
                asked.append(text)
        if not asked:
            unsupported[language] = None
        for text in dict.fromkeys(asked):
            pairs.setdefault(text, []).append(number)
    scores = [LEFT_OUT] * len(passages)
    for text, numbers in pairs.items():
        for number, score in zip(numbers, reranker.score(text, [passages[one][0] for one in numbers]), strict=True):
            scores[number] = max(scores[number], float(score))
    return Reread(tuple(scores), tuple(unsupported))


def _query_for(kind: str, analysis: QueryAnalysis, translations: Mapping[str, str], language: str) -> tuple[str, str]:
    """The query's text and language for a passage of a language; the original where there is no translation."""
    if kind == "translated" and language in translations:
        return translations[language], language
    return analysis.text, analysis.language


def best_span(generation: OpenGeneration, place: Place, content: str, query: Floats | None, max_tokens: int) -> str:
    """A passage as it is if the model can read it whole, else the text around its best sentence.

    Args:
        generation: Whose stored sentence vectors are read.
        place: The candidate.
        content: Its text.
        query: float32 (dimension,), unit length; without it a long passage is cut at its end.
        max_tokens: Of the text, by the model-free counter.
    """
    if query is None or count_tokens(content) <= max_tokens:
        return content
    segment = generation.segments[place[0]]
    quotes = segment.chunk_sentences(place[1])
    vectors = segment.chunk_sentence_vectors(place[1], only_present=False)
    if not len(quotes):
        return content
    best = int(np.argmax(vectors.astype(np.float32) @ query))
    first = last = best
    budget = max_tokens - count_tokens(quotes[best])
    while True:
        grown = False
        for after in (True, False):
            number = last + 1 if after else first - 1
            if 0 <= number < len(quotes) and count_tokens(quotes[number]) <= budget:
                budget -= count_tokens(quotes[number])
                first, last = min(first, number), max(last, number)
                grown = True
        if not grown:
            return " ".join(quotes[first : last + 1])


def reorder(old: Sequence[Place], reread: Reread, settings: RerankSettings, rank_constant: float) -> list[int]:
    """Positions of the candidates in their new order: old and new ranks fused; ties keep the old order."""
    read = [number for number, score in enumerate(reread.scores) if score > LEFT_OUT]
    by_score = sorted(read, key=lambda number: (-reread.scores[number], number))
    new_rank = {number: rank for rank, number in enumerate(by_score, start=1)}

    def fused(number: int) -> float:
        second = settings.weight / (rank_constant + new_rank[number]) if number in new_rank else 0.0
        return 1 / (rank_constant + number + 1) + second

    return sorted(range(len(old)), key=lambda number: (-fused(number), number))
