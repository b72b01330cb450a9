"""Payloads: nested JSON in, translatable strings out, and back with every other byte as it was."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from babelray.errors import InputError
from babelray.glossary.json_spans import EscapeStyle, StringSpan, scan_strings


@dataclass(frozen=True, slots=True)
class Payload:
    """One JSON text and its string values.

    Attributes:
        name: File, line or row it came from; for messages.
        raw: The text as it was read, byte order mark and line ends included.
        strings: String values in the order of the text. The position in this tuple is a string's identity: pointers
            are not unique when an object repeats a key.
    """

    name: str
    raw: str
    strings: tuple[StringSpan, ...]

    def repeated_pointers(self) -> tuple[str, ...]:
        """Pointers that several strings share, because an object repeats a key."""
        seen: set[str] = set()
        repeated = [s.pointer for s in self.strings if s.pointer in seen or seen.add(s.pointer)]  # type: ignore[func-returns-value]
        return tuple(dict.fromkeys(repeated))

    def replace(self, values: Mapping[int, str]) -> str:
        """The text with some strings replaced.

        Args:
            values: Position in `strings` -> new value. A value equal to the old one leaves the token's bytes alone.

        Raises:
            InputError: A position does not exist.
        """
        unknown = [position for position in values if not 0 <= position < len(self.strings)]
        if unknown:
            raise InputError(
                "a replacement names a string that the payload does not have",
                where=self.name,
                got=unknown[:5],
                allowed=f"0 to {len(self.strings) - 1}",
            )
        changed = [p for p in sorted(values) if values[p] != self.strings[p].value]
        if not changed:
            return self.raw
        style = EscapeStyle.of(self.raw)
        pieces: list[str] = []
        done = 0
        for position in changed:
            span = self.strings[position]
            pieces += (self.raw[done : span.start], style.encode(values[position]))
            done = span.end
        pieces.append(self.raw[done:])
        return "".join(pieces)


def parse_payload(raw: str, name: str = "payload") -> Payload:
    """Find the strings of a JSON text.

    Raises:
        InputError: The text is not JSON.
    """
    try:
        return Payload(name, raw, tuple(scan_strings(raw)))
    except InputError as error:
        raise InputError(
            error.what, where=f"{name}, {error.where}", got=error.got, allowed=error.allowed, fix=error.fix
        ) from None


def read_payloads(path: Path, column: str = "payload") -> Iterator[Payload]:
    """Payloads of a file, by its suffix: `.json` holds one, `.jsonl` one a line, `.parquet` one a row of `column`.

    Line ends are kept as they are. Blank lines of JSONL hold no payload.

    Raises:
        InputError: The file cannot be read or is not UTF-8, a payload is not JSON, or the column is missing.
    """
    if path.suffix == ".parquet":
        yield from _parquet_payloads(path, column)
        return
    text = _read_text(path)
    if path.suffix not in (".jsonl", ".ndjson"):
        yield parse_payload(text, str(path))
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield parse_payload(line, f"{path}:{number}")


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError("cannot read the payload file", where=path, got=error.strerror) from error
    except UnicodeDecodeError as error:
        raise InputError(
            "the payload file is not UTF-8", where=f"{path}, byte {error.start}", got=error.reason, allowed="UTF-8"
        ) from error


def _parquet_payloads(path: Path, column: str) -> Iterator[Payload]:
    try:
        file = pq.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise InputError("cannot read the Parquet file", where=path, got=str(error)) from error
    if column not in file.schema_arrow.names:
        raise InputError("the column is missing", where=path, got=column, allowed=", ".join(file.schema_arrow.names))
    row = 0
    for batch in file.iter_batches(columns=[column], batch_size=1024):
        for value in batch.column(0):
            raw = value.as_py()
            if raw is None:
                raise InputError("the payload is null", where=f"{path}, row {row}", fix="drop the row or fill it")
            yield parse_payload(raw, f"{path}, row {row}")
            row += 1
