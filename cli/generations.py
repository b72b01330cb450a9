"""`babelray generations`: what an index has been built into, which of it is served, and how to change that."""

import getpass
import socket
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from babelray.config import Settings
from babelray.errors import InputError
from babelray.index.generations import Catalog
from babelray.index.layout import LAYOUT
from babelray.index.manifest import Manifest
from babelray.index.pointer import Pointer
from babelray.index.store import open_store
from cli.generation_tables import event_table, fact_table, generation_table, listed_json, readable_bytes, segment_table
from cli.options import ConfigOption, JsonOption, settings_from
from models.registry import build_embedder, ensure_on_node

app = typer.Typer(
    help="List, check, publish and roll back the generations of an index.\n\n"
    "A generation is one immutable build of an index. `current.json` names the one that searches use; publishing and "
    "rolling back move that name and nothing else, so both take effect at once and neither rewrites a file.",
    no_args_is_help=True,
)
IndexOption = Annotated[str | None, typer.Option("--index", "-i", help="Index; the settings' own by default.")]
OptionalGeneration = Annotated[str | None, typer.Argument(help="Generation; the published one by default.")]
ByOption = Annotated[str | None, typer.Option("--by", help="Who; kept in the history. Default: user@machine.")]
ReasonOption = Annotated[str, typer.Option("--reason", "-r", help="Why; kept in the history.")]


@app.command("list")
def list_(config: ConfigOption = None, index: IndexOption = None, as_json: JsonOption = False) -> None:
    """List all generations, newest first, with what they hold and whether they are served.

    Status: current is served; earlier was; candidate never was; unfinished has no manifest (its job can be resumed);
    damaged has one that cannot be read.

    Examples:
        babelray generations list -c configs/reindex-demo.yaml
    """
    listed = _catalog(settings_from(config), index).list()
    if as_json:
        _console().print_json(data=[listed_json(one) for one in listed])
        return
    _console().print(generation_table(listed))
    for one in listed:
        if one.problem:
            _console().print(f"{one.generation}: {one.problem}", markup=False)


@app.command()
def show(
    generation: OptionalGeneration = None,
    config: ConfigOption = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one generation: model, settings, counts, recall, segments; and the history of the index.

    Examples:
        babelray generations show -c configs/reindex-demo.yaml

        babelray generations show g-20250601 -c configs/reindex-demo.yaml --json
    """
    catalog = _catalog(settings_from(config), index)
    pointer = catalog.pointer()
    manifest = catalog.show(generation or catalog.current().generation)
    if as_json:
        shown = manifest.model_dump(mode="json", exclude={"golden"})
        history = [event.model_dump(mode="json", by_alias=True) for event in pointer.history] if pointer else []
        _console().print_json(data={**shown, "current": _is_current(pointer, manifest), "history": history})
        return
    console = _console()
    state = "published" if _is_current(pointer, manifest) else "not published"
    console.print(f"[bold]{escape(manifest.generation)}[/] of index {escape(manifest.index)}, {state}")
    console.print(fact_table(manifest))
    console.print(segment_table(manifest))
    if pointer is not None:
        console.print(event_table(pointer))


@app.command()
def verify(
    generation: OptionalGeneration = None,
    config: ConfigOption = None,
    index: IndexOption = None,
    deep: Annotated[bool, typer.Option("--deep", help="Compare every byte and open every segment.")] = False,
    golden: Annotated[
        bool, typer.Option("--golden", help="Load the settings' embedder: does it reproduce the golden vectors?")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check that a generation is whole; the exit code is 4 if not, and the message names the file.

    Without options: the manifest is sound and every file is there in its size (milliseconds). The exit code is 3 if
    --golden finds another model than the generation was built with.

    Examples:
        babelray generations verify -c configs/reindex-demo.yaml --deep

        babelray generations verify g-20250601 --golden --config configs/reindex-demo.yaml
    """
    settings = settings_from(config)
    catalog = _catalog(settings, index)
    embedder = None
    if golden:
        ensure_on_node(settings.embedder, settings.cache_dir)
        embedder = build_embedder(settings.embedder, settings.cache_dir)
    found = catalog.verify(generation or catalog.current().generation, deep=deep, embedder=embedder)
    if as_json:
        _console().print_json(
            data={
                "generation": found.manifest.generation,
                "files": found.files,
                "bytes": found.bytes,
                "deep": found.deep,
                "golden_cosine": found.golden_cosine,
            }
        )
        return
    how = "every byte compared, every segment opened" if found.deep else "sizes compared; --deep compares every byte"
    line = f"{found.manifest.generation} is whole: {found.files} files, {readable_bytes(found.bytes)}, {how}"
    if found.golden_cosine is not None:
        line += f", golden vectors reproduced at cosine {found.golden_cosine:.6f}"
    _console().print(line, markup=False)


@app.command()
def publish(
    generation: Annotated[str, typer.Argument(help="Generation to serve.")],
    config: ConfigOption = None,
    index: IndexOption = None,
    expected: Annotated[
        str | None, typer.Option(help="Refuse unless this generation is published now; empty: none is.")
    ] = None,
    force_gate: Annotated[
        bool, typer.Option("--force-gate", help="Publish although the measured recall is under its floor.")
    ] = False,
    by: ByOption = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Verify a generation, every byte of it, and serve it.

    Refused with exit code 4 if it is not whole, 6 if its recall is under the floor, 5 if somebody else moved the
    pointer meanwhile; then nothing has changed.

    Examples:
        babelray generations publish g-20250601 -c configs/reindex-demo.yaml --reason "new model"
    """
    catalog = _catalog(settings_from(config), index)
    before = catalog.pointer()
    after = catalog.publish(generation, expected=expected, by=_who(by), reason=reason, force_gate=force_gate)
    _report(catalog.index, before, after, as_json)


@app.command()
def rollback(
    config: ConfigOption = None,
    index: IndexOption = None,
    to: Annotated[str | None, typer.Option("--to", help="Generation; the one before the current by default.")] = None,
    by: ByOption = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
) -> None:
    """Serve the generation that was served before, after verifying every byte of it. Twice goes back two steps.

    Examples:
        babelray generations rollback -c configs/reindex-demo.yaml --reason "worse on Chinese"

        babelray generations rollback -c configs/reindex-demo.yaml --to g-20250301
    """
    catalog = _catalog(settings_from(config), index)
    before = catalog.pointer()
    _report(catalog.index, before, catalog.rollback(to, by=_who(by), reason=reason), as_json)


@app.command()
def pin(
    generation: Annotated[str, typer.Argument(help="Generation to keep.")],
    config: ConfigOption = None,
    index: IndexOption = None,
    by: ByOption = None,
    reason: ReasonOption = "",
) -> None:
    """Keep a generation, whatever garbage collection decides.

    Examples:
        babelray generations pin g-20250301 -c configs/reindex-demo.yaml --reason "baseline of the evaluation"
    """
    new = _catalog(settings_from(config), index).pin(generation, by=_who(by), reason=reason)
    _console().print(f"{generation} is pinned" if new else f"{generation} was pinned already", markup=False)


@app.command()
def unpin(
    generation: Annotated[str, typer.Argument(help="Generation that need not be kept.")],
    config: ConfigOption = None,
    index: IndexOption = None,
) -> None:
    """Let garbage collection decide about a generation again.

    Examples:
        babelray generations unpin g-20250301 -c configs/reindex-demo.yaml
    """
    was = _catalog(settings_from(config), index).unpin(generation)
    _console().print(f"{generation} is no longer pinned" if was else f"{generation} was not pinned", markup=False)


def _console() -> Console:
    return Console(soft_wrap=True, highlight=False)


def _catalog(settings: Settings, index: str | None) -> Catalog:
    """The generations of an index that exists: a mistyped name must not look like an index without generations."""
    name, store = index or settings.index, open_store(settings.store)
    known = store.folders(LAYOUT.indexes)
    if name not in known:
        raise InputError(
            "no such index",
            where=store.uri,
            got=name,
            allowed=", ".join(known) or None,
            fix="check --index and the `store` setting, or build it with `babelray reindex run`",
        )
    return Catalog(store, name)


def _who(by: str | None) -> str:
    if by is not None:
        return by
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number without a name
        user = "unknown"
    return f"{user}@{socket.gethostname()}"


def _is_current(pointer: Pointer | None, manifest: Manifest) -> bool:
    return pointer is not None and pointer.generation == manifest.generation


def _report(index: str, before: Pointer | None, after: Pointer, as_json: bool) -> None:
    was = before.generation if before else None
    if as_json:
        values: dict[str, Any] = {"index": index, "generation": after.generation, "from": was}
        _console().print_json(data={**values, "changed": was != after.generation})
        return
    if was == after.generation:
        line = f"index {index}: {after.generation} is served already; nothing changed"
    else:
        line = f"index {index}: {after.generation} is served" + (f"; before: {was}" if was else "")
    _console().print(line, markup=False)
