"""`babelray score`: verdicts on what was localized, made apart from the localizer."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from babelray.config import Settings
from babelray.errors import InputError
from babelray.glossary.drift import ClassTally, Tally, TermReport
from babelray.glossary.scoring import Blame
from babelray.index.store import open_store
from cli.options import ConfigOption, JsonOption, settings_from

app = typer.Typer(
    help="Score localized strings by rules, labels and judges; report adherence and drift.", no_args_is_help=True
)


@app.command()
def run(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Score every record that a backfill wrote and that these rules have not scored yet.

    The scorer finds the terms of each source by itself; labels by people (localization.scoring.labels) overrule it.

    Example: babelray score run -c configs/localize-demo.yaml
    """
    from jobs.score import run as run_job

    summary = run_job(settings_from(config))
    console = Console()
    if as_json:
        console.print_json(summary.model_dump_json())
        return
    console.print(
        f"{summary.records:,} strings scored in {summary.files:,} files ({summary.kept:,} were there already), "
        f"{summary.unscored:,} without an output, {summary.labelled:,} labelled; scoring {summary.scoring}",
        highlight=False,
    )


@app.command()
def report(
    config: ConfigOption = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Also draw adherence over time into this .png or .svg file.")
    ] = None,
    least: Annotated[int, typer.Option("--least", min=2, help="Different renderings that make a term drift.")] = 2,
    top: Annotated[int, typer.Option("--top", min=1, help="Drifting terms shown.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Show adherence by pair and day, whose misses they were, and terms that are rendered in several ways.

    Verbatim terms and custom translations are never added up: one number over both hides a translated name.

    Example: babelray score report -c configs/localize-demo.yaml --plot adherence.png
    """
    from jobs.score import read_scores

    found = _report_of(settings_from(config), read_scores)
    days = found.over_time()
    if plot is not None:
        _draw(days, plot)
    console = Console()
    if as_json:
        console.print_json(data=_as_json(found, least))
        return
    table = Table("pair and day", "strings", "verbatim kept", "translations applied", "also")
    for pair, day, tally in days:
        table.add_row(
            f"{'>'.join(pair)}\n{day}", f"{tally.strings:,}", _share(tally.verbatim), _share(tally.custom), _also(tally)
        )
    console.print(table)
    below = Table("term", "pair", "renderings", "drift", "for example")
    for one in found.drifting(least)[:top]:
        shown = ", ".join(f"{words or 'not told'} {count}" for words, count in one.renderings.items())
        rarest = list(one.surfaces)[-1]
        below.add_row(
            Text(one.source), ">".join(one.pair), Text(shown), f"{one.drift:.0%}",
            Text(f"{rarest}: {', '.join(one.surfaces[rarest][:2])}"),
        )  # fmt: skip
    console.print(below if below.row_count else "no term is rendered in several ways")


def _report_of(settings: Settings, read_scores: Any) -> TermReport:
    collected = TermReport()
    count = 0
    for record in read_scores(open_store(settings.localization.output)):
        collected.add(record)
        count += 1
    if not count:
        raise InputError(
            "there are no scores",
            where=f"{settings.localization.output}/scores",
            fix="`babelray score run` with the same settings makes them",
        )
    return collected


def _share(tally: ClassTally) -> str:
    adherence = tally.adherence
    if adherence is None:
        return "-"
    blame = tally.by_blame
    misses = f"\nmissed by retrieval {blame[Blame.RETRIEVAL]}, by the translator {blame[Blame.TRANSLATOR]}"
    return f"{adherence:.1%} of {tally.total:,}{misses if adherence < 1 else ''}"


def _also(tally: Tally) -> str:
    counts = {"bent to a term": tally.irrelevant, "contested": tally.contested, "damaged": tally.damaged}
    shown = [f"{name} {count:,}" for name, count in counts.items() if count]
    shown += [f"{name} {sum(values) / len(values):.2f}" for name, values in sorted(tally.criteria.items())]
    return "\n".join(shown)


def _as_json(found: TermReport, least: int) -> dict[str, Any]:
    return {
        "days": [
            {
                "pair": ">".join(pair),
                "day": day,
                "strings": tally.strings,
                "verbatim": _class_as_json(tally.verbatim),
                "custom": _class_as_json(tally.custom),
                "bent": tally.irrelevant,
                "contested": tally.contested,
                "damaged": tally.damaged,
                "criteria": {name: sum(values) / len(values) for name, values in sorted(tally.criteria.items())},
            }
            for pair, day, tally in found.over_time()
        ],
        "drifting": [
            {
                "term_id": one.term_id,
                "source": one.source,
                "pair": ">".join(one.pair),
                "renderings": one.renderings,
                "drift": round(one.drift, 4),
                "places": {words: list(places) for words, places in one.surfaces.items()},
            }
            for one in found.drifting(least)
        ],
    }


def _class_as_json(tally: ClassTally) -> dict[str, Any]:
    return {
        "adherence": tally.adherence,
        "total": tally.total,
        "status": {status.value: count for status, count in tally.by_status.items()},
        "blame": {blame.value: count for blame, count in tally.by_blame.items()},
    }


def _draw(days: list[tuple[tuple[str, str], str, Tally]], path: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("drawing needs matplotlib", where="--plot", fix="pip install matplotlib") from error
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError("not a picture", where="--plot", got=path.name, allowed=".png, .svg or .pdf")
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for pair in sorted({pair for pair, _, _ in days}):
        for name, style in (("verbatim", "-o"), ("custom", "--s")):
            points = [(day, getattr(tally, name).adherence) for p, day, tally in days if p == pair]
            points = [(day, value) for day, value in points if value is not None]
            if points:
                axes.plot([d for d, _ in points], [v for _, v in points], style, label=f"{'>'.join(pair)} {name}")
    axes.set(ylim=(0, 1.02), ylabel="share of terms honoured", title="Adherence by day")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)
