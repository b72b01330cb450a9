"""`babelray reindex`: build index generations from a corpus."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from babelray.config import Settings
from babelray.errors import ConfigError, IncompleteRun
from cli.options import ConfigOption, JsonOption, settings_from

app = typer.Typer(
    help="Build an index generation from a corpus: plan it, run it (it resumes), see its status.",
    no_args_is_help=True,
)

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended, as shells have it."""

LimitOption = Annotated[
    int | None,
    typer.Option("--limit", min=1, help="Take a sample of so many files (or pieces of about 1 MB of a table)."),
]


def _with_sources(settings: Settings) -> Settings:
    if not settings.sources:
        raise ConfigError(
            "no sources: there is nothing to index",
            where="sources",
            fix="name a settings file with --config; configs/reindex-demo.yaml is an example",
        )
    return settings


@app.command()
def plan(config: ConfigOption = None, limit: LimitOption = None, as_json: JsonOption = False) -> None:
    """Print what a run would do: units, tokens, time, bytes, and the stages' resources. Nothing is written.

    Example: babelray reindex plan -c configs/reindex-demo.yaml
    """
    from jobs.cluster import cluster_resources, connect
    from jobs.planning import make_plan
    from jobs.preflight import check_fits, estimate

    settings = _with_sources(settings_from(config))
    made, units = make_plan(settings, limit)
    connect(settings)
    cpus, gpus = cluster_resources()
    expected = estimate(made, cpus, gpus)
    check_fits(settings, cpus, gpus, expected.index_bytes)
    record, resources = made.record, settings.resources
    values = {
        "run": record.run,
        "generation": record.generation,
        "model": record.model_key.readable(),
        "input": f"{record.parts:,} parts, {record.input_bytes / 2**20:,.1f} MiB, {record.parts_by_format}",
        "units": len(units),
        "segments": len(made.segments(record.units)),
        "estimated texts": expected.texts,
        "estimated tokens": expected.tokens,
        "estimated seconds": round(expected.seconds),
        "estimated index MiB": round(expected.index_bytes / 2**20, 1),
        "cluster": f"{cpus} CPUs, {gpus:g} GPUs",
        "prepare, build": f"tasks of {resources.cpus_per_task:g} CPU",
        "embed": f"{resources.embed_actors} actors of {resources.cpus_per_actor:g} CPU "
        f"+ {resources.gpus_per_actor:g} GPU",
    }
    console = Console()
    if as_json:
        console.print_json(data=values)
        return
    table = Table(show_header=False, title=f"plan for index {settings.index}", title_justify="left")
    for name, value in values.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int | float) else str(value))
    console.print(table)
    console.print("Texts, tokens and times are estimates from bytes; the run counts them.", style="dim")


@app.command()
def run(
    config: ConfigOption = None,
    limit: LimitOption = None,
    publish: Annotated[
        bool | None, typer.Option("--publish/--no-publish", help="Overrides `publish` of the settings.")
    ] = None,
    retry_quarantined: Annotated[
        bool, typer.Option("--retry-quarantined", help="Try units again that killed their workers before.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="The same as `plan`.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Build a generation and publish it. Run the same command again after a crash: finished units are kept.

    Another model or index kind in the settings is an upgrade: what is prepared (and, for a kind, embedded) is reused,
    and the published generation serves until the new one is whole.

    Example: babelray reindex run -c configs/reindex-demo.yaml --limit 10
    """
    if dry_run:
        plan(config, limit, as_json)
        return
    from jobs.progress import Progress
    from jobs.reindex import run as run_job

    settings = _with_sources(settings_from(config))
    console = Console()
    progress = Progress(Console(stderr=True) if as_json else console)
    try:
        summary = run_job(
            settings, limit=limit, publish=publish, retry_quarantined=retry_quarantined, progress=progress
        )
    except KeyboardInterrupt:
        progress.note("interrupted: finished units are kept, run it again to go on")
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        raise IncompleteRun(
            "the system refused something that the job needs",
            where=f"store {settings.store}",
            got=str(error),
            fix="make room or give access, and run it again: finished units are kept",
        ) from error
    if as_json:
        console.print_json(summary.model_dump_json())


@app.command()
def status(config: ConfigOption = None, limit: LimitOption = None, as_json: JsonOption = False) -> None:
    """Print what is done of a run with these settings, from its receipts.

    Example: babelray reindex status -c configs/reindex-demo.yaml
    """
    from jobs.reindex import status as job_status

    found = job_status(_with_sources(settings_from(config)), limit)
    console = Console()
    if as_json:
        console.print_json(data=found)
        return
    table = Table(show_header=False, title=f"run {found['run']}", title_justify="left")
    table.add_row("generation", found["generation"])
    table.add_row("model", found["model"])
    for stage, counts in found["stages"].items():
        table.add_row(stage, f"{counts['done']} of {counts['of']} units")
        for unit, parts in counts["quarantined"].items():
            table.add_row("", escape(f"quarantined: {unit} with {', '.join(parts)}"))
    table.add_row("built", "yes" if found["built"] else "no")
    table.add_row("published", "yes" if found["published"] else "no")
    console.print(table)


@app.command()
def rejects(config: ConfigOption = None, limit: LimitOption = None, as_json: JsonOption = False) -> None:
    """Print the records that a run refused: where each came from, why, and how it begins.

    Example: babelray reindex rejects -c configs/reindex-demo.yaml
    """
    from jobs.rejects import rejects as refused_records

    found = list(refused_records(_with_sources(settings_from(config)), limit))
    console = Console()
    if as_json:
        console.print_json(data=found)
        return
    if not found:
        console.print("no record was refused")
        return
    table = Table("source", "place", "reason", "detail", title=f"{len(found):,} refused records", title_justify="left")
    for row in found:
        table.add_row(row["source_uri"], row["locator"], row["reason"], row["detail"])
    console.print(table)
