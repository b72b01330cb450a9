import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from babelray.config import RerankSettings
from babelray.errors import ConfigError, InputError, IntegrityError, UpstreamError
from babelray.protocols import Reranker
from models.rerankers import build_reranker
from models.rerankers.cross_encoder import CrossEncoder
from tests.models.tiny_checkpoints import WORDS, save_bert, save_bert_classifier, save_xlm_roberta_classifier

QUERY = "w1 w2"
PASSAGES = ["w3 w4 w5", "w1 w2 w3 w9", "w80", "", "w3 w4 w5", " ".join(WORDS[:60])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("cross-encoders") / "tiny"
    save_bert_classifier(path)
    return path


@pytest.fixture(scope="module")
def encoder(folder):
    return CrossEncoder(folder, (), 32, "cpu")


def plainly(folder, query, passages, max_tokens):
    """One pair after the other, as transformers documents it."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    scores = []
    for passage in passages:
        given = tokenizer(
            [query],
            [passage],
            truncation="only_second",
            max_length=max_tokens,
            return_token_type_ids=True,
            return_tensors="pt",
        )
        if getattr(model.config, "type_vocab_size", 0) < 2:
            given.pop("token_type_ids", None)
        with torch.inference_mode():
            logits = model(**given).logits[0]
        scores.append(float(logits[0] if len(logits) == 1 else logits[1] - logits[0]))
    return np.array(scores)


@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("save", [save_bert_classifier, save_xlm_roberta_classifier])
def test_scores_are_those_of_one_pair_after_the_other(tmp_path, save, labels):
    save(tmp_path, labels=labels)
    scores = CrossEncoder(tmp_path, (), 32, "cpu").score(QUERY, PASSAGES)
    assert scores.dtype == np.float32 and scores.shape == (len(PASSAGES),)
    np.testing.assert_allclose(scores, plainly(tmp_path, QUERY, PASSAGES, 32), atol=1e-5)
    assert len(set(scores.tolist())) == 5  # two passages are the same


@given(passages=st.lists(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join), max_size=12))
@settings(max_examples=25, deadline=None)
def test_a_score_is_its_passages_whatever_stands_beside_it(encoder, passages):
    scores = encoder.score(QUERY, passages)
    alone = [encoder.score(QUERY, [passage])[0] for passage in passages]
    np.testing.assert_allclose(scores, np.array(alone, dtype=np.float32), atol=1e-5)
    assert encoder.score(QUERY, passages).tobytes() == scores.tobytes()


def test_a_long_passage_loses_its_end_and_the_query_nothing(encoder):
    room = 32 - 3 - len(QUERY.split())
    whole, cut = " ".join(WORDS[:60]), " ".join(WORDS[:room])
    np.testing.assert_allclose(encoder.score(QUERY, [whole]), encoder.score(QUERY, [cut]), atol=1e-6)
    assert abs(encoder.score(QUERY, [cut])[0] - encoder.score(QUERY, [" ".join(WORDS[: room - 1])])[0]) > 1e-4
    fits = " ".join(WORDS[: 32 - 3 - 1])
    assert np.isfinite(encoder.score(fits, ["w1"])).all()
    with pytest.raises(InputError, match="no room") as caught:
        encoder.score(f"{fits} w1", ["w1"])
    assert "29 tokens" in str(caught.value)


def test_the_query_and_the_passage_have_their_sides(encoder):
    assert abs(encoder.score("w1", ["w2"])[0] - encoder.score("w2", ["w1"])[0]) > 1e-4


def test_odd_texts_are_scored(encoder):
    scores = encoder.score("w1 \ud800", ["\udfff w2", "\0", "中文", "w1\n\nw2"])
    assert np.isfinite(scores).all()
    assert encoder.score("", ["w1"]).shape == (1,)
    assert encoder.score(QUERY, []).shape == (0,)


def test_from_settings_with_languages(folder):
    made = build_reranker(RerankSettings(kind="cross-encoder", path=folder, languages=("en", "zh"), max_tokens=32))
    assert isinstance(made, Reranker)
    assert made.supports("zh-CN", "en-GB") and not made.supports("en", "de") and not made.supports("de", "en")
    assert build_reranker(RerankSettings(kind="cross-encoder", path=folder, max_tokens=32)).supports("xx", "de")
    assert build_reranker(RerankSettings()) is None
    assert build_reranker(RerankSettings(kind="sentences")) is None


def test_the_version_changes_with_weights_and_token_cap(folder, tmp_path):
    save_bert_classifier(tmp_path, seed=1)
    versions = {CrossEncoder(f, (), n, "cpu").version for f, n in [(folder, 32), (folder, 16), (tmp_path, 32)]}
    assert len(versions) == 3
    assert CrossEncoder(folder, (), 32, "cpu").version in versions


def test_what_cannot_be_used_is_refused(folder, tmp_path):
    with pytest.raises(ConfigError, match="needs a checkpoint"):
        build_reranker(RerankSettings(kind="cross-encoder"))
    with pytest.raises(ConfigError, match="not a checkpoint"):
        CrossEncoder(tmp_path, (), 32)
    with pytest.raises(ConfigError, match="fewer positions"):
        CrossEncoder(folder, (), 33)
    save_bert_classifier(tmp_path / "three", labels=3)
    with pytest.raises(ConfigError, match="3 outputs"):
        CrossEncoder(tmp_path / "three", (), 32)
    save_bert(tmp_path / "encoder")
    with pytest.raises(IntegrityError, match="lacks weights"):
        CrossEncoder(tmp_path / "encoder", (), 32)


def test_weights_that_are_pickled_are_not_loaded(folder, tmp_path):
    save_bert_classifier(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    torch.save(weights, tmp_path / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="not a checkpoint"):
        CrossEncoder(tmp_path, (), 32)


def test_scores_that_are_not_numbers_are_an_error(tmp_path):
    save_bert_classifier(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    weights["classifier.bias"] = torch.full_like(weights["classifier.bias"], float("nan"))
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UpstreamError, match="not numbers"):
        CrossEncoder(tmp_path, (), 32, "cpu").score(QUERY, PASSAGES)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_gpu_gives_the_same_scores(folder, encoder):
    scores = CrossEncoder(folder, (), 32, "cuda").score(QUERY, PASSAGES)
    np.testing.assert_allclose(scores, encoder.score(QUERY, PASSAGES), atol=1e-3)
