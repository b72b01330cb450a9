"""Rows of JSONL and Parquet, one document each."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from babelray.config import SourceSettings, TextSettings
from babelray.errors import InputError, IntegrityError
from babelray.text.readers.columns import RowContext, column_map, row_document
from babelray.text.readers.decoding import Refusal, safe_sample
from babelray.text.readers.parts import InputPart
from babelray.text.readers.ranges import bytes_digest, open_parquet
from babelray.text.readers.storage import SourceRoot
from babelray.text.types import Document, Reject

_BATCH_ROWS = 256


def read_lines(
    part: InputPart, root: SourceRoot, source: SourceSettings, limits: TextSettings
) -> Iterator[Document | Reject]:
    """Documents of the lines of a byte range; a broken line is a reject and does not touch its neighbours.

    Raises:
        IntegrityError: The bytes are not those that were planned.
    """
    context = RowContext(source, limits, column_map(source), root.name, part.uri)
    with root.filesystem.open_input_file(root.full(part.uri)) as stream:
        data: bytes = stream.read_at(part.stop - part.start, part.start)
    if bytes_digest(data) != part.digest:
        raise IntegrityError(
            "an input changed after it was planned", where=root.full(part.uri), fix="plan and run the job again"
        )
    yield from _documents(_parsed_lines(data, part.start), context)


def read_row_groups(
    part: InputPart, root: SourceRoot, source: SourceSettings, limits: TextSettings
) -> Iterator[Document | Reject]:
    """Documents of the rows of a range of row groups.

    Raises:
        InputError: The file is damaged or lacks the text column.
    """
    columns = column_map(source)
    context = RowContext(source, limits, columns, root.name, part.uri)
    with root.filesystem.open_input_file(root.full(part.uri)) as stream:
        file = open_parquet(stream, part.uri)
        known = file.schema_arrow.names
        if columns["text"] not in known:
            raise InputError(
                "a Parquet file lacks the text column",
                where=part.uri,
                got=", ".join(known),
                allowed=columns["text"],
                fix="map it: `columns: {text: <name>}`",
            )
        wanted = [name for name in dict.fromkeys(columns.values()) if name in known]
        groups = list(range(part.start, min(part.stop, file.num_row_groups)))
        batches = file.iter_batches(_BATCH_ROWS, row_groups=groups, columns=wanted)
        yield from _documents(_batch_rows(batches, part.start), context)


def _documents(
    rows: Iterable[tuple[str, Mapping[str, Any] | Refusal]], context: RowContext
) -> Iterator[Document | Reject]:
    seen: set[str] = set()
    for locator, row in rows:
        found = row if isinstance(row, Refusal) else row_document(row, context)
        if isinstance(found, Document) and found.doc_id in seen:
            detail = "a row with the same key, or without one the same text, came before"
            found = Refusal("duplicate", detail, safe_sample(found.text))
        if isinstance(found, Refusal):
            yield Reject(context.path, locator, found.reason, found.detail, found.sample)
        else:
            seen.add(found.doc_id)
            yield found


def _parsed_lines(data: bytes, offset: int) -> Iterator[tuple[str, Mapping[str, Any] | Refusal]]:
    """Lines by the byte at which they begin; empty ones are no rows."""
    start = 0
    while start < len(data):
        stop = data.find(b"\n", start)
        stop = len(data) if stop < 0 else stop
        line = data[start:stop].strip(b"\r\n \t")
        if line and line != b"\xef\xbb\xbf":
            yield f"byte {offset + start}", _parsed(line)
        start = stop + 1


def _parsed(line: bytes) -> Mapping[str, Any] | Refusal:
    sample = safe_sample(line[:80].decode("utf-8", "backslashreplace"))
    try:
        row = json.loads(line.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
    except UnicodeDecodeError as error:
        return Refusal("wrong_encoding", f"not utf-8: {error.reason} at byte {error.start} of the line", sample)
    except ValueError as error:
        return Refusal("bad_json", str(error), sample)
    except RecursionError:
        return Refusal("bad_json", "nested too deeply", sample)
    if not isinstance(row, dict):
        return Refusal("not_an_object", f"a line holds {type(row).__name__}", sample)
    return row


def _batch_rows(
    batches: Iterable[pa.RecordBatch], first_group: int
) -> Iterator[tuple[str, Mapping[str, Any] | Refusal]]:
    number = 0
    for batch in batches:
        for row in range(batch.num_rows):
            yield f"row {number} from row group {first_group}", _row(batch, row)
            number += 1


def _row(batch: pa.RecordBatch, row: int) -> Mapping[str, Any] | Refusal:
    """Values of one row; bytes that claim to be a string and are no UTF-8 refuse the row only."""
    try:
        return {name: batch.column(name)[row].as_py() for name in batch.schema.names}
    except UnicodeDecodeError as error:
        return Refusal("wrong_encoding", f"not utf-8: {error.reason} at byte {error.start}")
