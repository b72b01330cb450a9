"""`babelray search`: ask an index from the command line, in any language."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape

from babelray.config import Settings
from babelray.errors import InputError, ModelKeyMismatch
from babelray.index.access import ACTIVE, AccessScope
from babelray.index.golden import check_golden
from babelray.index.reader import OpenGeneration, open_generation
from babelray.index.store import open_store
from babelray.keys import Role
from babelray.protocols import Embedder
from babelray.retrieval.hybrid import Result
from babelray.retrieval.hybrid import search as hybrid_search
from babelray.text.language import LanguagePolicy, LanguageVerdict
from cli.options import ConfigOption, JsonOption, settings_from
from models.identifier import FastTextIdentifier
from models.registry import build_embedder, model_key

QUOTE_SHOWN = 300
LIKELY = 0.15
"""A language candidate under this probability is not searched in."""


def search(
    query: Annotated[str, typer.Argument(help="What to look for, in any language.")],
    config: ConfigOption = None,
    index: Annotated[str | None, typer.Option("--index", "-i", help="Index; the settings' own by default.")] = None,
    tenant: Annotated[str, typer.Option(help="Tenant that asks; sees no other tenant's documents.")] = "default",
    group: Annotated[
        list[str] | None, typer.Option(help="A group the caller is in; repeat. Without any: what is for everyone.")
    ] = None,
    kb: Annotated[list[str] | None, typer.Option(help="Only this knowledge base; repeat. Without any: all.")] = None,
    as_of: Annotated[
        datetime | None, typer.Option("--as-of", help="What was valid at this time (UTC); now by default.")
    ] = None,
    status: Annotated[list[str] | None, typer.Option(help="Document status to see; repeat. Default: active.")] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, max=1000, help="Results to show.")] = 10,
    generation: Annotated[str | None, typer.Option(help="Generation to search; the published one by default.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Search an index by words and by meaning, and show passages with their place in the original text.

    The query is encoded by the embedder of the settings, which must be the one that the generation was built with.

    Examples:
        babelray search "wie exportiere ich Abrechnungsdaten" -c configs/reindex-demo.yaml --tenant orchard

        babelray search "ERR_1205" -c reindex.yaml --index docs --tenant acme --group ops --json
    """
    settings = settings_from(config)
    scope = _scope(tenant, group, kb, as_of, status)
    name = index or settings.index
    opened = open_generation(open_store(settings.store), name, generation, settings.cache_dir)
    embedder = _embedder(settings, opened)
    verdict = LanguagePolicy(FastTextIdentifier()).judge_query(query)
    encoded = embedder.encode([query], Role.QUERY)
    if encoded.refused:
        raise InputError("the query cannot be encoded", got=query[:200], fix=f"the embedder says: {encoded.refused[0]}")
    results = hybrid_search(
        opened, query, encoded.vectors[0], embedder.key, opened.compile(scope), languages=_languages(verdict), k=k
    )
    console = Console(soft_wrap=True, highlight=False)
    if as_json:
        console.print_json(data=_as_json(query, verdict, opened, results), ensure_ascii=False)
        return
    _print(console, opened, verdict, results)


def _scope(
    tenant: str, group: list[str] | None, kb: list[str] | None, as_of: datetime | None, status: list[str] | None
) -> AccessScope:
    moment = as_of or datetime.now(UTC)
    try:
        return AccessScope(
            tenant_id=tenant,
            groups=frozenset(group or ()),
            knowledge_bases=frozenset(kb) if kb else None,
            as_of=moment if moment.tzinfo else moment.replace(tzinfo=UTC),
            statuses=frozenset(status or (ACTIVE,)),
        )
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise InputError(
            f"not a usable scope: {problem['msg']}",
            where=", ".join(str(part) for part in problem["loc"]),
            got=repr(problem.get("input"))[:200],
            fix="--tenant names one tenant, --group real groups: what is for everyone is shown without one",
        ) from None


def _embedder(settings: Settings, opened: OpenGeneration) -> Embedder:
    """The settings' embedder, if it is the generation's; compared by key before any weight is loaded."""
    wanted, configured = opened.key, model_key(settings.embedder, settings.cache_dir)
    if configured != wanted:
        raise ModelKeyMismatch(
            "the configured embedder is not the one that this generation was built with",
            where=f"index {opened.manifest.index}, generation {opened.manifest.generation}",
            got=f"{configured.readable()}; different: {', '.join(wanted.differences(configured))}",
            allowed=wanted.readable(),
            fix="pass the settings file of the generation's model with --config, or another --generation",
        )
    embedder = build_embedder(settings.embedder, settings.cache_dir)
    check_golden(embedder, opened.manifest.golden)
    return embedder


def _languages(verdict: LanguageVerdict) -> list[str]:
    likely = [one.language for one in verdict.candidates if one.probability >= LIKELY]
    return list(dict.fromkeys([verdict.language, *likely]))[:3]


def _as_json(query: str, verdict: LanguageVerdict, opened: OpenGeneration, results: list[Result]) -> dict[str, Any]:
    return {
        "query": query,
        "index": opened.manifest.index,
        "generation": opened.manifest.generation,
        "model_key": opened.key.readable(),
        "access_revision": opened.access_revision,
        "language": verdict.language,
        "low_confidence": verdict.low_confidence,
        "results": [_result_json(one) for one in results],
    }


def _result_json(one: Result) -> dict[str, Any]:
    record = one.record
    return {
        "rank": one.rank,
        "score": one.score,
        "channels": {name: {"rank": place.rank, "score": place.score} for name, place in one.channels.items()},
        "chunk_id": record.chunk_id,
        "doc_id": record.doc_id,
        "source_uri": record.source_uri,
        "source_revision": record.source_revision,
        "title": record.title,
        "section_path": list(record.section_path),
        "start": record.start,
        "end": record.end,
        "quote": record.quote,
        "quote_sha256": one.quote_sha256,
        "languages": list(record.languages),
        "tenant_id": record.tenant_id,
        "knowledge_base_id": record.knowledge_base_id,
        "updated_at": record.updated_at.isoformat() if record.updated_at else None,
    }


def _print(console: Console, opened: OpenGeneration, verdict: LanguageVerdict, results: list[Result]) -> None:
    guess = ", not sure" if verdict.low_confidence else ""
    console.print(
        f"[dim]{escape(opened.manifest.index)}, generation {escape(opened.manifest.generation)}, "
        f"query language {escape(verdict.language)}{guess}[/]"
    )
    for one in results:
        record = one.record
        heading = " > ".join(part for part in (record.title, *record.section_path) if part) or record.source_uri
        places = ", ".join(f"{name} #{place.rank} ({place.score:.3f})" for name, place in one.channels.items())
        console.print(f"\n[bold]{one.rank}. {escape(heading)}[/]  [dim]{'/'.join(record.languages)}[/]")
        console.print(f"[dim]{escape(record.source_uri)} [{record.start}:{record.end}]  {one.score:.4f}: {places}[/]")
        console.print(escape(_shortened(record.quote)))
    if not results:
        console.print("nothing that this caller may see matches")


def _shortened(quote: str) -> str:
    text = " ".join(quote.split())
    return text if len(text) <= QUOTE_SHOWN else text[:QUOTE_SHOWN].rsplit(" ", 1)[0] + " ..."
