"""Listing the parts of a source, and reading one."""

from collections.abc import Iterator

from babelray.config import SourceSettings, TextSettings
from babelray.text.readers.columns import column_map
from babelray.text.readers.pages import read_page
from babelray.text.readers.parts import InputPart
from babelray.text.readers.ranges import Range, file_digest, line_ranges, row_group_ranges
from babelray.text.readers.rows import read_lines, read_row_groups
from babelray.text.readers.storage import SourceFile, SourceRoot, list_files, open_root
from babelray.text.types import Document, Reject


def list_parts(source: SourceSettings, number: int) -> Iterator[InputPart]:
    """Parts of a source in a fixed order; every byte of the input is read once for its digest.

    Args:
        source: Where to look.
        number: Position of the source in the settings, kept in each part.

    Raises:
        InputError: Nothing is there, a format cannot be told, or a Parquet file is damaged.
        ConfigError: The settings map an unknown field.
    """
    column_map(source)
    root = open_root(source)
    for file in list_files(source):
        for piece in _ranges(root, file):
            yield InputPart(number, file.path, file.format, piece.start, piece.stop, piece.size, piece.digest)


def _ranges(root: SourceRoot, file: SourceFile) -> Iterator[Range]:
    if file.format == "jsonl":
        yield from line_ranges(root, file.path)
    elif file.format == "parquet":
        yield from row_group_ranges(root, file.path)
    else:
        yield Range(0, file.size, file.size, file_digest(root, file.path))


def read_part(part: InputPart, source: SourceSettings, limits: TextSettings) -> Iterator[Document | Reject]:
    """Documents of a part in the order of the source, and a reject for each record that cannot be one.

    Args:
        part: As `list_parts` gave it for the same source.
        source: The source of the part.
        limits: Largest document.

    Raises:
        InputError: The source is gone, or a file is damaged as a whole.
        IntegrityError: The file changed after it was listed.
    """
    root = open_root(source)
    if part.format == "jsonl":
        yield from read_lines(part, root, source, limits)
    elif part.format == "parquet":
        yield from read_row_groups(part, root, source, limits)
    else:
        yield from read_page(part, root, source, limits)
