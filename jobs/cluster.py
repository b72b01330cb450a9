"""Starting or joining Ray, and the options that every dataset of a job runs with."""

import logging
import os
from typing import Any

import ray
from ray.data import DataContext

from babelray.config import Settings

_LOCAL_OBJECT_STORE = 256 * 2**20
"""Rows are names of units, so a local Ray needs next to no object store."""


def connect(settings: Settings) -> None:
    """Join the cluster that `RAY_ADDRESS` names, or start Ray on this machine; nothing happens if Ray is up already."""
    if not ray.is_initialized():
        # Workers must not be limited to Ray's own choice of one OpenMP thread: stages set their own.
        local: dict[str, Any] = (
            {}
            if os.environ.get("RAY_ADDRESS")
            else {"object_store_memory": _LOCAL_OBJECT_STORE, "include_dashboard": False}
        )
        ray.init(
            log_to_driver=settings.log_level == "DEBUG",
            logging_level=logging.ERROR,
            configure_logging=True,
            **local,
        )
    context = DataContext.get_current()
    context.enable_progress_bars = False
    # A unit that keeps killing its worker is quarantined by its attempt markers; Ray must not end the job over it.
    context.max_errored_blocks = -1
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)


def cluster_resources() -> tuple[int, float]:
    """CPUs and GPUs of the cluster."""
    found: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return int(found.get("CPU", 0)), float(found.get("GPU", 0))


def task_options(settings: Settings) -> dict[str, Any]:
    """Ray options of a task that handles one unit.

    Ray's own default is to retry without end. One try more than a unit has attempts, since the last one only writes
    the quarantine receipt.
    """
    return {"num_cpus": settings.resources.cpus_per_task, "max_retries": settings.units.max_attempts}


def actor_options(settings: Settings) -> dict[str, Any]:
    """Ray options of an embed actor: restarted while there is work, calls retried as often as a unit has attempts."""
    resources = settings.resources
    return {
        "num_cpus": resources.cpus_per_actor,
        "num_gpus": resources.gpus_per_actor,
        "max_restarts": -1,
        "max_task_retries": settings.units.max_attempts,
    }
