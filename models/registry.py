"""From settings to an embedder: its key, what a machine needs to have, and the loaded object."""

from pathlib import Path
from typing import assert_never

from babelray.config import (
    BundledE5Settings,
    BundledMiniLmSettings,
    EmbedderSettings,
    EndpointSettings,
    HashSettings,
    TorchSettings,
)
from babelray.keys import ModelKey
from babelray.protocols import Embedder

# Torch, transformers and tokenizers take seconds to import: each is loaded only by the kinds that need it.


def model_key(settings: EmbedderSettings, cache: Path) -> ModelKey:
    """The key of what `build_embedder` would return, without loading weights.

    For a `torch` model it needs the checkpoint's configuration, so `ensure_on_node` must have run.

    Raises:
        ConfigError: The settings do not name a usable model, or it is not on this machine yet.
    """
    match settings:
        case BundledE5Settings():
            from models.bundled_e5 import bundled_e5_key

            return bundled_e5_key(settings.dtype)
        case BundledMiniLmSettings():
            from models.bundled_minilm import bundled_minilm_key

            return bundled_minilm_key(settings.dtype)
        case TorchSettings():
            from models.checkpoints import find_checkpoint, torch_model_key

            return torch_model_key(settings, find_checkpoint(settings, cache))
        case EndpointSettings():
            from models.embedders.endpoint import endpoint_key

            return endpoint_key(settings)
        case HashSettings():
            from models.embedders.hashed import hash_model_key

            return hash_model_key(settings)
        case _:
            assert_never(settings)


def ensure_on_node(settings: EmbedderSettings, cache: Path) -> None:
    """Fetch or convert what the embedder loads; once a machine, however many processes ask.

    For an `endpoint` it looks whether this machine may call it, and calls nothing.

    Raises:
        ConfigError: The settings do not name a usable model, or a service outside of the data boundary.
        IntegrityError: Bundled weights are not those of the supported version.
        UpstreamError: A model cannot be fetched.
    """
    match settings:
        case BundledE5Settings():
            from models.bundled_e5 import ensure_checkpoint as ensure_e5

            ensure_e5(cache)
        case BundledMiniLmSettings():
            from models.bundled_minilm import verify_checkpoint

            verify_checkpoint()
        case TorchSettings():
            from models.checkpoints import ensure_checkpoint

            ensure_checkpoint(settings, cache)
        case EndpointSettings():
            from models.embedding_client import EmbeddingClient

            EmbeddingClient(settings).check_boundary()
        case HashSettings():
            return
        case _:
            assert_never(settings)


def build_embedder(settings: EmbedderSettings, cache: Path, *, threads: int | None = None) -> Embedder:
    """Load an embedder from what is on this machine; no network, except for the calls of an `endpoint` embedder.

    Args:
        settings: Which one.
        cache: Folder of converted and fetched models.
        threads: CPU threads that batches are computed in, one each; None takes as many as torch would. With more
            than one, torch's own threads are set to one for the whole process.

    Raises:
        ConfigError: The settings do not name a usable model, or a device is missing.
        IntegrityError: The model is missing on this machine or damaged.
    """
    match settings:
        case BundledE5Settings() | BundledMiniLmSettings() | TorchSettings():
            from models.embedders.torch_encoder import build_torch_embedder

            return build_torch_embedder(settings, cache, threads)
        case EndpointSettings():
            from models.embedders.endpoint import EndpointEmbedder

            return EndpointEmbedder.from_settings(settings)
        case HashSettings():
            from models.embedders.hashed import HashEmbedder

            return HashEmbedder(settings)
        case _:
            assert_never(settings)


def where_on_node(settings: EmbedderSettings, cache: Path) -> tuple[str, str | None]:
    """Where the embedder's weights lie or are called, and what is missing there; None if nothing is.

    Looks at names and sizes only; `ensure_on_node` compares checksums.
    """
    match settings:
        case BundledE5Settings():
            from models.bundled_e5 import checkpoint_folder as converted_folder
            from models.bundled_e5 import checkpoint_problem

            return str(converted_folder(cache)), checkpoint_problem(cache)
        case BundledMiniLmSettings():
            from models.bundled_minilm import checkpoint_folder

            return str(checkpoint_folder()), None
        case TorchSettings():
            from models.checkpoints import find_checkpoint

            return str(find_checkpoint(settings, cache)), None
        case EndpointSettings():
            return settings.url, None
        case HashSettings():
            return "computed, no weights", None
        case _:
            assert_never(settings)
