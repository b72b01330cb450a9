"""A store in a local (or shared POSIX) folder.

A file is written beside its target, synced, and renamed over it, so that a crash at any instant leaves the old content
or the new; then its folder is synced, so that a loss of power does too. Create-if-absent is a hard link, which fails if
the name is taken. Compare-and-swap holds a lock file from comparing to renaming; the lock dies with its process.
"""

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from babelray.errors import InputError, PublishConflict
from babelray.index.digests import FileRecord, sha256_of, sha256_of_file
from babelray.index.store import LOCKS, TEMPORARY, checked


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
        target = self._at(path)
        if not target.is_file():
            raise InputError("no such file in the store", where=self.uri, got=path)
        return pa.memory_map(str(target))

    def exists(self, path: str) -> bool:
        """Whether there is such a file."""
        return self._at(path).is_file()

    def write_atomic(self, path: str, data: bytes) -> FileRecord:
        """Write a file whole."""
        target = self._at(path)
        with self._beside(target) as temporary:
            _write_synced(temporary, data)
            os.replace(temporary, target)  # noqa: PTH105 - the system calls of a commit are spelled out
        _sync_folder(target.parent)
        return FileRecord(path=checked(path), size=len(data), sha256=sha256_of(data))

    def put_file(self, local: Path, path: str) -> FileRecord:
        """Copy a local file into the store."""
        target = self._at(path)
        with self._beside(target) as temporary:
            shutil.copyfile(local, temporary)
            _sync_file(temporary)
            # The digest is of the copy, so that a manifest describes what is stored and not what should have been.
            record = FileRecord(path=checked(path), size=temporary.stat().st_size, sha256=sha256_of_file(temporary))
            os.replace(temporary, target)  # noqa: PTH105
        _sync_folder(target.parent)
        return record

    def create_if_absent(self, path: str, data: bytes) -> bool:
        """Write a file unless it exists."""
        target = self._at(path)
        created = False
        if not target.exists():
            with self._beside(target) as temporary:
                _write_synced(temporary, data)
                try:
                    os.link(temporary, target)
                    created = True
                except FileExistsError:
                    created = False
        # The loser syncs too: it goes on in the belief that the winner's file stays, and the winner may have crashed.
        _sync_folder(target.parent)
        return created

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        """Content and its digest as tag."""
        try:
            data = self._at(path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
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
        """Every file below a folder, sorted by path; one that vanishes during the walk is not shown."""
        for found in sorted(self._walk(prefix), key=Path.as_posix):
            if found.name.startswith(TEMPORARY):
                continue
            try:
                size = found.stat().st_size
            except FileNotFoundError:
                continue
            yield found.relative_to(self._root).as_posix(), size

    def sweep(self, prefix: str, older_than: timedelta) -> int:
        """Remove old temporary files."""
        before, swept = time.time() - older_than.total_seconds(), 0
        for found in self._walk(prefix):
            if not found.name.startswith(TEMPORARY):
                continue
            try:
                if found.stat().st_mtime < before:
                    found.unlink()
                    swept += 1
            except FileNotFoundError:
                continue
        return swept

    def _walk(self, prefix: str) -> Iterator[Path]:
        for parent, folders, files in os.walk(self._at(prefix)):
            folders[:] = [name for name in folders if name != LOCKS]
            yield from (Path(parent) / name for name in files)

    def folders(self, prefix: str) -> list[str]:
        """Names of the folders directly below a folder."""
        folder = self._at(prefix)
        if not folder.is_dir():
            return []
        return sorted(one.name for one in folder.iterdir() if one.is_dir() and one.name != LOCKS)

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
        _make_folder(target.parent)
        temporary = target.parent / f"{TEMPORARY}{uuid4().hex}"
        try:
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    @contextmanager
    def _locked(self, path: str) -> Iterator[None]:
        target = self._at(path)
        locks = target.parent / LOCKS
        _make_folder(locks)
        # The lock file is never removed: removing it would let two processes lock two files of one name.
        with (locks / target.name).open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _make_folder(folder: Path) -> None:
    """Create a folder and those above it, each entered durably into the one above."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir():
            raise InputError("a file stands where the store needs a folder", where=folder) from None
    _sync_folder(folder.parent)


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
    except OSError as error:
        # Some network file systems cannot sync a folder; the rename itself is still atomic there.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
