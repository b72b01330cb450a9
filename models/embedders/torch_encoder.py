"""Runs a Hugging Face encoder: batches by token budget, forward, pool; halves a batch that does not fit in memory."""

import logging
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from babelray.config import BundledE5Settings, BundledMiniLmSettings, TorchSettings
from babelray.keys import ModelKey, Role
from babelray.protocols import Encoded
from models import bundled_e5, bundled_minilm
from models.batching import plan_batches
from models.checkpoints import choose_device, find_checkpoint, load_model, load_tokenizer, torch_model_key
from models.pooling import Pooling, pool
from models.tokenization import TextTokenizer, Tokenized
from models.vectors import OUT_OF_MEMORY, normalized, spread

logger = logging.getLogger(__name__)

CPU_TOKEN_BUDGET = 1024
CUDA_TOKEN_BUDGET = 32_768


def _is_out_of_memory(error: RuntimeError) -> bool:
    # The CPU allocator has no error class of its own.
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


class TorchEncoder:
    """Embeds texts with a torch model that maps ids and mask to token states; implements `Embedder`.

    Args:
        model: Called with `input_ids` and `attention_mask` (int64, (n, tokens), padded right), it returns an object
            with `last_hidden_state` (n, tokens, dimension). In eval mode, on `device`.
        tokenizer: Made for the same key.
        key: Pooling and dimension come from here.
        pooling: As in the key, where `provider` has no meaning for a model that runs here.
        device: Where the model lies.
        token_budget: Padded tokens a batch.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        tokenizer: TextTokenizer,
        key: ModelKey,
        *,
        pooling: Pooling,
        device: torch.device,
        token_budget: int,
    ) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._key = key
        self._pooling: Pooling = pooling
        self._device = device
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
        pooled = torch.zeros((len(lengths), self._key.dimension), dtype=torch.float32, device=self._device)
        refused: dict[int, str] = {}
        padded_tokens = 0
        pending = deque(plan_batches(lengths, self._token_budget))
        while pending:
            members = pending.popleft()
            computed = self._try_batch(tokenized, members, pooled)
            if computed is not None:
                padded_tokens += computed
            elif len(members) == 1:
                refused[int(members[0])] = OUT_OF_MEMORY
                logger.warning("a text of %d tokens does not fit in memory alone", lengths[members[0]])
            else:
                half = (len(members) + 1) // 2
                pending.extendleft((members[half:], members[:half]))
                logger.info("out of memory with %d texts; trying %d", len(members), half)
        vectors, broken = normalized(pooled.cpu().numpy())
        refused = broken | refused
        return spread(vectors, lengths, tokenized.truncated, refused, tokenized.rows, padded_tokens)

    def _try_batch(self, tokenized: Tokenized, members: NDArray[np.int64], pooled: torch.Tensor) -> int | None:
        """Compute one batch into its rows of `pooled`; tokens computed, or None if memory ran out."""
        ids, mask = tokenized.padded(members, self._tokenizer.pad_id)
        try:
            pooled[torch.from_numpy(members).to(self._device)] = self._forward(ids, mask)
        except RuntimeError as error:
            if not _is_out_of_memory(error):
                raise
        else:
            return ids.size
        # Outside of the handler, where the failed batch's tensors are no longer held by the traceback.
        if self._device.type == "cuda":
            torch.cuda.empty_cache()
        return None

    @torch.inference_mode()
    def _forward(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> torch.Tensor:
        on_device = torch.from_numpy(mask).to(self._device, non_blocking=True)
        states = self._model(
            input_ids=torch.from_numpy(ids).to(self._device, non_blocking=True), attention_mask=on_device
        ).last_hidden_state
        return pool(states, on_device, self._pooling)


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
        case BundledMiniLmSettings():
            folder, key = bundled_minilm.checkpoint_folder(), bundled_minilm.bundled_minilm_key(settings.dtype)
        case TorchSettings():
            folder = find_checkpoint(settings, cache)
            key, pooling = torch_model_key(settings, folder), settings.pooling
    budget = settings.token_budget or (CUDA_TOKEN_BUDGET if device.type == "cuda" else CPU_TOKEN_BUDGET)
    return TorchEncoder(
        load_model(folder, settings.dtype, device),
        load_tokenizer(folder, key),
        key,
        pooling=pooling,
        device=device,
        token_budget=budget,
    )
