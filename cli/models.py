"""`babelray models`: which model a configuration names, and having it on this machine."""

import typer
from rich.console import Console
from rich.table import Table

from cli.options import ConfigOption, JsonOption, settings_from
from models.registry import ensure_on_node, model_key

app = typer.Typer(help="Show the configured model and prepare it on this machine.", no_args_is_help=True)


@app.command()
def show(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Print the full model key that the settings name: two indexes can share vectors only if it is equal.

    Example: babelray models show -c configs/reindex-demo.yaml
    """
    settings = settings_from(config)
    key = model_key(settings.embedder, settings.cache_dir)
    console = Console()
    if as_json:
        console.print_json(data={"digest": key.digest, "key": key.model_dump()})
        return
    table = Table("field", "value", title=f"model key {key.digest}", title_justify="left")
    for name, value in key.model_dump().items():
        table.add_row(name, str(value))
    console.print(table)


@app.command()
def prepare(config: ConfigOption = None) -> None:
    """Fetch or convert the model once, so that every worker of this machine loads it offline.

    Example: babelray models prepare -c configs/reindex-gpu.yaml
    """
    settings = settings_from(config)
    console = Console()
    with console.status(f"preparing {settings.embedder.kind}"):
        ensure_on_node(settings.embedder, settings.cache_dir)
        key = model_key(settings.embedder, settings.cache_dir)
    console.print(f"ready: {key.readable()}")
