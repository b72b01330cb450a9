"""`babelray localize`: one payload file under the glossary, with a report of every term."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from babelray.errors import GateFailed, InputError
from babelray.glossary.adherence import ScoredString, Scorer
from babelray.glossary.localizing import Localizer
from babelray.glossary.match import TermMatcher
from babelray.glossary.payload import Payload, read_payloads
from babelray.glossary.records import Failure, LocalizedString
from babelray.glossary.scoring import TermVerdict
from cli.options import ConfigOption, JsonOption, settings_from
from models.localizers.registry import build_localizer, load_terms, profile_of

SHOWN = 60
"""Characters of a string in a table."""


def localize(
    file: Annotated[Path, typer.Argument(help="One payload: a .json file.")],
    to: Annotated[str, typer.Option("--to", help="Target locale, such as es or pt-BR.")],
    source: Annotated[str, typer.Option("--from", help="Locale of the file's strings.")] = "en",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the localized payload goes; shown in no other way.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Localize one file and report on its terms: found how and where, given to the translator, applied or lost.

    The output has the file's shape: only strings that were translated differ. A string whose placeholders did not
    survive keeps its source text and is reported. Scores are made apart from the localizer, by the glossary alone.

    Ends with exit code 6 when a required term was lost or a string has no translation, so that a build can stop.

    Example: babelray localize app/en.json --to es -o app/es.json -c configs/localize-demo.yaml
    """
    settings = settings_from(config)
    payloads = list(read_payloads(file))
    if len(payloads) != 1:
        fix = "`babelray backfill` localizes many payloads"
        raise InputError("the file does not hold one payload", where=file, got=f"{len(payloads)} payloads", fix=fix)
    (payload,) = payloads
    profile = profile_of(settings)
    terms = load_terms(settings, profile)
    localizer = build_localizer(settings, source, terms=terms)
    records = localizer.localize(payload, to)
    scorer = Scorer(TermMatcher(terms.terms, source), profile)
    scored = [one for one in map(scorer.score, records) if one is not None]
    localized = payload.replace({one.position: one.output for one in records if one.output is not None})
    if output is not None and localizer.translator is not None:
        output.write_bytes(localized.encode("utf-8"))
    if as_json:
        typer.echo(json.dumps(_as_json(records, scored, localizer), ensure_ascii=False))
    else:
        _report(payload, records, scored, localizer, to)
    _judge(file, records, scored, localizer)


def _judge(file: Path, records: list[LocalizedString], scored: list[ScoredString], localizer: Localizer) -> None:
    """Raises GateFailed where a term or a string was lost; without a translator nothing could be."""
    if localizer.translator is None:
        return
    lost = [f"{v.term.source} ({v.status}) at {one.record.pointer}" for one in scored for v in one.lost]
    dead = [f"{one.pointer}: {one.failure}" for one in records if one.failure is not None]
    if lost or dead:
        raise GateFailed(
            f"{len(lost)} required terms were lost and {len(dead)} strings have no translation",
            where=file,
            got="; ".join([*lost, *dead][:5]),
            fix="see the report above; the strings without translation keep their source text",
        )


def _report(
    payload: Payload, records: list[LocalizedString], scored: list[ScoredString], localizer: Localizer, to: str
) -> None:
    console = Console()
    verdicts = {
        (one.record.record_id, v.term.term_id): v for one in scored for v in (*one.score.verbatim, *one.score.custom)
    }
    table = Table("where", "in the text", "term", "wanted", "found by", "verdict", title=f"terms in {payload.name}")
    known = localizer.matcher.by_id(localizer.scope(to))
    for record in records:
        for given in record.retrieved:
            if given.end == 0:
                continue
            term, verdict = known[given.term_id], verdicts.get((record.record_id, given.term_id))
            table.add_row(
                Text(record.pointer), Text(given.surface), Text(term.source), Text(term.rendering),
                Text(given.how + (f", {given.rule}" if given.rule else "")), _verdict(verdict),
            )  # fmt: skip
        for hint in record.hints:
            term = known[hint.term_id]
            cells = (record.pointer, hint.surface, term.source, term.rendering, f"hint, {hint.score:.2f}")
            table.add_row(*map(Text, cells), Text("not binding", "dim"))
        for group in record.contested:
            claims = "; ".join(f"{known[i].source} -> {known[i].rendering}" for i in group)
            table.add_row(Text(record.pointer), "", Text(claims), "", "contested", Text("not given", "yellow"))
    console.print(table)
    _show_strings(console, records)
    mode = localizer.mode(to)
    counts = [v.status.value for v in verdicts.values()]
    console.print(
        f"{len(records)} strings, mode {mode}; verdicts: "
        + (", ".join(f"{counts.count(status)} {status}" for status in dict.fromkeys(counts)) or "none")
    )
    spent = localizer.translator.spent if localizer.translator else None
    if spent is not None and spent.tokens_in:
        console.print(
            f"{spent.requests} requests, {spent.tokens_in} + {spent.tokens_out} tokens, cost {spent.cost:.4f}"
        )


def _show_strings(console: Console, records: list[LocalizedString]) -> None:
    table = Table("where", "source", "output")
    for record in records:
        if record.failure is Failure.NO_TRANSLATOR:
            shown = Text("not translated", "dim")
        elif record.output is None:
            shown = Text(f"{record.failure}: {record.detail}", "red")
        else:
            shown = Text(_short(record.output))
        table.add_row(Text(record.pointer), Text(_short(record.source)), shown)
    console.print(table)


def _verdict(verdict: TermVerdict | None) -> Text:
    if verdict is None:
        return Text("not scored", "dim")
    if verdict.ok:
        return Text("applied", "green")
    return Text(f"{verdict.status}, by the {verdict.blame}", "red")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def _as_json(records: list[LocalizedString], scored: list[ScoredString], localizer: Localizer) -> dict[str, Any]:
    by_id = {one.record.record_id: one for one in scored}
    return {
        "translator": localizer.translator.version if localizer.translator else None,
        "strings": [
            record.model_dump(mode="json") | {"verdicts": _verdicts(by_id.get(record.record_id))} for record in records
        ],
    }


def _verdicts(scored: ScoredString | None) -> list[dict[str, Any]]:
    if scored is None:
        return []
    return [
        {
            "term_id": v.term.term_id,
            "class": v.term.kind.value,
            "status": v.status.value,
            "blame": v.blame.value,
            "required": v.required,
            "found": v.found,
        }
        for v in (*scored.score.verbatim, *scored.score.custom)
    ]
