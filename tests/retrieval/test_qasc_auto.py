import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelray.config import AutoWindowSettings, QascSettings
from babelray.errors import IntegrityError
from babelray.retrieval import qasc_auto
from babelray.retrieval.qasc import rechunk
from babelray.retrieval.qasc_auto import auto_scores, expected_best, sentence_model
from babelray.retrieval.qasc_features import FEATURES, features
from babelray.retrieval.qasc_pool import build_pool
from tests.index.segment_worlds import KEY
from tests.retrieval.qasc_worlds import QUERY, document, documents

PROBABILITIES = st.lists(st.tuples(st.floats(0, 1), st.integers(1, 60)), min_size=1, max_size=8)


def pool_of(*docs):
    return build_pool(QUERY, docs, KEY)


@settings(max_examples=60, deadline=None)
@given(docs=documents())
def test_features_are_finite_for_any_documents(docs):
    pool = pool_of(*docs)
    if pool.present.any():
        values = features(pool)
        assert values.shape == (len(pool), len(FEATURES)) and np.isfinite(values).all()
        probabilities = auto_scores(pool)
        assert ((probabilities >= 0) & (probabilities <= 1)).all()
        assert (probabilities[~pool.present] == 0).all()


def test_features_do_not_see_the_scale_of_a_models_cosines():
    rng = np.random.default_rng(2)
    cosines, chunks = rng.random(20), rng.random(2)

    def at(factor, offset):
        return features(
            pool_of(
                document("a", offset + factor * cosines[:12], parent_cosines=[offset + factor * chunks[0]]),
                document("b", offset + factor * cosines[12:], parent_cosines=[offset + factor * chunks[1]]),
            )
        )

    np.testing.assert_allclose(at(0.15, 0.8), at(1.0, 0.0), atol=1e-4)


def test_features_by_hand():
    pool = pool_of(document("a", [0.1, 0.9, 0.5], blocks=[0, 0, 1], tokens=[10, 20, 30]))
    got = dict(zip(FEATURES, features(pool).T, strict=True))
    deviation = np.std([0.1, 0.9, 0.5])
    np.testing.assert_allclose(got["gap"], np.array([0.8, 0.0, 0.4]) / deviation, atol=1e-5)
    np.testing.assert_allclose(got["peak"], 0.4 / deviation, atol=1e-5)
    np.testing.assert_allclose(got["length"], np.log([0.5, 1.0, 1.5]))
    np.testing.assert_allclose(got["rank"], np.log([3, 1, 2]))
    assert got["best"].tolist() == [0, 1, 0]
    assert got["same_block"].tolist() == [1, 1, 0]
    assert got["opens_block"].tolist() == [1, 0, 1]
    assert got["neighbour"][0] == got["cosine"][1] and abs(got["neighbour"][2]) < 1e-9


@given(PROBABILITIES)
def test_no_other_number_of_the_most_probable_has_a_better_expected_f1(values):
    probabilities = np.array([probability for probability, _ in values])
    sizes = np.array([size for _, size in values], dtype=np.int64)
    total = float((probabilities * sizes).sum())

    def expected(rows):
        return 2 * (probabilities[rows] * sizes[rows]).sum() / max(sizes[rows].sum() + total, 1e-12)

    chosen = expected_best(probabilities, sizes, np.arange(len(values)), 1.0)
    order = np.lexsort((np.arange(len(values)), -probabilities))
    assert chosen.tolist() == order[: len(chosen)].tolist()
    best = max(expected(order[:k]) for k in range(1, len(values) + 1))
    assert expected(chosen) == pytest.approx(best)


@given(PROBABILITIES)
def test_for_equal_sizes_no_set_at_all_has_a_better_expected_f1(values):
    probabilities = np.array([probability for probability, _ in values])
    sizes = np.full(len(values), 7, dtype=np.int64)

    def expected(rows):
        return 2 * probabilities[list(rows)].sum() / max(len(rows) + probabilities.sum(), 1e-12)

    chosen = expected_best(probabilities, sizes, np.arange(len(values)), 1.0)
    every = (rows for k in range(1, len(values) + 1) for rows in combinations(range(len(values)), k))
    assert expected(chosen.tolist()) == pytest.approx(max(expected(rows) for rows in every))


def test_a_wider_setting_takes_no_less():
    rng = np.random.default_rng(8)
    docs = [document(name, rng.random(20)) for name in "ab"]
    sizes = []
    for width in (0.3, 1.0, 3.0, 10.0):
        passages = rechunk(
            QUERY, docs, QascSettings(profile="auto", auto=AutoWindowSettings(width=width)), 5000, key=KEY
        )
        sizes.append(sum(one.tokens for one in passages))
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]


def test_one_sentence_that_stands_out_is_taken_alone_and_an_even_field_is_not():
    def taken(cosines):
        docs = [document("a", cosines, blocks=[0] * 4 + [1] * 4 + [2] * 4)]
        passages = rechunk(QUERY, docs, QascSettings(profile="auto"), 1000, key=KEY)
        return [row for one in passages for row in one.sentences]

    rest = [0.3, 0.29, 0.3, 0.31, 0.3, 0.28, 0.3, 0.29]
    assert taken([0.3, 0.32, 0.95, 0.31, *rest]) == [2]
    assert taken([0.3, 0.72, 0.75, 0.7, *rest]) == [1, 2, 3]


def test_weights_of_other_features_are_refused(monkeypatch, tmp_path):
    (tmp_path / "qasc_auto.json").write_text(json.dumps({"bias": 0, "weights": {"cosine": 1.0}}), encoding="utf-8")
    monkeypatch.setattr(qasc_auto, "files", lambda package: tmp_path)
    sentence_model.cache_clear()
    try:
        with pytest.raises(IntegrityError, match="other features"):
            sentence_model()
    finally:
        sentence_model.cache_clear()
