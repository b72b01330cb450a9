"""`babelray glossary match`: the terms of payloads, by the cascade or by plain vectors."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from babelray.config import Settings
from babelray.glossary.baselines import PlainRetrieval
from babelray.glossary.constraints import as_json, constraints_from_matches, constraints_from_terms, render_prompt
from babelray.glossary.hints import build_hint_index
from babelray.glossary.importing import read_terms
from babelray.glossary.match import EnforcedMatch, MatchScope, StringMatches, TermMatcher
from babelray.glossary.modes import DEFAULT_PRELOAD_LIMIT, RetrievalMode, choose_mode
from babelray.glossary.payload import Payload, read_payloads
from babelray.glossary.thresholds import starting_thresholds
from babelray.glossary.vector_cache import NGramVectors
from cli.glossary_options import DatabaseOption, console, open_database, print_rows
from cli.options import ConfigOption, JsonOption, settings_from

How = Literal["cascade", "sentence", "ngrams"]
NEAREST = 5
"""Terms of a whole string that plain retrieval gives."""


def match(
    file: Annotated[Path, typer.Argument(help="Payloads: .json, .jsonl or .parquet.")],
    to: Annotated[str, typer.Option("--to", help="Target locale.")],
    glossary: Annotated[str, typer.Option("--glossary", "-g", help="Name of a stored glossary, or a file.")],
    source: Annotated[str, typer.Option("--from", help="Source locale.")] = "en",
    how: Annotated[
        How,
        typer.Option(
            "--how",
            help="cascade: by form, binding; sentence: the terms nearest to whole strings; ngrams: every 1- to 3-gram "
            "by vectors. The last two are what glossaries are usually searched with, and bind nothing.",
        ),
    ] = "cascade",
    tenant: Annotated[str, typer.Option(help="Only this tenant's terms.")] = "default",
    domain: Annotated[list[str] | None, typer.Option(help="Only terms of these domains and of none.")] = None,
    preload_limit: Annotated[int, typer.Option(min=0)] = DEFAULT_PRELOAD_LIMIT,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the prompt text of the constraints.")] = False,
    column: Annotated[str, typer.Option(help="Column of a Parquet file.")] = "payload",
    database: DatabaseOption = None,
    config: ConfigOption = None,
    as_json_lines: JsonOption = False,
) -> None:
    """Find the terms of payloads: what binds, where, and by which rule.

    Example: babelray glossary match app/en.json --to es -g orchard -c configs/localize-demo.yaml
    """
    stored = not Path(glossary).suffix
    terms = open_database(database, config).terms(glossary) if stored else list(read_terms(Path(glossary)).terms)
    matcher = TermMatcher(terms, source)
    scope = MatchScope(to, tenant, frozenset(domain) if domain else None, datetime.now(UTC))
    payloads = list(read_payloads(file, column))
    if how != "cascade":
        print_rows(_plain(settings_from(config), matcher, scope, payloads, how), as_json_lines)
        return
    mode = choose_mode(matcher.count(scope), preload_limit)
    rows: list[dict[str, Any]] = []
    selected: list[EnforcedMatch] = []
    for payload in payloads:
        for string in payload.strings:
            found = matcher.match(string.value, scope, pointer=string.pointer)
            selected += found.selected
            rows += _rows(payload.name, string.pointer, found)
    preloaded = mode is RetrievalMode.PRELOAD
    constraints = (
        constraints_from_terms(matcher.allowed(scope), source, to)
        if preloaded
        else constraints_from_matches(selected, source, to)
    )
    if prompt:
        typer.echo(render_prompt(constraints), nl=False)
    elif as_json_lines:
        typer.echo(
            json.dumps({"mode": mode.value, "matches": rows, "constraints": as_json(constraints)}, ensure_ascii=False)
        )
    else:
        print_rows(rows, as_json_lines=False)
        console.print(f"mode {mode}: {matcher.count(scope)} terms for {source}->{to}, {len(rows)} matches")


def _rows(payload: str, pointer: str, found: StringMatches) -> list[dict[str, Any]]:
    contested = {id(one) for group in found.contested for one in group}
    return [
        {
            "payload": payload,
            "pointer": pointer,
            "span": f"{m.start}-{m.end}",
            "surface": m.surface,
            "term": m.term.source,
            "rendering": m.term.rendering,
            "class": m.term.kind.value,
            "kind": m.kind.value,
            "rule": m.rule,
            "use": "selected" if m in found.selected else "contested" if id(m) in contested else "overlapped",
        }
        for m in found.enforced
    ]


def _plain(
    settings: Settings, matcher: TermMatcher, scope: MatchScope, payloads: Sequence[Payload], how: How
) -> list[dict[str, Any]]:
    from models.registry import build_embedder, ensure_on_node

    ensure_on_node(settings.embedder, settings.cache_dir)
    embedder = build_embedder(settings.embedder, settings.cache_dir)
    cache = NGramVectors(embedder.key)
    plain = PlainRetrieval(matcher, build_hint_index(matcher, embedder, cache), embedder, cache)
    strings = [(payload.name, string) for payload in payloads for string in payload.strings]
    texts = [string.value for _, string in strings]
    threshold = starting_thresholds(embedder.key, settings.localization.hints.threshold).default
    found = plain.by_sentence(texts, scope, NEAREST) if how == "sentence" else plain.by_ngrams(texts, scope, threshold)
    return [
        {
            "payload": payload,
            "pointer": string.pointer,
            "span": f"{hint.start}-{hint.end}",
            "surface": hint.surface[:60],
            "term": hint.term.source,
            "rendering": hint.term.rendering,
            "cosine": f"{hint.score:.3f}",
        }
        for (payload, string), hints in zip(strings, found, strict=True)
        for hint in hints
    ]
