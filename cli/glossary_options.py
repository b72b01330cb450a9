"""What the glossary commands share."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from babelray.glossary.store import GlossaryStore, open_glossaries
from cli.options import settings_from
from models.localizers.registry import glossary_database

console = Console()

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database", help="SQLAlchemy URL; by default the file glossaries.sqlite beside the store of the settings."
    ),
]


def open_database(database: str | None, config: Path | None) -> GlossaryStore:
    """The glossaries of the option, or of the settings."""
    return open_glossaries(database or glossary_database(settings_from(config)))


def print_rows(rows: list[dict[str, Any]], as_json_lines: bool) -> None:
    """Rows as a table or as lines of JSON."""
    if as_json_lines:
        for row in rows:
            typer.echo(json.dumps(row, ensure_ascii=False))
    elif rows:
        table = Table(*rows[0])
        for row in rows:
            table.add_row(*(Text(str(value)) for value in row.values()))  # surfaces may hold [markup]
        console.print(table)
    else:
        console.print("nothing to show")
