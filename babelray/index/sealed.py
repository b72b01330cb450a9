"""Small JSON files that prove they are as they were written: canonical text with a checksum of itself."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from babelray.errors import IntegrityError

_CHECKSUM = "checksum"


def seal(values: Mapping[str, Any]) -> bytes:
    """Canonical JSON (sorted keys, one value a line) with a checksum over all values; equal values give equal bytes."""
    assert _CHECKSUM not in values
    digest = hashlib.sha256(_canonical(values)).hexdigest()
    return _canonical({**values, _CHECKSUM: digest})


def parse(data: bytes, where: str) -> dict[str, Any]:
    """The values of a sealed file, checksum included, not yet compared with it.

    Raises:
        IntegrityError: Not a JSON object.
    """
    try:
        values = json.loads(data)
    except ValueError as error:  # covers wrong UTF-8 and wrong JSON
        raise IntegrityError("a file is not JSON", where=where, got=str(error)[:200]) from error
    if not isinstance(values, dict):
        raise IntegrityError("a file is not a JSON object", where=where, got=type(values).__name__)
    return values


def unseal(data: bytes, where: str) -> dict[str, Any]:
    """The values of a sealed file.

    Raises:
        IntegrityError: A byte differs from what was written.
    """
    values = parse(data, where)
    found = values.pop(_CHECKSUM, None)
    # Rendering again compares every byte, the checksum included.
    if seal(values) != data:
        raise IntegrityError(
            "a file was changed after it was written",
            where=where,
            got=found,
            allowed=parse(seal(values), where)[_CHECKSUM],
            fix="restore it from a copy; these files are changed by `babelray` commands only, never by hand",
        )
    return values


def _canonical(values: Mapping[str, Any]) -> bytes:
    return (json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
