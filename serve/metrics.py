"""What the endpoint counts and times, exported by Ray for Prometheus; dashboards and alerts go by these names.

Labels are bounded: routes, status codes, stages, channels, reasons and index names, never a query or a tenant.
"""

from ray.util.metrics import Counter, Gauge, Histogram

from babelray.retrieval.request import Response

MILLISECONDS: list[float] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]


class Metrics:
    """One set a replica."""

    def __init__(self) -> None:
        self._requests = Counter("babelray_requests", "Requests.", tag_keys=("route", "status"))
        self._latency = Histogram(
            "babelray_request_latency_ms", "Of whole requests.", boundaries=MILLISECONDS, tag_keys=("route",)
        )
        self._stages = Histogram(
            "babelray_stage_latency_ms", "Of the stages of a search.", boundaries=MILLISECONDS, tag_keys=("stage",)
        )
        self._candidates = Counter("babelray_candidates", "Passages shown, by channel.", tag_keys=("channel",))
        self._degraded = Counter("babelray_degraded", "Searches that did without a part.", tag_keys=("reason",))
        self._unauthorized = Counter(
            "babelray_unauthorized_rows", "Rows outside a scope that came up and were withheld.", tag_keys=("index",)
        )
        self._cache = Counter("babelray_cache_lookups", "Lookups in caches.", tag_keys=("cache", "outcome"))
        self._changes = Counter(
            "babelray_generation_changes", "Generations taken up or refused.", tag_keys=("index", "outcome")
        )
        self._age = Gauge("babelray_generation_age_seconds", "Since the generation was built.", tag_keys=("index",))
        self._waiting = Gauge("babelray_requests_waiting", "Requests that wait for their turn.")

    def request(self, route: str, status: int, milliseconds: float) -> None:
        """A request has ended."""
        self._requests.inc(tags={"route": route, "status": str(status)})
        self._latency.observe(milliseconds, tags={"route": route})

    def response(self, response: Response) -> None:
        """A search has been answered; its trace was kept for this."""
        for one in response.degraded:
            self._degraded.inc(tags={"reason": str(one.reason)})
        for passage in response.passages:
            for channel in passage.channels:
                self._candidates.inc(tags={"channel": channel})
        if response.trace is not None:
            outcome = "hit" if response.trace.cached else "miss"
            self._cache.inc(tags={"cache": "answers", "outcome": outcome})
            for stage in response.trace.stages:
                self._stages.observe(max(stage.milliseconds, 0.001), tags={"stage": stage.name})

    def unauthorized(self, index: str, rows: int) -> None:
        """Rows outside a scope were met: an alarm."""
        if rows:
            self._unauthorized.inc(rows, tags={"index": index})

    def generation(self, index: str, outcome: str) -> None:
        """A generation was taken up (`swapped`) or turned down (`refused`)."""
        self._changes.inc(tags={"index": index, "outcome": outcome})

    def age(self, index: str, seconds: float) -> None:
        """Of the generation in use."""
        self._age.set(seconds, tags={"index": index})

    def waiting(self, requests: int) -> None:
        """How many wait."""
        self._waiting.set(requests)
