"""`babelray glossary build|generations|publish|rollback`: compiled glossaries."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from babelray.glossary.generation import GlossaryGenerations, GlossaryManifest
from babelray.index.store import open_store
from cli.options import ConfigOption, JsonOption, settings_from

GenerationArgument = Annotated[str, typer.Argument(help="Id of a glossary generation.")]


def build(
    config: ConfigOption = None,
    publish: Annotated[bool, typer.Option("--publish/--no-publish", help="Put it in force at the end.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Compile the glossaries of the settings: all forms of all terms, and their vectors for hints.

    Small glossaries need none of it. From some ten thousand terms on, localizing begins seconds sooner; whoever has the
    same terms and model uses what was built. Run again after a crash: finished blocks are kept.

    Example: babelray glossary build -c configs/localize-demo.yaml
    """
    from jobs.glossary_build import build as run_job
    from jobs.progress import Progress

    settings = settings_from(config)
    console = Console()
    progress = Progress(Console(stderr=True) if as_json else console)
    manifest = run_job(settings, publish=publish, progress=progress)
    if as_json:
        console.print_json(manifest.model_dump_json(exclude={"golden"}))
    else:
        console.print(_table([manifest], manifest.generation if publish else ""))


def generations(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List compiled glossaries, newest first.

    Example: babelray glossary generations -c configs/localize-demo.yaml
    """
    opened = _opened(config)
    found, pointer = opened.list(), opened.pointer()
    current = pointer.generation if pointer else ""
    console = Console()
    if as_json:
        rows = [one.model_dump(mode="json", exclude={"golden"}) for one in found]
        console.print_json(data={"current": current, "generations": rows})
        return
    console.print(_table(found, current) if found else "nothing was built yet: babelray glossary build")


def publish(generation: GenerationArgument, config: ConfigOption = None) -> None:
    """Verify a compiled glossary, every byte of it, and put it in force.

    Example: babelray glossary publish g0123456789ab -c configs/localize-demo.yaml
    """
    pointer = _opened(config).publish(generation)
    Console().print(f"{pointer.generation} is in force", highlight=False)


def rollback(
    to: Annotated[str | None, typer.Option("--to", help="The one before by default.")] = None,
    config: ConfigOption = None,
) -> None:
    """Put an earlier compiled glossary in force again.

    Example: babelray glossary rollback -c configs/localize-demo.yaml
    """
    pointer = _opened(config).rollback(to)
    Console().print(f"{pointer.generation} is in force", highlight=False)


def _opened(config: ConfigOption) -> GlossaryGenerations:
    settings = settings_from(config)
    return GlossaryGenerations(open_store(settings.store), settings.localization.name)


def _table(found: list[GlossaryManifest], current: str) -> Table:
    table = Table("generation", "made at", "glossaries", "terms", "forms", "vectors", "model")
    for one in found:
        table.add_row(
            f"{one.generation}{' *' if one.generation == current else ''}",
            one.created_at.isoformat(timespec="seconds"),
            ", ".join(f"{name} {version}" for name, version in one.glossaries.items()),
            f"{one.terms:,}", f"{one.forms:,}", f"{one.vectors:,}",
            one.model_key.name if one.model_key else "none",
        )  # fmt: skip
    return table
