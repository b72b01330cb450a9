"""Runs an encoder here: batches by token budget, vectors checked, a batch that does not fit in memory halved."""

import logging
from collections import deque
from collections.abc import Sequence
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

CPU_TOKEN_BUDGET = 1024
"""Tokens a CPU second on one busy Zen 3 core, medians of 3, at budgets 256, 1024 and 4096. Packed pass:
1169, 1204, 1338 on paragraphs and 1127, 1280, 1210 on short sentences; padded: 1093, 1034, 710 and 1063, 1011, 575. The
packed pass hardly depends on it; the padded one loses a third at 4096, where a batch's states no longer fit in
cache. 1024 is good for both. `benchmarks/token_budget_sweep.py` repeats it."""
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
    """

    def __init__(self, forward: ForwardPass, tokenizer: TextTokenizer, key: ModelKey, *, token_budget: int) -> None:
        self._forward = forward
        self._tokenizer = tokenizer
        self._key = key
        self._token_budget = token_budget

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
        refused: dict[int, str] = {}
        padded_tokens = 0
        pending = deque(plan_batches(lengths, self._token_budget))
        while pending:
            members = pending.popleft()
            if self._try_batch(tokenized, members, pooled):
                padded_tokens += self._forward.computed_tokens(lengths[members])
            elif len(members) == 1:
                refused[int(members[0])] = OUT_OF_MEMORY
                logger.warning("a text of %d tokens does not fit in memory alone", lengths[members[0]])
            else:
                half = (len(members) + 1) // 2
                pending.extendleft((members[half:], members[:half]))
                logger.info("out of memory with %d texts; trying %d", len(members), half)
        vectors, broken = normalized(pooled.cpu().numpy())
        return spread(vectors, lengths, tokenized.truncated, broken | refused, tokenized.rows, padded_tokens)

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
    if threads is not None:
        torch.set_num_threads(threads)
    device = choose_device(settings.device)
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
    return TorchEncoder(forward, TextTokenizer(backend, key), key, token_budget=budget)
