"""Where a backfill writes: payloads in the shape of the backlog, records, enriched records, dead letters."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from babelray.config import BacklogSettings
from babelray.glossary.backlog import source_of
from babelray.index.digests import FileRecord
from babelray.index.store import Store
from babelray.text.readers import InputPart
from babelray.text.readers.storage import open_root

PIECES = ".pieces"


class BackfillOutputs:
    """The output folder of a backfill.

    `payloads/<target>/<path of the backlog>` is what the backlog holds, localized; `records/<target>/<unit>.jsonl` says
    of each string what was found, given and made; `dead_letters/` holds those without a translation; `enriched/`
    says what binds one, where no translator is set.

    Args:
        store: The folder.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def write_lines(self, kind: str, target: str, unit: str, rows: Iterable[Mapping[str, Any]]) -> FileRecord:
        """A file of JSON lines, whole."""
        lines = (json.dumps(row, ensure_ascii=False, sort_keys=True) for row in rows)
        data = "".join(f"{line}\n" for line in lines)
        return self._store.write_atomic(f"{kind}/{target}/{unit}.jsonl", data.encode("utf-8", "surrogatepass"))

    def write_part(self, part: InputPart, texts: Sequence[str | None], target: str) -> list[FileRecord]:
        """A part's entries, localized: a whole JSON file, or a piece that `assemble` puts together with its others."""
        if part.format == "json":
            (text,) = texts
            if text is None:
                self._store.delete(_path(target, part.uri))
                return []
            return [self._store.write_atomic(_path(target, part.uri), text.encode("utf-8", "surrogateescape"))]
        if part.format == "jsonl":
            data = "\n".join(text or "" for text in texts).encode("utf-8", "surrogateescape")
        else:
            data = json.dumps(list(texts), ensure_ascii=True).encode()
        return [self._store.write_atomic(_piece(target, part), data)]

    def assemble(self, parts: Sequence[InputPart], backlog: BacklogSettings, target: str) -> FileRecord:
        """Join the pieces of one file into a file like the backlog's, and remove them.

        Args:
            parts: All parts of the file, in any order.
            backlog: Where the file is from.
            target: Locale.
        """
        ordered = sorted(parts, key=lambda part: part.start)
        pieces = [self._store.read_bytes(_piece(target, part)) for part in ordered]
        path = _path(target, ordered[0].uri)
        if ordered[0].format == "jsonl":
            record = self._store.write_atomic(path, b"".join(pieces))
        else:
            values = [value for piece in pieces for value in json.loads(piece)]
            record = self._store.write_atomic(path, _with_column(ordered[0].uri, backlog, values))
        self._store.delete(_path(target, ordered[0].uri) + PIECES)
        return record

    def is_whole(self, uri: str, target: str) -> bool:
        """Whether a file stands in the output, put together."""
        return self._store.exists(_path(target, uri)) and not any(self._store.files(_path(target, uri) + PIECES))


def _with_column(uri: str, backlog: BacklogSettings, values: Sequence[str | None]) -> bytes:
    """A Parquet file like the backlog's, but for the payload column."""
    root = open_root(source_of(backlog))
    with root.filesystem.open_input_file(root.full(uri)) as stream:
        table = pq.read_table(stream)
    place = table.schema.get_field_index(backlog.column)
    column = pa.array(values, table.schema.field(place).type)
    sink = io.BytesIO()
    pq.write_table(table.set_column(place, table.schema.field(place), column), sink)
    return sink.getvalue()


def _path(target: str, uri: str) -> str:
    return f"payloads/{target}/{uri}"


def _piece(target: str, part: InputPart) -> str:
    return f"{_path(target, part.uri)}{PIECES}/{part.start:016d}"
