"""Results of a benchmark: parameters, metrics and the environment they were measured in, as files and on screen."""

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "out"
_PACKAGES = ("ray", "torch", "transformers", "faiss-cpu", "pyarrow", "tantivy", "numpy", "sentence-transformers")


def environment() -> dict[str, Any]:
    """Processor, cores, memory and versions."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        **{name: version(name) for name in _PACKAGES},
    }


def write_results(name: str, params: Mapping[str, Any], metrics: Mapping[str, Any]) -> None:
    """Print the metrics and write params.json, metrics.json and environment.json under `benchmarks/out/<name>`."""
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, values in (("params", params), ("metrics", metrics), ("environment", environment())):
        (folder / f"{file}.json").write_text(
            json.dumps(values, indent=1, default=str, ensure_ascii=False), encoding="utf-8"
        )
    for key, value in metrics.items():
        print(f"{key:45} {value}")
    print(f"written to {folder}")
