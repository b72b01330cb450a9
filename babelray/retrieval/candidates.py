"""The union of the channels, cleaned: caps, exact duplicates, periods; each candidate knows why it went."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from babelray.index.reader import OpenGeneration
from babelray.retrieval.channels import Place
from babelray.retrieval.fusion import Fused
from babelray.retrieval.plan import Budgets
from babelray.retrieval.query import Freshness
from babelray.retrieval.trace import CandidateTrace, ChannelPlace

OVER_UNION = "over the limit of all channels together"
OVER_DOCUMENT = "over the limit of one document"
DUPLICATE = "same text as a better candidate"
OUTSIDE_PERIOD = "not updated in the period asked for"
OVER_K = "not among the documents that were cut for the answer"
NO_PASSAGE = "no passage of its document was kept"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One chunk of the union.

    Attributes:
        rank: By fused score, from 1.
        language: Largest language of the chunk.
        document: Segment and document row.
        content: The chunk's projected text.
        removed: Why it went; empty for one that stays.
    """

    fused: Fused
    rank: int
    language: str
    document: tuple[int, int]
    content: str
    removed: str = ""
    rerank_rank: int | None = None
    rerank_score: float | None = None
    anchors: tuple[str, ...] = field(default=())

    @property
    def place(self) -> Place:
        """Segment and row."""
        return self.fused.place


def select(
    generation: OpenGeneration,
    fused: Sequence[Fused],
    budgets: Budgets,
    languages: Mapping[Place, str],
    anchors: Sequence[str],
    period: Freshness | None = None,
) -> list[Candidate]:
    """Look at each chunk of the union, best first, and say which stay.

    Args:
        generation: Where the chunks lie; their rows have been checked against the scope by the channels.
        fused: The union, best first.
        budgets: Limits of the plan.
        languages: Of each chunk, from `largest_languages`.
        anchors: Exact tokens of the query.
        period: Documents updated outside of it go; `None` keeps all.
    """
    wanted = frozenset(anchors)
    taken: Counter[tuple[int, int]] = Counter()
    seen: set[str] = set()
    kept = fused[: budgets.union]
    contents = read_cells(generation, "content", [one.place for one in kept])
    exact = read_cells(generation, "exact_tokens", [one.place for one in kept]) if wanted else {}
    candidates = []
    for rank, one in enumerate(kept, start=1):
        segment = generation.segments[one.place[0]]
        document = (one.place[0], int(segment.access.documents[one.place[1]]))
        content = contents[one.place]
        removed = ""
        if period is not None and not _inside(segment.documents["updated_at"][document[1]].as_py(), period):
            removed = OUTSIDE_PERIOD
        elif content in seen:
            removed = DUPLICATE
        elif taken[document] >= budgets.per_document:
            removed = OVER_DOCUMENT
        else:
            taken[document] += 1
            seen.add(content)
        present = tuple(sorted(wanted.intersection(exact.get(one.place, ()))))
        language = languages[one.place]
        candidates.append(Candidate(one, rank, language, document, content, removed, anchors=present))
    return candidates


def read_cells(generation: OpenGeneration, column: str, places: Sequence[Place]) -> dict[Place, Any]:
    """One column of the chunks at some places, read once a segment."""
    cells: dict[Place, Any] = {}
    for number, segment in enumerate(generation.segments):
        rows = [row for at, row in places if at == number]
        if rows:
            cells |= {(number, row): cell for row, cell in zip(rows, segment.cells(column, rows), strict=True)}
    return cells


def largest_languages(generation: OpenGeneration, places: Sequence[Place]) -> dict[Place, str]:
    """The largest language of each chunk; `und` where nothing could be said."""
    return {place: generation.segments[place[0]].largest_language(place[1]) for place in places}


def remaining(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Those that stay, in their order."""
    return [one for one in candidates if not one.removed]


def without(candidates: Iterable[Candidate], kept: Iterable[Place], reason: str) -> list[Candidate]:
    """Mark all that stay so far but are not among `kept`."""
    places = frozenset(kept)
    return [one if one.removed or one.place in places else replace(one, removed=reason) for one in candidates]


def trace_of(generation: OpenGeneration, candidates: Iterable[Candidate]) -> tuple[CandidateTrace, ...]:
    """What the trace says of each candidate."""
    traces = []
    for one in candidates:
        segment, row = generation.segments[one.place[0]], one.place[1]
        traces.append(
            CandidateTrace(
                chunk_id=segment.chunks["chunk_id"][row].as_py(),
                doc_id=segment.documents["doc_id"][one.document[1]].as_py(),
                source_uri=segment.documents["source_uri"][one.document[1]].as_py(),
                language=one.language,
                channels=places_of(one),
                fused_rank=one.rank,
                fused_score=one.fused.score,
                rerank_rank=one.rerank_rank,
                rerank_score=one.rerank_score,
                anchors=one.anchors,
                removed_reason=one.removed,
            )
        )
    return tuple(traces)


def places_of(candidate: Candidate) -> dict[str, ChannelPlace]:
    """Channel -> where it put the candidate."""
    return {
        str(channel): ChannelPlace(rank=found.rank, score=found.score, variant_id=found.variant_id)
        for channel, found in sorted(candidate.fused.found.items())
    }


def _inside(updated_at: datetime | None, period: Freshness) -> bool:
    """Whether a document was updated in a period, its end exclusive; one without a date was not."""
    if updated_at is None:
        return False
    moment = updated_at if updated_at.tzinfo else updated_at.replace(tzinfo=UTC)
    return (period.start is None or period.start <= moment) and (period.end is None or moment < period.end)
