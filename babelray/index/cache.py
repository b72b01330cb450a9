"""Local, verified copies of segments, shared by the processes of a machine.

A store on this machine's own disk needs no copy; its files are verified in place before a byte of them is loaded.
"""

import fcntl
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from babelray.index.digests import FileRecord, verify_file
from babelray.index.layout import SegmentLayout
from babelray.index.store import Store


class HasFiles(Protocol):
    """A record of a segment, as a manifest holds it."""

    @property
    def content_digest(self) -> str:
        """Names the logical content."""
        ...

    @property
    def files(self) -> Mapping[str, FileRecord]:
        """Relative path -> size and checksum."""
        ...


def materialize(store: Store, layout: SegmentLayout, record: HasFiles, cache: Path) -> Path:
    """A local folder with the verified files of a segment.

    Args:
        store: Where the segment lies.
        layout: Its folder there.
        record: Its files with checksums.
        cache: Folder for copies, used if the store is not on this machine.

    Raises:
        IntegrityError: A file is missing or is not what its checksum says.
    """
    root = store.local_path(layout.root)
    if root is not None:
        _verify(root, record.files)
        return root
    folder = cache / "segments" / f"{Path(layout.root).name}-{record.content_digest}"
    folder.mkdir(parents=True, exist_ok=True)
    # One process fetches while the others of this machine wait for it and then verify what it left.
    with (folder / ".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for relative, one in _missing(folder, record.files):
            _fetch(store, f"{layout.root}/{relative}", folder / relative, one)
    _verify(folder, record.files)
    return folder


def _missing(folder: Path, files: Mapping[str, FileRecord]) -> Iterable[tuple[str, FileRecord]]:
    for relative, record in sorted(files.items()):
        path = folder / relative
        if not path.is_file() or path.stat().st_size != record.size:
            yield relative, record


def _fetch(store: Store, source: str, target: Path, record: FileRecord) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".tmp-{target.name}")
    with store.open_input(source) as stream, temporary.open("wb") as sink:
        while block := stream.read(1 << 20):
            sink.write(block)
    verify_file(temporary, record, where=source)
    os.replace(temporary, target)  # noqa: PTH105


def _verify(folder: Path, files: Mapping[str, FileRecord]) -> None:
    for relative, record in sorted(files.items()):
        verify_file(folder / relative, record)
