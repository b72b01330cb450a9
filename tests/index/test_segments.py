import numpy as np
import pytest

from babelray.errors import InputError, IntegrityError
from babelray.index.access import AccessClass, AccessScope, AccessTable, AccessValues, compile_scope
from babelray.index.lexical import query_parts
from tests.index.segment_worlds import KEY, embedded, prepared_document, unit_vectors, write_segment

OPEN = AccessValues("a", "docs", ("*",), "active")
CLASS_OF = {OPEN: 0}
SCOPE = compile_scope(AccessTable("r1", (AccessClass(OPEN, OPEN),)), AccessScope(tenant_id="a"))


def two_units():
    rng = np.random.default_rng(1)
    first = [prepared_document("d0", ["alpha beta", "gamma"]), prepared_document("d1", ["delta"])]
    second = [prepared_document("d2", ["数据库 连接", "epsilon"], title="标题")]
    return [(first, embedded(rng, first, refused=(1,))), (second, embedded(rng, second))]


@pytest.mark.parametrize("kind", ["flat", "ivf_sq8"])
def test_rows_of_all_files_belong_together(tmp_path, kind):
    units = two_units()
    segment, _ = write_segment(tmp_path / "s", units, CLASS_OF, kind)
    assert segment.rows == 5 and segment.vectors.rows == 5 and segment.sentences.num_rows == 5
    expected = np.concatenate([shard.chunk_vectors for _, shard in units])
    np.testing.assert_array_equal(segment.vectors.vectors(np.arange(5)), expected.astype(np.float32))
    np.testing.assert_array_equal(segment.sentence_vectors, np.concatenate([s.sentence_vectors for _, s in units]))
    quotes = [segment.record(row, SCOPE).quote for row in range(5)]
    assert quotes == ["alpha beta", "gamma", "delta", "数据库 连接", "epsilon"]
    third = segment.record(3, SCOPE)
    assert (third.title, third.section_path, third.start) == ("标题", ("Top", "d2"), 0)
    assert segment.documents["text"].to_pylist()[0] == "alpha beta\ngamma"
    assert segment.documents["first_chunk"].to_pylist() == [0, 2, 3]


def test_a_row_without_a_vector_is_found_by_words_and_never_by_vector(tmp_path):
    segment, _ = write_segment(tmp_path / "s", two_units(), CLASS_OF)
    bits, allowed = segment.access.bitmap(SCOPE)
    assert allowed == 4
    assert 1 not in segment.vectors.scan(unit_vectors(np.random.default_rng(0), 1)[0].astype(np.float32), 5, bits).rows
    assert segment.search_lexical(query_parts("gamma", ["en"]), SCOPE, 5).rows.tolist() == [1]


def test_the_digest_follows_the_content_and_not_the_class_numbers(tmp_path):
    digests = [
        write_segment(tmp_path / "one", two_units(), CLASS_OF)[1],
        write_segment(tmp_path / "two", two_units(), {OPEN: 7})[1],
    ]
    assert digests[0] == digests[1]
    other = two_units()
    other[0][1].chunk_vectors[0, 0] += np.float16(0.25)
    assert write_segment(tmp_path / "three", other, CLASS_OF)[1] != digests[0]
    renamed = two_units()
    renamed[1] = ([prepared_document("d2", ["数据库 连接", "epsilon"], title="other")], renamed[1][1])
    assert write_segment(tmp_path / "four", renamed, CLASS_OF)[1] != digests[0]


def test_shards_that_do_not_belong_together_are_refused(tmp_path):
    documents, shard = two_units()[0]
    with pytest.raises(IntegrityError, match="do not belong"):
        write_segment(tmp_path / "s", [(documents[:1], shard)], CLASS_OF)


def test_a_document_may_stand_in_a_segment_once(tmp_path):
    unit = two_units()[0]
    with pytest.raises(InputError, match="occurs twice"):
        write_segment(tmp_path / "s", [unit, unit], CLASS_OF)


def test_unregistered_access_values_are_refused(tmp_path):
    with pytest.raises(InputError, match="not registered"):
        write_segment(tmp_path / "s", two_units(), {})


def test_an_empty_segment_can_be_opened(tmp_path):
    segment, _ = write_segment(tmp_path / "s", [], CLASS_OF)
    assert segment.rows == 0
    bits, allowed = segment.access.bitmap(SCOPE)
    assert (bits.size, allowed) == (0, 0) and KEY.dimension == segment.vectors.dimension
