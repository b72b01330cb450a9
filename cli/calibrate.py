"""`babelray calibrate`: thresholds of hints, moved by what labelled and scored records show."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from babelray.config import Settings
from babelray.errors import ConfigError, InputError
from babelray.glossary.calibration.calibrating import calibrate
from babelray.glossary.calibration.rule import Move
from babelray.glossary.calibration.thresholds_store import ThresholdSet, ThresholdStore, current_thresholds
from babelray.index.store import open_store
from babelray.keys import ModelKey
from cli.options import ConfigOption, JsonOption, settings_from

app = typer.Typer(
    help="Move the thresholds of hints by what people said about them: little, versioned, with a gate and a rollback.",
    no_args_is_help=True,
)


@app.command()
def run(
    config: ConfigOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Decide and explain; change nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Decide on the threshold of every locale pair and put the new set in force.

    Only terms that people say were meant and that lay under the threshold loosen it; only hints that they call
    irrelevant tighten it. What a translator ignored moves nothing. The next backfill uses the new set.

    Example: babelray score run -c configs/localize-demo.yaml && babelray calibrate run -c configs/localize-demo.yaml
    """
    from jobs.score import read_scores

    settings, store, key = _opened(settings_from(config))
    localization = settings.localization
    if localization.hints.threshold is not None:
        fix = "remove localization.hints.threshold"
        raise ConfigError("the settings fix the threshold: there is nothing to calibrate", fix=fix)
    records = list(read_scores(open_store(localization.output)))
    if not records:
        fix = "`babelray score run` with the same settings makes them"
        raise InputError("there are no scores", where=f"{localization.output}/scores", fix=fix)
    current = current_thresholds(open_store(settings.store), localization, key)
    moves, made = calibrate(records, current, store.current(), key, localization.calibration, datetime.now(UTC))
    if made is not None and not dry_run:
        store.publish(made)
    state = "nothing moved" if made is None else f"would be {made.version}" if dry_run else f"{made.version} in force"
    if as_json:
        Console().print_json(data={"state": state, "moves": _as_json(moves)})
        return
    table = Table("pair", "threshold", "decision", "why")
    for pair, move in moves.items():
        table.add_row(">".join(pair), f"{move.threshold:.4f}", move.direction, Text(move.reason))
    console = Console()
    console.print(table)
    console.print(f"thresholds were {current.version}; {state}", highlight=False)


@app.command()
def show(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show the thresholds in force.

    Example: babelray calibrate show -c configs/localize-demo.yaml
    """
    settings, store, key = _opened(settings_from(config))
    current = current_thresholds(open_store(settings.store), settings.localization, key)
    made = store.current()
    if as_json:
        pairs = made.model_dump(mode="json")["pairs"] if made else []
        Console().print_json(data={"version": current.version, "default": current.default, "pairs": pairs})
        return
    table = Table("pair", "threshold", "why", title=f"version {current.version}", title_justify="left")
    table.add_row("all others" if made else "all", f"{current.default:.4f}", "where this model begins")
    for one in made.pairs if made else ():
        table.add_row(f"{one.source_locale}>{one.target_locale}", f"{one.threshold:.4f}", Text(one.reason))
    Console().print(table)


@app.command()
def history(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the versions that were in force, newest first.

    Example: babelray calibrate history -c configs/localize-demo.yaml
    """
    _, store, _ = _opened(settings_from(config))
    found = store.history()
    if as_json:
        Console().print_json(data=[one.model_dump(mode="json") for one in found])
        return
    table = Table("version", "made at", "after", "thresholds")
    for one in found:
        table.add_row(one.version, one.made_at.isoformat(timespec="seconds"), one.parent, _pairs(one))
    Console().print(table if found else "nothing was calibrated yet")


@app.command()
def rollback(
    to: Annotated[str | None, typer.Option("--to", help="The version before by default.")] = None,
    config: ConfigOption = None,
) -> None:
    """Put an earlier version in force again.

    Example: babelray calibrate rollback -c configs/localize-demo.yaml
    """
    _, store, _ = _opened(settings_from(config))
    made = store.rollback(to)
    Console().print(f"{made.version} in force: {_pairs(made)}", highlight=False)


def _opened(settings: Settings) -> tuple[Settings, ThresholdStore, ModelKey]:
    from models.registry import ensure_on_node, model_key

    ensure_on_node(settings.embedder, settings.cache_dir)
    key = model_key(settings.embedder, settings.cache_dir)
    return settings, ThresholdStore(open_store(settings.store), settings.localization.name, key), key


def _pairs(made: ThresholdSet) -> str:
    return ", ".join(f"{one.source_locale}>{one.target_locale} {one.threshold:.4f}" for one in made.pairs)


def _as_json(moves: dict[tuple[str, str], Move]) -> list[dict[str, Any]]:
    return [
        {"pair": ">".join(pair), "direction": move.direction, "threshold": move.threshold, "reason": move.reason}
        for pair, move in moves.items()
    ]
