"""Words and vectors side by side, joined by reciprocal rank fusion: the plain search."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from babelray.errors import InputError
from babelray.index.access import CompiledScope
from babelray.index.lexical import query_parts
from babelray.index.open_segment import ChunkRecord
from babelray.index.reader import Hit, OpenGeneration
from babelray.index.vectors import Floats
from babelray.keys import ModelKey

Channel = Literal["lexical", "dense"]
RRF_K = 60
"""The usual constant: the first ranks of a channel do not drown the others."""


@dataclass(frozen=True, slots=True)
class ChannelScore:
    """Where one channel put a chunk.

    Attributes:
        rank: From 1.
        score: BM25 or cosine; not comparable between channels.
    """

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Result:
    """One chunk that answers, with its place in the original text.

    Attributes:
        score: Fused score, comparable within one search.
        quote_sha256: Of `record.quote`, so that a copy can be checked later.
    """

    rank: int
    score: float
    record: ChunkRecord
    channels: dict[Channel, ChannelScore]
    quote_sha256: str


def search(
    generation: OpenGeneration,
    text: str,
    vector: Floats,
    key: ModelKey,
    scope: CompiledScope,
    *,
    languages: Sequence[str] = (),
    k: int = 10,
    candidates: int = 50,
    per_document: int = 3,
) -> list[Result]:
    """Search by words and by vector under one scope and fuse.

    Args:
        generation: Opened generation.
        text: The query, as typed.
        vector: float32 (dimension,), the query encoded with `Role.QUERY`.
        key: Model key of the vector.
        scope: What the caller may see.
        languages: Likely languages of the query, most probable first.
        k: Results wanted.
        candidates: Chunks taken from each channel; at least `k`.
        per_document: Most chunks of one document among the results.

    Raises:
        InputError: `k` or `per_document` is not positive.
        ModelKeyMismatch: The vector is of another space.
        AccessDenied: A row outside the scope was met; nothing is returned.
    """
    if k < 1 or per_document < 1:
        raise InputError("not a number of results", got=f"k {k}, per document {per_document}", allowed="1 or more")
    depth = max(candidates, k)
    found: dict[Channel, list[Hit]] = {
        "lexical": generation.search_lexical(query_parts(text, languages), scope, depth),
        "dense": generation.search_dense(vector, key, scope, depth),
    }
    fused = _fuse(found)
    chosen = _cap_documents(generation, fused, per_document)[:k]
    records = generation.records([_hit(place) for place in chosen], scope)
    return [
        Result(
            rank=number,
            score=sum(1 / (RRF_K + one.rank) for one in fused[place].values()),
            record=record,
            channels=fused[place],
            quote_sha256=hashlib.sha256(record.quote.encode("utf-8", "surrogatepass")).hexdigest(),
        )
        for number, (place, record) in enumerate(zip(chosen, records, strict=True), start=1)
    ]


_Place = tuple[int, int]
"""Segment and row."""


def _hit(place: _Place) -> Hit:
    return Hit(place[0], place[1], 0.0)


def _fuse(found: dict[Channel, list[Hit]]) -> dict[_Place, dict[Channel, ChannelScore]]:
    """Chunks with their places by channel, best fused score first; ties by best rank, then segment and row."""
    places: dict[_Place, dict[Channel, ChannelScore]] = {}
    for channel, hits in found.items():
        for rank, hit in enumerate(hits, start=1):
            places.setdefault((hit.segment, hit.row), {})[channel] = ChannelScore(rank, hit.score)

    def order(place: _Place) -> tuple[float, int, _Place]:
        ranks = [one.rank for one in places[place].values()]
        return -sum(1 / (RRF_K + rank) for rank in ranks), min(ranks), place

    return {place: places[place] for place in sorted(places, key=order)}


def _cap_documents(
    generation: OpenGeneration, fused: dict[_Place, dict[Channel, ChannelScore]], most: int
) -> list[_Place]:
    taken: dict[tuple[int, int], int] = {}
    chosen = []
    for place in fused:
        document = generation.document_of(_hit(place))
        taken[document] = taken.get(document, 0) + 1
        if taken[document] <= most:
            chosen.append(place)
    return chosen
