import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from babelray.config import TorchSettings
from babelray.keys import Role
from babelray.protocols import Embedder
from models.checkpoints import load_model, load_tensors, load_tokenizer, read_config, torch_model_key
from models.embedders.torch_encoder import TorchEncoder
from models.packed_bert import PackedBert, equal_runs
from models.padded_model import PaddedModel
from models.registry import build_embedder
from models.tokenization import TextTokenizer
from tests.models import tiny_checkpoints

CPU = torch.device("cpu")
TEXTS = ["w1 w2 w3", "w4", "w5 w6 w7 w8 w9 w10 w11", "", "w12 w13 w14", "w4"]
WORLDS = {
    "bert": (tiny_checkpoints.save_bert, "mean"),
    "bert-cls": (tiny_checkpoints.save_bert, "cls"),
    "bert-tanh-gelu": (lambda folder: tiny_checkpoints.save_bert(folder, hidden_act="gelu_new"), "mean"),
    "xlm-roberta": (tiny_checkpoints.save_xlm_roberta, "mean"),
    "decoder-left": (lambda folder: tiny_checkpoints.save_decoder(folder, "left"), "last"),
    "decoder-right": (lambda folder: tiny_checkpoints.save_decoder(folder, "right"), "last"),
}


def settings_for(folder, **more):
    return TorchSettings(kind="torch", model=str(folder), device="cpu", max_tokens=16, **more)


@pytest.fixture(scope="module", params=WORLDS)
def world(request, tmp_path_factory):
    save, pooling = WORLDS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    save(folder)
    return folder, pooling


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny-bert")
    tiny_checkpoints.save_bert(folder)
    return folder


def padded_encoder(folder, forward=None, budget=64, workers=1, **more):
    key = torch_model_key(settings_for(folder, **more), folder)
    backend, pad_id = load_tokenizer(folder)
    forward = forward or PaddedModel(load_model(folder, "fp32", CPU), key.pooling, pad_id, CPU)
    return TorchEncoder(forward, TextTokenizer(backend, key), key, token_budget=budget, workers=workers)


def plain_vector(folder, pooling, text):
    """One text alone through transformers, pooled and normalized by hand."""
    from transformers import AutoModel, AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt", return_token_type_ids=False)
    with torch.no_grad():
        states = AutoModel.from_pretrained(folder).eval()(**tokens).last_hidden_state[0].numpy()
    pooled = {"mean": states.mean(axis=0), "cls": states[0], "last": states[-1]}[pooling]
    return pooled / np.linalg.norm(pooled)


def test_vectors_are_those_of_the_plain_way(world, tmp_path):
    folder, pooling = world
    embedder = build_embedder(settings_for(folder, pooling=pooling, token_budget=64), tmp_path)
    assert isinstance(embedder, Embedder)
    encoded = embedder.encode(TEXTS, Role.PASSAGE)
    assert encoded.refused == {}
    assert encoded.vectors.dtype == np.float32
    for row, text in enumerate(TEXTS):
        np.testing.assert_allclose(encoded.vectors[row], plain_vector(folder, pooling, text), atol=2e-6)


def test_same_call_same_bytes_and_equal_texts_equal_rows(world, tmp_path):
    folder, pooling = world
    embedder = build_embedder(settings_for(folder, pooling=pooling), tmp_path)
    first, second = (embedder.encode(TEXTS, Role.QUERY).vectors for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert first[1].tobytes() == first[5].tobytes()


@given(
    texts=st.lists(st.lists(st.sampled_from(tiny_checkpoints.WORDS), max_size=20).map(" ".join), max_size=20),
    budget=st.integers(1, 200),
    pooling=st.sampled_from(["mean", "cls", "last"]),
)
@settings(deadline=None, max_examples=40)
def test_packed_equals_padded(bert, texts, budget, pooling):
    padded = padded_encoder(bert, budget=budget, pooling=pooling)
    packed = padded_encoder(bert, PackedBert(read_config(bert), load_tensors(bert), pooling), budget, pooling=pooling)
    expected, got = padded.encode(texts, Role.PASSAGE), packed.encode(texts, Role.PASSAGE)
    np.testing.assert_allclose(got.vectors, expected.vectors, atol=1e-5)
    assert got.tokens.tolist() == expected.tokens.tolist()
    assert got.truncated.tolist() == expected.truncated.tolist()
    assert got.padded_tokens == got.computed_tokens == expected.computed_tokens <= expected.padded_tokens


def test_padding_id_written_in_a_text_gets_the_positions_that_transformers_gives_it(tmp_path):
    tiny_checkpoints.save_xlm_roberta(tmp_path)
    texts = ["w1 <pad> w2 w3", "<pad>", "w4 w5 <pad> <pad> w6"]
    packed = padded_encoder(tmp_path, PackedBert(read_config(tmp_path), load_tensors(tmp_path), "mean"))
    expected = padded_encoder(tmp_path).encode(texts, Role.QUERY).vectors
    np.testing.assert_allclose(packed.encode(texts, Role.QUERY).vectors, expected, atol=2e-6)


def test_equal_runs():
    assert equal_runs(np.array([5, 5, 3, 5])) == [(2, 5), (1, 3), (1, 5)]
    assert equal_runs(np.array([2])) == [(1, 2)]


def test_bf16_is_another_key_and_near(bert, tmp_path):
    exact = build_embedder(settings_for(bert), tmp_path)
    rough = build_embedder(settings_for(bert, dtype="bf16"), tmp_path)
    assert exact.key != rough.key
    cosines = np.sum(exact.encode(TEXTS, Role.QUERY).vectors * rough.encode(TEXTS, Role.QUERY).vectors, axis=1)
    assert cosines.min() > 0.99


def test_templates_and_roles(bert, tmp_path):
    embedder = build_embedder(settings_for(bert, query_template="w80 {text}", passage_template="{text} w81"), tmp_path)
    query, passage = embedder.encode(["w1"], Role.QUERY), embedder.encode(["w1"], Role.PASSAGE)
    np.testing.assert_allclose(query.vectors[0], plain_vector(bert, "mean", "w80 w1"), atol=2e-6)
    np.testing.assert_allclose(passage.vectors[0], plain_vector(bert, "mean", "w1 w81"), atol=2e-6)


def test_truncation_is_flagged_and_tokens_are_those_read(bert, tmp_path):
    embedder = build_embedder(settings_for(bert), tmp_path)
    encoded = embedder.encode(["w1 " * 14, "w1 " * 15, "w1"], Role.PASSAGE)
    assert encoded.tokens.tolist() == [16, 16, 3]
    assert encoded.truncated.tolist() == [False, True, False]
    np.testing.assert_allclose(encoded.vectors[0], encoded.vectors[1], atol=2e-6)


def test_lone_surrogates_empty_text_and_no_texts(bert, tmp_path):
    embedder = build_embedder(settings_for(bert), tmp_path)
    encoded = embedder.encode(["\ud83d w1", ""], Role.PASSAGE)
    assert encoded.refused == {}
    assert encoded.tokens.tolist() == [4, 2]
    assert embedder.encode([], Role.PASSAGE).vectors.shape == (0, 16)


def test_tokenizing_in_a_thread_while_embedding(bert, tmp_path):
    embedder = build_embedder(settings_for(bert), tmp_path)
    units = [[f"w{number} w{number + 1}" for number in range(start, start + 10)] for start in range(0, 80, 10)]
    ahead = []
    thread = threading.Thread(target=lambda: ahead.extend(embedder.tokenize(unit, Role.PASSAGE) for unit in units))
    thread.start()
    meanwhile = [embedder.encode(unit, Role.PASSAGE).vectors for unit in units]
    thread.join()
    for tokenized, expected in zip(ahead, meanwhile, strict=True):
        assert embedder.embed(tokenized).vectors.tobytes() == expected.tobytes()


class Limited:
    """A model on a device that holds so many padded tokens; notes the batches it is given."""

    device = CPU

    def __init__(self, inner, holds, error=None):
        self.inner, self.holds, self.error, self.sizes = inner, holds, error, []

    def pooled(self, tokenized, members):
        self.sizes.append(len(members))
        if self.inner.computed_tokens(tokenized.lengths[members]) > self.holds:
            raise self.error or torch.OutOfMemoryError("CUDA out of memory (simulated)")
        return self.inner.pooled(tokenized, members)

    def computed_tokens(self, lengths):
        return self.inner.computed_tokens(lengths)


def test_out_of_memory_halves_until_it_fits(bert):
    whole = padded_encoder(bert, budget=10_000)
    texts = [f"w{number} " * (number % 5 + 1) for number in range(40)]
    expected = whole.encode(texts, Role.PASSAGE)
    limited = Limited(whole._forward, holds=40)
    encoded = padded_encoder(bert, limited, budget=10_000).encode(texts, Role.PASSAGE)
    np.testing.assert_allclose(encoded.vectors, expected.vectors, atol=2e-6)
    assert encoded.refused == {}
    assert limited.sizes[:3] == [40, 20, 10]
    assert encoded.computed_tokens == expected.computed_tokens <= encoded.padded_tokens <= expected.padded_tokens


def test_text_that_does_not_fit_alone_is_quarantined_with_its_copies(bert):
    limited = Limited(padded_encoder(bert)._forward, holds=8)
    texts = ["w1 w2", "w3 " * 10, "w4", "w3 " * 10]
    encoded = padded_encoder(bert, limited, budget=64).encode(texts, Role.PASSAGE)
    assert encoded.refused == {1: "oom", 3: "oom"}
    assert not encoded.vectors[[1, 3]].any()
    np.testing.assert_allclose(np.linalg.norm(encoded.vectors[[0, 2]], axis=1), 1, atol=1e-6)


def test_cpu_allocator_failure_counts_as_out_of_memory(bert):
    error = RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory")
    limited = Limited(padded_encoder(bert)._forward, holds=8, error=error)
    assert padded_encoder(bert, limited).encode(["w1", "w2 w3 w4"], Role.QUERY).refused == {}


def test_other_errors_of_the_model_are_not_hidden(bert):
    limited = Limited(padded_encoder(bert)._forward, holds=0, error=RuntimeError("size mismatch"))
    with pytest.raises(RuntimeError, match="size mismatch"):
        padded_encoder(bert, limited).encode(["w1"], Role.QUERY)


class Broken:
    """Gives vectors that must not leave: one not finite, one zero."""

    device = CPU

    def pooled(self, tokenized, members):
        out = torch.ones((len(members), 16))
        for row, member in enumerate(members):
            first_word = int(tokenized.ids[tokenized.starts[member] + 1])
            out[row, 0] = float("nan") if first_word == 4 else 1.0
            out[row] = 0.0 if first_word == 5 else out[row]
        return out

    def computed_tokens(self, lengths):
        return int(lengths.sum())


def test_broken_vectors_are_refused_with_their_reason(bert):
    encoded = padded_encoder(bert, Broken()).encode(["w0", "w1", "w2", "w0"], Role.QUERY)
    assert encoded.refused == {0: "non_finite", 1: "zero_vector", 3: "non_finite"}
    assert not encoded.vectors[[0, 1, 3]].any()
    np.testing.assert_allclose(encoded.vectors[2], 0.25, atol=1e-6)


def test_equal_texts_are_computed_once(bert):
    limited = Limited(padded_encoder(bert)._forward, holds=10_000)
    encoded = padded_encoder(bert, limited, budget=10_000).encode(["w1 w2"] * 30 + ["w3"], Role.QUERY)
    assert limited.sizes == [2]
    assert (encoded.tokens.sum(), encoded.computed_tokens, encoded.padded_tokens) == (123, 7, 8)


def test_threads_compute_a_batch_each_and_torch_none_of_its_own(bert, tmp_path):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        one = build_embedder(settings_for(bert), tmp_path, threads=1)
        assert torch.get_num_threads() == 2
        three = build_embedder(settings_for(bert), tmp_path, threads=3)
        assert torch.get_num_threads() == 1
        texts = [f"w{number % 7} " * (number % 11 + 1) for number in range(300)]
        alone, together = one.encode(texts, Role.QUERY), three.encode(texts, Role.QUERY)
        assert alone.vectors.tobytes() == together.vectors.tobytes()
        assert alone.padded_tokens == together.padded_tokens
    finally:
        torch.set_num_threads(before)


def test_threads_share_what_does_not_fit(bert):
    limited = Limited(padded_encoder(bert)._forward, holds=20)
    alone = padded_encoder(bert, limited, budget=64).encode(TEXTS * 3, Role.QUERY)
    together = padded_encoder(bert, limited, budget=64, workers=4).encode(TEXTS * 3, Role.QUERY)
    assert alone.refused == together.refused
    np.testing.assert_array_equal(alone.vectors, together.vectors)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_equals_cpu(bert, tmp_path):
    cpu = build_embedder(settings_for(bert), tmp_path).encode(TEXTS, Role.QUERY).vectors
    cuda = TorchSettings(kind="torch", model=str(bert), device="cuda", max_tokens=16)
    np.testing.assert_allclose(build_embedder(cuda, tmp_path).encode(TEXTS, Role.QUERY).vectors, cpu, atol=1e-4)
