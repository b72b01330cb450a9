"""A store in a local (or shared POSIX) folder.

A file is written beside its target, synced, and renamed over it, so that a crash at any instant leaves the old content
or the new. Create-if-absent is a hard link, which fails if the name is taken. Compare-and-swap holds a lock file for
the instant between comparing and renaming; the lock dies with its process.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from babelray.errors import InputError, PublishConflict
from babelray.index.digests import FileRecord, sha256_of, sha256_of_file
from babelray.index.store import checked

_TEMPORARY = ".tmp-"
_LOCKS = ".locks"


class LocalStore:
    """The store under one folder.

    Args:
        root: Absolute path; it need not exist yet.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def uri(self) -> str:
        """The folder."""
        return str(self._root)

    def _at(self, path: str) -> Path:
        return self._root / checked(path)

    def local_path(self, path: str) -> Path | None:
        """The file itself: it needs no copy."""
        return self._at(path)

    def read_bytes(self, path: str) -> bytes:
        """The content of a file.

        Raises:
            InputError: There is no such file.
        """
        try:
            return self._at(path).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise InputError("no such file in the store", where=self.uri, got=path) from None

    def open_input(self, path: str) -> Any:
        """A memory-mapped `pyarrow.NativeFile`.

        Raises:
            InputError: There is no such file.
        """
        try:
            return pa.memory_map(str(self._at(path)))
        except FileNotFoundError:
            raise InputError("no such file in the store", where=self.uri, got=path) from None

    def exists(self, path: str) -> bool:
        """Whether there is such a file."""
        return self._at(path).is_file()

    def write_atomic(self, path: str, data: bytes) -> FileRecord:
        """Write a file whole."""
        target = self._at(path)
        with self._beside(target) as temporary:
            _write_synced(temporary, data)
            os.replace(temporary, target)  # noqa: PTH105 - tests count this call to kill the process around it
        _sync_folder(target.parent)
        return FileRecord(path=checked(path), size=len(data), sha256=sha256_of(data))

    def put_file(self, local: Path, path: str) -> FileRecord:
        """Copy a local file into the store."""
        target = self._at(path)
        with self._beside(target) as temporary:
            shutil.copyfile(local, temporary)
            _sync_file(temporary)
            # The digest is of the copy, so that a copy gone wrong is found by its reader.
            record = FileRecord(path=checked(path), size=temporary.stat().st_size, sha256=sha256_of_file(temporary))
            os.replace(temporary, target)  # noqa: PTH105
        _sync_folder(target.parent)
        return record

    def create_if_absent(self, path: str, data: bytes) -> bool:
        """Write a file unless it exists."""
        target = self._at(path)
        if target.exists():
            return False
        with self._beside(target) as temporary:
            _write_synced(temporary, data)
            try:
                os.link(temporary, target)
            except FileExistsError:
                return False
        _sync_folder(target.parent)
        return True

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        """Content and its digest as tag."""
        try:
            data = self._at(path).read_bytes()
        except FileNotFoundError:
            return None
        return data, sha256_of(data)

    def compare_and_swap(self, path: str, expected: str | None, data: bytes) -> str:
        """Replace a file if its tag is the expected one.

        Raises:
            PublishConflict: The file is another by now.
        """
        with self._locked(path):
            found = self.read_tagged(path)
            tag = found[1] if found else None
            if tag != expected:
                raise PublishConflict(
                    "another writer changed the file first; nothing was written",
                    where=f"{self.uri}/{path}",
                    got=tag or "no file",
                    allowed=expected or "no file",
                    fix="read it again and decide anew",
                )
            return self.write_atomic(path, data).sha256

    def files(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Every file below a folder, sorted by path."""
        folder = self._at(prefix)
        for parent, folders, files in os.walk(folder):
            folders.sort()
            folders[:] = [name for name in folders if name != _LOCKS]
            for name in sorted(files):
                if not name.startswith(_TEMPORARY):
                    found = Path(parent) / name
                    yield found.relative_to(self._root).as_posix(), found.stat().st_size

    def folders(self, prefix: str) -> list[str]:
        """Names of the folders directly below a folder."""
        folder = self._at(prefix)
        if not folder.is_dir():
            return []
        return sorted(one.name for one in folder.iterdir() if one.is_dir() and one.name != _LOCKS)

    def delete(self, path: str) -> None:
        """Remove a file or folder."""
        target = self._at(path)
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    @contextmanager
    def _beside(self, target: Path) -> Iterator[Path]:
        """A temporary name in the target's folder, gone afterwards whatever happens short of a crash."""
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.parent / f"{_TEMPORARY}{uuid4().hex}"
        try:
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    @contextmanager
    def _locked(self, path: str) -> Iterator[None]:
        target = self._at(path)
        locks = target.parent / _LOCKS
        locks.mkdir(parents=True, exist_ok=True)
        # The lock file is never removed: removing it would let two processes lock two files of one name.
        with (locks / target.name).open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as sink:
        sink.write(data)
        sink.flush()
        os.fsync(sink.fileno())


def _sync_file(path: Path) -> None:
    with path.open("rb") as source:
        os.fsync(source.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
