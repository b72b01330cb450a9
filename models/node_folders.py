"""Folders that are made once a machine: by one process, whole or not at all, and checked before use."""

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from babelray.errors import IntegrityError

logger = logging.getLogger(__name__)

STAMP = "babelray.json"
"""Names the source and the maker's version, and holds size and SHA-256 of every file beside it."""


def file_sha256(path: Path) -> str:
    """SHA-256 of a file in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def make_once(folder: Path, source: str, make: Callable[[Path], None]) -> None:
    """Make a folder unless it is there and whole.

    Many processes may call this at the same time: one works, the others wait for it. The folder appears under its
    name only when everything in it is on disk. One that is not whole is made again.

    Args:
        folder: Where it shall be; the parent is created.
        source: Identifies what it is made from and how; another source makes it anew.
        make: Writes the files into the (temporary) folder it is given.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        problem = problem_of(folder, source, deep=True)
        if problem is None:
            return
        if folder.exists():
            logger.warning("making %s again: %s", folder, problem)
            shutil.rmtree(folder)
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        try:
            make(temporary)
            _write_stamp(temporary, source)
            temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def require_whole(folder: Path, source: str) -> None:
    """Check stamp and file sizes of a folder that `make_once` made; cheap enough for every worker.

    Raises:
        IntegrityError: It is missing, of another source, or a file has another size.
    """
    problem = problem_of(folder, source, deep=False)
    if problem is not None:
        raise IntegrityError(
            "the prepared model is not usable on this machine",
            where=folder,
            got=problem,
            fix="run `babelray models prepare` on this machine",
        )


def problem_of(folder: Path, source: str, *, deep: bool) -> str | None:
    """What is wrong with a folder, or None.

    Args:
        folder: As given to `make_once`.
        source: As given to `make_once`.
        deep: Read every file and compare its SHA-256; else only the sizes.
    """
    if not folder.is_dir():
        return "missing"
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
        recorded_source, files = stamp["source"], stamp["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return "no readable stamp"
    if recorded_source != source:
        return f"made from {recorded_source}, not from {source}"
    for name, (size, sha256) in files.items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} has {path.stat().st_size} bytes, not {size}"
        if deep and file_sha256(path) != sha256:
            return f"{name} does not match its checksum"
    return None


def _write_stamp(folder: Path, source: str) -> None:
    files = {path.name: [path.stat().st_size, file_sha256(path)] for path in sorted(folder.iterdir())}
    (folder / STAMP).write_text(json.dumps({"source": source, "files": files}, indent=1), encoding="utf-8")
    for path in [*folder.iterdir(), folder]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
