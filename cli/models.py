"""`babelray models`: which embedder the settings name, and having it on this machine."""

import time

import typer
from rich.console import Console
from rich.table import Table

from cli.options import ConfigOption, JsonOption, settings_from
from models.registry import ensure_on_node, model_key, where_on_node

app = typer.Typer(
    help="Show the embedder that the settings name, and prepare it on this machine.\n\n"
    "Vectors of two embedders are compared only if their model keys are equal in every field.",
    no_args_is_help=True,
)


@app.command()
def show(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Print the model key, its digest, where the weights lie and whether they are ready.

    Example: babelray models show -c configs/reindex-demo.yaml
    """
    settings = settings_from(config)
    key = model_key(settings.embedder, settings.cache_dir)
    where, problem = where_on_node(settings.embedder, settings.cache_dir)
    console = Console(soft_wrap=True)
    if as_json:
        console.print_json(
            data={
                "kind": settings.embedder.kind,
                "digest": key.digest,
                "key": key.model_dump(),
                "where": where,
                "problem": problem,
            }
        )
        return
    table = Table("field", "value", title=f"{settings.embedder.kind}: model key {key.digest}", title_justify="left")
    for name, value in key.model_dump().items():
        table.add_row(name, str(value))
    console.print(table)
    state = "ready" if problem is None else f"{problem}; run `babelray models prepare`"
    console.print(f"{where}: {state}", highlight=False, markup=False)


@app.command()
def prepare(config: ConfigOption = None) -> None:
    """Fetch or convert the model and compare its checksums, so that every worker here loads it without network.

    Run it once on each machine; several at the same time wait for one. What is there already is only checked.

    Example: babelray models prepare -c configs/reindex-gpu.yaml
    """
    settings = settings_from(config)
    console = Console(soft_wrap=True)
    began = time.perf_counter()
    with console.status(f"preparing {settings.embedder.kind} in {settings.cache_dir}"):
        ensure_on_node(settings.embedder, settings.cache_dir)
    key = model_key(settings.embedder, settings.cache_dir)
    where, _ = where_on_node(settings.embedder, settings.cache_dir)
    console.print(f"ready after {time.perf_counter() - began:.1f} s: {where}", highlight=False, markup=False)
    console.print(f"model key {key.digest}: {key.readable()}", highlight=False, markup=False)
