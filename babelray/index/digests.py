"""Sizes and SHA-256 of files: what a manifest or receipt says of every file it names."""

import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from babelray.errors import IntegrityError

_REPLACE = "restore it from a copy of the store, or roll back to another generation and build this one again"


class FileRecord(BaseModel):
    """One stored file: its path relative to the store, its bytes and their SHA-256 in hex."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


def sha256_of(data: bytes) -> str:
    """Hex SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def sha256_of_file(path: Path) -> str:
    """Hex SHA-256 of a file, read once in blocks."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def verify_file(path: Path, record: FileRecord, where: str | None = None) -> None:
    """Check a local file against its record, every byte of it.

    Args:
        path: The file.
        record: What it must be.
        where: How errors call it; by default as the record does.

    Raises:
        IntegrityError: The file is missing, shorter, longer, or holds other bytes.
    """
    where = where or record.path
    if not path.is_file():
        raise IntegrityError("a stored file is missing", where=where, fix=_REPLACE)
    size = path.stat().st_size
    if size != record.size:
        raise IntegrityError("a stored file has another size", where=where, got=size, allowed=record.size, fix=_REPLACE)
    found = sha256_of_file(path)
    if found != record.sha256:
        raise IntegrityError(
            "a stored file holds other bytes than its checksum says",
            where=where,
            got=found,
            allowed=record.sha256,
            fix=_REPLACE,
        )
