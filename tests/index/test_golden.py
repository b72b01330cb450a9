import numpy as np
import pytest
from pydantic import ValidationError

from babelray.errors import ModelKeyMismatch
from babelray.index.golden import GOLDEN_TEXTS, GoldenVectors, check_golden, make_golden
from babelray.keys import ModelKey, Role
from babelray.protocols import Encoded

KEY = ModelKey(
    provider="hash", name="t", revision="1", dimension=8, dtype="fp32", max_tokens=64, tokenizer_revision="1"
)


class Embedder:
    """Vectors from a seed of the text and role; `noise` turns each a little, `swap` takes one role for the other."""

    def __init__(self, key=KEY, noise=0.0, swap=False, refused=None, replace=None):
        self.key, self.noise, self.swap, self.refused, self.replace = key, noise, swap, refused or {}, replace

    def encode(self, texts, role):
        prefix = role if not self.swap else Role.QUERY
        rows = [np.random.default_rng(list(f"{prefix}{text}".encode())).standard_normal(8) for text in texts]
        vectors = np.array(rows) / np.linalg.norm(rows, axis=1, keepdims=True)
        vectors += self.noise * np.roll(vectors, 1, axis=1)
        if self.replace is not None:
            vectors[3] = self.replace
        return Encoded(
            vectors.astype(np.float32), np.ones(len(texts), np.int32), np.zeros(len(texts), bool), self.refused
        )


def test_the_same_embedder_reproduces_itself():
    golden = make_golden(Embedder())
    assert check_golden(Embedder(), golden) == pytest.approx(1.0, abs=1e-6)
    assert golden.vectors(Role.QUERY).shape == (len(GOLDEN_TEXTS), 8)
    np.testing.assert_array_equal(golden.vectors(Role.PASSAGE), Embedder().encode(GOLDEN_TEXTS, Role.PASSAGE).vectors)


def test_rounding_passes_and_another_space_does_not():
    golden = make_golden(Embedder())
    assert 0.999 <= check_golden(Embedder(noise=0.02), golden) < 1
    with pytest.raises(ModelKeyMismatch, match="does not reproduce") as caught:
        check_golden(Embedder(noise=0.5), golden)
    assert "cosine 0." in caught.value.got


def test_a_missing_passage_prefix_is_found_though_queries_are_right():
    with pytest.raises(ModelKeyMismatch) as caught:
        check_golden(Embedder(swap=True), make_golden(Embedder()))
    assert "passage" in caught.value.where


@pytest.mark.parametrize("bad", [np.nan, 0.0, np.inf])
def test_one_useless_vector_is_found_and_its_text_is_named(bad):
    with pytest.raises(ModelKeyMismatch) as caught:
        check_golden(Embedder(replace=bad), make_golden(Embedder()))
    assert GOLDEN_TEXTS[3][:10] in caught.value.got


def test_another_key_is_refused_before_anything_is_encoded():
    other = Embedder(KEY.model_copy(update={"revision": "2"}))
    other.encode = None
    with pytest.raises(ModelKeyMismatch, match="another model key"):
        check_golden(other, make_golden(Embedder()))


def test_an_embedder_that_refuses_golden_texts_makes_no_golden_vectors():
    with pytest.raises(ModelKeyMismatch, match="refuses"):
        make_golden(Embedder(refused={2: "oom"}))


@pytest.mark.parametrize("packed", ["", "AAAA", "not base64!", "é"])
def test_vectors_that_do_not_fit_the_texts_are_refused(packed):
    values = make_golden(Embedder()).model_dump()
    with pytest.raises(ValidationError, match="golden vectors"):
        GoldenVectors.model_validate({**values, "query": packed})


def test_texts_cover_languages_and_stay_as_they_are():
    # A changed text makes every stored generation's check meaningless to compare: add a text, never change one.
    assert len(set(GOLDEN_TEXTS)) == 8
    assert any("一" <= letter <= "鿿" for letter in GOLDEN_TEXTS[1]) and "ERR_1205" in GOLDEN_TEXTS[6]
