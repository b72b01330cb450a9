"""A backlog of payloads: files of JSON, JSONL and Parquet, listed in parts that a worker reads by themselves.

What is no payload is refused with its reason and stays in the output as it was: nothing vanishes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from babelray.config import BacklogSettings, SourceSettings
from babelray.errors import InputError, IntegrityError
from babelray.glossary.payload import Payload, parse_payload
from babelray.text.readers import InputPart
from babelray.text.readers.ranges import bytes_digest, open_parquet
from babelray.text.readers.storage import open_root
from babelray.text.types import Reject

MAX_PAYLOAD_BYTES = 64 * 2**20
"""Of one JSON file: its strings are held in memory together."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One place of a part: a payload, or what stands there instead.

    Attributes:
        raw: As it stands; None for a null of a Parquet column.
        payload: None where there is none.
        reject: Why there is none, unless the line is merely blank.
    """

    raw: str | None
    payload: Payload | None = None
    reject: Reject | None = None


def source_of(backlog: BacklogSettings) -> SourceSettings:
    """The backlog as the readers of corpora list it."""
    return SourceSettings(path=backlog.path, format=backlog.format, include=backlog.include)


def read_entries(part: InputPart, backlog: BacklogSettings) -> Iterator[Entry]:
    """The entries of a part in their order; rendered again they are the part, byte by byte.

    Raises:
        InputError: The file is gone, or damaged as a whole.
        IntegrityError: It changed after it was listed.
    """
    if part.format == "parquet":
        yield from _rows(part, backlog)
        return
    root = open_root(source_of(backlog))
    with root.filesystem.open_input_file(root.full(part.uri)) as stream:
        data: bytes = stream.read_at(part.stop - part.start, part.start)
    if bytes_digest(data) != part.digest:
        fix = "plan and run the job again"
        raise IntegrityError("a payload file changed after it was planned", where=root.full(part.uri), fix=fix)
    if part.format == "jsonl":
        offset = part.start
        for line in data.split(b"\n"):
            yield _entry(line, f"{part.uri}@{offset}", part.uri, f"byte {offset}")
            offset += len(line) + 1
    else:
        yield _entry(data, part.uri, part.uri, "")


def _entry(data: bytes, name: str, uri: str, locator: str) -> Entry:
    # Bytes that are no UTF-8 survive in the output as they are.
    raw = data.decode("utf-8", "surrogateescape")
    if not raw.strip("\ufeff \t\r\n") and locator:
        return Entry(raw)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Entry(raw, reject=Reject(uri, locator, "wrong_encoding", f"byte {error.start}: {error.reason}", ""))
    if len(data) > MAX_PAYLOAD_BYTES:
        detail = f"{len(data)} bytes, at most {MAX_PAYLOAD_BYTES}"
        return Entry(raw, reject=Reject(uri, locator, "too_large", detail, raw[:80]))
    return _parsed(raw, name, uri, locator)


def _parsed(raw: str, name: str, uri: str, locator: str) -> Entry:
    try:
        return Entry(raw, parse_payload(raw, name))
    except InputError as error:
        return Entry(raw, reject=Reject(uri, locator, "bad_json", f"{error.what}, {error.where}", raw[:80]))


def _rows(part: InputPart, backlog: BacklogSettings) -> Iterator[Entry]:
    root = open_root(source_of(backlog))
    with root.filesystem.open_input_file(root.full(part.uri)) as stream:
        file = open_parquet(stream, part.uri)
        if backlog.column not in file.schema_arrow.names:
            raise InputError(
                "a Parquet file lacks the payload column",
                where=part.uri,
                got=", ".join(file.schema_arrow.names),
                allowed=backlog.column,
                fix="set `column` of the backlog",
            )
        groups = list(range(part.start, min(part.stop, file.num_row_groups)))
        number = 0
        for batch in file.iter_batches(256, row_groups=groups, columns=[backlog.column]):
            for value in batch.column(0).to_pylist():
                locator = f"row {number} from row group {part.start}"
                if value is None:
                    yield Entry(None, reject=Reject(part.uri, locator, "null", "the payload is null", ""))
                else:
                    yield _parsed(value, f"{part.uri}@{part.start}.{number}", part.uri, locator)
                number += 1


def localized_entry(entry: Entry, values: Mapping[int, str]) -> str | None:
    """An entry with the strings of its payload replaced; one without a payload as it was."""
    return entry.payload.replace(values) if entry.payload else entry.raw
