"""`babelray search`: ask an index from the command line, in any language."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape

from babelray.config import Settings
from babelray.errors import InputError
from babelray.index.access import ACTIVE, AccessScope
from babelray.index.reader import open_generation
from babelray.index.store import open_store
from babelray.retrieval.engine import Retriever
from babelray.retrieval.request import Passage, Request, Response, Status, response_schema
from cli.explain import print_trace
from cli.options import ConfigOption, JsonOption, settings_from
from models.retrieval_parts import build_parts

QUOTE_SHOWN = 300


def search(
    query: Annotated[str, typer.Argument(help="What to look for, in any language.")] = "",
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
    k: Annotated[int, typer.Option("--k", "-k", min=1, max=1000, help="Passages to show.")] = 10,
    budget: Annotated[
        int | None, typer.Option(min=16, max=100_000, help="Tokens of all passages; the settings' by default.")
    ] = None,
    domain: Annotated[str, typer.Option(help="Subject that decides between meanings of a name.")] = "",
    answer_language: Annotated[
        str | None, typer.Option(help="BCP 47; previews are translated into it. Default: the query's language.")
    ] = None,
    previews: Annotated[bool, typer.Option("--previews", help="Add machine translations of the quotes.")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Only documents updated in the period that the query names.")
    ] = False,
    generation: Annotated[str | None, typer.Option(help="Generation to search; the published one by default.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", "-x", help="Show plan, channels side by side, candidates, stage times.")
    ] = False,
    as_json: JsonOption = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of --json and stop.")] = False,
) -> None:
    """Search an index by exact words, by words, by translations and by meaning, and show passages that can be cited.

    The query is encoded by the embedder of the settings, which must be the one that the generation was built with.
    What was done without (no translator, an unsure language) is said below the passages.

    Examples:
        babelray search "wie exportiere ich Abrechnungsdaten" -c configs/reindex-demo.yaml --tenant orchard

        babelray search "ERR_1205" -c reindex.yaml --index docs --tenant acme --group ops --explain

        BABELRAY_RETRIEVAL__QASC__PROFILE=off babelray search "retry policy" -c reindex.yaml --json
    """
    console = Console(soft_wrap=True, highlight=False)
    if schema:
        console.print_json(data=response_schema())
        return
    settings = settings_from(config)
    request = _request(
        query=query, k=k, token_budget=budget, domain=domain, answer_language=answer_language, previews=previews,
        fresh_only=fresh, explain=explain,
    )  # fmt: skip
    scope = _scope(tenant, group, kb, as_of, status)
    response = _answer(settings, index or settings.index, generation, request, scope)
    if as_json:
        console.print_json(response.model_dump_json(), ensure_ascii=False)
        return
    _print(console, response)
    if response.trace is not None:
        print_trace(console, response.trace)


def _answer(settings: Settings, index: str, generation: str | None, request: Request, scope: AccessScope) -> Response:
    opened = open_generation(open_store(settings.store), index, generation, settings.cache_dir)
    retriever = Retriever(opened, build_parts(settings, opened))
    try:
        return retriever.retrieve(request, scope)
    finally:
        retriever.close()


def _request(**values: object) -> Request:
    try:
        return Request.model_validate(values)
    except ValidationError as error:
        raise _input_error("not a usable request", error, "see `babelray search --help`") from None


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
        fix = "--tenant names one tenant, --group real groups: what is for everyone is shown without one"
        raise _input_error("not a usable scope", error, fix) from None


def _input_error(what: str, error: ValidationError, fix: str) -> InputError:
    problem = error.errors(include_url=False)[0]
    where = ", ".join(str(part) for part in problem["loc"])
    return InputError(f"{what}: {problem['msg']}", where=where, got=repr(problem.get("input"))[:200], fix=fix)


def _print(console: Console, response: Response) -> None:
    analysis = response.analysis
    guess = ", not sure" if analysis.low_confidence else ""
    console.print(
        f"[dim]{escape(response.index)}, generation {escape(response.generation)}, "
        f"query language {escape(analysis.language)}{guess}[/]"
    )
    for one in response.clarifications:
        meanings = ", ".join(f"{name} ({source})" for source, name in one.candidates.items())
        console.print(f"[yellow]`{escape(one.name)}` may mean: {escape(meanings)}[/]")
    for passage in response.passages:
        _print_passage(console, passage)
    if not response.passages:
        console.print("nothing that this caller may see answers the query")
    if response.status is Status.NEEDS_CLARIFICATION:
        console.print("\n[yellow]Which of the meanings is asked for? Say it in the query, or pass --domain.[/]")
    for part in response.degraded:
        detail = f" ({part.detail})" if part.detail else ""
        console.print(f"[dim]done without: {part.reason}{escape(detail)}; instead: {escape(part.fallback)}[/]")


def _print_passage(console: Console, passage: Passage) -> None:
    cited = passage.citation
    heading = " > ".join(part for part in (cited.title, *cited.section_path) if part) or cited.source_uri
    places = ", ".join(f"{name} #{place.rank}" for name, place in passage.channels.items())
    console.print(f"\n[bold]{passage.rank}. {escape(heading)}[/]  [dim]{escape(cited.source_language)}[/]")
    console.print(f"[dim]{escape(cited.source_uri)} [{cited.start}:{cited.end}]  {passage.score:.3f}: {places}[/]")
    if passage.suspicions:
        kinds = ", ".join(sorted({one.kind for one in passage.suspicions}))
        console.print(f"[yellow]suspicious: {escape(kinds)}[/]")
    console.print(escape(_shortened(cited.original_quote)))
    if passage.preview is not None:
        console.print(f"[dim italic]machine translation: {escape(_shortened(passage.preview.text))}[/]")


def _shortened(quote: str) -> str:
    text = " ".join(quote.split())
    return text if len(text) <= QUOTE_SHOWN else text[:QUOTE_SHOWN].rsplit(" ", 1)[0] + " ..."
