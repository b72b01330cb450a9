"""From the kept candidates to passages that can be cited: cut again for the query, or as they were indexed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from babelray.config import QascSettings
from babelray.index.access import CompiledScope
from babelray.index.document_sentences import DocumentSentences, read_document_sentences
from babelray.index.reader import Hit, OpenGeneration
from babelray.index.vectors import Floats
from babelray.retrieval.candidates import Candidate
from babelray.retrieval.channels import Place
from babelray.retrieval.qasc import rechunk

EXACT_KEPT = 3
"""Chunks kept for the query's exact tokens alone, at most."""
ORDER_CONSTANT = 60.0


@dataclass(frozen=True, slots=True)
class Draft:
    """A passage before it is cited.

    Attributes:
        candidate: The best candidate that it comes from.
        start, end: Code point span in the original.
        seeds: Spans of the sentences that it was grown from.
    """

    candidate: Candidate
    start: int
    end: int
    score: float
    tokens: int
    seeds: tuple[tuple[int, int], ...] = ()


def as_indexed(
    generation: OpenGeneration, candidates: Sequence[Candidate], k: int, token_budget: int | None
) -> list[Draft]:
    """The best k chunks as they are; one that does not fit the rest of the budget is left out."""
    drafts: list[Draft] = []
    left = token_budget
    for one in candidates:
        columns = generation.segments[one.place[0]].chunk_columns
        cells = {name: int(columns[name][one.place[1]]) for name in ("start", "end", "tokens")}
        if left is not None and cells["tokens"] > left:
            continue
        left = None if left is None else left - cells["tokens"]
        drafts.append(Draft(one, cells["start"], cells["end"], one.fused.score, cells["tokens"]))
        if len(drafts) == k:
            break
    return drafts


def cut_for_query(
    generation: OpenGeneration,
    candidates: Sequence[Candidate],
    query: Floats,
    scope: CompiledScope,
    settings: QascSettings,
    language: str,
    k: int,
    token_budget: int | None,
) -> list[Draft]:
    """The documents of the best candidates, cut again for one query.

    Args:
        generation: Opened generation.
        candidates: Best first.
        query: float32 (dimension,), unit length, encoded as a query.
        scope: What the caller may see; checked again for every document that is read.
        settings: Profile and its parameters.
        language: BCP 47, of the query: the floor is lower across languages.
        k: Passages wanted.
        token_budget: Of all passages together; the settings' own where none is given.

    Raises:
        AccessDenied: A document is outside the scope; nothing is returned.
    """
    best: dict[tuple[int, int], Candidate] = {}
    for one in candidates:
        if len(best) < settings.documents or one.document in best:
            best.setdefault(one.document, one)
    documents = [read_document_sentences(generation, Hit(*one.place, score=0.0), scope) for one in best.values()]
    owners = list(best.values())
    by_document = {
        number: [one for one in candidates if one.document == owner.document] for number, owner in enumerate(owners)
    }
    budget = settings.token_budget if token_budget is None else token_budget
    cut = _cut(generation, query, documents, by_document, settings, language, budget)
    exact = _uncovered(generation, candidates, cut)
    if exact:
        # Codes and names are what vectors know least of: a passage that holds them is not given up for a similar one.
        exact = _within(exact, budget // 2)
        cut = _cut(
            generation, query, documents, by_document, settings, language, budget - sum(one.tokens for one in exact)
        )
        exact = [one for one in exact if not _held(generation, one, cut)]
        cut = [one for one in cut if not any(_overlap(one, other) for other in exact)]
    return _ordered(candidates, cut, exact)[:k]


def _cut(
    generation: OpenGeneration,
    query: Floats,
    documents: Sequence[DocumentSentences],
    by_document: Mapping[int, Sequence[Candidate]],
    settings: QascSettings,
    language: str,
    budget: int,
) -> list[Draft]:
    return [
        Draft(
            _nearest(generation, by_document[one.document], one.start, one.end),
            one.start,
            one.end,
            one.score,
            one.tokens,
            one.seeds,
        )
        for one in rechunk(query, documents, settings, budget, key=generation.key, query_language=language)
    ]


def _uncovered(generation: OpenGeneration, candidates: Sequence[Candidate], cut: Sequence[Draft]) -> list[Draft]:
    """Chunks that hold most of the query's exact tokens, where no passage of their document holds these tokens."""
    most = max((len(one.anchors) for one in candidates), default=0)
    chunks = as_indexed(generation, [one for one in candidates if most and len(one.anchors) == most], EXACT_KEPT, None)
    return [one for one in chunks if not _held(generation, one, cut)]


def _held(generation: OpenGeneration, chunk: Draft, cut: Sequence[Draft]) -> bool:
    """Whether passages of the chunk's document hold all exact tokens that the chunk has of the query."""
    segment, document = chunk.candidate.document
    text = generation.segments[segment].documents["text"][document].as_py()
    quotes = [text[one.start : one.end] for one in cut if one.candidate.document == chunk.candidate.document]
    return all(any(token in quote for quote in quotes) for token in chunk.candidate.anchors)


def _within(drafts: Sequence[Draft], budget: int) -> list[Draft]:
    kept = []
    for one in drafts:
        if one.tokens <= budget:
            budget -= one.tokens
            kept.append(one)
    return kept


def _overlap(one: Draft, other: Draft) -> bool:
    return one.candidate.document == other.candidate.document and one.start < other.end and other.start < one.end


def _ordered(candidates: Sequence[Candidate], cut: Sequence[Draft], exact: Sequence[Draft]) -> list[Draft]:
    """By where the channels put a passage's document and where its own score puts it, both as reciprocal ranks."""
    place: dict[tuple[int, int], int] = {}
    for number, one in enumerate(candidates, start=1):
        place.setdefault(one.document, number)
    ranked = list(enumerate([*cut, *exact], start=1))

    scored = [
        (1 / (ORDER_CONSTANT + place[draft.candidate.document]) + 1 / (ORDER_CONSTANT + rank), rank, draft)
        for rank, draft in ranked
    ]
    return [replace(draft, score=score) for score, _, draft in sorted(scored, key=lambda item: (-item[0], item[1]))]


def _nearest(generation: OpenGeneration, candidates: Sequence[Candidate], start: int, end: int) -> Candidate:
    """The candidate of a document that shares most of a span; the best one where none does."""

    def shared(one: Candidate) -> int:
        columns, row = generation.segments[one.place[0]].chunk_columns, one.place[1]
        first, last = int(columns["start"][row]), int(columns["end"][row])
        return max(min(end, last) - max(start, first), 0)

    return max(candidates, key=lambda one: (shared(one), -one.rank))


def places(drafts: Sequence[Draft]) -> list[Place]:
    """Segment and row of the candidates that passages come from."""
    return [one.candidate.place for one in drafts]
