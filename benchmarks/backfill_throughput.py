"""Payloads a second of term retrieval over a backlog, against embedding every n-gram of every payload.

    python benchmarks/backfill_throughput.py DATA [--rounds 3] [--naive 6] [--threads 2]

Payloads of 20 keys are cut from real English locale files; terms are those of the software glossaries for Spanish; the
embedder is the bundled e5. In one process and one run:

- enforced: read, match, select;
- hints, cold: the same, then each window that no term covers embedded once over the whole backlog and compared;
- hints, warm: the vectors are known from an earlier run;
- every n-gram: what is usually done: all 1- to 3-grams of a payload embedded, payload by payload, and compared. It is
  measured on `--naive` payloads, spread evenly, and given for all of them by their number of n-grams.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from glossary_matching import load_terms, make_payloads
from measuring import write_results

from babelray.config import BundledE5Settings
from babelray.glossary.hints import HintFinder, LiveSearch, build_hint_index
from babelray.glossary.match import MatchScope, StringMatches, TermMatcher
from babelray.glossary.ngrams import ngrams
from babelray.glossary.payload import parse_payload
from babelray.glossary.thresholds import starting_thresholds
from babelray.glossary.vector_cache import NGramVectors
from babelray.keys import Role
from babelray.protocols import Embedder
from models.registry import build_embedder, ensure_on_node

SCOPE = MatchScope("es")
SETTINGS = BundledE5Settings(kind="bundled-e5")


def main() -> None:
    """Measure all four."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--naive", type=int, default=6, help="payloads whose n-grams are all embedded")
    parser.add_argument("--threads", type=int, default=2, help="of the embedder")
    asked = parser.parse_args()
    payloads = make_payloads(asked.data)
    terms = [term for term in load_terms(asked.data) if term.target_locale == "es"]
    matcher = TermMatcher(terms, "en")
    matcher.count(SCOPE)
    cache = Path("~/.cache/babelray").expanduser()
    ensure_on_node(SETTINGS, cache)
    embedder = build_embedder(SETTINGS, cache, threads=asked.threads)
    embedder.encode(["warm up"] * 32, Role.QUERY)
    index = build_hint_index(matcher, embedder, NGramVectors(embedder.key))
    thresholds = starting_thresholds(embedder.key)

    def finder(vectors: NGramVectors) -> HintFinder:
        return HintFinder(matcher, LiveSearch(index, embedder, vectors), thresholds)

    enforced = [_timed(lambda: _match(matcher, payloads, with_ngrams=False)) for _ in range(asked.rounds)]
    vectors = NGramVectors(embedder.key, 1_000_000)
    cold = _timed(lambda: finder(vectors).find(_match(matcher, payloads, with_ngrams=True), SCOPE))
    warm = [
        _timed(lambda: finder(vectors).find(_match(matcher, payloads, with_ngrams=True), SCOPE))
        for _ in range(asked.rounds)
    ]
    naive = _naive(matcher, embedder, index.similar, payloads, asked.naive)
    rates = {
        "enforced": len(payloads) / statistics.median(enforced),
        "hints, cold": len(payloads) / cold,
        "hints, warm": len(payloads) / statistics.median(warm),
        "every n-gram": len(payloads) / naive["seconds for all"],
    }
    metrics: dict[str, Any] = {"payloads": len(payloads), "terms": len(terms), "windows embedded cold": len(vectors)}
    metrics |= {f"{name}: payloads/s": round(rate, 2) for name, rate in rates.items()}
    metrics |= {
        f"{name} over every n-gram": round(rate / rates["every n-gram"], 1)
        for name, rate in rates.items()
        if name != "every n-gram"
    }
    metrics |= {
        "enforced rounds, s": [round(one, 3) for one in enforced],
        "warm rounds, s": [round(w, 3) for w in warm],
    }
    metrics |= {"cold, s": round(cold, 2), **naive}
    write_results("backfill_throughput", vars(asked), metrics)


def _match(matcher: TermMatcher, payloads: Sequence[str], *, with_ngrams: bool) -> list[StringMatches]:
    return [
        matcher.match(string.value, SCOPE, pointer=string.pointer, with_ngrams=with_ngrams)
        for raw in payloads
        for string in parse_payload(raw).strings
    ]


def _naive(
    matcher: TermMatcher, embedder: Embedder, similar: Callable[..., Any], payloads: Sequence[str], sample: int
) -> dict[str, Any]:
    grams = [
        [gram.text for found in _match(matcher, [raw], with_ngrams=False) for gram in ngrams(found.normalized, "en", 3)]
        for raw in payloads
    ]
    chosen = list(range(0, len(grams), max(len(grams) // sample, 1)))[:sample]
    threshold = starting_thresholds(embedder.key).default
    spent = sum(
        _timed(lambda texts=grams[at]: similar(embedder.encode(texts, Role.QUERY).vectors, threshold)) for at in chosen
    )
    embedded, total = sum(len(grams[at]) for at in chosen), sum(map(len, grams))
    return {
        "n-grams": total,
        "n-grams embedded for the comparison": embedded,
        "n-grams/s": round(embedded / spent, 1),
        "seconds for all": round(spent * total / embedded, 1),
    }


def _timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
