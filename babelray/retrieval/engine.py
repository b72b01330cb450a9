"""The retriever: from a request and a scope to cited passages, on one open generation.

    analysis -> names and translations -> plan -> channels, side by side, under one scope -> fusion -> second look
    -> passages cut for the query -> citations -> trace

It is handed its parts and imports no model. What fails on the way is done without and said (`degradation`); only a
scope that cannot be resolved ends a search with an error.
"""

import logging
import uuid
from collections.abc import Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime

from babelray.config import RetrievalSettings
from babelray.errors import AccessDenied, InputError, UpstreamError
from babelray.index.access import AccessScope, CompiledScope
from babelray.index.reader import OpenGeneration
from babelray.index.vectors import Floats
from babelray.keys import digest_of
from babelray.protocols import Embedder, Reranker
from babelray.retrieval import planner
from babelray.retrieval.aliases import AliasTable
from babelray.retrieval.analysis import analyze_query, with_evidence_languages
from babelray.retrieval.caches import Cache
from babelray.retrieval.candidates import Candidate, remaining
from babelray.retrieval.citing import add_previews, cite_passages
from babelray.retrieval.degradation import Degradation, Reason
from babelray.retrieval.generation_facts import EvidenceLanguages, ValidityPeriods
from babelray.retrieval.passages import Draft, as_indexed, cut_for_query
from babelray.retrieval.plan import PLAN_VERSION, Purpose, QueryPlan
from babelray.retrieval.previews import Previewer
from babelray.retrieval.query import QueryAnalysis, QueryType
from babelray.retrieval.request import Request, Response
from babelray.retrieval.responding import Outcome, build_response
from babelray.retrieval.searching import Searcher
from babelray.retrieval.second_look import Question, look_again
from babelray.retrieval.sinks import PlanSink
from babelray.retrieval.trace import StageClock
from babelray.retrieval.translation import QueryTranslator
from babelray.retrieval.wordings import Wordings, find_wordings
from babelray.text.analysis import analyzer_version
from babelray.text.language import LanguagePolicy

logger = logging.getLogger(__name__)

WORKERS = 4
"""Threads of one retriever."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a retriever is made of beside its generation. What is missing is done without, and said.

    Attributes:
        languages: Judges the language of queries.
        embedder: Of the generation's model key.
        aliases: Other names of things.
        translator: Translates queries and previews.
        reranker: Reads query and passage together.
        sink: Keeps every plan.
    """

    languages: LanguagePolicy
    settings: RetrievalSettings
    embedder: Embedder | None = None
    aliases: AliasTable | None = None
    translator: QueryTranslator | None = None
    reranker: Reranker | None = None
    sink: PlanSink | None = None


@dataclass(slots=True)
class _Run:
    """What one request gathers on its way."""

    request_id: str
    request: Request
    now: datetime
    clock: StageClock = field(default_factory=StageClock)
    degraded: list[Degradation] = field(default_factory=list)


class Retriever:
    """Answers requests on one open generation. Safe to share between threads.

    Args:
        generation: What is searched.
        parts: What it is searched with.
    """

    def __init__(self, generation: OpenGeneration, parts: Parts) -> None:
        self.generation = generation
        self.parts = parts
        self.settings = parts.settings
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="retrieve")
        self._searcher = Searcher(generation, parts.settings, parts.embedder, self._pool)
        self._previewer = Previewer(parts.translator, parts.settings.caches.previews)
        self._answers: Cache[Response] = Cache(parts.settings.caches.results)
        self._validity = ValidityPeriods(generation)
        self._evidence_languages = EvidenceLanguages(generation, self._validity)
        self._versions = _versions(generation, parts)
        self._lasting = _lasting(generation)

    def retrieve(
        self, request: Request, scope: AccessScope, *, request_id: str | None = None, now: datetime | None = None
    ) -> Response:
        """Answer a request.

        Args:
            request: What is asked.
            scope: What the caller may see, from the caller's identity; the request can only narrow it.
            request_id: Names the request in logs, traces and the sink; a random one where none is given.
            now: What "last week" is counted from.

        Raises:
            AccessDenied: The request asks for more than the scope, or a row outside of it was met. Nothing is returned.
            InputError: The query is empty or too long.
            ModelKeyMismatch: The embedder is of another space than the generation.
        """
        run = self._begin(request, request_id, now)
        with run.clock.stage("scope"):
            compiled = self._resolve(run, scope)
        with run.clock.stage("analysis"):
            analysis = self._analyze(run, compiled)
        key = self._answer_key(run, analysis, compiled)
        known = self._answers.get(key)
        if known is not None:
            trace = known.trace and known.trace.model_copy(update={"request_id": run.request_id, "cached": True})
            return known.model_copy(update={"request_id": run.request_id, "trace": trace})
        vectors = self._searcher.start_vectors(_dense_texts(analysis), run.clock)
        with run.clock.stage("names and translations") as tally:
            wordings = find_wordings(
                analysis,
                self._evidence_languages.of(compiled),
                compiled.scope,
                self.settings,
                self.parts.languages,
                aliases=self.parts.aliases,
                translator=self.parts.translator,
            )
            run.degraded += wordings.degraded
            tally.count = len(wordings.variants)
        plan = self._plan(run, analysis, wordings, compiled)
        response = self._execute(run, plan, wordings, compiled, vectors)
        if not response.degraded:
            self._answers.put(key, response)
        return response

    def replay(self, plan: QueryPlan, request: Request, scope: AccessScope) -> Response:
        """Run a stored plan again, under the scope of whoever asks now; nothing is analyzed or translated again.

        Raises:
            InputError: The plan was made for another generation than this one.
            AccessDenied: As in `retrieve`.
        """
        manifest = self.generation.manifest
        made_for, here = f"{plan.index} {plan.generation}", f"{manifest.index} {manifest.generation}"
        if made_for != here:
            fix = "open the generation that the plan was made for"
            raise InputError("the plan was made for another generation", got=made_for, allowed=here, fix=fix)
        run = self._begin(request, None, None)
        with run.clock.stage("scope"):
            compiled = self._resolve(run, scope)
        renewed = plan.model_copy(update={"scope_digest": compiled.digest, "access_revision": compiled.revision})
        faithful = {one.language: one.text for one in plan.variants if one.translation is not None and one.accepted}
        vectors = self._searcher.start_vectors(_dense_texts(plan.analysis), run.clock)
        return self._execute(run, renewed, Wordings(translations=faithful), compiled, vectors)

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, request: Request, request_id: str | None, now: datetime | None) -> _Run:
        return _Run(request_id or uuid.uuid4().hex, request, now or datetime.now(UTC), degraded=list(self._lasting))

    def _resolve(self, run: _Run, scope: AccessScope) -> CompiledScope:
        asked = run.request
        try:
            narrowed = scope.narrow(groups=asked.groups, knowledge_bases=asked.knowledge_bases, statuses=asked.statuses)
            return self.generation.compile(narrowed)
        except AccessDenied:
            logger.warning("%s: request %s is refused", Reason.SCOPE_RESOLUTION_FAILED, run.request_id)
            raise

    def _analyze(self, run: _Run, compiled: CompiledScope) -> QueryAnalysis:
        analysis = analyze_query(
            run.request.query,
            self.parts.languages,
            domain=run.request.domain,
            max_characters=self.settings.max_query_characters,
            now=run.now,
        )
        analysis = with_evidence_languages(analysis, self._evidence_languages.of(compiled))
        if analysis.low_confidence:
            detail = ", ".join(f"{one.language} {one.probability:.2f}" for one in analysis.candidates[:3])
            fallback = "words of all likely languages, exact words and vectors; no translation"
            run.degraded.append(Degradation(Reason.LANG_LOW_CONFIDENCE, fallback, detail))
        return analysis

    def _answer_key(self, run: _Run, analysis: QueryAnalysis, compiled: CompiledScope) -> Hashable:
        """Everything that an answer depends on: nothing is looked at before all of it, scope included, is equal."""
        manifest, scope = self.generation.manifest, compiled.scope
        identity = digest_of([scope.tenant_id, sorted(scope.groups), sorted(scope.knowledge_bases or ["*"])])
        return (
            run.request.model_dump_json(),
            digest_of(analysis.model_dump(mode="json")),
            (manifest.index, manifest.generation, compiled.revision),
            (compiled.digest, identity, self._validity.number(compiled)),
            tuple(self._versions.items()),
        )

    def _plan(self, run: _Run, analysis: QueryAnalysis, wordings: Wordings, compiled: CompiledScope) -> QueryPlan:
        request, manifest = run.request, self.generation.manifest
        if wordings.aliased:
            analysis = analysis.model_copy(update={"types": (*analysis.types, QueryType.ALIAS)})
        answer_language = request.answer_language or analysis.language
        plan = planner.make_plan(
            analysis,
            [*planner.own_variants(analysis), *wordings.variants],
            self.settings,
            index=manifest.index,
            generation=manifest.generation,
            access_revision=compiled.revision,
            scope_digest=compiled.digest,
            evidence_languages=self._evidence_languages.of(compiled),
            answer_language=answer_language,
            interface_locale=request.interface_locale or answer_language,
            versions=self._versions,
        )
        if self.parts.sink is not None:
            with run.clock.stage("plan kept"):
                try:
                    self.parts.sink.write(run.request_id, compiled.scope.tenant_id, plan, run.now)
                except (UpstreamError, InputError, OSError) as error:
                    logger.warning("the plan of request %s was not kept: %s", run.request_id, type(error).__name__)
                    run.degraded.append(
                        Degradation(Reason.PLAN_NOT_KEPT, "answered all the same", type(error).__name__)
                    )
        return plan

    def _execute(
        self, run: _Run, plan: QueryPlan, wordings: Wordings, compiled: CompiledScope, vectors: Future[Floats]
    ) -> Response:
        request, clock = run.request, run.clock
        union = self._searcher.search(plan, compiled, vectors, clock, k=request.k, fresh_only=request.fresh_only)
        kept = remaining(union.candidates)
        with clock.stage("second look") as tally:
            question = Question(plan.analysis, wordings.translations, union.vector)
            ordered, second = look_again(
                self.generation, kept, question, self.settings, self.parts.reranker, self._pool
            )
            tally.count = min(len(kept), plan.budgets.rerank_window)
        with clock.stage("passages") as tally:
            drafts = self._cut(run, plan, ordered, union.vector, compiled)
            tally.count = len(drafts)
        with clock.stage("citations") as tally:
            cited = cite_passages(self.generation, drafts, compiled)
            tally.count = len(cited)
        passages = [passage for passage, _ in cited]
        run.degraded += [*union.degraded, *second]
        if request.previews:
            with clock.stage("previews"):
                passages, failed = add_previews(
                    cited,
                    self._previewer,
                    plan.answer_language,
                    tenant_id=compiled.scope.tenant_id,
                    domain=request.domain,
                )
            run.degraded += failed
        outcome = Outcome(plan, wordings, union, ordered, drafts, passages, run.degraded)
        return build_response(self.generation, run.request_id, request, outcome, clock)

    def _cut(
        self, run: _Run, plan: QueryPlan, candidates: Sequence[Candidate], query: Floats | None, compiled: CompiledScope
    ) -> list[Draft]:
        k, budget, qasc = run.request.k, run.request.token_budget, self.settings.qasc
        if query is None or qasc.profile == "off":
            return as_indexed(self.generation, candidates, k, budget)
        return cut_for_query(self.generation, candidates, query, compiled, qasc, plan.analysis.language, k, budget)


def _dense_texts(analysis: QueryAnalysis) -> list[str]:
    return [one.text for one in planner.own_variants(analysis) if one.purpose is Purpose.MULTILINGUAL_DENSE]


def _lasting(generation: OpenGeneration) -> list[Degradation]:
    """What every answer from this generation is made without."""
    built, here = generation.manifest.analyzer_version, analyzer_version()
    if built == here:
        return []
    fallback = "words are cut by other rules than the index was; reindex (only its last step is done again)"
    return [Degradation(Reason.ANALYZER_CHANGED, fallback, f"index {built}, here {here}")]


def _versions(generation: OpenGeneration, parts: Parts) -> dict[str, str]:
    """Every version that shapes an answer; the retriever's caches live no longer than its generation."""
    manifest = generation.manifest
    return {
        "plan": PLAN_VERSION,
        "settings": digest_of(parts.settings.model_dump(mode="json")),
        "analyzer": manifest.analyzer_version,
        "language_policy": parts.languages.version,
        "model_key": manifest.model_key.digest,
        "aliases": parts.aliases.version if parts.aliases else "",
        "translator": parts.translator.version if parts.translator else "",
        "reranker": parts.reranker.version if parts.reranker else "",
    }
