"""The `babelray` command: mounts the sub-commands and turns our errors into messages and exit codes."""

import sys

import typer
from rich.console import Console

from babelray.errors import BabelrayError
from cli import access, backfill, calibrate, config, generations, glossary, models, reindex, score, serve
from cli.localize import localize
from cli.search import search

app = typer.Typer(
    name="babelray",
    help="Multilingual search over versioned index generations, built by Ray Data jobs.\n\n"
    "Start with: babelray reindex run -c configs/reindex-demo.yaml, then "
    'babelray search "retry policy" -c configs/reindex-demo.yaml --tenant orchard.',
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(reindex.app, name="reindex")
app.add_typer(backfill.app, name="backfill")
app.add_typer(score.app, name="score")
app.add_typer(calibrate.app, name="calibrate")
app.add_typer(generations.app, name="generations")
app.add_typer(access.app, name="access")
app.add_typer(serve.app, name="serve")
app.add_typer(models.app, name="models")
app.add_typer(glossary.app, name="glossary")
app.add_typer(config.app, name="config")
app.command()(search)
app.command()(localize)


def main() -> None:
    """Run the command line; the exit code of a known error is its class's number."""
    try:
        app()
    except BabelrayError as error:
        Console(stderr=True, highlight=False).print(f"[bold red]{error.title}:[/]", end=" ")
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
