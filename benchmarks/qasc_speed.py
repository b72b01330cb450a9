"""Time of cutting again for one query: 20 documents with stored vectors, each profile, on one thread.

Two sizes: the 20 most similar articles of real questions, and the same as long documents, each repeated until 20 of
them hold about 5,000 sentences. What is timed is `rechunk` alone: no encoder, no reading of the index. The processor
time of the thread is given beside the time of the clock: on a busy machine it says more.

    OMP_NUM_THREADS=1 python benchmarks/qasc_speed.py DATA
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from measuring import write_results
from qasc_corpora import KeptVectors, Question, load_stored

from babelray.config import QascSettings
from babelray.index.document_sentences import DocumentSentences
from babelray.retrieval.qasc import rechunk

DOCUMENTS = 20
LONG = 10
"""Times an article of about 25 sentences is repeated in a long document."""


def main() -> None:
    """Parse the command line, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/babelray"))
    arguments = parser.parse_args()
    vectors = KeptVectors(arguments.cache.expanduser(), 1)
    (articles,) = load_stored(arguments.data, vectors, DOCUMENTS, only=["xquad en-en"])
    questions = articles.questions[:: max(1, len(articles.questions) // arguments.queries)]
    metrics: dict[str, Any] = {}
    for name, times in (("articles", 1), ("long documents", LONG)):
        longer = {doc_id: repeated(one, times) for doc_id, one in articles.documents.items()}
        sizes = [sum(len(longer[one.doc_id]) for one in question.documents) for question in questions]
        metrics[f"{name}: sentences, median"] = int(np.median(sizes))
        for profile in ("paper", "balanced", "precise", "auto"):
            settings = QascSettings.model_validate({"profile": profile})
            for clock, taken in milliseconds(questions, longer, settings).items():
                p50, p95 = np.percentile(taken, [50, 95])
                metrics[f"{name}: {profile}, {clock} ms p50, p95"] = f"{p50:.2f}, {p95:.2f}"
    write_results("qasc_speed", vars(arguments), metrics)


def milliseconds(
    questions: Sequence[Question], documents: dict[str, DocumentSentences], settings: QascSettings
) -> dict[str, list[float]]:
    """Wall and processor time of each question, after one that warms up."""
    taken: dict[str, list[float]] = {"wall": [], "processor": []}
    for question in [questions[0], *questions]:
        pool = [documents[one.doc_id] for one in question.documents]
        wall, processor = time.perf_counter(), time.thread_time()
        rechunk(question.query, pool, settings, 1024, key=pool[0].key, query_language="en")
        taken["processor"].append((time.thread_time() - processor) * 1000)
        taken["wall"].append((time.perf_counter() - wall) * 1000)
    return {clock: values[1:] for clock, values in taken.items()}


def repeated(document: DocumentSentences, times: int) -> DocumentSentences:
    """A document that says all of it so many times over, with a little noise so that no two sentences are equal."""
    if times == 1:
        return document
    n, blocks, length = len(document), int(document.blocks.max()) + 1, len(document.text)
    chunks = len(document.parents)
    rng = np.random.default_rng(n)
    shift = np.repeat(np.arange(times), n)

    def noisy(vectors: Any) -> Any:
        moved = np.tile(vectors, (times, 1)) + rng.normal(0, 0.01, (times * len(vectors), vectors.shape[1]))
        return (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)

    return replace(
        document,
        starts=np.tile(document.starts, times) + shift * length,
        ends=np.tile(document.ends, times) + shift * length,
        blocks=(np.tile(document.blocks, times) + shift * blocks).astype(np.int32),
        languages=document.languages * times,
        kinds=document.kinds * times,
        sections=np.tile(document.sections, times),
        tokens=np.tile(document.tokens, times),
        vectors=noisy(document.vectors),
        has_vector=np.tile(document.has_vector, times),
        parent_vectors=noisy(document.parent_vectors),
        parent_has_vector=np.tile(document.parent_has_vector, times),
        parents=(np.tile(document.parents, (times, 1)) + np.repeat(np.arange(times), chunks)[:, None] * n).astype(
            np.int32
        ),
        text=document.text * times,
    )


if __name__ == "__main__":
    main()
