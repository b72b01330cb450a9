"""Local, verified copies of segments, shared by the processes of a machine.

A store on this machine's own disk needs no copy; its files are verified in place before a byte of them is loaded.
"""

import fcntl
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from babelray.errors import InputError, IntegrityError
from babelray.index.digests import FileRecord, verify_file
from babelray.index.layout import SegmentLayout
from babelray.index.store import Store
from babelray.keys import digest_of

_BLOCK = 1 << 20


class HasFiles(Protocol):
    """A record of a segment, as a manifest holds it."""

    @property
    def files(self) -> Mapping[str, FileRecord]:
        """Relative path -> size and checksum."""
        ...


def materialize(
    store: Store, layout: SegmentLayout, record: HasFiles, cache: Path, only: Collection[str] | None = None
) -> Path:
    """A local folder with the verified files of a segment.

    Every byte is read and compared on every call: a file may have changed since it was verified last, and reading it
    once is what loading costs anyway.

    Args:
        store: Where the segment lies.
        layout: Its folder there.
        record: Its files with checksums.
        cache: Folder for copies, used if the store is not on this machine.
        only: Relative paths of the files that are needed; `None`: all.

    Raises:
        IntegrityError: A file is missing or is not what its checksum says.
    """
    root = store.local_path(layout.root)
    needed = {relative: one for relative, one in sorted(record.files.items()) if only is None or relative in only}
    if root is not None:
        for relative, one in needed.items():
            verify_file(root / relative, one)
        return root
    # Named by the files, not by the content: a segment built twice has equal content in other files.
    folder = cache / "segments" / digest_of({relative: one.sha256 for relative, one in record.files.items()})
    with _only_one(folder):
        for relative, one in needed.items():
            if not _is_intact(folder / relative, one):
                _fetch(store, f"{layout.root}/{relative}", folder / relative, one)
    return folder


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """One process of this machine fetches a segment while the others wait; a killed one lets go."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_intact(path: Path, record: FileRecord) -> bool:
    try:
        verify_file(path, record)
    except IntegrityError:
        return False
    return True


def _fetch(store: Store, source: str, target: Path, record: FileRecord) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # One name, since one process at a time gets here: what a killed one left is written over.
    temporary = target.with_name(f".tmp-{target.name}")
    try:
        with store.open_input(source) as stream, temporary.open("wb") as sink:
            while block := stream.read(_BLOCK):
                sink.write(block)
    except InputError as error:
        raise IntegrityError("a file of the generation is missing", where=source, fix="build it again") from error
    verify_file(temporary, record, where=source)
    # A process that has mapped a damaged copy keeps it; renaming never changes bytes under a reader.
    os.replace(temporary, target)  # noqa: PTH105
