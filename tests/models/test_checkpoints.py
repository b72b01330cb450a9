import json
import shutil
import socket

import pytest
import torch
from safetensors.torch import load_file, save_file

from babelray.config import TorchSettings
from babelray.errors import ConfigError, IntegrityError, UpstreamError
from babelray.keys import ModelKey, Role
from models.registry import build_embedder, ensure_on_node, model_key
from tests.models import tiny_checkpoints

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def hub_settings(**more):
    return TorchSettings(kind="torch", model="acme/tiny", revision=COMMIT, device="cpu", max_tokens=32, **more)


def local_settings(folder, **more):
    return TorchSettings(kind="torch", model=str(folder), device="cpu", max_tokens=32, **more)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "tiny"
    folder.mkdir()
    tiny_checkpoints.save_bert(folder)
    return folder


@pytest.fixture
def checkpoint(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "tiny")


@pytest.fixture
def hub_cache(saved, tmp_path):
    shutil.copytree(saved, tmp_path / "hub" / "models--acme--tiny" / "snapshots" / COMMIT)
    return tmp_path


def test_key_of_a_hub_model_names_model_and_commit(hub_cache):
    settings = hub_settings(pooling="cls", dtype="bf16", query_template="q: {text}", query_template_version="2")
    assert model_key(settings, hub_cache) == ModelKey(
        provider="hf",
        name="acme/tiny",
        revision=COMMIT,
        dimension=16,
        pooling="cls",
        dtype="bf16",
        max_tokens=32,
        tokenizer_revision=COMMIT,
        query_template="q: {text}",
        query_template_version="2",
    )


def test_loading_needs_no_network(hub_cache, monkeypatch):
    def refuse(*_):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    embedder = build_embedder(hub_settings(), hub_cache)
    assert embedder.encode(["w1"], Role.QUERY).vectors.shape == (1, 16)


@pytest.mark.parametrize("revision", [None, "main", "v1.0", COMMIT[:12]])
def test_hub_model_needs_a_commit(revision, tmp_path):
    settings = TorchSettings(kind="torch", model="acme/tiny", revision=revision)
    for verb in (model_key, ensure_on_node, build_embedder):
        with pytest.raises(ConfigError, match="pinned revision"):
            verb(settings, tmp_path)


def test_model_that_was_not_fetched_says_what_to_run(tmp_path):
    with pytest.raises(ConfigError, match="babelray models prepare"):
        build_embedder(hub_settings(), tmp_path)


def test_unreachable_hub_is_an_upstream_error(tmp_path, monkeypatch):
    def offline(*_, **__):
        raise OSError("no route to host")

    monkeypatch.setattr("huggingface_hub.snapshot_download", offline)
    with pytest.raises(UpstreamError, match="cannot be fetched"):
        ensure_on_node(hub_settings(), tmp_path)


def test_fetching_asks_for_the_commit_and_never_for_code_or_pickles(hub_cache, monkeypatch):
    asked = {}
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda model, **more: asked.update(more, model=model))
    ensure_on_node(hub_settings(), hub_cache)
    assert (asked["model"], asked["revision"], asked["cache_dir"]) == ("acme/tiny", COMMIT, hub_cache / "hub")
    assert not {"*.py", "*.bin", "*.pt", "*"} & set(asked["allow_patterns"])


def test_repository_without_safetensors_is_refused_when_it_is_fetched(hub_cache, monkeypatch):
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: None)
    next(hub_cache.rglob("model.safetensors")).unlink()
    with pytest.raises(ConfigError, match="other weight formats are not loaded"):
        ensure_on_node(hub_settings(), hub_cache)


def test_revision_of_a_folder_is_its_content(checkpoint, tmp_path):
    key = model_key(local_settings(checkpoint), tmp_path)
    assert (key.provider, key.name) == ("local", "tiny")
    assert model_key(local_settings(shutil.copytree(checkpoint, tmp_path / "a" / "tiny")), tmp_path) == key
    (checkpoint / "README.md").write_text("no part of the model")
    assert model_key(local_settings(checkpoint), tmp_path) == key

    weights = load_file(checkpoint / "model.safetensors")
    weights["embeddings.LayerNorm.bias"][0] += 1
    save_file(weights, checkpoint / "model.safetensors", metadata={"format": "pt"})
    assert model_key(local_settings(checkpoint), tmp_path).differences(key).keys() == {"revision"}


def test_other_tokenizer_is_another_key(checkpoint, tmp_path):
    key = model_key(local_settings(checkpoint), tmp_path)
    path = checkpoint / "tokenizer.json"
    path.write_text(path.read_text().replace('"w1"', '"W1"'))
    assert model_key(local_settings(checkpoint), tmp_path).differences(key).keys() == {"tokenizer_revision"}


def test_folder_can_be_pinned_to_its_digest(checkpoint, tmp_path):
    digest = model_key(local_settings(checkpoint), tmp_path).revision
    assert model_key(local_settings(checkpoint, revision=digest), tmp_path).revision == digest
    with pytest.raises(ConfigError, match="not the pinned one"):
        model_key(local_settings(checkpoint, revision="0" * 16), tmp_path)


def test_more_tokens_than_positions_are_refused(checkpoint, tmp_path):
    with pytest.raises(ConfigError, match="at most 32"):
        model_key(TorchSettings(kind="torch", model=str(checkpoint), max_tokens=33), tmp_path)


def test_xlm_roberta_uses_two_positions_less(tmp_path):
    tiny_checkpoints.save_xlm_roberta(tmp_path)
    assert model_key(local_settings(tmp_path), tmp_path).max_tokens == 32
    with pytest.raises(ConfigError, match="at most 32"):
        model_key(TorchSettings(kind="torch", model=str(tmp_path), max_tokens=33), tmp_path)


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_checkpoint_without_a_weight_is_refused(checkpoint, tmp_path, dtype):
    weights = load_file(checkpoint / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    save_file(weights, checkpoint / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(IntegrityError, match=r"encoder\.layer\.1\.output\.dense\.weight"):
        build_embedder(local_settings(checkpoint, dtype=dtype), tmp_path)


def test_pickled_weights_are_never_loaded(checkpoint, tmp_path):
    torch.save(load_file(checkpoint / "model.safetensors"), checkpoint / "pytorch_model.bin")
    (checkpoint / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match="not a checkpoint"):
        build_embedder(local_settings(checkpoint), tmp_path)


def test_code_of_a_checkpoint_is_never_run(checkpoint, tmp_path):
    (checkpoint / "evil.py").write_text("raise SystemExit('code of the checkpoint ran')")
    config = json.loads((checkpoint / "config.json").read_text())
    config |= {"model_type": "evil", "auto_map": {"AutoConfig": "evil.C", "AutoModel": "evil.M"}}
    (checkpoint / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError):
        build_embedder(local_settings(checkpoint), tmp_path)


def test_weights_saved_under_the_name_of_a_whole_model(checkpoint, tmp_path):
    expected = build_embedder(local_settings(checkpoint), tmp_path).encode(["w1 w2"], Role.QUERY).vectors
    weights = {f"bert.{name}": tensor for name, tensor in load_file(checkpoint / "model.safetensors").items()}
    save_file(weights, checkpoint / "model.safetensors", metadata={"format": "pt"})
    got = build_embedder(local_settings(checkpoint), tmp_path).encode(["w1 w2"], Role.QUERY).vectors
    assert got.tobytes() == expected.tobytes()


def test_missing_folder_and_broken_configuration(checkpoint, tmp_path):
    with pytest.raises(ConfigError, match="not a checkpoint"):
        model_key(local_settings(tmp_path / "nowhere"), tmp_path)
    (checkpoint / "config.json").write_text("{")
    with pytest.raises(ConfigError, match="configuration"):
        model_key(local_settings(checkpoint), tmp_path)


@pytest.mark.skipif(torch.cuda.is_available(), reason="only without a CUDA device")
def test_cuda_without_a_device_is_a_configuration_error(checkpoint, tmp_path):
    settings = TorchSettings(kind="torch", model=str(checkpoint), device="cuda", max_tokens=32)
    with pytest.raises(ConfigError, match="CUDA"):
        build_embedder(settings, tmp_path)
