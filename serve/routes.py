"""The HTTP side: identity, limits, deadlines and errors around what `serve.service` does."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Annotated, Any, TypeVar
from uuid import uuid4

import httpx
from fastapi import Depends, FastAPI, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse

from babelray.config import NAME_PATTERN, ServingSettings
from babelray.errors import BabelrayError
from babelray.index.access import AccessScope
from serve.admission import Admission
from serve.identity import Anonymous, Identity, is_loopback
from serve.limits import BodyLimit
from serve.metrics import Metrics
from serve.problems import Problem, forbidden, late, problem_of
from serve.schemas import Answer, EmbeddingsBody, FeedbackBody, LocalizeBody, MatchBody, RequestId, RetrieveBody
from serve.service import Service
from serve.web import router

logger = logging.getLogger(__name__)

_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
IndexName = Annotated[str, Path(pattern=NAME_PATTERN)]
Result = TypeVar("Result")


class Endpoint:
    """Everything that the routes share.

    Args:
        service: Does the work.
        identity: Says who asks.
        settings: Limits.
        metrics: Counts and times.
    """

    def __init__(self, service: Service, identity: Identity, settings: ServingSettings, metrics: Metrics) -> None:
        self.service, self.identity, self.settings, self.metrics = service, identity, settings, metrics
        # Counts over all tenants are an operator's, who sits at this machine.
        self.counts = isinstance(identity, Anonymous)
        self.admission = Admission(settings.concurrency, settings.waiting, metrics.waiting)
        self.pool = ThreadPoolExecutor(settings.concurrency, thread_name_prefix="request")

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do work in a thread, once there is a place for it, within the deadline.

        Raises:
            Problem: Too many wait, or it took too long.
        """
        seconds = self.settings.deadline_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self.admission.run(lambda: self.pool.submit(work))
        except TimeoutError:
            raise late(seconds) from None


def create_app(endpoint: Endpoint) -> FastAPI:
    """The application; the same with and without Ray Serve around it."""
    app = bare_app()
    app.state.endpoint = endpoint
    app.middleware("http")(_observed)
    limits = endpoint.settings
    app.add_middleware(BodyLimit, most=limits.max_body_bytes, seconds=limits.deadline_seconds)
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(BabelrayError, _problem)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)
    return app


def bare_app() -> FastAPI:
    """The routes alone, with nothing behind them: what the API's schema is made of."""
    app = FastAPI(title="Babelray", version="1", docs_url=None, redoc_url=None)
    _add_work(app)
    _add_facts(app)
    app.include_router(router())
    return app


def _endpoint(request: Request) -> Endpoint:
    found: Endpoint = request.app.state.endpoint
    return found


def _scope(request: Request) -> AccessScope:
    endpoint = _endpoint(request)
    return endpoint.identity.scope_of(request.headers, request.client.host if request.client else None)


def _request_id(request: Request) -> str:
    found: str = request.state.request_id
    return found


At = Annotated[Endpoint, Depends(_endpoint)]
Caller = Annotated[AccessScope, Depends(_scope)]
Id = Annotated[str, Depends(_request_id)]


def _add_work(app: FastAPI) -> None:
    @app.post("/v1/retrieve")
    async def retrieve(body: RetrieveBody, at: At, scope: Caller, request_id: Id) -> Answer:
        """Passages that answer a query, with citations of the original."""
        return await at.run(lambda: at.service.retrieve(body, scope, request_id))

    @app.post("/v1/glossary/match")
    async def match(body: MatchBody, at: At, scope: Caller) -> Answer:
        """The glossary terms of strings: what binds a translation, and hints apart."""
        return await at.run(lambda: at.service.match(body, scope))

    @app.post("/v1/localize")
    async def localize(body: LocalizeBody, at: At, scope: Caller, request_id: Id) -> Answer:
        """A payload localized under the glossary; scored afterwards."""
        return await at.run(lambda: at.service.localize(body, scope, request_id))

    @app.get("/v1/localize/{localized}/score")
    async def score(localized: RequestId, at: At, scope: Caller) -> Answer:
        """Verdicts on a localized request."""
        return at.service.score(localized, scope)

    @app.post("/v1/feedback", status_code=HTTPStatus.CREATED)
    async def feedback(body: FeedbackBody, at: At, scope: Caller) -> Answer:
        """A report about a wrong answer, kept for evaluation."""
        return await at.run(lambda: at.service.feedback(body, scope))

    @app.post("/v1/embeddings")
    async def embeddings(body: EmbeddingsBody, at: At, _: Caller) -> Answer:
        """Vectors by the model of an index, as OpenAI's API gives them."""
        return await at.run(lambda: at.service.embeddings(body))


def _add_facts(app: FastAPI) -> None:
    @app.get("/v1/indexes")
    async def indexes(at: At, _: Caller) -> Answer:
        """The indexes that are served."""
        return at.service.describe(counts=at.counts)

    @app.get("/v1/indexes/{name}/generations")
    async def generations(name: IndexName, at: At, _: Caller) -> Answer:
        """Generations of an index, newest first."""
        return await at.run(lambda: at.service.generations(name, counts=at.counts))

    @app.get("/healthz")
    async def health(at: At) -> Answer:
        """That this replica lives, and what it serves."""
        return at.service.health()

    @app.get("/readyz")
    async def ready(at: At) -> Answer:
        """That every index is open; a replica without one does not come up."""
        return {"status": "ready", "indexes": sorted(at.service.indexes)}

    @app.get("/metrics")
    async def metrics(request: Request, _: Caller) -> Response:
        """Our own series as this node exports them to Prometheus: they are of all tenants, so for an operator here."""
        forwarded = "x-forwarded-for" in request.headers or "forwarded" in request.headers
        if forwarded or not is_loopback(request.client.host if request.client else None):
            raise forbidden("metrics are for this machine; Prometheus reads them from Ray's own port")
        return PlainTextResponse(await _exported())


async def _exported() -> str:
    import ray

    node = ray.get_runtime_context().get_node_id()
    ports = [one["MetricsExportPort"] for one in ray.nodes() if one["NodeID"] == node]  # type: ignore[no-untyped-call]
    async with httpx.AsyncClient(trust_env=False, timeout=5) as client:
        found = await client.get(f"http://127.0.0.1:{ports[0]}/metrics")
    return "".join(f"{line}\n" for line in found.text.splitlines() if "ray_babelray_" in line)


async def _observed(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
    """Name the request, time it, and count how it ended. The query is never logged."""
    given = request.headers.get("x-request-id", "")
    request.state.request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
    began = time.perf_counter()
    status = 500
    try:
        response = await call(request)
        status = response.status_code
    finally:
        spent = (time.perf_counter() - began) * 1000
        # The template of the route, so that no identifier becomes a label.
        route = getattr(request.scope.get("route"), "path", "other")
        _endpoint(request).metrics.request(route, status, spent)
        logger.info("%s %s %s %.1f ms", request.state.request_id, route, status, spent)
    response.headers["X-Request-Id"] = request.state.request_id
    return response


async def _problem(request: Request, error: Exception) -> Response:
    problem = error if isinstance(error, Problem) else problem_of(error) if isinstance(error, BabelrayError) else None
    assert problem is not None
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.error("%s: %s", request.state.request_id, error)
    return problem.response(request.state.request_id)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    problem = Problem(status, status.phrase.lower(), str(error.detail)[:200], dict(error.headers or {}))
    return problem.response(_named(request))


async def _unexpected(request: Request, error: Exception) -> Response:
    """A fault of ours; Starlette logs it with its traceback after this."""
    detail = "the request ran into a fault of the service, which its log tells more of"
    return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error", detail).response(_named(request))


def _named(request: Request) -> str:
    return str(getattr(request.state, "request_id", "-"))


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    # What was sent is not repeated: it may be a query, and it may be long.
    found: list[dict[str, Any]] = [
        {"where": ".".join(str(part)[:40] for part in one["loc"])[:200], "what": one["msg"]} for one in error.errors()
    ][:20]
    detail = "; ".join(f"{one['where']}: {one['what']}" for one in found[:3])
    problem = Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "not a usable request", detail)
    return problem.response(request.state.request_id)
