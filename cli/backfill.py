"""`babelray backfill`: localize a backlog of payloads under glossaries."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from babelray.errors import IncompleteRun
from cli.options import ConfigOption, JsonOption, settings_from

app = typer.Typer(
    help="Localize a backlog of JSON payloads under glossaries: plan it, run it (it resumes), see its status.",
    no_args_is_help=True,
)

INTERRUPTED = 130

LimitOption = Annotated[
    int | None,
    typer.Option("--limit", min=1, help="Take a sample of so many files (or pieces of about 1 MB of JSONL)."),
]


@app.command()
def plan(config: ConfigOption = None, limit: LimitOption = None, as_json: JsonOption = False) -> None:
    """Print what a run would do: units, terms by pair, modes, translators. Nothing is written.

    Example: babelray backfill plan -c configs/localize-demo.yaml
    """
    from babelray.glossary.localizing import Localizer
    from babelray.glossary.match import TermMatcher
    from jobs.backfill_plan import make_backfill_plan
    from models.localizers.registry import build_translator_of_profile

    settings = settings_from(config)
    made, _, terms = make_backfill_plan(settings, limit)
    record = made.record
    translator = build_translator_of_profile(settings.localization.translation, made.profile, terms)
    pairs = {}
    for source in made.source_locales:
        localizer = Localizer(TermMatcher(terms, source), made.profile, translator)
        for target in record.targets:
            count = localizer.matcher.count(localizer.scope(target))
            able = "yes" if translator is not None and translator.can(source, target) else "no"
            pairs[f"{source}>{target}"] = {"terms": count, "mode": localizer.mode(target).value, "translated": able}
    values = {
        "run": record.run,
        "profile": made.profile.name,
        "glossaries": ", ".join(f"{name} version {version}" for name, version in record.glossaries.items()),
        "input": f"{record.parts:,} parts, {record.input_bytes / 2**20:,.1f} MiB",
        "units": len(record.units),
        "hints": record.model_key.readable() if record.model_key else "none",
        "thresholds": record.thresholds_version or "none",
        "output": settings.localization.output,
    }
    console = Console()
    if as_json:
        console.print_json(data={**values, "pairs": pairs})
        return
    table = Table(show_header=False, title=f"plan for backlog {record.name}", title_justify="left")
    for name, value in values.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int) else Text(str(value)))
    console.print(table)
    below = Table("pair", "terms", "mode", "a translator knows it")
    for pair, one in pairs.items():
        below.add_row(pair, f"{one['terms']:,}", str(one["mode"]), str(one["translated"]))
    console.print(below)


@app.command()
def run(
    config: ConfigOption = None,
    limit: LimitOption = None,
    retry_quarantined: Annotated[
        bool, typer.Option("--retry-quarantined", help="Try units again that killed their workers before.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="The same as `plan`.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Localize the backlog. Run the same command again after a crash: finished units are kept.

    Writes localized payloads, a record of every string, and dead letters with reasons. Without `translation` in the
    settings it writes what binds a translation of each string, so that another system can translate.

    Example: babelray backfill run -c configs/localize-demo.yaml
    """
    if dry_run:
        plan(config, limit, as_json)
        return
    from jobs.backfill import run as run_job
    from jobs.progress import Progress

    settings = settings_from(config)
    console = Console()
    progress = Progress(Console(stderr=True) if as_json else console)
    try:
        summary = run_job(settings, limit=limit, retry_quarantined=retry_quarantined, progress=progress)
    except KeyboardInterrupt:
        progress.note("interrupted: finished units are kept, run it again to go on")
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        raise IncompleteRun(
            "the system refused something that the job needs",
            where=f"store {settings.store}, output {settings.localization.output}",
            got=str(error),
            fix="make room or give access, and run it again: finished units are kept",
        ) from error
    if as_json:
        console.print_json(summary.model_dump_json())


@app.command()
def status(config: ConfigOption = None, limit: LimitOption = None, as_json: JsonOption = False) -> None:
    """Print what is done of a run with these settings, from its receipts.

    Example: babelray backfill status -c configs/localize-demo.yaml
    """
    from jobs.backfill import status as job_status

    found = job_status(settings_from(config), limit)
    console = Console()
    if as_json:
        console.print_json(data=found)
        return
    table = Table(show_header=False, title=f"run {found['run']}", title_justify="left")
    for stage, counts in found["stages"].items():
        table.add_row(stage, f"{counts['done']} of {counts['of']}")
        for unit in counts["quarantined"]:
            table.add_row("", f"quarantined: {unit}")
    table.add_row("output", Text(str(found["output"])))
    console.print(table)
