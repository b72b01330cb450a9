"""Files of a source, local or remote, through `pyarrow.fs`; always in the same order."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from pyarrow import fs

from babelray.config import SourceSettings
from babelray.errors import InputError
from babelray.text.readers.parts import PartFormat

EXTENSIONS: dict[str, PartFormat] = {
    "md": "markdown", "markdown": "markdown", "mdx": "markdown", "html": "html", "htm": "html", "xhtml": "html",
    "txt": "text", "text": "text", "json": "json", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet",
    "pq": "parquet",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a source: its path under the source's root, and its size in bytes."""

    path: str
    size: int
    format: PartFormat


@dataclass(frozen=True, slots=True)
class SourceRoot:
    """An opened source: `base` is the folder, or the folder of a source that is one file."""

    filesystem: fs.FileSystem
    base: str
    name: str

    def full(self, path: str) -> str:
        """The path of a file as the file system knows it."""
        return f"{self.base.rstrip('/')}/{path}"


def open_root(source: SourceSettings) -> SourceRoot:
    """Open a source.

    Raises:
        InputError: Nothing is at the path, or the file system cannot be reached.
    """
    filesystem, path = _file_system(source.path)
    info = _info(filesystem, path, source)
    if info.type == fs.FileType.File:
        folder, _, name = path.rpartition("/")
        return SourceRoot(filesystem, folder, name)
    return SourceRoot(filesystem, path, path.rstrip("/").rpartition("/")[2])


def list_files(source: SourceSettings) -> Iterator[SourceFile]:
    """Files of a source that its format and patterns choose, sorted by path; hidden ones are left out.

    Raises:
        InputError: Nothing is at the path, or its format cannot be told.
    """
    root = open_root(source)
    full = _file_system(source.path)[1]
    info = _info(root.filesystem, full, source)
    if info.type == fs.FileType.File:
        yield SourceFile(root.name, info.size, _format_of_file(root.name, source))
        return
    base = root.base.rstrip("/") + "/"
    entries = root.filesystem.get_file_info(fs.FileSelector(root.base, recursive=True))
    found = sorted((entry.path.removeprefix(base), entry.size) for entry in entries if entry.type == fs.FileType.File)
    for path, size in found:
        format_ = _chosen_format(path, source)
        if format_ is not None:
            yield SourceFile(path, size, format_)


def _file_system(path: str) -> tuple[fs.FileSystem, str]:
    if "://" in path:
        filesystem, inner = fs.FileSystem.from_uri(path)
        return filesystem, inner
    return fs.LocalFileSystem(), str(Path(path).expanduser().absolute())


def _info(filesystem: fs.FileSystem, path: str, source: SourceSettings) -> fs.FileInfo:
    try:
        info = filesystem.get_file_info(path)
    except OSError as error:
        raise InputError(
            "a source cannot be reached", where=source.path, got=str(error), fix="check the address and credentials"
        ) from error
    if info.type == fs.FileType.NotFound:
        raise InputError(
            "a source does not exist", where=source.path, allowed="an existing file or folder", fix="correct `path`"
        )
    return info


def _format_of_file(name: str, source: SourceSettings) -> PartFormat:
    if source.format != "auto":
        return source.format
    by_name = EXTENSIONS.get(_extension(name))
    if by_name is None:
        raise InputError(
            "the format of a file cannot be told from its name",
            where=source.path,
            got=_extension(name) or "no extension",
            allowed=", ".join(EXTENSIONS),
            fix="set `format`",
        )
    return by_name


def _chosen_format(path: str, source: SourceSettings) -> PartFormat | None:
    if any(part.startswith(".") for part in path.split("/")):
        return None
    by_name = EXTENSIONS.get(_extension(path))
    wanted = by_name if source.format == "auto" else source.format
    # Patterns say what is wanted, so that a page may have any name; `auto` still needs a known one.
    chosen = any(matches(path, pattern) for pattern in source.include) if source.include else by_name == wanted
    if not chosen or any(matches(path, pattern) for pattern in source.exclude):
        return None
    return wanted


def _extension(path: str) -> str:
    return PurePosixPath(path).suffix.lower().removeprefix(".")


def matches(path: str, pattern: str) -> bool:
    """Whether a relative path meets a glob pattern: `*` stays in a folder, `**` crosses them, `?` is one character."""
    return _glob(pattern).fullmatch(path) is not None


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    """A pattern without a slash is matched against file names at any depth."""
    expression = "" if "/" in pattern else "(?:.*/)?"
    for piece in re.findall(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|.", pattern, re.S):
        if piece == "**/":
            expression += "(?:.*/)?"
        elif piece[0] == "[" and len(piece) > 2:
            inner = piece[1:-1].replace("\\", r"\\")
            expression += f"[{'^' + inner[1:] if inner[0] == '!' else inner}]"
        else:
            expression += {"**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece, re.escape(piece))
    return re.compile(expression, re.S)
