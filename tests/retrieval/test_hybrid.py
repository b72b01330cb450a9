import hashlib

import numpy as np
import pytest

from babelray.errors import InputError, ModelKeyMismatch
from babelray.index.access import AccessScope
from babelray.index.reader import Hit
from babelray.index.store import open_store
from babelray.retrieval.hybrid import RRF_K, search
from tests.index.access_worlds import GROUPS, STATUSES
from tests.index.segment_worlds import KEY, NOW, open_world, unit_vectors

QUERY = unit_vectors(np.random.default_rng(3), 1)[0].astype(np.float32)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp("hybrid")
    generation, _ = open_world(open_store(str(root / "store")), root / "work", np.random.default_rng(2), documents=40)
    scope = AccessScope(tenant_id="a", groups=frozenset(GROUPS), statuses=frozenset(STATUSES), as_of=NOW)
    return generation, generation.compile(scope)


def test_scores_are_the_sum_of_reciprocal_ranks(world):
    generation, scope = world
    results = search(generation, "pod scheduler", QUERY, KEY, scope, languages=["en"], k=20, per_document=99)
    assert [one.rank for one in results] == list(range(1, len(results) + 1))
    for one in results:
        assert one.score == pytest.approx(sum(1 / (RRF_K + place.rank) for place in one.channels.values()))
    scores = [one.score for one in results]
    assert scores == sorted(scores, reverse=True)
    assert any(set(one.channels) == {"lexical", "dense"} for one in results)
    dense = generation.search_dense(QUERY, KEY, scope, 50)
    by_rank = {one.channels["dense"].rank: one for one in results if "dense" in one.channels}
    first = generation.records([Hit(dense[0].segment, dense[0].row, 0.0)], scope)[0]
    assert by_rank[1].record == first and by_rank[1].channels["dense"].score == dense[0].score


def test_the_same_search_gives_the_same_order(world):
    generation, scope = world
    runs = [search(generation, "volume 数据库", QUERY, KEY, scope, languages=["zh-Hans"]) for _ in range(3)]
    assert runs[0] == runs[1] == runs[2] and runs[0]


def test_a_document_does_not_fill_the_list(world):
    generation, scope = world
    capped = search(generation, "pod", QUERY, KEY, scope, languages=["en"], k=30, per_document=1)
    ids = [one.record.doc_id for one in capped]
    assert len(ids) == len(set(ids))
    free = search(generation, "pod", QUERY, KEY, scope, languages=["en"], k=30, per_document=99)
    assert len({one.record.doc_id for one in free}) < len(free)


def test_quotes_are_the_original_and_carry_their_hash(world):
    generation, scope = world
    for one in search(generation, "retries", QUERY, KEY, scope, languages=["en"]):
        document = next(
            text
            for segment in generation.segments
            for doc_id, text in zip(
                segment.documents["doc_id"].to_pylist(), segment.documents["text"].to_pylist(), strict=True
            )
            if doc_id == one.record.doc_id
        )
        assert document[one.record.start : one.record.end] == one.record.quote
        assert one.quote_sha256 == hashlib.sha256(one.record.quote.encode()).hexdigest()
        assert one.record.section_path[0] == "Top"


def test_nobody_finds_nothing(world):
    generation, _ = world
    nobody = generation.compile(AccessScope(tenant_id="unknown", as_of=NOW))
    assert search(generation, "pod", QUERY, KEY, nobody) == []


def test_bad_requests_are_refused(world):
    generation, scope = world
    with pytest.raises(InputError):
        search(generation, "pod", QUERY, KEY, scope, k=0)
    with pytest.raises(ModelKeyMismatch):
        search(generation, "pod", QUERY, KEY.model_copy(update={"name": "other"}), scope)
