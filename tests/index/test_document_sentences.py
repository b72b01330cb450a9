import numpy as np
import pyarrow as pa
import pytest

from babelray.errors import AccessDenied, IntegrityError
from babelray.index.access import AccessScope, AccessValues
from babelray.index.access_store import register_classes
from babelray.index.document_sentences import read_document_sentences
from babelray.index.reader import Hit, OpenGeneration
from babelray.index.segment_search import LocalSearch
from babelray.index.shards import EmbeddedShard
from babelray.index.store import open_store
from babelray.text.types import Block, BlockKind, Chunk, Document, PreparedDocument, Sentence
from tests.index.segment_worlds import KEY, NOW, open_world, unit_vectors, write_segment

OPEN = AccessValues("a", "docs", ("*",), "active")


def overlapping_document():
    """A heading, a paragraph of three sentences and code, in two chunks that share a sentence."""
    text = "Title\nOne. Two. Three.\nx = 1"
    spans = [(0, 5), (6, 10), (11, 15), (16, 22), (23, 28)]
    blocks = (
        Block(BlockKind.HEADING, 0, 5, section_path=("Top",), language="en"),
        Block(BlockKind.PARAGRAPH, 6, 22, section_path=("Top", "Title"), language="en"),
        Block(BlockKind.CODE, 23, 28, section_path=("Top", "Title"), language="zxx"),
    )
    sentences = tuple(
        Sentence(*span, block=block, tokens=at + 1)
        for at, (span, block) in enumerate(zip(spans, (0, 1, 1, 1, 2), strict=True))
    )
    chunks = tuple(
        Chunk(f"c{first}", spans[first][0], spans[last][1], first, last, (0, 1), "x", "", ("en",), {}, 9)
        for first, last in ((0, 2), (2, 4))
    )
    return PreparedDocument(
        Document("d", "mem://d", "r1", text, tenant_id="a", knowledge_base_id="docs"), blocks, sentences, chunks
    )


def build(store, tmp_path, refused=(), chunk_refused=()):
    rng = np.random.default_rng(1)
    vectors, sentence_vectors = unit_vectors(rng, 2), unit_vectors(rng, 5)
    shard = EmbeddedShard(
        chunk_vectors=vectors,
        sentence_vectors=sentence_vectors,
        chunk_tokens=np.full(2, 5, dtype=np.int32),
        sentence_tokens=np.full(5, 5, dtype=np.int32),
        chunk_truncated=np.zeros(2, dtype=bool),
        sentence_truncated=np.zeros(5, dtype=bool),
        chunk_refused=dict.fromkeys(chunk_refused, "oom"),
        sentence_refused=dict.fromkeys(refused, "oom"),
    )
    class_of = register_classes(store, "main", {OPEN})
    segment, _ = write_segment(tmp_path / "0000", [([overlapping_document()], shard)], class_of)
    return segment, vectors, sentence_vectors


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path / "store"))


class Manifest:
    """As much of a manifest as reading needs."""

    index, generation, model_key = "main", "g1", KEY


def scope_of(generation, **changes):
    return generation.compile(AccessScope(**{"tenant_id": "a", "as_of": NOW, **changes}))


def test_everything_of_a_document_is_read(store, tmp_path):
    segment, vectors, sentence_vectors = build(store, tmp_path)
    generation = OpenGeneration(store, Manifest, [segment], LocalSearch([segment]))
    read = read_document_sentences(generation, Hit(0, 1, 0.0), scope_of(generation))
    assert (read.segment, read.document, read.doc_id, read.key, len(read)) == (0, 0, "d", KEY, 5)
    assert [read.text[start:end] for start, end in zip(read.starts, read.ends, strict=True)] == [
        "Title", "One.", "Two.", "Three.", "x = 1",
    ]  # fmt: skip
    assert read.kinds == ("heading", "paragraph", "paragraph", "paragraph", "code")
    assert read.languages == ("en", "en", "en", "en", "zxx")
    assert (read.blocks.tolist(), read.sections.tolist()) == ([0, 1, 1, 1, 2], [0, 1, 1, 1, 1])
    assert read.tokens.tolist() == [1, 2, 3, 4, 5]
    assert read.parents.tolist() == [[0, 2], [2, 4]]
    np.testing.assert_array_equal(read.vectors, sentence_vectors.astype(np.float32))
    np.testing.assert_array_equal(read.parent_vectors, vectors.astype(np.float32))
    assert read.has_vector.all() and read.parent_has_vector.all()
    assert {array.dtype for array in (read.vectors, read.parent_vectors)} == {np.dtype(np.float32)}


def test_what_has_no_vector_is_zero_and_said_so(store, tmp_path):
    segment, _, _ = build(store, tmp_path, refused=(3,), chunk_refused=(1,))
    generation = OpenGeneration(store, Manifest, [segment], LocalSearch([segment]))
    read = read_document_sentences(generation, Hit(0, 0, 0.0), scope_of(generation))
    assert (read.has_vector.tolist(), read.parent_has_vector.tolist()) == (
        [True, True, True, False, True],
        [True, False],
    )
    assert not read.vectors[3].any() and not read.parent_vectors[1].any()


def test_a_document_outside_the_scope_is_refused_and_counted(store, tmp_path):
    segment, _, _ = build(store, tmp_path)
    generation = OpenGeneration(store, Manifest, [segment], LocalSearch([segment]))
    with pytest.raises(AccessDenied, match="withheld"):
        read_document_sentences(generation, Hit(0, 0, 0.0), scope_of(generation, tenant_id="b"))
    assert generation.violations == 1


def test_every_document_of_a_random_corpus_opens_for_those_who_may_see_it(store, tmp_path):
    generation, corpora = open_world(store, tmp_path, np.random.default_rng(4))
    scope = scope_of(generation, groups=frozenset({"dev"}))
    seen = refused = 0
    for number, segment in enumerate(generation.segments):
        for row in range(segment.rows):
            prepared = corpora[number][int(segment.access.documents[row])]
            try:
                read = read_document_sentences(generation, Hit(number, row, 0.0), scope)
            except AccessDenied:
                refused += 1
                continue
            seen += 1
            assert read.doc_id == prepared.document.doc_id and read.text == prepared.document.text
            assert prepared.document.tenant_id == "a"
    assert seen and refused == generation.violations > 0


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("sentences", "end", 9000, "do not fit its text"),
        ("sentences", "start", 0, "do not fit its text"),
        ("sentences", "block", 77, "do not fit its text"),
        ("sentences", "document", 3, "belong to another one"),
        ("chunks", "last_sentence", 50, "do not fit its text"),
    ],
)
def test_tables_that_disagree_are_refused(store, tmp_path, table, column, value, message):
    segment, _, _ = build(store, tmp_path)
    damaged = getattr(segment, table)
    values = damaged[column].to_pylist()
    values[-1] = value
    field = damaged.schema.get_field_index(column)
    setattr(
        segment,
        table,
        damaged.set_column(field, damaged.schema.field(column), pa.array(values, damaged.schema.field(column).type)),
    )
    generation = OpenGeneration(store, Manifest, [segment], LocalSearch([segment]))
    with pytest.raises(IntegrityError, match=message):
        read_document_sentences(generation, Hit(0, 0, 0.0), scope_of(generation))
