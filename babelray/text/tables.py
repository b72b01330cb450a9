"""Reads the word tables that lie beside this module as text files.

A table is UTF-8. A line that starts with `# ` and an empty line are comments. `.txt` holds words separated by white
space; `.tsv` holds rows of columns separated by tabs.
"""

from functools import cache
from importlib.resources import files

from babelray.errors import IntegrityError


def _lines(name: str) -> list[str]:
    text = files("babelray.text").joinpath(name).read_text("utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("# ")]


@cache
def read_words(name: str) -> tuple[str, ...]:
    """The words of a `.txt` table, each once, in the order of the file."""
    return tuple(dict.fromkeys(word for line in _lines(name) for word in line.split()))


@cache
def read_rows(name: str, columns: int) -> tuple[tuple[str, ...], ...]:
    """The rows of a `.tsv` table.

    Raises:
        IntegrityError: A row has another number of columns.
    """
    rows = tuple(tuple(line.split("\t")) for line in _lines(name))
    for row in rows:
        if len(row) != columns:
            raise IntegrityError(
                "a row of a word table is malformed",
                where=f"babelray/text/{name}",
                got="\t".join(row),
                allowed=f"{columns} columns separated by tabs",
                fix="repair the row, or install the package again",
            )
    return rows
