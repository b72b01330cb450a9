"""Runs an encoder here: batches by token budget, vectors checked, a batch that does not fit in memory halved."""

import logging
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from babelray.config import BundledE5Settings, BundledMiniLmSettings, TorchSettings
from babelray.keys import ModelKey, Role
from babelray.protocols import Encoded
from models import bundled_e5, bundled_minilm
from models.batching import plan_batches
from models.checkpoints import (
    choose_device,
    find_checkpoint,
    load_model,
    load_own_tokenizer,
    load_tensors,
    load_tokenizer,
    read_config,
    torch_model_key,
)
from models.packed_bert import PackedBert, is_packable
from models.padded_model import PaddedModel
from models.pooling import Pooling
from models.tokenization import TextTokenizer, Tokenized
from models.vectors import OUT_OF_MEMORY, normalized, spread

logger = logging.getLogger(__name__)

_TORCH_THREADS = torch.get_num_threads()  # before anything here changes it

CPU_TOKEN_BUDGET = 512
"""Tokens a second on two Zen cores, a batch a thread, at budgets 256, 512, 1024, 2048, 4096. Packed pass: 2787, 2956,
2845, 2746, 2013 on paragraphs and 2504, 2431, 2095, 2217, 1675 on short sentences; the padded one falls off earlier
(2458, 2407, 2162, 1729, 912), where a batch's states no longer fit in cache. `benchmarks/token_budget_sweep.py`."""
CUDA_TOKEN_BUDGET = 32_768
"""Not measured yet: large enough to fill a GPU with a small encoder; a batch that does not fit is halved."""


class ForwardPass(Protocol):
    """What turns a batch into pooled vectors: `PaddedModel` or `PackedBert`."""

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        ...

    def pooled(self, tokenized: Tokenized, members: NDArray[np.int64]) -> torch.Tensor:
        """float32 (len(members), dimension) on `device`, not normalized."""
        ...

    def computed_tokens(self, lengths: NDArray[np.int64]) -> int:
        """Tokens that a batch of texts of these lengths costs, padding included."""
        ...


def _is_out_of_memory(error: RuntimeError) -> bool:
    # The CPU allocator has no error class of its own.
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


class TorchEncoder:
    """Embeds texts with a model in this process; implements `Embedder`.

    Args:
        forward: The model.
        tokenizer: Made for the same key.
        key: Names the space.
        token_budget: Padded tokens a batch.
        workers: Threads that each compute a batch of their own. On a CPU this uses the cores better than torch's own
            threads inside one batch, and the vectors are the same bytes.
    """

    def __init__(
        self, forward: ForwardPass, tokenizer: TextTokenizer, key: ModelKey, *, token_budget: int, workers: int = 1
    ) -> None:
        self._forward = forward
        self._tokenizer = tokenizer
        self._key = key
        self._token_budget = token_budget
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="embed") if workers > 1 else None
        self._workers = workers

    @property
    def key(self) -> ModelKey:
        """The key of every vector this object returns."""
        return self._key

    def tokenize(self, texts: Sequence[str], role: Role) -> Tokenized:
        """CPU side; safe in a thread while `embed` runs in another."""
        return self._tokenizer.tokenize(texts, role)

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Tokenize and embed n texts."""
        return self.embed(self.tokenize(texts, role))

    def embed(self, tokenized: Tokenized) -> Encoded:
        """Forward, pool, normalize and check. A text that does not fit in memory alone is refused as `oom`."""
        lengths = tokenized.lengths
        pooled = torch.zeros((len(lengths), self._key.dimension), dtype=torch.float32, device=self._forward.device)
        pending = deque(plan_batches(lengths, self._token_budget))
        workers = min(self._workers, len(pending))
        if self._pool is None or workers < 2:
            parts = [self._drain(tokenized, pending, pooled)]
        else:
            tasks = [self._pool.submit(self._drain, tokenized, pending, pooled) for _ in range(workers)]
            parts = [task.result() for task in tasks]
        refused = {position: OUT_OF_MEMORY for _, positions in parts for position in positions}
        vectors, broken = normalized(pooled.cpu().numpy())
        padded_tokens = sum(tokens for tokens, _ in parts)
        return spread(vectors, lengths, tokenized.truncated, broken | refused, tokenized.rows, padded_tokens)

    def _drain(
        self, tokenized: Tokenized, pending: deque[NDArray[np.int64]], pooled: torch.Tensor
    ) -> tuple[int, list[int]]:
        """Compute batches into their rows of `pooled` until none is left; several threads may do so side by side.

        Returns:
            Tokens computed, padding included, and the positions of texts that do not fit in memory alone.
        """
        padded_tokens = 0
        refused: list[int] = []
        while True:
            try:
                members = pending.popleft()
            except IndexError:  # asked for, not tested before: another thread may take the last one in between
                return padded_tokens, refused
            if self._try_batch(tokenized, members, pooled):
                padded_tokens += self._forward.computed_tokens(tokenized.lengths[members])
            elif len(members) == 1:
                refused.append(int(members[0]))
                logger.warning("a text of %d tokens does not fit in memory alone", tokenized.lengths[members[0]])
            else:
                half = (len(members) + 1) // 2
                pending.extendleft((members[half:], members[:half]))
                logger.info("out of memory with %d texts; trying %d", len(members), half)

    def _try_batch(self, tokenized: Tokenized, members: NDArray[np.int64], pooled: torch.Tensor) -> bool:
        """Compute one batch into its rows of `pooled`; False if memory ran out."""
        try:
            pooled[torch.from_numpy(members).to(pooled.device)] = self._forward.pooled(tokenized, members)
        except RuntimeError as error:
            if not _is_out_of_memory(error):
                raise
        else:
            return True
        # Outside of the handler, where the failed batch's tensors are no longer held by the traceback.
        if pooled.device.type == "cuda":
            torch.cuda.empty_cache()
        return False


def build_torch_embedder(
    settings: TorchSettings | BundledE5Settings | BundledMiniLmSettings, cache: Path, threads: int | None
) -> TorchEncoder:
    """Load model and tokenizer from this machine; see `models.registry.build_embedder`."""
    device = choose_device(settings.device)
    workers = (threads or _TORCH_THREADS) if device.type == "cpu" else 1
    if workers > 1:
        # Each worker computes its own batch, so a second level of threads below them would only wait for cores.
        torch.set_num_threads(1)
    pooling: Pooling = "mean"
    match settings:
        case BundledE5Settings():
            folder, key = bundled_e5.open_checkpoint(cache), bundled_e5.bundled_e5_key(settings.dtype)
            backend, pad_id = load_own_tokenizer(folder)
        case BundledMiniLmSettings():
            folder, key = bundled_minilm.checkpoint_folder(), bundled_minilm.bundled_minilm_key(settings.dtype)
            backend, pad_id = load_own_tokenizer(folder)
        case TorchSettings():
            folder = find_checkpoint(settings, cache)
            key, pooling = torch_model_key(settings, folder), settings.pooling
            backend, pad_id = load_tokenizer(folder)
    config = read_config(folder)
    forward: ForwardPass
    if device.type == "cpu" and settings.dtype == "fp32" and is_packable(config):
        forward = PackedBert(config, load_tensors(folder), pooling)
    else:
        forward = PaddedModel(load_model(folder, settings.dtype, device), pooling, pad_id, device)
    budget = settings.token_budget or (CUDA_TOKEN_BUDGET if device.type == "cuda" else CPU_TOKEN_BUDGET)
    return TorchEncoder(forward, TextTokenizer(backend, key), key, token_budget=budget, workers=workers)
