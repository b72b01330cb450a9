"""The `babelray` command as a real process, watched through its store, and ended at a chosen point."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.jobs.job_worlds import JobWorld

ROOT = Path(__file__).parents[2]
PATIENCE = 150
"""Seconds; far more than a job of these tests takes on an idle machine."""


class Command:
    """One `babelray reindex run`, or the run of another job.

    Args:
        world: What it runs over: it has a `root` and writes its own settings.
        address: Of the Ray cluster to join; empty to start one of its own.
        job: The command group.
    """

    def __init__(self, world: JobWorld, address: str = "", job: str = "reindex") -> None:
        self.world = world
        self.log = world.root / f"log-{time.monotonic_ns()}.txt"
        environ = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        if address:
            # Ray keeps how to prove oneself to a cluster in the environment of the process that started it.
            environ |= {name: value for name, value in os.environ.items() if name.startswith("RAY_AUTH")}
            environ["RAY_ADDRESS"] = address
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "cli.main", job, "run", "-c", str(world.write_config())],
                cwd=ROOT,
                env=environ,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def until(self, happened: Callable[[], bool]) -> "Command":
        """Wait until something is so in the store."""
        end = time.monotonic() + PATIENCE
        while not happened():
            assert self.process.poll() is None, f"the command ended before: {self.output()}"
            assert time.monotonic() < end, f"it did not come to that: {self.output()}"
            time.sleep(0.002)
        return self

    def until_embedded(self, units: int) -> "Command":
        return self.until(lambda: self.world.receipts("embed") >= units)

    def until_at_work(self, stage: str) -> "Command":
        """Wait until a unit of a stage has begun and not ended."""
        return self.until(lambda: bool(at_work(self.world, stage)))

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def kill(self) -> None:
        """Kill the driver alone."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def kill_all(self) -> None:
        """Kill the driver and every process that it started, Ray's own and the workers."""
        driver = psutil.Process(self.process.pid)
        family = [driver, *driver.children(recursive=True)]
        for one in family:
            try:
                one.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(family, PATIENCE)
        self.process.wait(PATIENCE)

    def wait(self) -> int:
        return self.process.wait(PATIENCE)

    def output(self) -> str:
        return self.log.read_text(errors="replace")


def at_work(world: JobWorld, stage: str) -> set[str]:
    """Units of a stage that were begun and have no receipt; receipts are listed last, so that none is missed."""
    begun, done = (
        {path.name.partition(".")[0] for path in Path(world.store.uri).glob(f"runs/{stage}/*/{kind}/{stage}/[!.]*")}
        for kind in ("attempts", "receipts")
    )
    return begun - done


def kill_worker(world: JobWorld, stage: str) -> str:
    """Kill the process that began the newest attempt of a stage, which the job's own marker names.

    Returns:
        The unit of that attempt.
    """
    marks = Path(world.store.uri).glob(f"runs/{stage}/*/attempts/{stage}/[!.]*")
    newest = max(marks, key=lambda path: path.stat().st_mtime_ns)
    pid = int(json.loads(newest.read_text())["worker"].rpartition(":")[2])
    # Nothing but a Ray worker may be meant.
    assert any("ray" in part for part in psutil.Process(pid).cmdline())
    os.kill(pid, signal.SIGKILL)
    return newest.name.partition(".")[0]
