"""HTTP times of the endpoint against an empty handler of the same Ray Serve, in one run.

    python benchmarks/serve_http.py DOCS [--chunks 10000] [--seconds 6] [--embedder hash]

An index of pieces of real sentences is built by the reindex job; then `/v1/retrieve` and a handler that answers `{}`
are asked by 1, 8, 32 and 128 connections that each send the next request when they have an answer. Queries differ,
answers are not remembered. Client, proxy and replica share this machine's cores. With `--publish N` a second generation
is published and rolled back every N seconds meanwhile, and memory is noted.
"""

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import ray
import yaml
from fastapi import FastAPI
from measuring import write_results
from ray import serve
from speed_corpus import read_pool

from babelray.config import Settings
from babelray.index.generations import Catalog
from babelray.index.store import open_store
from jobs.cluster import connect
from jobs.reindex import run as reindex

CONNECTIONS = (1, 8, 32, 128)
HOST, PORT = "127.0.0.1", 8765


def main() -> None:
    """Build, serve, ask."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", type=Path)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=6.0, help="of each measurement")
    parser.add_argument("--embedder", default="hash", choices=("hash", "bundled-e5"))
    parser.add_argument("--concurrency", type=int, default=4, help="searches at a time in the replica")
    parser.add_argument("--publish", type=float, default=0.0, help="seconds between publishes; 0: none")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings, queries, others = prepare(Path(folder), asked)
        metrics = asyncio.run(measure(settings, queries, asked, others))
        serve.shutdown()
        ray.shutdown()
    write_results(f"serve_http_{asked.embedder}", vars(asked), metrics)


def prepare(
    folder: Path, asked: argparse.Namespace, more: dict[str, Any] | None = None
) -> tuple[Settings, list[str], list[str]]:
    """Build the index, and a second generation if it is to be swapped; start Serve with both applications.

    Args:
        folder: For everything.
        asked: chunks, embedder, concurrency, publish; docs.
        more: Settings beside those of the index.

    Returns:
        Settings, queries, generations.
    """
    pool = read_pool(asked.docs, folder / "sentences.json", 200)
    sentences = [text for found in pool.sentences.values() for text in found if len(text.split()) > 4 or len(text) > 30]
    rng = np.random.default_rng(1)
    rows = [" ".join(sentences[int(at)] for at in rng.integers(0, len(sentences), 2)) for _ in range(asked.chunks)]
    corpus = folder / "rows.jsonl"
    corpus.write_text("".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(rows)))
    values: dict[str, Any] = {
        "store": str(folder / "store"),
        "index": "speed",
        "corpus": "speed",
        "sources": [{"path": str(corpus), "format": "jsonl"}],
        "embedder": {"kind": asked.embedder, **({"dimension": 384} if asked.embedder == "hash" else {})},
        "retrieval": {"caches": {"results": 0, "vectors": 0, "previews": 0}},
        "serving": {"concurrency": asked.concurrency, "waiting": 1000, "deadline_seconds": 60, "refresh_seconds": 0.2},
        **(more or {}),
    }
    settings = Settings.model_validate(values)
    connect(settings)
    generations = [reindex(settings).generation]
    if asked.publish:
        with corpus.open("a") as more:
            more.write(json.dumps({"id": "last", "text": "one more row"}) + "\n")
        generations.append(reindex(settings, publish=False).generation)
    path = folder / "settings.yaml"
    path.write_text(yaml.safe_dump(values))
    from serve.app import build

    serve.start(http_options={"host": HOST, "port": PORT}, proxy_location="HeadOnly")
    options = {"max_ongoing_requests": 2000, "max_queued_requests": 2000, "ray_actor_options": {"num_cpus": 0.5}}
    serve.run(build({"config": str(path)}, {"Endpoint": options}), name="babelray", route_prefix="/")
    serve.run(empty(options), name="empty", route_prefix="/empty")
    pieces = [" ".join(text.split()[:6]) if " " in text else text[:12] for text in sentences]
    return settings, [pieces[int(at)] for at in rng.integers(0, len(pieces), 5000)], generations


def empty(options: dict[str, Any]) -> Any:
    """A handler that does nothing but answer."""
    app = FastAPI()

    @app.post("/")
    async def nothing() -> dict[str, Any]:
        return {}

    class Empty:
        pass

    return serve.deployment(serve.ingress(app)(Empty)).options(**options).bind()


async def measure(
    settings: Settings, queries: list[str], asked: argparse.Namespace, generations: list[str]
) -> dict[str, Any]:
    """Both handlers at every number of connections, the empty one first."""
    metrics: dict[str, Any] = {"chunks": asked.chunks}
    swaps = asyncio.create_task(publish_by_turns(settings, generations, asked.publish)) if asked.publish else None
    replica = replica_process()
    memory = [replica.memory_info().rss / 2**20]
    floor = 0.0
    for connections in CONNECTIONS:
        for name, path in (("empty", "/empty/"), ("retrieve", "/v1/retrieve")):
            times, failures, seconds = await _load(path, queries, connections, asked.seconds)
            p50, p95 = (float(np.percentile(times, at)) * 1000 for at in (50, 95))
            if name == "empty" and connections == 1:
                floor = p50
            metrics[f"{name}, {connections} connections"] = (
                f"p50 {p50:.1f} ms, p95 {p95:.1f} ms, {len(times) / seconds:.0f} requests/s, {failures} failed"
            )
            if name == "retrieve" and connections == 1:
                metrics["retrieve p50 over the empty handler, 1 connection, ms"] = round(p50 - floor, 1)
        memory.append(replica.memory_info().rss / 2**20)
    if swaps is not None:
        swaps.cancel()
        metrics["swaps"] = "every " + f"{asked.publish:g} s"
    metrics["memory of the replica, MiB"] = [round(one) for one in memory]
    return metrics


def replica_process() -> psutil.Process:
    """The process that serves."""
    for process in psutil.process_iter(["cmdline"]):
        if "ServeReplica:babelray" in " ".join(process.info["cmdline"] or ()):
            return process
    raise RuntimeError("the replica's process was not found")


async def publish_by_turns(settings: Settings, generations: list[str], seconds: float) -> None:
    """Publish one generation after the other, for ever."""
    catalog = Catalog(open_store(settings.store), settings.index)
    number = 0
    while True:
        await asyncio.sleep(seconds)
        number += 1
        await asyncio.to_thread(catalog.publish, generations[number % 2])


async def _load(path: str, queries: list[str], connections: int, seconds: float) -> tuple[list[float], int, float]:
    """Seconds of every good answer, how many were none, and how long it took."""
    times: list[float] = []
    failures = 0
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    async with httpx.AsyncClient(
        base_url=f"http://{HOST}:{PORT}", limits=limits, timeout=60, trust_env=False
    ) as client:
        end = time.perf_counter() + seconds

        async def one(number: int) -> None:
            nonlocal failures
            while time.perf_counter() < end:
                number += connections
                body = {"query": queries[number % len(queries)]} if path.startswith("/v1") else {}
                began = time.perf_counter()
                answer = await client.post(path, json=body)
                spent = time.perf_counter() - began
                if answer.status_code == httpx.codes.OK:
                    times.append(spent)
                else:
                    failures += 1

        await asyncio.gather(*(one(number) for number in range(min(connections, 2))))  # warm
        times.clear()
        failures, began, end = 0, time.perf_counter(), time.perf_counter() + seconds
        await asyncio.gather(*(one(number) for number in range(connections)))
        return times, failures, time.perf_counter() - began


if __name__ == "__main__":
    main()
