"""Checkpoint folders of Hugging Face encoders: fetched once a machine, loaded offline, safetensors only."""

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from babelray.config import TorchSettings
from babelray.errors import ConfigError, IntegrityError, UpstreamError
from babelray.keys import ModelKey, digest_of
from models.node_folders import file_sha256

_COMMIT = re.compile(r"[0-9a-f]{40}")
# All that is loaded; code and pickled weights of a repository never reach the disk.
_WANTED = ["*.json", "*.safetensors", "*.model", "vocab.txt", "merges.txt"]
_TOKENIZER_FILES = re.compile(
    r"(tokenizer.*|special_tokens_map\.json|added_tokens\.json|vocab\..*|merges\.txt|.*\.model)"
)
_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
# Position ids of these start after the padding id, so two of the table's rows are never used.
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "mpnet"}
# These would get a pooling head with random weights, as checkpoints of embedders do not hold one, and a warning of it.
_OPTIONAL_HEAD = {"bert", *_OFFSET_POSITIONS}


def ensure_checkpoint(settings: TorchSettings, cache: Path) -> Path:
    """Fetch the pinned revision unless this machine has it; a local folder is only looked at.

    Raises:
        ConfigError: No pinned revision, or the folder is not a checkpoint.
        UpstreamError: The hub cannot be reached or lacks the revision.
    """
    if is_local(settings):
        return find_checkpoint(settings, cache)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    revision = _pinned(settings)
    try:
        snapshot_download(settings.model, revision=revision, cache_dir=_hub(cache), allow_patterns=_WANTED)
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise UpstreamError(
            "the model cannot be fetched",
            where=f"{settings.model} at {revision}",
            got=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
            fix=f"check model, revision and network, or copy the checkpoint to {_hub(cache)} or to a folder",
        ) from error
    # A repository may hold its weights in other formats only: better known now than in the workers.
    return find_checkpoint(settings, cache)


def find_checkpoint(settings: TorchSettings, cache: Path) -> Path:
    """The checkpoint's folder on this machine, without network.

    Raises:
        ConfigError: No pinned revision, not fetched yet, or the folder is not a checkpoint.
    """
    if is_local(settings):
        folder = Path(settings.model).expanduser()
    else:
        repository = "models--" + settings.model.replace("/", "--")
        folder = _hub(cache) / repository / "snapshots" / _pinned(settings)
        if not folder.is_dir():
            raise ConfigError(
                "the model is not on this machine yet",
                where=f"{settings.model} at {settings.revision}",
                got=f"no {folder}",
                fix="run `babelray models prepare` on this machine",
            )
    return check_folder(folder)


def check_folder(folder: Path) -> Path:
    """The folder, if it holds a checkpoint.

    Raises:
        ConfigError: It does not.
    """
    if not (folder / "config.json").is_file() or not any(folder.glob("*.safetensors")):
        raise ConfigError(
            "the folder is not a checkpoint",
            where=folder,
            got="config.json or *.safetensors is missing",
            allowed="a folder as `save_pretrained` writes it; other weight formats are not loaded",
        )
    return folder


def is_local(settings: TorchSettings) -> bool:
    """Whether the model is a folder here rather than the id of a repository on the hub."""
    return settings.model.startswith((".", "/", "~")) or Path(settings.model).is_dir()


def torch_model_key(settings: TorchSettings, folder: Path) -> ModelKey:
    """The model key of a checkpoint; a local folder's revision is the digest of its files.

    Raises:
        ConfigError: More tokens than the model has positions, or the folder's digest is not the pinned one.
    """
    config = read_config(folder)
    check_positions(settings.max_tokens, config)
    local = is_local(settings)
    return ModelKey(
        provider="local" if local else "hf",
        name=folder.resolve().name if local else settings.model,
        revision=_local_revision(settings, folder) if local else _pinned(settings),
        dimension=config["hidden_size"],
        pooling=settings.pooling,
        dtype=settings.dtype,
        max_tokens=settings.max_tokens,
        tokenizer_revision=files_digest(folder, tokenizer=True) if local else _pinned(settings),
        query_template=settings.query_template,
        query_template_version=settings.query_template_version,
        passage_template=settings.passage_template,
        passage_template_version=settings.passage_template_version,
    )


def read_config(folder: Path) -> dict[str, Any]:
    """The checkpoint's `config.json`; of a model with several parts, the text part.

    Raises:
        ConfigError: Not JSON, or without the fields of an encoder.
    """
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        config = config.get("text_config", config)
        int(config["hidden_size"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError("the checkpoint's configuration cannot be used", where=folder, got=repr(error)) from error
    return config


def load_tensors(folder: Path) -> dict[str, torch.Tensor]:
    """All weights of a checkpoint by name, memory-mapped, as they were saved."""
    from safetensors.torch import load_file

    return {name: tensor for path in sorted(folder.glob("*.safetensors")) for name, tensor in load_file(path).items()}


def load_model(folder: Path, dtype: str, device: torch.device) -> torch.nn.Module:
    """The encoder in eval mode on a device, with SDPA attention and without the pooling head that is not used here.

    Raises:
        ConfigError: The architecture is unknown or needs code from the repository.
        IntegrityError: The checkpoint lacks weights of the architecture.
    """
    from transformers import AutoModel

    headless = {"add_pooling_layer": False} if read_config(folder).get("model_type") in _OPTIONAL_HEAD else {}
    model = load_pretrained(AutoModel, folder, spare="pooler.", attn_implementation="sdpa", **headless)
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    loaded: torch.nn.Module = model.to(device=device, dtype=_DTYPES[dtype]).eval()
    return loaded


def load_pretrained(auto_class: Any, folder: Path, *, spare: str | None = None, **options: Any) -> Any:
    """A checkpoint by one of transformers' `Auto` classes: from this folder alone, safetensors, none of its code run.

    Args:
        auto_class: `AutoModel` or one of its kin.
        folder: As `save_pretrained` writes it.
        spare: Prefix of weights that may be missing, because they are not used.
        options: Passed on.

    Raises:
        ConfigError: The architecture is unknown, of another kind, or needs code from the repository.
        IntegrityError: The checkpoint lacks weights of the architecture.
    """
    try:
        model, report = auto_class.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
            **options,
        )
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError("the checkpoint cannot be loaded", where=folder, got=str(error).splitlines()[0]) from error
    missing = sorted(name for name in report["missing_keys"] if spare is None or not name.startswith(spare))
    if missing:
        # Transformers would fill them with random numbers and go on.
        raise IntegrityError("the checkpoint lacks weights", where=folder, got=", ".join(missing[:5]))
    return model


def load_own_tokenizer(folder: Path) -> tuple[Any, int]:
    """Like `load_tokenizer`, for checkpoints whose `tokenizer.json` is known to be all there is to it.

    Spares the seconds that importing transformers takes.
    """
    from tokenizers import Tokenizer

    backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return backend, read_config(folder)["pad_token_id"]


def load_tokenizer(folder: Path) -> tuple[Any, int]:
    """The checkpoint's Rust tokenizer (`tokenizers.Tokenizer`), and its padding id.

    Raises:
        ConfigError: It has none, or needs code from the repository.
    """
    tokenizer = load_full_tokenizer(folder)
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ConfigError("the checkpoint has no fast tokenizer", where=folder, allowed="a tokenizer.json")
    return backend, tokenizer.pad_token_id or 0


def load_full_tokenizer(folder: Path) -> Any:
    """The checkpoint's tokenizer with all that transformers adds to it (languages, special tokens).

    Raises:
        ConfigError: It cannot be loaded, or needs code from the repository.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise ConfigError("the tokenizer cannot be loaded", where=folder, got=str(error).splitlines()[0]) from error


def choose_device(wanted: str, where: str = "embedder.device") -> torch.device:
    """`auto` is a GPU if there is one.

    Args:
        wanted: `auto`, `cpu` or `cuda`.
        where: The setting, for messages.

    Raises:
        ConfigError: A GPU is asked for and there is none.
    """
    available = torch.cuda.is_available()
    if wanted == "cuda" and not available:
        raise ConfigError(
            "a CUDA device is asked for and torch sees none",
            where=where,
            got=wanted,
            allowed="auto, cpu",
            fix="on a cluster give the actors GPUs: resources.gpus_per_actor",
        )
    return torch.device("cuda" if available and wanted != "cpu" else "cpu")


def _hub(cache: Path) -> Path:
    return cache / "hub"


def _pinned(settings: TorchSettings) -> str:
    if settings.revision is None or not _COMMIT.fullmatch(settings.revision):
        raise ConfigError(
            "a model of the hub needs a pinned revision",
            where="embedder.revision",
            got=settings.revision,
            allowed="a commit of 40 hex digits; branches and tags can move under an index",
            fix=f"copy the commit from the history of {settings.model}",
        )
    return settings.revision


def check_positions(max_tokens: int, config: dict[str, Any], where: str = "embedder.max_tokens") -> None:
    """Refuse a token cap that the model has too few positions for.

    Raises:
        ConfigError: It has too few.
    """
    positions = config.get("max_position_embeddings")
    if positions is None:
        return
    usable = positions - 2 if config.get("model_type") in _OFFSET_POSITIONS else positions
    if max_tokens > usable:
        raise ConfigError(
            "the model has fewer positions than the token cap",
            where=where,
            got=max_tokens,
            allowed=f"at most {usable}",
        )


def _local_revision(settings: TorchSettings, folder: Path) -> str:
    digest = files_digest(folder, tokenizer=False)
    if settings.revision is not None and settings.revision != digest:
        raise ConfigError(
            "the checkpoint folder is not the pinned one",
            where=folder,
            got=digest,
            allowed=settings.revision,
            fix="the revision of a local folder is the digest of its files; leave it out to take what is there",
        )
    return digest


def files_digest(folder: Path, *, tokenizer: bool) -> str:
    """Digest over names and contents of the tokenizer's files, or of configuration and weights."""
    pattern = ("config.json", "*.safetensors")
    if tokenizer:
        paths = [path for path in folder.iterdir() if path.is_file() and _TOKENIZER_FILES.fullmatch(path.name)]
    else:
        paths = [path for glob in pattern for path in folder.glob(glob)]
    return digest_of({path.name: _sha256_while_unchanged(path, *_size_and_time(path)) for path in paths})


def _size_and_time(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=256)
def _sha256_while_unchanged(path: Path, size: int, modified_ns: int) -> str:
    # Gigabytes of weights are read once a process, not for each look at the key.
    return file_sha256(path)
