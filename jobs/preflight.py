"""What a job needs, checked before it starts: what cannot fit is refused with the numbers."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from babelray.config import Settings
from babelray.errors import ConfigError
from babelray.index.store import open_store
from jobs.planning import Plan

TOKENS_A_TEXT = 38
"""Tokens a text on documentation pages, chunks and sentences together (e5 tokenizer): 33 to 44 by language."""
CPU_TOKENS_A_SECOND = 850.0
"""Of a small encoder (12 x 384) on one core in fp32; a plan's time is an order of magnitude, not a promise."""
GPU_TOKENS_A_SECOND = 60_000.0
"""Of a large encoder (24 x 1024) in bf16 on a data-centre GPU, the slow end of published figures."""
CHUNK_SHARE = 0.2
"""Chunks among the texts; the rest are sentences."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Order of magnitude of the work, before it is done."""

    texts: int
    tokens: int
    seconds: float
    index_bytes: int


def estimate(plan: Plan, cpus: int, gpus: float) -> Estimate:
    """Tokens, time and index bytes of a plan on a cluster of this size."""
    texts = plan.record.estimated_texts
    tokens = texts * TOKENS_A_TEXT
    resources = plan.settings.resources
    if resources.gpus_per_actor > 0:
        rate = GPU_TOKENS_A_SECOND * min(resources.embed_actors, gpus or resources.embed_actors)
    else:
        threads = resources.torch_threads * resources.embed_actors if resources.torch_threads else cpus
        rate = CPU_TOKENS_A_SECOND * max(min(threads, cpus), 1)
    dimension = plan.record.model_key.dimension
    chunks = int(texts * CHUNK_SHARE) + 1
    # fp16 for each vector, a byte a dimension more for chunks in an IVF index, 1.5 x the input for texts and words.
    size = texts * dimension * 2 + chunks * dimension + int(plan.record.input_bytes * 1.5)
    return Estimate(texts, tokens, tokens / rate, size)


def check_fits(settings: Settings, cpus: int, gpus: float, index_bytes: int) -> None:
    """Refuse a pool or an index that this cluster cannot hold.

    Raises:
        ConfigError: Not enough CPUs, GPUs or disk; or actors that would leave no CPU for the tasks that feed them.
    """
    resources = settings.resources
    wanted_gpus = resources.embed_actors * resources.gpus_per_actor
    if wanted_gpus > gpus:
        raise ConfigError(
            "the embed pool needs more GPUs than the cluster has",
            where="resources.embed_actors x gpus_per_actor",
            got=f"{resources.embed_actors} x {resources.gpus_per_actor:g} = {wanted_gpus:g}",
            allowed=f"at most {gpus:g}",
            fix="lower embed_actors, set gpus_per_actor to 0 for the CPU, or add GPUs",
        )
    wanted = resources.embed_actors * resources.cpus_per_actor
    if wanted + resources.cpus_per_task > cpus:
        raise ConfigError(
            "the embed pool would leave no CPU for the tasks that prepare its input: the job would never start",
            where="resources.embed_actors x cpus_per_actor + cpus_per_task",
            got=f"{resources.embed_actors} x {resources.cpus_per_actor:g} + {resources.cpus_per_task:g}",
            allowed=f"at most {cpus} CPUs",
            fix="lower embed_actors or cpus_per_actor; on a CPU one actor uses all cores through torch_threads",
        )
    folder = open_store(settings.store).local_path("runs")
    if folder is not None:
        free = shutil.disk_usage(_existing(folder)).free
        # Prepared and embedded shards and the generation hold much the same bytes once more.
        if 2 * index_bytes > free:
            raise ConfigError(
                "the store's disk is too small for the index and its shards",
                where=settings.store,
                got=f"{free / 2**30:.1f} GiB free",
                allowed=f"about {2 * index_bytes / 2**30:.1f} GiB",
                fix="point `store` to a larger disk, or take a smaller corpus",
            )


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
