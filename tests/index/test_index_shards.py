from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelray.errors import InputError, IntegrityError
from babelray.index.shards import (
    EmbeddedShard,
    embedded_schema,
    read_embedded,
    read_prepared,
    write_embedded,
    write_prepared,
)
from babelray.index.store import open_store
from babelray.protocols import LanguageCandidate
from babelray.text.types import Block, BlockKind, Chunk, Cut, Document, PreparedDocument, Sentence

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.integers(0, 2**40)
shares = st.dictionaries(st.sampled_from(["Latn", "Hani", "Cyrl", "Zyyy"]), st.floats(0, 1), max_size=3)
paths = st.lists(texts, max_size=3).map(tuple)
moments = st.none() | st.datetimes(
    datetime(1700, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)
)  # fmt: skip
documents = st.builds(
    Document, texts, texts, texts, st.text(st.characters(exclude_categories=["Cs"])), texts, texts, texts, texts, texts,
    paths, texts, moments, moments, moments, st.none() | texts,
)  # fmt: skip
blocks = st.builds(
    Block, st.sampled_from(BlockKind), numbers, numbers, paths,
    st.lists(st.builds(Cut, numbers, numbers, texts), max_size=3).map(tuple), texts,
    st.lists(st.builds(LanguageCandidate, texts, st.floats(0, 1)), max_size=3).map(tuple), shares, st.booleans(),
    st.booleans(),
)  # fmt: skip
sentences = st.builds(Sentence, numbers, numbers, numbers, numbers)
chunks = st.builds(
    Chunk, texts, numbers, numbers, numbers, numbers, st.lists(numbers, max_size=3).map(tuple), texts, texts, paths,
    shares, numbers, paths, paths, paths,
)  # fmt: skip
prepared = st.builds(
    PreparedDocument,
    documents,
    st.lists(blocks, max_size=3).map(tuple),
    st.lists(sentences, max_size=3).map(tuple),
    st.lists(chunks, max_size=3).map(tuple),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return open_store(str(tmp_path_factory.mktemp("shards")))


@given(st.lists(prepared, max_size=3))
@settings(deadline=None, max_examples=60)
def test_prepared_documents_come_back_equal_and_in_order(store, units):
    write_prepared(store, "p", units)
    assert list(read_prepared(store, "p")) == units


def test_more_documents_than_a_row_group_keep_their_order(store):
    units = [PreparedDocument(Document(str(n), "u", "r", "t"), (), (), ()) for n in range(600)]
    write_prepared(store, "many", units)
    assert [one.document.doc_id for one in read_prepared(store, "many")] == [str(n) for n in range(600)]


def test_times_of_other_zones_are_the_same_instants(store):
    east = datetime(2025, 1, 1, 5, tzinfo=timezone(timedelta(hours=5)))
    write_prepared(store, "z", [PreparedDocument(Document("d", "u", "r", "t", updated_at=east), (), (), ())])
    back = next(iter(read_prepared(store, "z"))).document.updated_at
    assert back == east and back.tzinfo is UTC


def test_a_time_without_a_zone_is_refused(store):
    naive = PreparedDocument(Document("d", "u", "r", "t", valid_to=datetime(2025, 1, 1)), (), (), ())
    with pytest.raises(InputError, match="without a zone") as caught:
        write_prepared(store, "n", [naive])
    assert "valid_to" in caught.value.where and not store.exists("n")


def shard(chunks, sentences, dimension, seed=0):
    rng = np.random.default_rng(seed)
    return EmbeddedShard(
        chunk_vectors=rng.standard_normal((chunks, dimension)).astype(np.float16),
        sentence_vectors=rng.standard_normal((sentences, dimension)).astype(np.float16),
        chunk_tokens=rng.integers(0, 512, chunks).astype(np.int32),
        sentence_tokens=rng.integers(0, 512, sentences).astype(np.int32),
        chunk_truncated=rng.random(chunks) < 0.5,
        sentence_truncated=rng.random(sentences) < 0.5,
        chunk_refused=dict.fromkeys(range(0, chunks, 3), "oom"),
        sentence_refused=dict.fromkeys(range(1, sentences, 4), "zero_vector"),
    )


def assert_same(one, other):
    for name, value in vars(one).items():
        back = getattr(other, name)
        if isinstance(value, np.ndarray):
            assert back.dtype == value.dtype and back.tobytes() == value.tobytes() and back.shape == value.shape
        else:
            assert back == value


@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 9), st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_embedded_vectors_come_back_bit_by_bit(store, chunk_count, sentence_count, dimension, seed):
    made = shard(chunk_count, sentence_count, dimension, seed)
    write_embedded(store, "e", made)
    assert_same(made, read_embedded(store, "e"))


def test_special_values_keep_their_bits(store):
    odd = np.array([[np.nan, np.inf, -np.inf, -0.0, 6e-8, 65504]], dtype=np.float16)
    made = replace(shard(1, 0, 6), chunk_vectors=odd)
    write_embedded(store, "odd", made)
    assert_same(made, read_embedded(store, "odd"))


def test_equal_input_gives_equal_bytes_in_any_place(tmp_path):
    records = []
    for name in ("one", "two"):
        store = open_store(str(tmp_path / name))
        document = Document("d", "u", "r", "t", acl_groups=("a", "b"), updated_at=datetime(2025, 1, 1, tzinfo=UTC))
        unit = PreparedDocument(document, (Block(BlockKind.CODE, 0, 1, scripts={"Latn": 1.0}),), (), ())
        records.append((write_prepared(store, "p", [unit] * 3), write_embedded(store, "e", shard(500, 700, 8))))
    assert records[0] == records[1]
    raw = (tmp_path / "one" / "p").read_bytes()
    assert b"pandas" not in raw and str(tmp_path).encode() not in raw


def test_vectors_are_numbers_to_any_parquet_reader(store):
    import pyarrow.parquet as pq

    made = shard(2, 1, 4)
    write_embedded(store, "numbers", made)
    table = pq.read_table(store.local_path("numbers"))
    assert table.schema.equals(embedded_schema(4))
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist()[:2], dtype=np.float16), made.chunk_vectors)


@pytest.mark.parametrize(
    "change",
    [
        {"chunk_tokens": np.zeros(1, np.int32)},
        {"sentence_vectors": np.zeros((4, 7), np.float16)},
        {"chunk_vectors": np.zeros((5, 8), np.float32)},
        {"chunk_refused": {5: "oom"}},
        {"sentence_truncated": np.zeros((4, 1), bool)},
    ],
)
def test_parts_that_do_not_fit_are_refused(change):
    with pytest.raises(InputError, match="do not fit"):
        replace(shard(5, 4, 8), **change)


@pytest.mark.parametrize("read", [read_embedded, lambda store, path: list(read_prepared(store, path))])
def test_what_is_no_shard_is_named(store, read):
    store.write_atomic("junk", b"PAR1 nothing of the kind")
    with pytest.raises(IntegrityError, match="cannot be read") as caught:
        read(store, "junk")
    assert caught.value.where == "junk"
    with pytest.raises(InputError, match="no such file"):
        read(store, "missing")


def test_a_shard_of_the_other_kind_is_told_by_its_columns(store):
    write_embedded(store, "vectors", shard(1, 1, 4))
    write_prepared(store, "documents", [])
    with pytest.raises(IntegrityError, match="another schema"):
        list(read_prepared(store, "vectors"))
    with pytest.raises(IntegrityError, match="another schema"):
        read_embedded(store, "documents")


def test_a_changed_byte_never_gives_other_data(store):
    made = shard(40, 40, 16)
    size = write_embedded(store, "clean", made).size
    data = store.read_bytes("clean")
    footer = int.from_bytes(data[-8:-4], "little") + 8
    positions, found = range(4, size - footer, 7), 0
    for at in positions:
        broken = bytearray(data)
        broken[at] ^= 0x10
        store.write_atomic("broken", bytes(broken))
        try:
            assert_same(made, read_embedded(store, "broken"))  # a byte of a page's header that no reader looks at
        except IntegrityError:
            found += 1
    assert found > 0.9 * len(positions)
