"""All sentences of one query's documents in one row of arrays, and runs of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from babelray.errors import InputError, ModelKeyMismatch
from babelray.index.document_sentences import DocumentSentences
from babelray.keys import ModelKey
from babelray.text.types import BlockKind

_APART = frozenset({BlockKind.CODE, BlockKind.TABLE, BlockKind.LOG, BlockKind.JSON})
"""Kinds that are never joined with another block."""

_Scalar = TypeVar("_Scalar", bound=np.generic)
Doubles = NDArray[np.float64]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Run:
    """Sentences `first` to `last` of the pool, inclusive, all of one document.

    Attributes:
        seeds: Sentences that the run grew from, rising.
    """

    first: int
    last: int
    seeds: tuple[int, ...]
    score: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The n sentences of k documents, documents in the order of their ids, so that input order changes nothing.

    Attributes:
        position: Input position of each document.
        doc_ids: Of each document.
        bounds: int64 (k + 1,), document i holds the sentences `bounds[i] .. bounds[i + 1]`.
        owner: int64 (n,), document of each sentence.
        starts, ends, tokens: int64 (n,).
        first_of_block, last_of_block: int64 (n,), the sentences that begin and end each sentence's block.
        headings: bool (n,), whether it is (part of) a heading.
        joins: bool (n,), whether a passage may hold this sentence and the one before it.
        same_language: bool (n,), whether it is in the language of the query; false where that is not known.
        present: bool (n,), whether it has a vector.
        cosines: float64 (n,) with the query; the pool's lowest where there is no vector.
        parents: float64 (n,), the best cosine of the chunks that hold the sentence; its own where none has a vector.
    """

    position: tuple[int, ...]
    doc_ids: tuple[str, ...]
    bounds: Longs
    owner: Longs
    starts: Longs
    ends: Longs
    tokens: Longs
    first_of_block: Longs
    last_of_block: Longs
    headings: Flags
    joins: Flags
    same_language: Flags
    present: Flags
    cosines: Doubles
    parents: Doubles

    def __len__(self) -> int:
        return len(self.starts)

    def size(self, first: int, last: int) -> int:
        """Tokens of a run."""
        return int(self.tokens[first : last + 1].sum())


def build_pool(
    query: NDArray[np.float32], documents: Sequence[DocumentSentences], key: ModelKey, language: str | None = None
) -> Pool:
    """Lay the documents side by side and compare their sentences with the query.

    Args:
        query: float32 (d,), unit length, encoded as a query by the model of `key`.
        documents: Different ones.
        key: Model key of the query.
        language: BCP 47 of the query, if known.

    Raises:
        ModelKeyMismatch: A document's vectors are of another space.
        InputError: The query is not a vector of that space, or a document is there twice.
    """
    _check(query, documents, key)
    order = sorted(range(len(documents)), key=lambda at: (documents[at].doc_id, documents[at].segment))
    kept = [documents[at] for at in order]
    bounds = np.concatenate([[0], np.cumsum([len(one) for one in kept], dtype=np.int64)]).astype(np.int64)
    owner = np.repeat(np.arange(len(kept), dtype=np.int64), np.diff(bounds))
    blocks = _joined([one.blocks for one in kept], np.int64)
    same_document = owner[1:] == owner[:-1]
    same_block = np.concatenate([[False], same_document & (blocks[1:] == blocks[:-1])])[: len(blocks)]
    prose = _joined([_flags(one.kinds, lambda kind: kind not in _APART) for one in kept], np.bool_)
    both_prose = np.concatenate([[False], same_document & prose[1:] & prose[:-1]])[: len(blocks)]
    first_of_block, last_of_block = _block_ends(same_block)
    wanted = primary(language) if language else None
    present = _joined([one.has_vector for one in kept], np.bool_)
    cosines = np.where(present, _joined([one.vectors @ query for one in kept], np.float64), np.inf)
    cosines = np.where(present, cosines, cosines.min() if present.any() else 0.0)
    parents = _parent_cosines(kept, bounds, query)
    return Pool(
        position=tuple(order),
        doc_ids=tuple(one.doc_id for one in kept),
        bounds=bounds,
        owner=owner,
        starts=_joined([one.starts for one in kept], np.int64),
        ends=_joined([one.ends for one in kept], np.int64),
        tokens=_joined([one.tokens for one in kept], np.int64),
        first_of_block=first_of_block,
        last_of_block=last_of_block,
        headings=_joined([_flags(one.kinds, lambda kind: kind == BlockKind.HEADING) for one in kept], np.bool_),
        joins=same_block | both_prose,
        same_language=_joined([_flags(one.languages, lambda tag: primary(tag) == wanted) for one in kept], np.bool_),
        present=present,
        cosines=cosines,
        parents=np.where(np.isfinite(parents), parents, cosines),
    )


def primary(tag: str) -> str:
    """The language of a BCP 47 tag without script and region."""
    return tag.partition("-")[0].lower()


def standardized(values: Doubles, present: Flags) -> Doubles:
    """Distance from the mean of what is present, in standard deviations; all zero where nothing differs."""
    if not present.any():
        return np.zeros_like(values)
    mean, deviation = float(values[present].mean()), float(values[present].std())
    # Equal values leave rounding noise, which must not become a difference of whole deviations.
    return np.zeros_like(values) if deviation < 1e-9 else (values - mean) / deviation


def best_first(values: Doubles, rows: Longs) -> Longs:
    """Rows by falling value; equal ones by document id and position, which is the order of the pool."""
    return rows[np.lexsort((rows, -values[rows]))]


def _check(query: NDArray[np.float32], documents: Sequence[DocumentSentences], key: ModelKey) -> None:
    for one in documents:
        if one.key != key:
            raise ModelKeyMismatch(
                "the query was encoded for another vector space than the document's sentences",
                where=one.doc_id,
                got=f"{key.readable()}, different in {one.key.differences(key)}",
                allowed=one.key.readable(),
                fix="encode the query with the model of the generation",
            )
    if query.shape != (key.dimension,) or not np.isfinite(query).all():
        raise InputError(
            "not a usable query vector",
            got=f"{query.dtype} {query.shape}",
            allowed=f"finite float32 ({key.dimension},)",
        )
    places = [(one.segment, one.document, one.doc_id) for one in documents]
    if len(set(places)) != len(places):
        raise InputError(
            "a document is cut twice for one query",
            got=sorted(one for one in places if places.count(one) > 1)[0],
            fix="hand each document over once, whatever its number of hits",
        )


def _joined(parts: Sequence[NDArray[Any]], dtype: type[_Scalar]) -> NDArray[_Scalar]:
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype=dtype)


def _block_ends(same_block: Flags) -> tuple[Longs, Longs]:
    """First and last sentence of the block of each sentence.

    Args:
        same_block: bool (n,), whether a sentence is of the block of the one before.
    """
    begins = np.flatnonzero(~same_block)
    lengths = np.diff(np.append(begins, len(same_block)))
    return np.repeat(begins, lengths), np.repeat(begins + lengths - 1, lengths)


def _parent_cosines(documents: Sequence[DocumentSentences], bounds: Longs, query: NDArray[np.float32]) -> Doubles:
    """Best cosine of the chunks that hold each sentence of the pool; minus infinity where none has a vector."""
    best = np.full(int(bounds[-1]), -np.inf)
    if not documents:
        return best
    present = _joined([one.parent_has_vector for one in documents], np.bool_)
    cosines = _joined([one.parent_vectors @ query for one in documents], np.float64)[present]
    offsets = np.repeat(bounds[:-1], [len(one.parents) for one in documents])[present]
    spans = np.concatenate([one.parents for one in documents])[present].astype(np.int64)
    sizes = spans[:, 1] - spans[:, 0] + 1
    first = spans[:, 0] + offsets
    rows = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(first, sizes)
    np.maximum.at(best, rows, np.repeat(cosines, sizes))
    return best


def _flags(values: Sequence[str], test: Callable[[str], bool]) -> Flags:
    """A test of each value, made once for each different one: a document has few of them."""
    answers = {value: test(value) for value in set(values)}
    if len(set(answers.values())) == 1:
        return np.full(len(values), next(iter(answers.values())))
    return np.array([answers[value] for value in values], dtype=bool)
