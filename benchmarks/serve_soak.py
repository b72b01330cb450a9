"""Minutes of mixed load while generations are swapped: failed requests, latency, and whether memory stays flat.

    python benchmarks/serve_soak.py DOCS [--minutes 10] [--every 30] [--connections 8] [--embedder hash]

Every connection sends the next request when it has an answer: searches, glossary matches, payloads to localize (each
scored afterwards), embeddings, reports, lists of indexes and generations, health. Every `--every` seconds the other of
two generations is published. Memory of the replica is noted every five seconds and drawn into
benchmarks/plots/serve_soak.png: its own pages, which a leak would make grow, and with mapped files.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import ray
from matplotlib.figure import Figure
from measuring import write_results
from ray import serve
from serve_http import HOST, PORT, prepare, publish_by_turns, replica_process

from babelray.config import Settings
from babelray.glossary.store import open_glossaries
from babelray.glossary.terms import Term, TermKind

PLOT = Path(__file__).parent / "plots" / "serve_soak.png"
TERMS = {"cluster": "clúster", "node": "nodo", "backup": "copia de seguridad", "image": "imagen", "key": "clave"}
STRINGS = ("Restart the cluster", "{n} images in this backup", "Rotate the key of node {name}", "Nothing of note here")
SHARES = {
    "retrieve": 60, "match": 12, "localize": 10, "embeddings": 6,
    "feedback": 2, "indexes": 4, "generations": 3, "health": 3,
}  # fmt: skip


def main() -> None:
    """Serve, load, swap, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", type=Path)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--every", type=float, default=30.0, help="seconds between publishes")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=4, help="searches at a time in the replica")
    parser.add_argument("--embedder", default="hash", choices=("hash", "bundled-e5"))
    asked = parser.parse_args()
    asked.publish = asked.every
    with tempfile.TemporaryDirectory() as folder:
        settings, queries, generations = prepare(Path(folder), asked, localization(Path(folder)))
        metrics = asyncio.run(soak(settings, queries, generations, asked))
        serve.shutdown()
        ray.shutdown()
    write_results("serve_soak", vars(asked), metrics)


def localization(folder: Path) -> dict[str, Any]:
    """Settings of a small glossary; there is no translator, so that localizing is what we do ourselves."""
    database = f"sqlite:///{folder / 'glossaries.sqlite'}"
    terms = [
        Term(
            term_id=source, source_locale="en", target_locale="es", source=source, target=target,
            kind=TermKind.CUSTOM_TRANSLATION,
        )
        for source, target in TERMS.items()
    ]  # fmt: skip
    open_glossaries(database).commit("main", terms)
    profile = folder / "profile.yaml"
    profile.write_text("name: soak\ntenant_id: default\nglossaries: [main]\npreload_limit: 0\n")
    hints = {"enabled": False}
    return {"localization": {"database": database, "profile": str(profile), "hints": hints}}


async def soak(
    settings: Settings, queries: list[str], generations: list[str], asked: argparse.Namespace
) -> dict[str, Any]:
    """Load for the time asked, and what came of it."""
    end = time.monotonic() + asked.minutes * 60
    swaps = asyncio.create_task(publish_by_turns(settings, generations, asked.every))
    times: dict[str, list[float]] = defaultdict(list)
    codes: Counter[str] = Counter()
    served: Counter[str] = Counter()
    limits = httpx.Limits(max_connections=asked.connections, max_keepalive_connections=asked.connections)
    base = f"http://{HOST}:{PORT}"
    async with httpx.AsyncClient(base_url=base, limits=limits, timeout=60, trust_env=False) as client:

        async def one(seed: int) -> None:
            rng = random.Random(seed)
            while time.monotonic() < end:
                kind = rng.choices(list(SHARES), list(SHARES.values()))[0]
                began = time.perf_counter()
                try:
                    answer = await _ask(client, kind, rng, queries)
                except httpx.TransportError as error:
                    codes[f"{kind} {type(error).__name__}"] += 1
                    continue
                times[kind].append(time.perf_counter() - began)
                if not answer.is_success:
                    codes[f"{kind} {answer.status_code}"] += 1
                elif kind == "retrieve":
                    served[answer.json()["generation"]] += 1

        memory = asyncio.create_task(_watch_memory(replica_process(), end))
        await asyncio.gather(*(one(seed) for seed in range(asked.connections)))
        points = await memory
    swaps.cancel()
    draw(points, asked.every)
    total = sum(map(len, times.values()))
    own = [used for _, used, _ in points]
    settled = [used for at, used, _ in points if at > 60] or own
    metrics: dict[str, Any] = {
        "requests": total,
        "requests/s": round(total / (asked.minutes * 60), 1),
        "failed": dict(codes),
        "swaps": int(asked.minutes * 60 / asked.every),
        "searches by generation": dict(served),
        "own memory of the replica, MiB: start, after a minute, end, most": [
            round(one) for one in (own[0], settled[0], own[-1], max(own))
        ],
    }
    for kind, spent in sorted(times.items()):
        p50, p95, p99 = (float(np.percentile(spent, at)) * 1000 for at in (50, 95, 99))
        metrics[kind] = f"{len(spent)}: p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f} ms"
    return metrics


async def _ask(client: httpx.AsyncClient, kind: str, rng: random.Random, queries: list[str]) -> httpx.Response:
    strings = rng.sample(STRINGS, 2)
    if kind == "retrieve":
        return await client.post("/v1/retrieve", json={"query": rng.choice(queries), "k": rng.choice((3, 10))})
    if kind == "match":
        return await client.post("/v1/glossary/match", json={"strings": strings, "target": "es"})
    if kind == "localize":
        payload = f'{{"a": "{strings[0]}", "b": {{"c": "{strings[1]}"}}}}'
        return await client.post("/v1/localize", json={"payload": payload, "target": "es"})
    if kind == "embeddings":
        return await client.post("/v1/embeddings", json={"input": [rng.choice(queries)], "model": "speed"})
    if kind == "feedback":
        return await client.post("/v1/feedback", json={"request_id": "soak", "kind": "missing"})
    paths = {"indexes": "/v1/indexes", "generations": "/v1/indexes/speed/generations", "health": "/healthz"}
    return await client.get(paths[kind])


async def _watch_memory(process: psutil.Process, end: float) -> list[tuple[float, float, float]]:
    """Seconds, MiB of the process alone, MiB with mapped files."""
    points, began = [], time.monotonic()
    while time.monotonic() < end:
        used = process.memory_full_info()
        points.append((time.monotonic() - began, used.uss / 2**20, used.rss / 2**20))
        await asyncio.sleep(5)
    return points


def draw(points: list[tuple[float, float, float]], every: float) -> None:
    """Memory over time, with a line at every swap."""
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    axes = figure.subplots()
    minutes = [at / 60 for at, _, _ in points]
    axes.plot(minutes, [own for _, own, _ in points], label="the process alone")
    axes.plot(minutes, [whole for _, _, whole in points], label="with mapped files")
    for number in range(1, int(points[-1][0] / every) + 1):
        axes.axvline(number * every / 60, color="0.85", linewidth=0.8, zorder=0)
    axes.set(xlabel="minutes; grey: a generation is published", ylabel="memory, MiB", ylim=(0, None))
    axes.legend(frameon=False)
    figure.savefig(PLOT, dpi=130)


if __name__ == "__main__":
    main()
