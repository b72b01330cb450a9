"""`babelray access`: who may see what in an index, and how to change it without touching a vector."""

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console
from rich.table import Table

from babelray.config import Settings
from babelray.errors import InputError
from babelray.index.access import AccessTable, AccessValues
from babelray.index.access_changes import changed_table, parse_changes
from babelray.index.access_store import PointedTable, apply_changes, read_current
from babelray.index.store import Store, open_store
from cli.options import ConfigOption, JsonOption, settings_from

app = typer.Typer(
    help="Show and change who may see which documents of an index.\n\n"
    "Documents with the same declared tenant, knowledge base, groups and status form one access class. A change of "
    "what a class means, or of a single document, is a new revision of a small table: it is in force within seconds "
    "for every generation, and no vector is touched.",
    no_args_is_help=True,
)
_EXAMPLES = "see `babelray access apply --help` for the actions and their fields"
IndexOption = Annotated[str | None, typer.Option("--index", "-i", help="Index; the settings' own by default.")]


@app.command()
def show(config: ConfigOption = None, index: IndexOption = None, as_json: JsonOption = False) -> None:
    """Print the revision in force, what it counts, overrides, deletions and the last changes.

    Example: babelray access show -c configs/reindex-demo.yaml
    """
    settings = settings_from(config)
    pointed = _current(open_store(settings.store), _name(settings, index))
    table, console = pointed.table, Console(soft_wrap=True)
    if as_json:
        summary = {
            "index": _name(settings, index),
            "revision": table.revision,
            "classes": len(table.classes),
            "overrides": {doc_id: _plain(values) for doc_id, values in sorted(table.overrides.items())},
            "deleted": sorted(table.deleted),
            "history": pointed.history,
        }
        console.print_json(data=summary)
        return
    console.print(
        f"index {_name(settings, index)}, access revision {table.revision}: {len(table.classes)} classes, "
        f"{len(table.overrides)} documents with rights of their own, {len(table.deleted)} deleted",
        highlight=False,
    )
    if table.overrides:
        console.print(_values_table("documents with rights of their own", "document", sorted(table.overrides.items())))
    for doc_id in sorted(table.deleted):
        console.print(f"deleted: {doc_id}", highlight=False, markup=False)
    for entry in pointed.history[-10:]:
        console.print(f"{entry['at']}  {entry['revision']}  {entry['note']}", highlight=False, markup=False)


@app.command()
def classes(config: ConfigOption = None, index: IndexOption = None, as_json: JsonOption = False) -> None:
    """List the access classes: what the sources declared, and what is in force today where that differs.

    Example: babelray access classes -c configs/reindex-demo.yaml --json
    """
    settings = settings_from(config)
    table = _current(open_store(settings.store), _name(settings, index)).table
    console = Console(soft_wrap=True)
    if as_json:
        console.print_json(
            data=[
                {"class": number, "declared": _plain(one.declared), "effective": _plain(one.effective)}
                for number, one in enumerate(table.classes)
            ]
        )
        return
    shown = Table("class", "tenant", "knowledge base", "groups", "status", "in force today")
    for number, one in enumerate(table.classes):
        now = "as declared" if one.effective == one.declared else _line(one.effective)
        shown.add_row(str(number), *_cells(one.declared), now)
    console.print(shown)


@app.command()
def apply(
    changes: Annotated[Path, typer.Argument(help="YAML or JSON file with a list of changes.")],
    config: ConfigOption = None,
    index: IndexOption = None,
    note: Annotated[str, typer.Option(help="Why; kept in the history.")] = "",
    expected: Annotated[
        str | None, typer.Option(help="Refuse if this is not the revision in force (see `babelray access show`).")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")] = False,
) -> None:
    """Apply changes of rights, all of them or none.

    Example: babelray access apply changes.yaml -c configs/reindex-demo.yaml --note "left the team" --dry-run

    The file is a list; each entry has an action:

    - {action: set_class, where: {tenant_id: acme, groups: [eng]}, set: {groups: [eng, ops]}}

    - {action: reset_class, where: {tenant_id: acme, knowledge_base_id: wiki}}

    - {action: set_document, doc_id: d1, tenant_id: acme, knowledge_base_id: docs, groups: [hr]}

    - {action: reset_document, doc_id: d1}

    - {action: delete_document, doc_id: d2}

    - {action: restore_document, doc_id: d2}

    `where` names declared values and always the tenant. Group `*` is everyone of the tenant, [] is nobody. A document
    never changes its tenant this way: index it for the other one.
    """
    settings = settings_from(config)
    name, store, console = _name(settings, index), open_store(settings.store), Console(soft_wrap=True)
    parsed = parse_changes(_load(changes), str(changes))
    before = _current(store, name).table
    if dry_run:
        after = changed_table(before, parsed)
    else:
        after = apply_changes(store, name, parsed, note=note, expected=expected)
    for line in _differences(before, after):
        console.print(line, highlight=False, markup=False)
    done = "would change" if dry_run else f"revision {after.revision} is in force"
    console.print(f"index {name}: {done}", highlight=False, markup=False)


def _name(settings: Settings, index: str | None) -> str:
    return index or settings.index


def _current(store: Store, index: str) -> PointedTable:
    """The table in force; a mistyped index must not look like one that nobody may see."""
    pointed = read_current(store, index)
    if pointed.tag is None:
        raise InputError(
            "this index has no access table",
            where=store.uri,
            got=index,
            fix="check --index and the `store` setting; `babelray reindex run` registers the classes of an index",
        )
    return pointed


def _load(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(
            "the file of changes cannot be read", where=path, got=str(error)[:200], fix=_EXAMPLES
        ) from error


def _differences(before: AccessTable, after: AccessTable) -> list[str]:
    lines = [
        f"class {number} ({_line(new.declared)}): {_line(old.effective)} -> {_line(new.effective)}"
        for number, (old, new) in enumerate(zip(before.classes, after.classes, strict=False))
        if old.effective != new.effective
    ]
    for doc_id in sorted({*before.overrides, *after.overrides}):
        old_values, new_values = before.overrides.get(doc_id), after.overrides.get(doc_id)
        if old_values != new_values:
            lines.append(f"document {doc_id}: {_line(old_values)} -> {_line(new_values)}")
    lines += [f"document {doc_id}: deleted" for doc_id in sorted(after.deleted - before.deleted)]
    lines += [f"document {doc_id}: restored" for doc_id in sorted(before.deleted - after.deleted)]
    return lines or ["no difference"]


def _cells(values: AccessValues) -> tuple[str, str, str, str]:
    return values.tenant_id, values.knowledge_base_id, ", ".join(values.groups) or "nobody", values.status


def _line(values: AccessValues | None) -> str:
    return " / ".join(_cells(values)) if values else "by its class"


def _plain(values: AccessValues) -> dict[str, Any]:
    return {
        "tenant_id": values.tenant_id,
        "knowledge_base_id": values.knowledge_base_id,
        "groups": list(values.groups),
        "status": values.status,
    }


def _values_table(title: str, first: str, rows: list[tuple[str, AccessValues]]) -> Table:
    shown = Table(first, "tenant", "knowledge base", "groups", "status", title=title)
    for name, values in rows:
        shown.add_row(name, *_cells(values))
    return shown
