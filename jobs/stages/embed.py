"""Embed: a prepared shard to its vectors. One actor a GPU; on a CPU, one actor with torch's own threads."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from babelray.index.golden import GoldenVectors, check_golden, make_golden
from babelray.index.shards import EmbeddedShard, read_prepared, write_embedded
from babelray.index.store import Store, open_store
from babelray.keys import Role
from babelray.protocols import Encoded
from babelray.text.chunks import passage_text
from babelray.text.prepare import sentence_text
from jobs.ledger import Receipt
from jobs.planning import Plan
from jobs.stages.unit_work import FAILED, Row, run_unit
from models.registry import build_embedder, ensure_on_node

STAGE = "embed"
UNITS_IN_FLIGHT = 2
"""Units an actor works on at once: one on the device while the next is read and tokenized."""


class EmbedUnits:
    """A Ray Data actor that embeds one unit a call, with `UNITS_IN_FLIGHT` calls side by side.

    Args:
        plan: What is embedded with which model.
        threads: Threads of a forward pass on the CPU.
    """

    def __init__(self, plan: Plan, threads: int | None) -> None:
        settings = plan.settings
        self._plan = plan
        self._store = open_store(settings.store)
        self._ledger = plan.ledger(STAGE, self._store)
        ensure_on_node(settings.embedder, settings.cache_dir)
        self._embedder = build_embedder(settings.embedder, settings.cache_dir, threads=threads)
        self._device = threading.Lock()
        self._turns = Turns(UNITS_IN_FLIGHT)
        self._compare_with_first()

    def _compare_with_first(self) -> None:
        """Let the first embedder of a model key leave its golden vectors; every later one must reproduce them.

        Raises:
            ModelKeyMismatch: This worker's embedder makes other vectors than those that are stored already.
        """
        path = self._plan.embed_layout.golden
        if not self._store.exists(path):
            golden = make_golden(self._embedder)
            if self._store.create_if_absent(path, golden.model_dump_json().encode()):
                return
        check_golden(self._embedder, GoldenVectors.model_validate_json(self._store.read_bytes(path)))

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Embed the unit of a one-row batch."""
        row: Row = {name: values[0] for name, values in batch.items()}
        result = self._run(row)
        return {name: [value] for name, value in result.items()}

    def _run(self, row: Row) -> Row:
        unit = str(row["unit"])
        if row["outcome"] == FAILED or row["outcome"] == "quarantined":
            return row
        # A unit that is tried again may be the one that kills workers: alone, it takes no other unit's attempt with it.
        alone = UNITS_IN_FLIGHT == 1 or bool(self._ledger.marks(unit))
        with self._turns.take(alone=alone), ExitStack() as device:
            return run_unit(self._ledger, unit, lambda attempt: self._embed(unit, attempt, device), alone=alone)

    def _embed(self, unit: str, attempt: int, device: ExitStack) -> Receipt:
        seconds = {}
        began = time.perf_counter()
        chunks, sentences = _texts(self._store, self._plan.prepared(unit))
        distinct, place = _distinct([*chunks, *sentences])
        tokenized = self._embedder.tokenize(distinct, Role.PASSAGE)
        seconds["tokenize"] = time.perf_counter() - began
        # Held until the receipt is committed: what dies with this process is one unit's vectors, never two. Writing
        # takes about a hundredth of the time of computing.
        device.enter_context(self._device)
        began = time.perf_counter()
        encoded = self._embedder.embed(tokenized)
        seconds["embed"] = time.perf_counter() - began
        began = time.perf_counter()
        shard = _shard(encoded, place, len(chunks))
        record = write_embedded(self._store, self._plan.embedded(unit), shard)
        seconds["write"] = time.perf_counter() - began
        return Receipt(
            stage=STAGE,
            unit=unit,
            attempt=attempt,
            outputs=(record,),
            counts={
                "texts": len(chunks) + len(sentences),
                "distinct_texts": len(distinct),
                "tokens": int(encoded.tokens.sum()),
                "padded_tokens": encoded.padded_tokens,
                "truncated": int(shard.chunk_truncated.sum() + shard.sentence_truncated.sum()),
                **_refusals(shard),
            },
            seconds=seconds,
        )


class Turns:
    """Lets some callers in together, or one alone.

    Args:
        places: Callers at once.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._free = threading.Semaphore(places)
        self._one_alone = threading.Lock()

    @contextmanager
    def take(self, *, alone: bool) -> Iterator[None]:
        """Wait for one place, or for all of them."""
        wanted = self._places if alone else 1
        with self._one_alone if alone else _nothing():
            for _ in range(wanted):
                self._free.acquire()
        try:
            yield
        finally:
            self._free.release(wanted)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def _texts(store: Store, path: str) -> tuple[list[str], list[str]]:
    chunks: list[str] = []
    sentences: list[str] = []
    for prepared in read_prepared(store, path):
        chunks += [passage_text(chunk) for chunk in prepared.chunks]
        sentences += [sentence_text(prepared, number) for number in range(len(prepared.sentences))]
    return chunks, sentences


def _distinct(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Each text once, and where each of the given texts is among them."""
    number: dict[str, int] = {}
    place = np.fromiter((number.setdefault(text, len(number)) for text in texts), dtype=np.int64, count=len(texts))
    return list(number), place


def _shard(encoded: Encoded, place: NDArray[np.int64], chunks: int) -> EmbeddedShard:
    vectors = encoded.vectors.astype(np.float16)[place]
    tokens, truncated = encoded.tokens[place], encoded.truncated[place]
    refused = {at: encoded.refused[int(one)] for at, one in enumerate(place) if int(one) in encoded.refused}
    return EmbeddedShard(
        chunk_vectors=vectors[:chunks],
        sentence_vectors=vectors[chunks:],
        chunk_tokens=tokens[:chunks],
        sentence_tokens=tokens[chunks:],
        chunk_truncated=truncated[:chunks],
        sentence_truncated=truncated[chunks:],
        chunk_refused={at: reason for at, reason in refused.items() if at < chunks},
        sentence_refused={at - chunks: reason for at, reason in refused.items() if at >= chunks},
    )


def _refusals(shard: EmbeddedShard) -> dict[str, int]:
    reasons = Counter([*shard.chunk_refused.values(), *shard.sentence_refused.values()])
    return {f"refused.{reason}": count for reason, count in reasons.items()}


def embedder_threads(cpus: int, actors: int, configured: int, on_gpu: bool) -> int | None:
    """Threads of one actor's forward pass: as configured, or the machine's cores shared among the actors."""
    if on_gpu:
        return None
    return configured or max(cpus // max(actors, 1), 1)
