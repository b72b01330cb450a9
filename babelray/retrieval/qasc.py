"""Query-adaptive semantic chunking: the documents of the best candidates, cut again for one query.

Works on vectors that were stored when the documents were indexed; no encoder runs here. The steps are those of the
QASC paper: seed sentences, windows around them, a score for the whole window, merging along natural borders. How they
are done is a profile (`babelray.config.qasc`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from babelray.config import QascSettings
from babelray.index.document_sentences import DocumentSentences
from babelray.keys import ModelKey
from babelray.retrieval.qasc_auto import auto_runs, auto_scores
from babelray.retrieval.qasc_floor import known_floor
from babelray.retrieval.qasc_headings import is_heading, with_text
from babelray.retrieval.qasc_paper import paper_runs
from babelray.retrieval.qasc_pool import Doubles, Flags, Pool, Run, best_first, build_pool
from babelray.retrieval.qasc_units import run_score, unit_runs, unit_scores

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class QascPassage:
    """A passage that was cut for the query; `text[start:end]` of its document is what it says.

    Attributes:
        document: Position among the documents that were handed over.
        score: Higher is better; comparable within one call only.
        tokens: Of its sentences together, at least what the passage counts by the model-free counter.
        seeds: Spans of the sentences that the passage grew from, in order; empty for a part that the budget left over.
        sentences: Positions of its sentences in the document, in a row.
    """

    document: int
    start: int
    end: int
    score: float
    tokens: int
    seeds: tuple[Span, ...]
    sentences: tuple[int, ...]


def rechunk(
    query: NDArray[np.float32],
    documents: Sequence[DocumentSentences],
    settings: QascSettings,
    token_budget: int | None = None,
    *,
    key: ModelKey,
    query_language: str | None = None,
) -> list[QascPassage]:
    """Cut passages that answer a query out of documents.

    The passages are disjoint and never count more tokens together than the budget, which beats every other rule: a
    passage that does not fit is reduced to its best sentences, and a sentence that alone does not fit is left out,
    never cut. The result does not depend on the order of the documents.

    Args:
        query: float32 (d,), unit length, encoded as a query.
        documents: Different documents that the caller may see.
        settings: Profile and limits. With the profile `off` there is nothing to cut, and the result is empty.
        token_budget: Tokens of all passages; `settings.token_budget` if not given.
        key: Model key that the query was encoded with.
        query_language: BCP 47, if known; across languages the measured floor is lower.

    Returns:
        By falling score, equal scores by document id and start. Empty when no sentence reaches the floor.

    Raises:
        ModelKeyMismatch: A document's vectors are of another space than the query.
        InputError: The query is not a vector of that space, or a document is there twice.
    """
    pool = build_pool(query, documents, key, query_language)
    if settings.profile == "off" or not pool.present.any():
        return []
    eligible = pool.present & (pool.cosines >= _floors(pool, settings, key))
    short = _short_documents(pool, settings.whole_below)
    whole = _whole_runs(pool, short, eligible)
    scores, runs = _profile_runs(pool, settings, pool.present & ~short, eligible & ~short, whole)
    if settings.profile != "paper":  # which knows sentences only
        runs = with_text(pool, runs)
    chosen = _fit(pool, runs, scores, settings.token_budget if token_budget is None else token_budget)
    ordered = sorted(chosen, key=lambda run: (-run.score, run.first))
    return [_passage(pool, run) for run in ordered]


def _profile_runs(
    pool: Pool, settings: QascSettings, cuttable: Flags, eligible: Flags, whole: list[Run]
) -> tuple[Doubles, list[Run]]:
    """Scores of the sentences, and the runs with theirs."""
    match settings.profile:
        case "paper":
            return pool.cosines, paper_runs(pool, settings.paper, cuttable, eligible, whole)
        case "auto":
            scores = auto_scores(pool)
            return scores, auto_runs(pool, scores, settings.auto, eligible, whole)
        case _:
            windows = settings.precise if settings.profile == "precise" else settings.balanced
            scores = unit_scores(pool, windows.parent_weight)
            return scores, unit_runs(pool, scores, windows, cuttable, eligible, whole)


def _floors(pool: Pool, settings: QascSettings, key: ModelKey) -> Doubles:
    """Least cosine of each sentence that may be a seed, float64 (n,)."""
    if settings.floor is not None:
        return np.full(len(pool), settings.floor)
    floor = known_floor(key)
    return np.where(pool.same_language, floor.same_language, floor.other_language)


def _short_documents(pool: Pool, whole_below: int) -> Flags:
    """For each sentence, bool (n,), whether its document is too short to be cut."""
    return np.repeat(np.diff(pool.bounds) < whole_below, np.diff(pool.bounds))


def _whole_runs(pool: Pool, short: Flags, eligible: Flags) -> list[Run]:
    """Short documents as they are, if a sentence of theirs reaches the floor; their seed is the best one."""
    runs = []
    for first, end in zip(pool.bounds[:-1].tolist(), pool.bounds[1:].tolist(), strict=True):
        if first < end and short[first] and eligible[first:end].any():
            rows = first + np.flatnonzero(eligible[first:end])
            runs.append(Run(first, end - 1, (int(best_first(pool.cosines, rows)[0]),)))
    return runs


def _fit(pool: Pool, runs: Sequence[Run], scores: Doubles, budget: int) -> list[Run]:
    """Runs best first as long as they fit; one that does not gives those of its sentences that do, headings aside."""
    chosen: list[Run] = []
    left = budget
    for run in sorted(runs, key=lambda one: (-one.score, one.first)):
        size = pool.size(run.first, run.last)
        if size <= left:
            chosen.append(run)
            left -= size
            continue
        parts = [part for part in _best_parts(pool, run, scores, left) if not is_heading(pool, part)]
        chosen += parts
        left -= sum(pool.size(part.first, part.last) for part in parts)
    return chosen


def _best_parts(pool: Pool, run: Run, scores: Doubles, budget: int) -> list[Run]:
    """The best sentences of a run that fit, those next to each other as one part."""
    taken: list[int] = []
    for row in best_first(scores, np.arange(run.first, run.last + 1)).tolist():
        if pool.tokens[row] <= budget:
            taken.append(row)
            budget -= int(pool.tokens[row])
    parts: list[list[int]] = []
    for row in sorted(taken):
        if parts and row == parts[-1][-1] + 1:
            parts[-1].append(row)
        else:
            parts.append([row])
    return [
        Run(part[0], part[-1], tuple(seed for seed in run.seeds if part[0] <= seed <= part[-1]),
            run_score(scores, part[0], part[-1]))
        for part in parts
    ]  # fmt: skip


def _passage(pool: Pool, run: Run) -> QascPassage:
    document = int(pool.owner[run.first])
    offset = int(pool.bounds[document])
    return QascPassage(
        document=pool.position[document],
        start=int(pool.starts[run.first]),
        end=int(pool.ends[run.last]),
        score=run.score,
        tokens=pool.size(run.first, run.last),
        seeds=tuple((int(pool.starts[seed]), int(pool.ends[seed])) for seed in run.seeds),
        sentences=tuple(range(run.first - offset, run.last - offset + 1)),
    )
