"""What people say about the terms of strings: read from CSV or JSONL, one row a string and term."""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from babelray.errors import InputError

COLUMNS = ("record_id", "term_id", "present")
_YES, _NO = frozenset({"true", "1", "yes", "y"}), frozenset({"false", "0", "no", "n"})

Labels = Mapping[str, Mapping[str, bool]]
"""Record id -> term id -> whether the source holds the term."""


def read_labels(path: Path) -> Labels:
    """Labels of a file.

    Raises:
        InputError: It cannot be read, a row lacks a column or says neither yes nor no, or two rows contradict.
    """
    found: dict[str, dict[str, bool]] = {}
    for number, row in _rows(path):
        where = f"{path}, row {number}"
        missing = [name for name in COLUMNS if row.get(name) in (None, "")]
        if missing:
            raise InputError("a label lacks a column", where=where, got=missing, allowed=", ".join(COLUMNS))
        said = str(row["present"]).strip().casefold()
        if said not in _YES | _NO:
            raise InputError("a label says neither yes nor no", where=where, got=said, allowed="true or false")
        terms = found.setdefault(str(row["record_id"]), {})
        if terms.setdefault(str(row["term_id"]), said in _YES) != (said in _YES):
            fix = "keep one of the two rows"
            raise InputError("two labels contradict each other", where=where, got=row["term_id"], fix=fix)
    return found


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("cannot read the labels", where=path, got=str(error)) from error
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                except ValueError as error:
                    raise InputError("a label is not JSON", where=f"{path}, row {number}", got=str(error)) from error
                if not isinstance(row, dict):
                    raise InputError("a label is no object", where=f"{path}, row {number}", got=type(row).__name__)
                yield number, row
    else:
        yield from enumerate(csv.DictReader(text.splitlines()), start=2)
