"""Memory of a reindex job at 1 x and 10 x the corpus: it should not grow with the number of documents.

Rows of made-up words go through the whole job with the hash embedder, each size in a process of its own, started from
nothing; its memory is sampled from outside. The driver is the process of the `babelray` command. The largest worker is
the largest process that it started, Ray's own included.

    python benchmarks/reindex_memory.py
    python benchmarks/reindex_memory.py --rows 20000 --factor 10
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml
from measuring import write_results

_EVERY = 0.05
"""Seconds between samples."""


@dataclass
class Peaks:
    """Highest resident sizes seen, in bytes."""

    driver: int = 0
    worker: int = 0
    all: int = 0

    def sample(self, process: psutil.Process) -> None:
        """Look at a process and at all that it started."""
        driver = _resident(process)
        others = [_resident(one) for one in process.children(recursive=True)]
        self.driver = max(self.driver, driver)
        self.worker = max([self.worker, *others])
        self.all = max(self.all, driver + sum(others))


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def write_rows(path: Path, rows: int, words: int, seed: int) -> None:
    """JSONL rows of random words out of 5,000, in sentences of ten."""
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices("abcdefghiklmnoprstuvz", k=chance.randint(3, 9))) for _ in range(5000)]
    with path.open("w", encoding="utf-8") as sink:
        for number in range(rows):
            text = chance.choices(vocabulary, k=words)
            sentences = [" ".join(text[at : at + 10]).capitalize() + "." for at in range(0, words, 10)]
            sink.write(json.dumps({"id": f"r{number}", "text": " ".join(sentences)}) + "\n")


def measure(arguments: argparse.Namespace, rows: int, folder: Path) -> dict[str, Any]:
    """One job over so many rows, in a store of its own."""
    folder.mkdir()
    write_rows(folder / "rows.jsonl", rows, arguments.words, arguments.seed)
    settings = {
        "store": str(folder / "store"),
        "cache": str(folder / "cache"),
        "sources": [{"path": str(folder / "rows.jsonl"), "format": "jsonl"}],
        "embedder": {"kind": "hash", "dimension": arguments.dimension},
        "units": {"target_texts": arguments.unit_texts},
    }
    (folder / "job.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    command = [sys.executable, "-m", "cli.main", "reindex", "run", "-c", str(folder / "job.yaml"), "--json"]
    began, peaks = time.perf_counter(), Peaks()
    with (folder / "summary.json").open("wb") as output:
        job = subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=output)
        process = psutil.Process(job.pid)
        while job.poll() is None:
            try:
                peaks.sample(process)
            except psutil.NoSuchProcess:
                break
            time.sleep(_EVERY)
    if job.wait() != 0:
        raise SystemExit(f"the job over {rows} rows ended with {job.returncode}")
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return {
        "rows": rows,
        "input MiB": round((folder / "rows.jsonl").stat().st_size / 2**20, 1),
        "units": summary["units"],
        "segments": summary["segments"],
        "documents": summary["documents"],
        "texts": summary["texts"],
        "seconds": round(time.perf_counter() - began, 1),
        "driver MiB": round(peaks.driver / 2**20, 1),
        "largest worker MiB": round(peaks.worker / 2**20, 1),
        "all processes MiB": round(peaks.all / 2**20, 1),
    }


def main() -> None:
    """Both sizes, then their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000, help="documents of the small corpus")
    parser.add_argument("--factor", type=int, default=10, help="the large corpus has so many times as many")
    parser.add_argument("--words", type=int, default=60, help="words a document")
    parser.add_argument("--dimension", type=int, default=64)
    parser.add_argument("--unit-texts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small = measure(arguments, arguments.rows, Path(folder) / "small")
        large = measure(arguments, arguments.rows * arguments.factor, Path(folder) / "large")
    ratios = {
        f"{name}, {arguments.factor} x / 1 x": round(large[f"{name} MiB"] / small[f"{name} MiB"], 3)
        for name in ("driver", "largest worker", "all processes")
    }
    write_results("reindex_memory", vars(arguments), {"1 x": small, f"{arguments.factor} x": large, **ratios})


if __name__ == "__main__":
    main()
