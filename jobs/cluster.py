"""Starting or joining Ray, and the options that every dataset of a job runs with."""

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import ray
from ray.data import DataContext
from ray.exceptions import RayError

from babelray.config import Settings
from babelray.errors import BabelrayError, ConfigError, IncompleteRun

_LOCAL_OBJECT_STORE = 256 * 2**20
"""Rows are names of units, so a local Ray needs next to no object store."""

_SPARE_RESTARTS = 8
"""Restarts of an embed actor for what is no unit's fault, such as a machine that goes away."""


def connect(settings: Settings) -> None:
    """Join the cluster that `RAY_ADDRESS` names, or start Ray on this machine; nothing happens if Ray is up already."""
    talkative = settings.log_level == "DEBUG"
    if not ray.is_initialized():
        address = os.environ.get("RAY_ADDRESS")
        local: dict[str, Any] = (
            {} if address else {"object_store_memory": _LOCAL_OBJECT_STORE, "include_dashboard": False}
        )
        with nullcontext() if talkative else _quiet_core():
            try:
                ray.init(log_to_driver=talkative, logging_level=logging.INFO if talkative else logging.ERROR, **local)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise ConfigError(
                    "cannot start or join Ray",
                    where="RAY_ADDRESS" if address else "this machine",
                    got=f"{address or ''} {str(error).strip().splitlines()[0]}".strip(),
                    fix="unset RAY_ADDRESS to use this machine alone, or name a cluster that is up",
                ) from error
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    # A unit that keeps killing its worker is quarantined by its attempt markers; Ray must not end the job over it.
    context.max_errored_blocks = -1
    # Retries have no other way in yet than the remote arguments that Ray Data wants to rename.
    warnings.filterwarnings("ignore", message="`ray_remote_args` is deprecated")
    if not talkative:
        logging.getLogger("ray.data").setLevel(logging.ERROR)


@contextmanager
def _quiet_core() -> Iterator[None]:
    """Keep the lines of Ray's native core off the terminal; what goes wrong in `ray.init` still raises.

    Among them is an alarm about restartable actors whose arguments lie in the object store. Here the arguments are
    small and owned by this driver, which outlives its actors.
    """
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def cluster_resources() -> tuple[int, float]:
    """CPUs and GPUs of the cluster."""
    found: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return int(found.get("CPU", 0)), float(found.get("GPU", 0))


def result_of(reference: Any, what: str) -> Any:
    """The value of a task, or its error as one that a user can read.

    Args:
        reference: Of the task.
        what: The step that it is.

    Raises:
        BabelrayError: The one that the task raised.
        IncompleteRun: It raised another error, or its worker died.
    """
    try:
        return ray.get(reference)
    except RayError as error:
        raise readable(error, what) from error


def readable(error: RayError, what: str) -> BabelrayError:
    """Our own error out of Ray's wrapping, or an `IncompleteRun` with the last line of Ray's account."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, BabelrayError):
        return cause
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return IncompleteRun(
        f"{what} ended with an error",
        got=lines[-1] if lines else type(error).__name__,
        fix="remove the cause and run it again: what is finished is kept; BABELRAY_LOG_LEVEL=DEBUG shows what Ray says",
    )


def task_options(settings: Settings) -> dict[str, Any]:
    """Ray options of a task that handles one unit.

    Ray's own default is to retry without end. One try more than a unit has attempts, since the last one only writes
    the quarantine receipt.
    """
    return {"num_cpus": settings.resources.cpus_per_task, "max_retries": settings.units.max_attempts}


def actor_options(settings: Settings, units: int) -> dict[str, Any]:
    """Ray options of an embed actor: restarted as often as its work can need, but not for ever.

    A unit that kills the actor takes the calls beside it along, which are innocent: calls are retried while there is an
    actor, and attempt markers, not Ray, decide when a unit is given up. A process that dies before it begins any unit
    leaves no marker; for that there is an end to restarts.
    """
    resources, limits = settings.resources, settings.units
    deaths = (limits.max_attempts + 1) * (1 + int(limits.error_budget * units))
    return {
        "num_cpus": resources.cpus_per_actor,
        "num_gpus": resources.gpus_per_actor,
        "max_restarts": _SPARE_RESTARTS + deaths,
        "max_task_retries": -1,
    }
