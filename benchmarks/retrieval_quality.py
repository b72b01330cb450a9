"""Recall of each channel, of their union and of the fused list, by language pair, on passages with known answers.

    python benchmarks/retrieval_quality.py xquad FOLDER             # paragraphs and questions in en, zh, de, es
    python benchmarks/retrieval_quality.py k8s_xretrieval FOLDER    # sections and headings; zh-cn, ja, pt-br -> en

Every pair of a query language and an evidence language is a search of its own in an index of the evidence language
alone: the corpora are parallel, and an index of all languages would answer a German question with the German text.
Channels are taken from the traces of the very searches that a user gets. A channel's unique gain is the share of
queries whose answer no other channel found. Settings may be given (`--config`); half of the queries, chosen by a hash
of their group, are for tuning, and only the other half is reported, unless `--half tune` asks for it.
"""

import argparse
import hashlib
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measuring import write_results

from babelray.config import BundledE5Settings, Settings, SourceSettings, load_settings
from babelray.index.access import AccessScope
from babelray.index.reader import open_generation
from babelray.index.store import open_store
from babelray.retrieval.engine import Retriever
from babelray.retrieval.request import Request
from jobs.cluster import connect
from jobs.reindex import run
from models.retrieval_parts import build_parts

DEPTH = 50
AT = 10
TAGS = {"zh": "zh-Hans", "zh-cn": "zh-Hans", "pt-br": "pt"}


@dataclass(frozen=True)
class Case:
    """A query and the passages that answer it."""

    text: str
    language: str
    gold: frozenset[str]
    group: str


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a JSONL file."""
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def half_of(group: str) -> str:
    """`tune` or `report`; queries of one passage stay together."""
    return ("tune", "report")[hashlib.sha256(group.encode()).digest()[0] % 2]


def passages_of(folder: Path, language: str, limit: int | None) -> list[dict[str, Any]]:
    """Passages of one language; where there is a limit, a random part that keeps all answers."""
    found = [row for row in rows(folder / "passages.jsonl") if row["lang"] == language]
    if limit is None or len(found) <= limit:
        return found
    gold = {row["gold_group"] for row in rows(folder / "queries.jsonl") if usable(row)}
    needed = [row for row in found if row["group_id"] in gold]
    others = [row for row in found if row["group_id"] not in gold]
    return needed + random.Random(7).sample(others, max(min(limit - len(needed), len(others)), 0))


def usable(row: dict[str, Any]) -> bool:
    """Headings that fit many sections, and those whose translation lost an anchor, say nothing about retrieval."""
    return not row.get("generic", False) and row.get("anchor_ok", True) is not False


def cases_of(folder: Path, language: str, evidence: str, passages: Sequence[dict[str, Any]], half: str) -> list[Case]:
    """Queries of a language whose answer is among the passages of the evidence language."""
    by_group = {row["group_id"]: row["id"] for row in passages}
    cases = []
    for row in rows(folder / "queries.jsonl"):
        gold = by_group.get(row["gold_group"])
        if row["lang"] == language and gold and usable(row) and half in ("all", half_of(row["gold_group"])):
            cases.append(Case(row.get("question") or row["query"], language, frozenset({gold}), row["gold_group"]))
    return cases


def index_of(store: Path, name: str, passages: Sequence[dict[str, Any]], settings: Settings) -> Settings:
    """Build and publish an index of passages with the real job, unless the store has it; the settings to search it."""
    path = store / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for row in passages:
            title = row["title"].replace("_", " ")
            heading = row.get("heading", "")
            text = f"{heading}\n\n{row['text']}" if heading else row["text"]
            file.write(json.dumps({"id": row["id"], "title": title, "text": text}, ensure_ascii=False) + "\n")
    # One chunk a passage: what is measured is search, not where a passage is cut.
    own = {
        "store": str(store / "store"),
        "index": name,
        "corpus": name,
        "sources": (SourceSettings(path=str(path), format="jsonl"),),
        "text": settings.text.model_copy(update={"max_tokens": 2048}),
        "publish": True,
    }
    whole = settings.model_copy(update=own)
    connect(whole)
    run(whole)
    return whole


def measure(settings: Settings, cases: Sequence[Case], ids: dict[str, str]) -> dict[str, float]:
    """Recall at 10 and 50 by channel, union, unique gain, and the fused list's recall and reciprocal rank."""
    opened = open_generation(open_store(settings.store), settings.index, None, settings.cache_dir)
    retriever = Retriever(opened, build_parts(settings, opened))
    scope = AccessScope(tenant_id="default", as_of=datetime.now(UTC))
    hits: dict[str, list[float]] = {}
    began = time.perf_counter()
    for case in cases:
        response = retriever.retrieve(Request(query=case.text, k=DEPTH, explain=True), scope)
        assert response.trace is not None
        gold = [one for one in response.trace.candidates if ids[one.doc_id] in case.gold]
        best = {name: min(one.channels[name].rank for one in gold if name in one.channels)
                for name in {name for one in gold for name in one.channels}}  # fmt: skip
        for name in (*response.trace.channel_counts, "fused"):
            rank = min((one.fused_rank for one in gold), default=10**9) if name == "fused" else best.get(name, 10**9)
            hits.setdefault(f"{name} recall@{AT}", []).append(float(rank <= AT))
            hits.setdefault(f"{name} recall@{DEPTH}", []).append(float(rank <= DEPTH))
            hits.setdefault(f"{name} unique@{DEPTH}", []).append(float(set(best) == {name}))
        final = min((one.rerank_rank or one.fused_rank for one in gold), default=10**9)
        hits.setdefault("union recall", []).append(float(bool(best)))
        hits.setdefault(f"final MRR@{AT}", []).append(1 / final if final <= AT else 0.0)
        passage = [one.rank for one in response.passages if ids[one.citation.doc_id] in case.gold]
        hits.setdefault(f"passage MRR@{AT}", []).append(1 / min(passage) if passage and min(passage) <= AT else 0.0)
    retriever.close()
    means = {name: sum(values) / len(cases) for name, values in hits.items() if not name.startswith("fused unique")}
    return {"queries": float(len(cases)), "seconds a query": (time.perf_counter() - began) / len(cases), **means}


def main() -> None:
    """Parse the command line, build what is missing, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", choices=("xquad", "k8s_xretrieval"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--config", type=Path, help="settings of retrieval; the defaults without it")
    parser.add_argument("--store", type=Path, default=Path("benchmarks/out/retrieval_quality"))
    parser.add_argument("--evidence", nargs="*", help="evidence languages; all of the corpus by default")
    parser.add_argument("--passages", type=int, help="passages of the k8s corpus at most, answers kept")
    parser.add_argument("--queries", type=int, default=300, help="queries of a pair at most, a random part")
    parser.add_argument("--half", choices=("report", "tune", "all"), default="report")
    arguments = parser.parse_args()
    settings = load_settings(arguments.config)
    settings = settings.model_copy(update={"embedder": BundledE5Settings(kind="bundled-e5")})
    languages = ("en", "zh", "de", "es") if arguments.corpus == "xquad" else ("zh-cn", "ja", "pt-br")
    evidence = arguments.evidence or (("en", "zh", "de", "es") if arguments.corpus == "xquad" else ("en",))
    metrics: dict[str, Any] = {}
    for target in evidence:
        passages = passages_of(arguments.folder, target, arguments.passages)
        name = f"{arguments.corpus}-{target}".replace("_", "-")
        own = index_of(arguments.store, name, passages, settings)
        ids = doc_ids(own)
        for source in languages:
            cases = cases_of(arguments.folder, source, target, passages, arguments.half)
            if source == target or not cases:
                continue
            chosen = random.Random(7).sample(cases, min(arguments.queries, len(cases)))
            metrics[f"{source} -> {target}"] = {
                name: round(value, 4) for name, value in sorted(measure(own, chosen, ids).items())
            }
            print(source, target, json.dumps(metrics[f"{source} -> {target}"]), flush=True)
    write_results("retrieval_quality", vars(arguments), metrics)


def doc_ids(settings: Settings) -> dict[str, str]:
    """Our document id -> the passage's own, which ends the source address."""
    opened = open_generation(open_store(settings.store), settings.index, None, settings.cache_dir)
    return {
        doc_id: uri.split("#", 1)[-1]
        for segment in opened.segments
        for doc_id, uri in zip(
            segment.documents["doc_id"].to_pylist(), segment.documents["source_uri"].to_pylist(), strict=True
        )
    }


if __name__ == "__main__":
    main()
