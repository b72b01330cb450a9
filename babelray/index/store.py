"""The store: a tree of files with atomic writes, create-if-absent and compare-and-swap. All that lasts goes through it.

Paths are relative, use `/`, and never leave the root. Two kinds: a folder, and a prefix of an S3 bucket.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from babelray.errors import ConfigError, InputError
from babelray.index.digests import FileRecord

LOCKS = ".locks"
TEMPORARY = ".tmp-"
"""Names that the store keeps for itself; no path may use them, and no listing shows them."""


class Store(Protocol):
    """What the engine and the jobs ask of a store. Every write is durable and whole once its method returns."""

    @property
    def uri(self) -> str:
        """Where the store lies, as `open_store` takes it."""
        ...

    def read_bytes(self, path: str) -> bytes:
        """The content of a file.

        Raises:
            InputError: There is no such file.
        """
        ...

    def open_input(self, path: str) -> Any:
        """A seekable `pyarrow.NativeFile` for reading.

        Raises:
            InputError: There is no such file.
        """
        ...

    def write_atomic(self, path: str, data: bytes) -> FileRecord:
        """Write a file; readers see the old content or the new, whole."""
        ...

    def put_file(self, local: Path, path: str) -> FileRecord:
        """Copy a local file into the store, atomically, and say what was stored."""
        ...

    def create_if_absent(self, path: str, data: bytes) -> bool:
        """Write a file unless it exists; exactly one of several racing writers gets True."""
        ...

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        """Content and the tag that `compare_and_swap` wants, or `None` where there is no file."""
        ...

    def compare_and_swap(self, path: str, expected: str | None, data: bytes) -> str:
        """Replace a file if it still has this tag (`None`: if there is none); returns the new tag.

        Raises:
            PublishConflict: Another writer was first; nothing was changed.
        """
        ...

    def files(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Path and size of every file below a folder, sorted by path; nothing where the folder does not exist."""
        ...

    def folders(self, prefix: str) -> list[str]:
        """Names of the folders directly below a folder, sorted."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is such a file."""
        ...

    def delete(self, path: str) -> None:
        """Remove a file or a whole folder; nothing happens where there is none."""
        ...

    def sweep(self, prefix: str, older_than: timedelta) -> int:
        """Remove what crashed writers left below a folder; returns how many files.

        Args:
            prefix: Folder to look through.
            older_than: Age by last write. A writer at work touches its file all the time, so that an hour is safe.
        """
        ...

    def local_path(self, path: str) -> Path | None:
        """Where the file lies on this machine's disk, or `None` if it has to be copied first."""
        ...


def checked(path: str) -> str:
    """A store path in its one form.

    Raises:
        InputError: The path is empty, absolute, leaves the store, or is a name that the store keeps for itself.
    """
    pure = PurePosixPath(path)
    reserved = any(part == LOCKS or part.startswith(TEMPORARY) for part in pure.parts)
    outside = not pure.parts or pure.is_absolute() or ".." in pure.parts or "\\" in path or "\0" in path
    if outside or reserved:
        raise InputError(
            "not a path inside the store",
            got=repr(path),
            allowed=f"relative, with / and without .., and no part called {LOCKS} or {TEMPORARY}...",
        )
    return pure.as_posix()


def open_store(uri: str) -> Store:
    """Open the store that a setting names; a local folder is created on the first write.

    Raises:
        ConfigError: Nothing is named, or the scheme is not one that this version can write to.
    """
    scheme, separator, rest = uri.partition("://")
    if scheme == "s3" and separator:
        from babelray.index.s3_store import S3Store

        return S3Store(uri)
    allowed = "a folder, file:///folder, or s3://bucket/prefix"
    if separator and scheme != "file":
        raise ConfigError("not a store that can be written to", where="store", got=uri, allowed=allowed)
    folder = rest if separator else uri
    if not folder.strip() or (separator and not folder.startswith("/")):
        raise ConfigError("not a folder", where="store", got=repr(uri), allowed=allowed)
    from babelray.index.local_store import LocalStore

    return LocalStore(Path(folder).expanduser().absolute())
