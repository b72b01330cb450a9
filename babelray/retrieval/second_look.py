"""Puts the second look into a search: which candidates are read again, under which deadline, and what if it fails."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass, replace

from babelray.config import RetrievalSettings
from babelray.errors import UpstreamError
from babelray.index.reader import OpenGeneration
from babelray.index.vectors import Floats
from babelray.protocols import Reranker
from babelray.retrieval.candidates import Candidate
from babelray.retrieval.degradation import Degradation, Reason
from babelray.retrieval.query import QueryAnalysis
from babelray.retrieval.rerank import LEFT_OUT, Reread, best_span, reorder, score_pairs, score_sentences

ORDER_KEPT = "the order of the fusion"


@dataclass(frozen=True, slots=True)
class Question:
    """What candidates are read against.

    Attributes:
        translations: Language -> faithful translation of the query.
        vector: float32 (dimension,), or nothing where the embedder failed.
    """

    analysis: QueryAnalysis
    translations: Mapping[str, str]
    vector: Floats | None


def look_again(
    generation: OpenGeneration,
    candidates: Sequence[Candidate],
    question: Question,
    settings: RetrievalSettings,
    reranker: Reranker | None,
    pool: Executor,
) -> tuple[list[Candidate], list[Degradation]]:
    """Read the best candidates again and put them into a new order.

    Returns:
        The candidates, those of the window first in their new order, and what was done without.
    """
    rerank = settings.rerank
    if rerank.kind == "none" or not candidates:
        return list(candidates), []
    window, rest = list(candidates[: rerank.window]), list(candidates[rerank.window :])
    places = [one.place for one in window]
    if rerank.kind == "sentences":
        if question.vector is None:  # which has been said already
            return list(candidates), []
        reread = score_sentences(generation, places, question.vector)
    elif reranker is None:
        return list(candidates), [Degradation(Reason.RERANK_UNAVAILABLE, ORDER_KEPT, "no model is loaded")]
    else:
        passages = [
            (best_span(generation, one.place, one.content, question.vector, rerank.max_tokens), one.language)
            for one in window
        ]
        task = pool.submit(score_pairs, reranker, rerank, question.analysis, question.translations, passages)
        try:
            reread = task.result(timeout=settings.deadlines.rerank_ms / 1000)
        except (UpstreamError, RuntimeError, LateError) as error:
            task.cancel()
            detail = f"{type(error).__name__} within {settings.deadlines.rerank_ms} ms"
            return list(candidates), [Degradation(Reason.RERANK_UNAVAILABLE, ORDER_KEPT, detail)]
    order = reorder(places, reread, rerank, settings.fusion.rank_constant)
    return [*_marked(window, order, reread), *rest], _unsupported(reread)


def _marked(window: Sequence[Candidate], order: Sequence[int], reread: Reread) -> list[Candidate]:
    return [
        replace(
            window[number],
            rerank_rank=rank,
            rerank_score=None if reread.scores[number] == LEFT_OUT else reread.scores[number],
        )
        for rank, number in enumerate(order, start=1)
    ]


def _unsupported(reread: Reread) -> list[Degradation]:
    if not reread.unsupported:
        return []
    detail = ", ".join(sorted(reread.unsupported))
    return [Degradation(Reason.RERANK_LANGUAGE_UNSUPPORTED, ORDER_KEPT, f"passages in {detail}")]
