"""Runs the channels of a plan side by side under one scope, and joins what they found."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass
from functools import partial

import numpy as np

from babelray.config import RetrievalSettings
from babelray.errors import UpstreamError
from babelray.index.access import CompiledScope
from babelray.index.reader import OpenGeneration
from babelray.index.vectors import Floats
from babelray.keys import Role
from babelray.protocols import Embedder
from babelray.retrieval import planner
from babelray.retrieval.caches import Cache
from babelray.retrieval.candidates import Candidate, largest_languages, select
from babelray.retrieval.channels import Channel, Found, search_vectors, search_words
from babelray.retrieval.degradation import Degradation, Reason
from babelray.retrieval.fusion import CohortTable, fuse
from babelray.retrieval.plan import QueryPlan, Variant
from babelray.retrieval.trace import StageClock

PERIOD_DEPTH = 4
"""Where a period will take candidates out, so many times more are asked for."""
ROWS_WORTH_THREADS = 300_000
"""Fewer chunks are searched by one channel after the other: below, threads that wait for the interpreter cost more
than they save (two cores, 100,000 chunks: a whole search 32 ms with threads, 22 ms without)."""
RARE = 5
"""An exact word that more chunks hold than this says the less, the more hold it: ranks alone would not show it."""


@dataclass(frozen=True, slots=True)
class Union:
    """What the channels found.

    Attributes:
        found: Channel -> its chunks by rank; a channel that was not searched is missing.
        candidates: The union, best first.
        vector: float32 (dimension,), the query's; nothing where the embedder failed.
    """

    found: Mapping[Channel, Sequence[Found]]
    candidates: Sequence[Candidate]
    vector: Floats | None
    degraded: Sequence[Degradation]


class Searcher:
    """Searches one generation.

    Args:
        generation: What is searched.
        settings: Weights and limits.
        embedder: Of the generation's model key, or nothing.
        pool: Threads for query encoding and, over many chunks, for the channels.
    """

    def __init__(
        self, generation: OpenGeneration, settings: RetrievalSettings, embedder: Embedder | None, pool: Executor
    ) -> None:
        self._generation = generation
        self._settings = settings
        self._embedder = embedder
        self._pool = pool
        self._rows = sum(segment.rows for segment in generation.segments)
        self._cohorts = CohortTable(settings.channels, settings.fusion)
        self._vectors: Cache[Floats] = Cache(settings.caches.vectors)

    def start_vectors(self, texts: Sequence[str], clock: StageClock) -> Future[Floats]:
        """Begin to encode queries; the result is float32 (n, dimension), unit length."""
        return self._pool.submit(self._encode, tuple(texts), clock)

    def search(
        self,
        plan: QueryPlan,
        compiled: CompiledScope,
        vectors: Future[Floats],
        clock: StageClock,
        *,
        k: int,
        fresh_only: bool = False,
    ) -> Union:
        """Search all channels of a plan and fuse.

        Args:
            plan: What is searched.
            compiled: What the caller may see; the same object for every channel.
            vectors: From `start_vectors`, for the plan's dense variants.
            clock: Takes the time of each channel.
            k: Passages wanted; no channel gives fewer candidates.
            fresh_only: Keep only documents updated in the plan's period.

        Raises:
            AccessDenied: A row outside the scope was met; nothing is returned.
            ModelKeyMismatch: The embedder is of another space than the generation.
        """
        languages = planner.likely_languages(plan.analysis)
        depth = {
            Channel(name): max(count, k) * (PERIOD_DEPTH if fresh_only else 1)
            for name, count in plan.budgets.per_channel.items()
        }
        tasks: dict[Channel, Future[list[Found]]] = {}
        found: dict[Channel, list[Found]] = {}
        for channel in Channel:
            variants = planner.searched(plan, channel)
            if not variants or channel is Channel.DENSE:
                continue
            asked = partial(self._words, channel, variants, languages, compiled, depth[channel], clock)
            if self._generation.search.concurrent or self._rows >= ROWS_WORTH_THREADS:
                tasks[channel] = self._pool.submit(asked)
            else:
                found[channel] = asked()
        vector, degraded = None, []
        dense = planner.searched(plan, Channel.DENSE)
        if dense:
            try:
                encoded = vectors.result(timeout=self._settings.deadlines.embedding_ms / 1000)
            except (UpstreamError, LateError, RuntimeError) as error:
                # Nobody will ask for it; while an embedder hangs, such work would pile up.
                vectors.cancel()
                degraded.append(Degradation(Reason.DENSE_UNAVAILABLE, "words only", type(error).__name__))
            else:
                vector = encoded[0]
                with clock.stage("channel dense") as tally:
                    key, most = self._generation.key, depth[Channel.DENSE]
                    found[Channel.DENSE] = search_vectors(self._generation, dense, encoded, key, compiled, most)
                    tally.count = len(found[Channel.DENSE])
        found |= {channel: task.result() for channel, task in tasks.items()}
        ordered = {channel: found[channel] for channel in Channel if channel in found}
        with clock.stage("fusion") as tally:
            candidates = self._join(plan, ordered, fresh_only)
            tally.count = len(candidates)
        return Union(ordered, candidates, vector, degraded)

    def _words(
        self,
        channel: Channel,
        variants: Sequence[Variant],
        languages: Sequence[str],
        compiled: CompiledScope,
        k: int,
        clock: StageClock,
    ) -> list[Found]:
        with clock.stage(f"channel {channel}") as tally:
            hits = search_words(self._generation, channel, variants, languages, compiled, k)
            tally.count = len(hits)
        return hits

    def _encode(self, texts: Sequence[str], clock: StageClock) -> Floats:
        embedder = self._embedder
        if embedder is None:
            raise UpstreamError("no embedder is loaded", fix="give the retriever the embedder of the generation")
        self._generation.require_key(embedder.key)
        with clock.stage("query vector") as tally:
            space = embedder.key.digest
            known = {text: vector for text in texts if (vector := self._vectors.get((space, text))) is not None}
            missing = [text for text in dict.fromkeys(texts) if text not in known]
            if missing:
                encoded = embedder.encode(missing, Role.QUERY)
                if encoded.refused:
                    raise UpstreamError("the query has no vector", got=", ".join(sorted(set(encoded.refused.values()))))
                known |= dict(zip(missing, encoded.vectors, strict=True))
                for text in missing:
                    self._vectors.put((space, text), known[text])
            tally.count = len(missing)
        return np.stack([known[text] for text in texts])

    def _join(self, plan: QueryPlan, found: Mapping[Channel, Sequence[Found]], fresh_only: bool) -> list[Candidate]:
        places = list(dict.fromkeys(hit.place for hits in found.values() for hit in hits))
        languages, language = largest_languages(self._generation, places), plan.analysis.language

        factors = {channel: plan.weights[channel] for channel in Channel}
        factors[Channel.EXACT] *= RARE / max(RARE, len(found.get(Channel.EXACT, ())))

        by_language = {
            other: {c: weight * factors[c] for c, weight in self._cohorts.weights(language, other).items()}
            for other in set(languages.values())
        }
        fused = fuse(found, lambda place: by_language[languages[place]], self._settings.fusion.rank_constant)
        anchors = [one.text for one in planner.searched(plan, Channel.EXACT)]
        period = plan.analysis.freshness if fresh_only else None
        return select(self._generation, fused, plan.budgets, languages, anchors, period)
