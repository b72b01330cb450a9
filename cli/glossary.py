"""`babelray glossary`: import, export, list, diff, lint, history and match."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from babelray.errors import InputError
from babelray.glossary.approving import approve
from babelray.glossary.importing import ImportOptions, read_terms, write_terms
from babelray.glossary.lint import Problem, Severity, errors_of, lint
from babelray.glossary.locales import serves
from babelray.glossary.terms import Term
from cli import glossary_generations
from cli.glossary_match import match
from cli.glossary_options import DatabaseOption, console, open_database, print_rows
from cli.options import ConfigOption, JsonOption

app = typer.Typer(
    help="Glossaries: versions, import and export, checks, matches in payloads, compiled generations.",
    no_args_is_help=True,
)
for command in (glossary_generations.build, glossary_generations.generations, glossary_generations.publish,
                glossary_generations.rollback):  # fmt: skip
    app.command()(command)
app.command()(match)

NameArgument = Annotated[str, typer.Argument(help="Name of the glossary.")]
VersionOption = Annotated[int | None, typer.Option("--version", min=1, help="The latest by default.")]


def _pairs(options: list[str] | None, name: str) -> dict[str, str]:
    pairs = [option.partition("=") for option in options or []]
    wrong = [left for left, sign, _ in pairs if not sign or left not in Term.model_fields]
    if wrong:
        allowed = "FIELD=VALUE with a field of a term: " + ", ".join(Term.model_fields)
        raise InputError(f"unusable {name}", got=", ".join(wrong), allowed=allowed)
    return {left: right for left, _, right in pairs}


def _show(problems: list[Problem]) -> None:
    table = Table("severity", "code", "where", "what")
    for problem in problems:
        style = "red" if problem.severity is Severity.ERROR else "yellow"
        places = Text("\n".join(problem.where))
        table.add_row(Text(problem.severity, style), problem.code, places, Text(problem.message))
    if problems:
        console.print(table)


@app.command("import")
def import_terms(
    glossary: NameArgument,
    file: Annotated[Path, typer.Argument(help="CSV, JSONL or TBX.")],
    database: DatabaseOption = None,
    config: ConfigOption = None,
    rename: Annotated[
        list[str] | None, typer.Option("--map", help="FIELD=COLUMN: the file's name for a field of ours.")
    ] = None,
    default: Annotated[list[str] | None, typer.Option(help="FIELD=VALUE where the file has none.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="A column to leave out on purpose.")] = None,
    add: Annotated[bool, typer.Option("--add", help="Keep terms that the file does not have.")] = False,
    skip_conflicts: Annotated[
        bool, typer.Option("--skip-conflicts", help="Store the others; terms with an error are named and left out.")
    ] = False,
    note: Annotated[str, typer.Option(help="Why, for the history.")] = "",
) -> None:
    """Read a file as the glossary's next version; refused if it contradicts itself."""
    store = open_database(database, config)
    options = ImportOptions(_pairs(rename, "--map"), _pairs(default, "--default"), frozenset(ignore or ()))
    result = read_terms(file, options)
    terms = list(result.terms)
    seen_version = next((info.version for info in store.glossaries() if info.glossary == glossary), 0)
    if add and seen_version:
        new = {(t.tenant_id, t.term_id, t.source_locale, t.target_locale) for t in terms}
        held = store.terms(glossary, seen_version)
        terms += [t for t in held if (t.tenant_id, t.term_id, t.source_locale, t.target_locale) not in new]
    problems = [*result.problems, *lint(terms)]
    _show(problems)
    errors = errors_of(problems)
    if errors and not skip_conflicts:
        fix = "correct the file, or store the other terms with --skip-conflicts"
        raise InputError("the glossary contradicts itself", where=file, got=f"{len(errors)} errors", fix=fix)
    bad = {term_id for problem in errors for term_id in problem.where}
    kept = [term for term in terms if term.term_id not in bad]
    info = store.commit(glossary, kept, note=note or f"import of {file.name}", expected=seen_version)
    console.print(f"{glossary} version {info.version}: {info.terms} terms, {len(terms) - len(kept)} left out")


@app.command("export")
def export_terms(
    glossary: NameArgument,
    file: Annotated[Path, typer.Argument(help="CSV, JSONL or TBX, by the suffix.")],
    version: VersionOption = None,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Write a version to a file."""
    terms = open_database(database, config).terms(glossary, version)
    write_terms(file, terms)
    console.print(f"{file}: {len(terms)} terms")


@app.command("list")
def list_glossaries(
    glossary: Annotated[str | None, typer.Argument(help="Without one, all glossaries are listed.")] = None,
    version: VersionOption = None,
    to: Annotated[str | None, typer.Option("--to", help="Only terms for this target locale.")] = None,
    database: DatabaseOption = None,
    config: ConfigOption = None,
    as_json_lines: JsonOption = False,
) -> None:
    """List glossaries, or the terms of one."""
    store = open_database(database, config)
    if glossary is None:
        rows = [
            {"glossary": i.glossary, "version": i.version, "terms": i.terms, "at": i.created_at}
            for i in store.glossaries()
        ]
    else:
        terms = [t for t in store.terms(glossary, version) if to is None or serves(t.target_locale, to) is not None]
        rows = [
            {
                "id": t.term_id,
                "pair": f"{t.source_locale}->{t.target_locale}",
                "source": t.source,
                "target": t.rendering,
                "kind": t.kind.value,
                "domain": t.domain,
            }
            for t in terms
        ]
    print_rows(rows, as_json_lines)


@app.command("history")
def history(
    glossary: NameArgument,
    database: DatabaseOption = None,
    config: ConfigOption = None,
    as_json_lines: JsonOption = False,
) -> None:
    """Show the versions of a glossary, newest first."""
    versions = open_database(database, config).history(glossary)
    rows = [
        {"version": i.version, "at": i.created_at, "terms": i.terms, "note": i.note, "digest": i.digest[:12]}
        for i in versions
    ]
    print_rows(rows, as_json_lines)


@app.command("diff")
def diff(
    glossary: NameArgument,
    old: Annotated[int, typer.Argument(min=1)],
    new: Annotated[int, typer.Argument(min=1)],
    database: DatabaseOption = None,
    config: ConfigOption = None,
    as_json_lines: JsonOption = False,
) -> None:
    """Show what changed between two versions."""
    found = open_database(database, config).diff(glossary, old, new)
    rows = [_diff_row("added", t, "") for t in found.added] + [_diff_row("removed", t, "") for t in found.removed]
    rows += [_diff_row("changed", after, _changes(before, after)) for before, after in found.changed]
    print_rows(rows, as_json_lines)


def _diff_row(change: str, term: Term, detail: str) -> dict[str, Any]:
    pair = f"{term.source_locale}->{term.target_locale}"
    return {
        "change": change,
        "id": term.term_id,
        "pair": pair,
        "source": term.source,
        "target": term.rendering,
        "fields": detail,
    }


def _changes(before: Term, after: Term) -> str:
    names = [n for n in Term.model_fields if getattr(before, n) != getattr(after, n)]
    return "; ".join(f"{n}: {getattr(before, n)} -> {getattr(after, n)}" for n in names)


@app.command("lint")
def lint_glossary(
    glossary: Annotated[str, typer.Argument(help="Name of a glossary, or a file.")],
    version: VersionOption = None,
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Report conflicts and doubtful terms; exit code 2 if there is an error."""
    if Path(glossary).suffix:
        result = read_terms(Path(glossary))
        terms, problems = list(result.terms), list(result.problems)
    else:
        terms, problems = open_database(database, config).terms(glossary, version), []
    problems += lint(terms)
    _show(problems)
    errors = errors_of(problems)
    console.print(f"{len(terms)} terms, {len(errors)} errors, {len(problems) - len(errors)} warnings")
    if errors:
        raise InputError("the glossary contradicts itself", where=glossary, got=f"{len(errors)} errors")


@app.command("approve")
def approve_hint(
    glossary: NameArgument,
    term: Annotated[str, typer.Argument(help="Id of the term that was hinted at.")],
    alias: Annotated[str, typer.Argument(help="The words of the text.")],
    to: Annotated[str | None, typer.Option("--to", help="Only for this target locale; for all by default.")] = None,
    tenant: Annotated[str, typer.Option(help="Whose term.")] = "default",
    reason: Annotated[str, typer.Option(help="Why, for the history.")] = "",
    database: DatabaseOption = None,
    config: ConfigOption = None,
) -> None:
    """Turn a hint into an alias: the words bind from the glossary's new version on.

    Refused where the words stand for another term already.

    Example: babelray glossary approve orchard backup "safety copy" --to es --reason "asked by support"
    """
    store = open_database(database, config)
    info = approve(store, glossary, term, alias, target=to, tenant_id=tenant, reason=reason)
    console.print(f"{glossary} version {info.version}: {alias!r} binds as {term}", highlight=False)
