"""Times of a search in this process, by stage, on a made-up generation with the word statistics of real pages.

The encoder is left out: query vectors are drawn at random near stored sentences. All else is the retriever as it is
served: language identification, anchors, names, four word channels and the dense one under a scope, fusion, passages
cut for the query, citations. Answers and vectors are not remembered. Processor time, of all threads together, says more
than the clock where other work runs on the machine. The generation is built on the first run (minutes
for 100,000 chunks) and kept in --store for the next.

    python benchmarks/retrieval_speed.py DOCS --chunks 100000 --store /tmp/speed
"""

import argparse
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from measuring import write_results
from speed_corpus import CLASSES, GENERATION, INDEX, Clusters, Pool, build, read_pool

from babelray.config import CacheSettings, RetrievalSettings, VectorSettings
from babelray.index.access import AccessScope
from babelray.index.layout import LAYOUT
from babelray.index.reader import OpenGeneration, open_generation
from babelray.index.store import open_store
from babelray.retrieval.aliases import AliasTable, load_entities
from babelray.retrieval.engine import Parts, Retriever
from babelray.retrieval.request import Request, Response
from babelray.text.anchors import exact_tokens
from babelray.text.language import LanguagePolicy
from babelray.text.scripts import UNSPACED, script_of
from models.identifier import FastTextIdentifier

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SHARES = (1.0, 0.5, 0.1, 0.01)
WARM_UP = 20
AFTER_FUSION = ("second look", "passages", "citations")
ENTITIES = Path(__file__).parent.parent / "demo" / "entities.jsonl"


def main() -> None:
    """Build or open the generation, ask, write the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", type=Path, help="folder of Markdown pages whose sentences are used")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--store", type=Path, default=Path("/tmp/babelray-speed"), help="kept for the next run")
    parser.add_argument("--pages", type=int, default=600, help="pages that sentences are taken from")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--k", type=int, default=10, help="documents that passages are cut from")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    pool = read_pool(asked.docs, asked.store / f"sentences-{asked.pages}.json", asked.pages)
    began = time.perf_counter()
    generation = prepare(asked.store / str(asked.chunks), pool, asked.chunks, asked.seed)
    opened = time.perf_counter() - began
    queries = make_queries(pool, asked.queries + WARM_UP, asked.seed)
    metrics = {"chunks": generation.manifest.counts.chunks, "sentences": generation.manifest.counts.sentences}
    metrics |= {"segments": len(generation.segments), "seconds to build or open": round(opened, 1)}
    metrics |= {"vectors": generation.manifest.vectors.kind, "recall@10": generation.manifest.vectors.recall}
    metrics |= measure(generation, queries, asked.k, asked.seed)
    write_results(f"retrieval_speed_{asked.chunks}", vars(asked), metrics)


def prepare(folder: Path, pool: Pool, chunks: int, seed: int) -> OpenGeneration:
    """The generation, built if the store does not hold it yet."""
    store = open_store(str(folder / "store"))
    if not store.exists(LAYOUT.index(INDEX).generation(GENERATION).manifest):
        build(store, folder / "work", pool, chunks, seed, VectorSettings())
    return open_generation(store, INDEX, GENERATION, folder / "cache")


def make_queries(pool: Pool, count: int, seed: int) -> list[str]:
    """Pieces of real sentences, three to nine words long, a fifth of them with a code of their sentence."""
    rng = np.random.default_rng(seed)
    languages = [tag for tag in pool.shares if tag not in ("zxx", "und")]
    weights = np.array([pool.shares[tag] for tag in languages])
    made: list[str] = []
    while len(made) < count:
        known = pool.sentences[languages[int(rng.choice(len(languages), p=weights / weights.sum()))]]
        sentence = known[int(rng.integers(0, len(known)))]
        piece = _piece(sentence, rng)
        codes = exact_tokens(sentence)
        if codes and len(made) % 5 == 0 and codes[0] not in piece:
            piece = f"{piece} {codes[0]}"
        if any(char.isalpha() for char in piece):
            made.append(piece)
    return made


def _piece(sentence: str, rng: np.random.Generator) -> str:
    letters = [char for char in sentence if char.isalpha()]
    words: Sequence[str] = sentence.split()
    joint, length = " ", int(rng.integers(3, 10))
    if letters and sum(script_of(char) in UNSPACED for char in letters) > len(letters) / 2:
        words, joint, length = sentence, "", length * 2
    start = int(rng.integers(0, max(len(words) - length, 0) + 1))
    return joint.join(words[start : start + length])


def measure(generation: OpenGeneration, queries: Sequence[str], k: int, seed: int) -> dict[str, float]:
    """Milliseconds of whole searches by share of rows that the scope allows, and of their stages where all are."""
    settings = RetrievalSettings(caches=CacheSettings(vectors=0, results=0, previews=0))
    parts = Parts(
        languages=LanguagePolicy(FastTextIdentifier()),
        settings=settings,
        embedder=Clusters(seed),
        aliases=AliasTable(load_entities([ENTITIES]), []),
    )
    retriever = Retriever(generation, parts)
    metrics: dict[str, float] = {}
    for share in SHARES:
        groups = frozenset(f"g{number:02d}" for number in range(max(int(CLASSES * share), 1)))
        scope = AccessScope(tenant_id="a", groups=groups, as_of=NOW)
        for query in queries[:WARM_UP]:
            _ask(retriever, query, scope, k)
        times, worked, passages = [], [], 0
        for query in queries[WARM_UP:]:
            began, busy = time.perf_counter(), time.process_time()
            response = _ask(retriever, query, scope, k)
            times.append((time.perf_counter() - began) * 1000)
            worked.append((time.process_time() - busy) * 1000)
            passages += len(response.passages)
        name = f"whole search, {share:.0%} of rows allowed"
        metrics |= _percentiles(name, times) | _percentiles(f"{name}, processor", worked)
        metrics[f"{name}: passages"] = round(passages / len(times), 2)
        if share == 1.0:
            metrics |= _stages(retriever, queries[WARM_UP:], scope, k)
    retriever.close()
    return metrics


def _stages(retriever: Retriever, queries: Sequence[str], scope: AccessScope, k: int) -> dict[str, float]:
    """Of searches that keep a trace. Over many chunks channels overlap in time: hybrid is what passed on the clock."""
    stages: dict[str, list[float]] = {}
    for query in queries:
        began = time.perf_counter()
        trace = _ask(retriever, query, scope, k, explain=True).trace
        whole = (time.perf_counter() - began) * 1000
        assert trace is not None
        spent = {stage.name: stage.milliseconds for stage in trace.stages}
        until_fusion = [one for one in trace.stages if one.name not in (*AFTER_FUSION, "query vector")]
        spent["hybrid, analysis to fusion"] = max(one.start_ms + one.milliseconds for one in until_fusion) - min(
            one.start_ms for one in until_fusion
        )
        spent["traced search"] = whole
        for name, milliseconds in spent.items():
            stages.setdefault(name, []).append(milliseconds)
    return {name: value for stage, times in stages.items() for name, value in _percentiles(stage, times).items()}


def _ask(retriever: Retriever, query: str, scope: AccessScope, k: int, *, explain: bool = False) -> Response:
    return retriever.retrieve(Request(query=query, k=k, explain=explain), scope, now=NOW)


def _percentiles(name: str, times: Sequence[float]) -> dict[str, float]:
    return {f"{name}: p{at} ms": round(float(np.percentile(times, at)), 2) for at in (50, 95)}


if __name__ == "__main__":
    main()
