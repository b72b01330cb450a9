"""Terms from and to files: CSV, JSONL and TBX. What is written is read back equal."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from babelray.errors import InputError
from babelray.glossary.lint import Problem, Severity
from babelray.glossary.tbx import read_tbx, write_tbx
from babelray.glossary.terms import Term

FileFormat = Literal["csv", "jsonl", "tbx"]
LIST_FIELDS = ("surface_forms", "aliases", "forbidden_translations", "only_with", "not_with")
SUFFIXES: Mapping[str, FileFormat] = {
    ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".tbx": "tbx", ".xml": "tbx",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How the columns of a foreign file become terms.

    Attributes:
        rename: Our field -> the file's column.
        defaults: Our field -> its value where the file has none or an empty one (locales, tenant, domain, kind).
        ignore: Columns that are left out on purpose.
    """

    rename: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    ignore: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Terms that could be read, and what could not, by line."""

    terms: tuple[Term, ...]
    problems: tuple[Problem, ...]


def file_format(path: Path) -> FileFormat:
    """The format of a file, by its suffix.

    Raises:
        InputError: The suffix is not known.
    """
    found = SUFFIXES.get(path.suffix.lower())
    if found is None:
        raise InputError("cannot tell the glossary format", where=path, got=path.suffix, allowed=", ".join(SUFFIXES))
    return found


def read_terms(path: Path, options: ImportOptions | None = None) -> ImportResult:
    """Read a glossary file. Rows that are no terms are reported, not skipped in silence.

    Raises:
        InputError: The file cannot be read, is not UTF-8, or is not of its format at all.
    """
    options = options or ImportOptions()
    kind = file_format(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError("cannot read the glossary file", where=path, got=error.strerror) from error
    if kind == "tbx":
        return _collect(read_tbx(data, str(path)), options)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            "the glossary file is not UTF-8", where=f"{path}, byte {error.start}", got=error.reason
        ) from error
    rows = _jsonl_rows(text, path) if kind == "jsonl" else _csv_rows(text, path)
    return _collect(rows, options)


def write_terms(path: Path, terms: Iterable[Term]) -> None:
    """Write a glossary file in the format of its suffix, in the given order."""
    writers: dict[FileFormat, Callable[[Iterable[Term]], bytes]] = {
        "csv": _to_csv,
        "jsonl": _to_jsonl,
        "tbx": write_tbx,
    }
    path.write_bytes(writers[file_format(path)](terms))


def _jsonl_rows(text: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError("the line is not JSON", where=f"{path}:{number}", got=error.msg) from error
        if not isinstance(row, dict):
            raise InputError("the line is not a JSON object", where=f"{path}:{number}", got=type(row).__name__)
        yield f"{path}:{number}", row


def _csv_rows(text: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    first = text.split("\n", 1)[0]
    delimiter = max("\t;,", key=first.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    if not reader.fieldnames:
        raise InputError("the CSV file has no header line", where=path, fix="name the columns in its first line")
    try:
        for row in reader:
            if None in row or None in row.values():
                raise InputError("the row has more or fewer cells than the header", where=f"{path}:{reader.line_num}")
            yield f"{path}:{reader.line_num}", row
    except csv.Error as error:
        raise InputError("the file is not CSV", where=f"{path}:{reader.line_num}", got=str(error)) from error


def _collect(rows: Iterable[tuple[str, dict[str, Any]]], options: ImportOptions) -> ImportResult:
    terms: list[Term] = []
    problems: list[Problem] = []
    unknown: dict[str, int] = {}
    for where, row in rows:
        values, extra = _fields(row, options)
        for column in extra:
            unknown[column] = unknown.get(column, 0) + 1
        try:
            terms.append(Term.model_validate(values))
        except ValidationError as error:
            details = "; ".join(
                f"{'.'.join(map(str, e['loc'])) or 'term'}: {e['msg'].removeprefix('Value error, ')}"
                for e in error.errors()
            )
            problems.append(Problem(Severity.ERROR, "bad_row", (where,), details))
    for column, count in unknown.items():
        message = f"column `{column}` is unknown and was left out of {count} rows; map it or ignore it by name"
        problems.append(Problem(Severity.WARNING, "unknown_column", (column,), message))
    return ImportResult(tuple(terms), tuple(problems))


def _fields(row: Mapping[str, Any], options: ImportOptions) -> tuple[dict[str, Any], list[str]]:
    """Values by our names, and the columns that nothing asked for."""
    values: dict[str, Any] = {}
    for name in Term.model_fields:
        column = options.rename.get(name, name)
        value = row.get(column)
        if value is None or value == "":
            value = options.defaults.get(name)
        if value is None or value == "":
            continue
        values[name] = _split(value) if name in LIST_FIELDS and isinstance(value, str) else value
    if "term_id" not in values and "source" in values:
        values["term_id"] = f"{values.get('source_locale', '')}:{values['source']}"[:256]
    values.setdefault("kind", "custom_translation" if values.get("target") else "non_translatable")
    known = {options.rename.get(name, name) for name in Term.model_fields} | options.ignore
    return values, [column for column in row if column not in known]


def _split(cell: str) -> list[str]:
    """Items of a cell, separated by `|`; a backslash makes the next character itself."""
    items: list[str] = [""]
    escaped = False
    for char in cell:
        if escaped or char not in "|\\":
            items[-1] += char
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            items.append("")
    return [item for item in items if item]


def _join(items: Iterable[str]) -> str:
    return "|".join(item.replace("\\", "\\\\").replace("|", "\\|") for item in items)


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        return _join(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return "" if value is None else str(value)


def _to_csv(terms: Iterable[Term]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(Term.model_fields)
    for term in terms:
        writer.writerow([_cell(getattr(term, name)) for name in Term.model_fields])
    return out.getvalue().encode("utf-8")


def _to_jsonl(terms: Iterable[Term]) -> bytes:
    return "".join(f"{term.model_dump_json(exclude_defaults=True)}\n" for term in terms).encode("utf-8")
