"""Checkpoints on this machine's disk: made once by one process, complete or absent, named by their content."""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from babelray.errors import ConfigError
from babelray.index.digests import sha256_of_file

_WEIGHTS = ("*.safetensors", "*.json", "*.txt", "*.model")
"""Files that shape vectors. Pickled weights (`*.bin`, `*.pt`) are never read."""


def build_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Make a folder unless it is there; other processes of the machine wait and then use it.

    Args:
        folder: Where it shall be.
        make: Fills an empty temporary folder, which is then renamed; so a crash leaves nothing half-made.
    """
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{folder.name}.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
            try:
                make(temporary)
                os.replace(temporary, folder)  # noqa: PTH105
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
    return folder


def digest_of_checkpoint(folder: Path) -> str:
    """16 hex digits over names and content of the files that shape vectors.

    Raises:
        ConfigError: The folder holds no safetensors weights.
    """
    if not any(folder.glob("*.safetensors")):
        raise ConfigError(
            "no safetensors weights in the model folder",
            where=folder,
            fix="save the model with `save_pretrained(folder)`; pickled weights are never loaded",
        )
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _WEIGHTS for path in folder.glob(pattern)}):
        digest.update(f"{path.name} {sha256_of_file(path)}\n".encode())
    return digest.hexdigest()[:16]
