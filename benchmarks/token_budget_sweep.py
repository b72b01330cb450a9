"""Tokens a second of the default embedder by token budget, and of sentence-transformers on the same texts.

Two sets, each timed by itself: paragraphs, and the short sentences they consist of, languages mixed. All
configurations run in turn, round after round, and medians count, so that a busy machine slows all of them alike;
tokens a CPU second are given beside tokens a second of the clock, for the same reason.

    python benchmarks/token_budget_sweep.py PASSAGES.jsonl      # rows with a `text`
    python benchmarks/token_budget_sweep.py FOLDER              # the passages.jsonl in it
"""

import argparse
import json
import os
import random
import re
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measuring import write_results

from babelray.config import BundledE5Settings
from babelray.keys import ModelKey, Role
from models.bundled_e5 import bundled_e5_key, open_checkpoint
from models.checkpoints import load_model, load_own_tokenizer, load_tensors, read_config
from models.embedders.torch_encoder import ForwardPass, TorchEncoder
from models.packed_bert import PackedBert
from models.padded_model import PaddedModel
from models.registry import ensure_on_node
from models.tokenization import TextTokenizer

BUDGETS = (256, 512, 1024, 2048, 4096, 8192, 16_384)
BATCH_SIZES = (32, 4, 8, 16)
"""Of sentence-transformers; the first is its default."""


def main() -> None:
    """Parse the command line, measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("passages", type=Path, help="JSONL file with a `text` a row, or a folder with passages.jsonl")
    parser.add_argument("--paragraphs", type=int, default=40)
    parser.add_argument("--sentences", type=int, default=160)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/babelray"))
    arguments = parser.parse_args()
    cache = arguments.cache.expanduser()
    ensure_on_node(BundledE5Settings(kind="bundled-e5"), cache)
    folder, key = open_checkpoint(cache), bundled_e5_key("fp32")
    backend, pad_id = load_own_tokenizer(folder)
    tokenizer = TextTokenizer(backend, key)
    passes: dict[str, ForwardPass] = {
        "packed": PackedBert(read_config(folder), load_tensors(folder), "mean"),
        "padded": PaddedModel(load_model(folder, "fp32", torch.device("cpu")), "mean", pad_id, torch.device("cpu")),
    }
    library = sentence_transformer(folder)
    metrics: dict[str, Any] = {"threads": arguments.threads}
    for name, texts in text_sets(arguments).items():
        runs = configurations(texts, passes, tokenizer, key, library, arguments.threads)
        tokenized = tokenizer.tokenize(texts, Role.PASSAGE)
        metrics |= {f"{name}: texts": len(texts), f"{name}: tokens": len(tokenized.ids)}
        metrics |= {
            f"{name}: {label}": value for label, value in measure(runs, len(tokenized.ids), arguments.rounds).items()
        }
        metrics[f"{name}: smallest cosine of the two passes"] = agreement(texts, passes, tokenizer, key)
    write_results("token_budget_sweep", vars(arguments), metrics)


def text_sets(arguments: argparse.Namespace) -> dict[str, list[str]]:
    """A random part of the paragraphs, and of the different sentences in all of them."""
    path = arguments.passages / "passages.jsonl" if arguments.passages.is_dir() else arguments.passages
    texts = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
    pick = random.Random(7)
    sentences = sorted({part.strip() for text in texts for part in re.split(r"(?<=[.!?]) |(?<=[。！？])", text)} - {""})
    return {
        "paragraphs": pick.sample(texts, min(arguments.paragraphs, len(texts))),
        "sentences": pick.sample(sentences, min(arguments.sentences, len(sentences))),
    }


def sentence_transformer(folder: Path) -> Any:
    """The same checkpoint in sentence-transformers, pooled and normalized alike."""
    from sentence_transformers import SentenceTransformer, models

    transformer = models.Transformer(str(folder), max_seq_length=512)
    pooling = models.Pooling(transformer.get_word_embedding_dimension(), pooling_mode="mean")
    return SentenceTransformer(modules=[transformer, pooling, models.Normalize()], device="cpu")


def configurations(
    texts: Sequence[str],
    passes: dict[str, ForwardPass],
    tokenizer: TextTokenizer,
    key: ModelKey,
    library: Any,
    threads: int,
) -> dict[str, Callable[[], object]]:
    """Label -> what is timed; all of them tokenize too, and have `threads` threads in all."""
    runs: dict[str, Callable[[], object]] = {}

    def ours(encoder: TorchEncoder, inside: int) -> object:
        torch.set_num_threads(inside)
        return encoder.encode(texts, Role.PASSAGE)

    def theirs(size: int) -> object:
        torch.set_num_threads(threads)
        return library.encode(rendered, batch_size=size)

    for name, forward in passes.items():
        for budget in BUDGETS:
            side_by_side = TorchEncoder(forward, tokenizer, key, token_budget=budget, workers=threads)
            runs[f"{name}, budget {budget}, a batch a thread"] = partial(ours, side_by_side, 1)
    for budget in (1024, 4096):
        one = TorchEncoder(passes["packed"], tokenizer, key, token_budget=budget)
        runs[f"packed, budget {budget}, all threads in one batch"] = partial(ours, one, threads)
    rendered = [key.render(text, Role.PASSAGE) for text in texts]
    for size in BATCH_SIZES:
        runs[f"sentence-transformers, batch {size}"] = partial(theirs, size)
    return runs


def measure(runs: dict[str, Callable[[], object]], tokens: int, rounds: int) -> dict[str, str]:
    """Median tokens a second by the clock and by CPU time, and the range of the former."""
    seconds: dict[str, list[tuple[float, float]]] = {label: [] for label in runs}
    for number in range(rounds + 1):
        for label, run in runs.items():
            began, began_cpu = time.perf_counter(), time.process_time()
            run()
            if number:  # the first round warms up
                seconds[label].append((time.perf_counter() - began, time.process_time() - began_cpu))
    lines = {}
    for label, taken in seconds.items():
        clock, cpu = (sorted(tokens / one for one in values) for values in zip(*taken, strict=True))
        lines[label] = (
            f"{statistics.median(clock):7.0f} tok/s ({clock[0]:.0f}..{clock[-1]:.0f}), "
            f"{statistics.median(cpu):7.0f} tok/CPU s"
        )
    return lines


def agreement(texts: Sequence[str], passes: dict[str, ForwardPass], tokenizer: TextTokenizer, key: ModelKey) -> float:
    """Smallest cosine between the vectors of the packed and of the padded pass."""
    packed, padded = (
        TorchEncoder(forward, tokenizer, key, token_budget=1024).encode(texts, Role.PASSAGE).vectors
        for forward in passes.values()
    )
    return float(np.sum(packed.astype(np.float64) * padded, axis=1).min())


if __name__ == "__main__":
    main()
