"""One index as it is served: its generation is replaced beside running searches, and a bad one is never taken up."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from babelray.config import Settings
from babelray.errors import BabelrayError, InputError
from babelray.index.access import AccessScope
from babelray.index.generations import Catalog
from babelray.index.reader import OpenGeneration, open_elsewhere, open_generation
from babelray.index.store import open_store
from babelray.protocols import Embedder
from babelray.retrieval.engine import Parts, Retriever
from babelray.retrieval.request import Request
from models.retrieval_parts import build_parts
from serve.encoding import JoinedEmbedder
from serve.metrics import Metrics
from serve.shards import Ask, ShardedSearch

logger = logging.getLogger(__name__)

PROBE = "probe 1205"
"""Asked of a generation before it serves, under a scope that sees nothing."""


class _Live:
    """A retriever and how many searches use it; closed by the last one once it is retired.

    Args:
        retriever: Of one generation.
        parts: What it is made of; a later generation of the same model is made of the same.
    """

    def __init__(self, retriever: Retriever, parts: Parts) -> None:
        self.retriever, self.parts = retriever, parts
        self.closes_embedder = True
        self._users, self._retired = 0, False
        self._lock = threading.Lock()

    def enter(self) -> None:
        with self._lock:
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            last = self._retired and self._users == 0
        if last:
            self._close()

    def retire(self) -> None:
        with self._lock:
            self._retired = True
            unused = self._users == 0
        if unused:
            self._close()

    def _close(self) -> None:
        self.retriever.close()
        if self.closes_embedder:
            close_embedder(self.parts)


class LiveIndex:
    """The published generation of one index, kept up to date.

    Args:
        name: Index.
        settings: Of its store, model and retrieval.
        metrics: Told of swaps and refusals.
        shards: Ask the shard groups; without any, all segments are opened here.
        timeout: Seconds that a shard group has for an answer.

    Raises:
        InputError: Nothing is published.
        BabelrayError: The published generation cannot be served, and there is no older one to go on with.
    """

    def __init__(
        self, name: str, settings: Settings, metrics: Metrics, shards: Sequence[Ask] = (), timeout: float = 10.0
    ) -> None:
        self.name, self.settings = name, settings
        self._metrics = metrics
        self._shards, self._timeout = tuple(shards), timeout
        self._store = open_store(settings.store)
        self.catalog = Catalog(self._store, name)
        self._swap = threading.Lock()
        self.refused: dict[str, str] = {}
        self._live = self._load(self.catalog.current().generation, None)

    @contextmanager
    def use(self) -> Iterator[Retriever]:
        """The retriever of now; it stays open for as long as this search lasts."""
        with self._swap:
            live = self._live
            live.enter()
        try:
            yield live.retriever
        finally:
            live.leave()

    @property
    def generation(self) -> str:
        """Id of the generation in use."""
        return self._live.retriever.generation.manifest.generation

    @property
    def retriever(self) -> Retriever:
        """The one of now, for facts about its generation; a search takes `use`."""
        return self._live.retriever

    @property
    def embedder(self) -> Embedder | None:
        """Of the generation in use."""
        return self._live.parts.embedder

    def refresh(self) -> bool:
        """Take up what was published since, and newer rights; says whether the generation changed.

        A generation that cannot be opened, does not reproduce its golden vectors or does not answer the probe is
        refused: the one in use stays, and the reason is kept until another generation is published.
        """
        generation = self._live.retriever.generation
        age = datetime.now(UTC) - generation.manifest.created_at
        self._metrics.age(self.name, age.total_seconds())
        pointer = self.catalog.pointer()
        wanted = pointer.generation if pointer else self.generation
        if wanted == self.generation:
            generation.refresh_access()
            return False
        if wanted in self.refused:
            return False
        try:
            fresh = self._load(wanted, self._live)
        except (BabelrayError, OSError) as error:
            self.refused = {wanted: str(error).partition("\n")[0]}
            self._metrics.generation(self.name, "refused")
            logger.exception("index %s: generation %s is refused, %s goes on", self.name, wanted, self.generation)
            return False
        with self._swap:
            old, self._live = self._live, fresh
        old.closes_embedder = old.parts is not fresh.parts
        old.retire()
        self.refused = {}
        self._metrics.generation(self.name, "swapped")
        logger.info("index %s: generation %s serves", self.name, wanted)
        return True

    def close(self) -> None:
        """End; searches that still run are let go on."""
        self._live.retire()

    def _open(self, generation: str) -> OpenGeneration:
        cache = self.settings.cache_dir
        if not self._shards:
            return open_generation(self._store, self.name, generation, cache)
        search = partial(ShardedSearch, self._shards, timeout=self._timeout)
        return open_elsewhere(self._store, self.name, generation, cache, search)

    def _load(self, generation: str, before: "_Live | None") -> _Live:
        opened = self._open(generation)
        if before is not None and before.parts.embedder is not None and opened.key == before.parts.embedder.key:
            # The same model, names and translators: a second copy in memory would serve nobody.
            parts = before.parts
        else:
            built = build_parts(self.settings, opened)
            parts = replace(built, embedder=JoinedEmbedder(built.embedder)) if built.embedder else built
        retriever = Retriever(opened, parts)
        nobody = AccessScope(tenant_id="nobody", groups=frozenset(), as_of=datetime.now(UTC))
        try:
            retriever.retrieve(Request(query=PROBE, k=1), nobody)
        except BaseException:
            retriever.close()
            if before is None or parts is not before.parts:
                close_embedder(parts)
            raise
        return _Live(retriever, parts)


def close_embedder(parts: Parts) -> None:
    """End the thread that joins encodes."""
    if isinstance(parts.embedder, JoinedEmbedder):
        parts.embedder.close()


def find_index(indexes: dict[str, LiveIndex], name: str | None) -> LiveIndex:
    """The index that a request names; the only one where it names none.

    Raises:
        InputError: There is no such index, or several and none was named.
    """
    if name is None and len(indexes) == 1:
        return next(iter(indexes.values()))
    if name is None or name not in indexes:
        allowed = ", ".join(sorted(indexes))
        raise InputError("no such index is served", got=name or "none named", allowed=allowed)
    return indexes[name]
