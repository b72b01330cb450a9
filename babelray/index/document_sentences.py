"""The sentences of one found document with their stored vectors: what a query can cut passages from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from babelray.errors import IntegrityError
from babelray.index.access import CompiledScope
from babelray.index.reader import Hit, OpenGeneration
from babelray.index.segment_tables import SegmentTables
from babelray.keys import ModelKey

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class DocumentSentences:
    """n sentences of a document in the order of its text, and the c chunks that hold them.

    Attributes:
        segment: Position of the segment in the generation.
        document: Row in the segment's documents.
        key: Model key of all vectors.
        starts, ends: int64 (n,), code point spans in `text`.
        blocks: int32 (n,), position of the sentence's block in the document.
        languages: BCP 47 language of each sentence's block; `und` and `zxx` as there.
        kinds: Kind of each sentence's block, a `BlockKind` value.
        sections: int32 (n,), equal numbers have the same section path.
        tokens: int32 (n,), by the model-free counter.
        vectors: float32 (n, d), unit length; zero where `has_vector` is false.
        has_vector: bool (n,).
        parent_vectors: float32 (c, d), of the chunks; zero where `parent_has_vector` is false.
        parent_has_vector: bool (c,).
        parents: int32 (c, 2), first and last sentence of each chunk, inclusive; chunks may overlap.
        text: The original document.
    """

    segment: int
    document: int
    doc_id: str
    key: ModelKey
    starts: Longs
    ends: Longs
    blocks: Ints
    languages: tuple[str, ...]
    kinds: tuple[str, ...]
    sections: Ints
    tokens: Ints
    vectors: Floats
    has_vector: Flags
    parent_vectors: Floats
    parent_has_vector: Flags
    parents: Ints
    text: str

    def __len__(self) -> int:
        return len(self.starts)


def read_document_sentences(generation: OpenGeneration, hit: Hit, scope: CompiledScope) -> DocumentSentences:
    """The whole document of a hit, for a caller who may see it.

    Args:
        generation: Where the hit is from.
        hit: Any chunk of the document.
        scope: What the caller may see; every chunk row of the document is checked.

    Raises:
        AccessDenied: A row of the document is outside the scope; counted in `generation.violations`.
        IntegrityError: The segment's tables disagree about the document.
    """
    segment = generation.segments[hit.segment]
    row = int(segment.access.documents[hit.row])
    first_chunk, chunk_count, first_sentence, sentence_count = (
        int(segment.document_columns[name][row]) for name in ("first_chunk", "chunks", "first_sentence", "sentences")
    )
    doc_id, text = (segment.documents[name][row].as_py() for name in ("doc_id", "text"))
    rows = np.arange(first_chunk, first_chunk + chunk_count, dtype=np.int64)
    generation.check(hit.segment, np.union1d(rows, [hit.row]), scope)
    held = slice(first_sentence, first_sentence + sentence_count)
    sentences = {name: column[held] for name, column in segment.sentence_columns.items()}
    chunks = {name: column[first_chunk : first_chunk + chunk_count] for name, column in segment.chunk_columns.items()}
    where = f"segment {segment.name}, document {row}"
    _check_owner(chunks["document"], row, where)
    _check_owner(sentences["document"], row, where)
    blocks = sentences["block"].astype(np.int32)
    languages, kinds, sections = _blocks(segment, row)
    starts, ends = sentences["start"].astype(np.int64), sentences["end"].astype(np.int64)
    parents = np.stack([chunks["first_sentence"], chunks["last_sentence"]], 1).astype(np.int32)
    _check_spans(starts, ends, blocks, parents, len(text), len(kinds), where)
    has_vector = sentences["has_vector"].astype(np.bool_)
    vectors = segment.sentence_vectors[held].astype(np.float32)
    vectors[~has_vector] = 0
    parent_has_vector = segment.access.has_vector[rows]
    parent_vectors = segment.vectors.vectors(rows)
    parent_vectors[~parent_has_vector] = 0
    return DocumentSentences(
        segment=hit.segment,
        document=row,
        doc_id=doc_id,
        key=generation.key,
        starts=starts,
        ends=ends,
        blocks=blocks,
        languages=tuple(languages[block] for block in blocks),
        kinds=tuple(kinds[block] for block in blocks),
        sections=sections[blocks],
        tokens=sentences["tokens"].astype(np.int32),
        vectors=vectors,
        has_vector=has_vector,
        parent_vectors=parent_vectors,
        parent_has_vector=parent_has_vector,
        parents=parents,
        text=text,
    )


def _blocks(segment: SegmentTables, row: int) -> tuple[list[str], list[str], Ints]:
    """Language, kind and section number of each block; sections are numbered as they first occur."""
    blocks = segment.documents["blocks"][row].values
    if blocks is None:
        return [], [], np.zeros(0, dtype=np.int32)
    numbers: dict[tuple[str, ...], int] = {}
    paths = [tuple(path) for path in blocks.field("section_path").to_pylist()]
    sections = [numbers.setdefault(path, len(numbers)) for path in paths]
    languages, kinds = (blocks.field(name).to_pylist() for name in ("language", "kind"))
    return languages, kinds, np.array(sections, dtype=np.int32)


def _check_owner(owners: NDArray[Any], row: int, where: str) -> None:
    strangers = owners[owners != row]
    if len(strangers):
        raise IntegrityError(
            "rows of a document belong to another one",
            where=where,
            got=np.unique(strangers).tolist()[:5],
            allowed=[row],
        )


def _check_spans(
    starts: Longs, ends: Longs, blocks: Ints, parents: Ints, characters: int, block_count: int, where: str
) -> None:
    """Raises IntegrityError where sentences overlap, leave the text, or name blocks and sentences there are not."""
    inside = (starts >= 0) & (starts < ends) & (ends <= characters) & (blocks >= 0) & (blocks < block_count)
    ordered = bool((starts[1:] >= ends[:-1]).all())
    held = bool(((parents >= 0) & (parents < len(starts))).all()) and bool((parents[:, 0] <= parents[:, 1]).all())
    if not (inside.all() and ordered and held):
        raise IntegrityError(
            "the sentences of a document do not fit its text, its blocks or its chunks",
            where=where,
            got=f"{int((~inside).sum())} outside, in order: {ordered}, held by chunks: {held}",
            allowed=f"rising spans inside 0..{characters}",
            fix="run `babelray generations verify --deep`, and reindex when it finds the segment damaged",
        )
