"""Tokens a second of the whole reindex job, against the bare forward pass and against sentence-transformers.

All on the same texts, the same checkpoint and the same cores, in one run. The job's time is everything after Ray is up:
reading, languages, chunks, embedding, writing, building, measuring, publishing. The others embed a random part of the
very texts that the job embedded (chunks and sentences, each once), again and again in turn, and the medians count.

    python benchmarks/reindex_throughput.py                             # the demo's pages
    python benchmarks/reindex_throughput.py --jsonl passages.jsonl      # rows with a `text`
    python benchmarks/reindex_throughput.py --markdown docs/ --limit 300
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measuring import write_results

from babelray.config import BundledE5Settings, Settings
from babelray.index.shards import read_prepared
from babelray.index.store import open_store
from babelray.keys import Role
from babelray.text.chunks import passage_text
from babelray.text.prepare import sentence_text
from jobs.cluster import connect
from jobs.planning import make_plan
from jobs.reindex import run
from models.registry import build_embedder, ensure_on_node

BATCH_SIZES = (4, 8, 16, 32, 64, 128)
LANGUAGE_FOLDER = r"(^|/)(?P<lang>[a-z]{2}(-[a-z]{2,4})?)/"


def settings_of(arguments: argparse.Namespace, folder: Path) -> Settings:
    """A job over the input that the arguments name."""
    if arguments.jsonl:
        source: dict[str, Any] = {"path": str(arguments.jsonl), "format": "jsonl"}
    else:
        source = {"path": str(arguments.markdown), "format": "markdown", "language_from_path": LANGUAGE_FOLDER}
    return Settings.model_validate(
        {
            "store": str(arguments.store or folder / "store"),
            "index": "docs",
            "corpus": "docs",
            "sources": [source],
            "embedder": {"kind": "bundled-e5"},
            "units": {"target_texts": arguments.unit_texts},
        }
    )


def embedded_texts(settings: Settings, limit: int | None) -> list[str]:
    """The distinct texts of each unit, as the job embedded them."""
    store = open_store(settings.store)
    plan, _ = make_plan(settings, limit)
    texts: list[str] = []
    for unit in plan.record.units:
        found = []
        for one in read_prepared(store, plan.prepared(unit)):
            found += [passage_text(chunk) for chunk in one.chunks]
            found += [sentence_text(one, number) for number in range(len(one.sentences))]
        texts += dict.fromkeys(found)
    return texts


def sentence_transformer(settings: Settings) -> Any:
    """The same checkpoint in sentence-transformers, pooled and normalized alike."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    from models.bundled_e5 import open_checkpoint

    folder = str(open_checkpoint(settings.cache_dir))
    transformer = Transformer(folder, max_seq_length=512)
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="mean")
    return SentenceTransformer(modules=[transformer, pooling, Normalize()], device="cpu")


def timed(work: Callable[[], object], torch_threads: int) -> float:
    """Wall seconds of one call with so many threads inside an operation of torch."""
    torch.set_num_threads(torch_threads)
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Run everything and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", type=Path, default=Path("demo/corpus"), help="folder of Markdown pages")
    parser.add_argument("--jsonl", type=Path, help="file of rows with a `text`, instead of pages")
    parser.add_argument("--limit", type=int, help="files (or pieces of 1 MB) to take")
    parser.add_argument("--store", type=Path, help="empty folder that keeps the index; a temporary one by default")
    parser.add_argument("--unit-texts", type=int, default=3000)
    parser.add_argument("--compare-texts", type=int, default=1500, help="texts that the others embed in each round")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(arguments, settings_of(arguments, Path(folder)))


def measure(arguments: argparse.Namespace, settings: Settings) -> None:
    """The job once, then the others in turn."""
    assert isinstance(settings.embedder, BundledE5Settings)
    ensure_on_node(settings.embedder, settings.cache_dir)
    connect(settings)
    summary = run(settings, limit=arguments.limit)
    texts = embedded_texts(settings, arguments.limit)
    sample = random.Random(7).sample(texts, min(arguments.compare_texts, len(texts)))
    threads = torch.get_num_threads()
    embedder = build_embedder(settings.embedder, settings.cache_dir, threads=threads)
    tokenized = embedder.tokenize(sample, Role.PASSAGE)
    tokens = int(embedder.embed(tokenized).tokens.sum())
    other = sentence_transformer(settings)
    rendered = [embedder.key.render(text, Role.PASSAGE) for text in sample]
    few = rendered[:: max(len(rendered) // 300, 1)]
    by_size = {size: timed(lambda size=size: other.encode(few, batch_size=size), threads) for size in BATCH_SIZES}
    best = min(by_size, key=by_size.__getitem__)
    runs: dict[str, list[float]] = {
        "bare forward": [],
        "sentence-transformers default": [],
        "sentence-transformers best": [],
    }
    for _ in range(arguments.rounds):
        runs["bare forward"].append(tokens / timed(lambda: embedder.embed(tokenized), 1))
        runs["sentence-transformers default"].append(tokens / timed(lambda: other.encode(rendered), threads))
        runs["sentence-transformers best"].append(
            tokens / timed(lambda: other.encode(rendered, batch_size=best), threads)
        )
    rates = {name: statistics.median(values) for name, values in runs.items()}
    job = summary.tokens_a_second
    metrics = {
        "job tokens/s": round(job, 1),
        "job seconds": summary.seconds,
        "job tokens": summary.computed_tokens,
        "documents": summary.documents,
        "padding waste": round(summary.padding_waste, 4),
        **{f"{name} tokens/s": round(rate, 1) for name, rate in rates.items()},
        **{f"{name} runs": [round(one, 1) for one in values] for name, values in runs.items()},
        "best batch size": best,
        "compared texts": len(sample),
        "compared tokens": tokens,
        **{f"job / {name}": round(job / rate, 3) for name, rate in rates.items()},
    }
    write_results("reindex_throughput", vars(arguments), metrics)


if __name__ == "__main__":
    main()
