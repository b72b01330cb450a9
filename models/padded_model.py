"""Forward pass of any Hugging Face encoder: texts of a batch padded to the longest, then pooled."""

import numpy as np
import torch
from numpy.typing import NDArray

from models.pooling import Pooling, pool
from models.tokenization import Tokenized


class PaddedModel:
    """Turns a batch of tokenized texts into pooled vectors.

    Args:
        model: Called with `input_ids` and `attention_mask` (int64, (n, tokens)), it returns an object with
            `last_hidden_state` (n, tokens, dimension). In eval mode, on `device`.
        pooling: How token states become one vector.
        pad_id: Any valid token id; what stands there is masked.
        device: Where the model lies.
    """

    def __init__(self, model: torch.nn.Module, pooling: Pooling, pad_id: int, device: torch.device) -> None:
        self._model = model
        self._pooling: Pooling = pooling
        self._pad_id = pad_id
        self.device = device

    @torch.inference_mode()
    def pooled(self, tokenized: Tokenized, members: NDArray[np.int64]) -> torch.Tensor:
        """float32 (len(members), dimension) on `device`, not normalized."""
        ids, mask = padded(tokenized, members, self._pad_id)
        on_device = torch.from_numpy(mask).to(self.device, non_blocking=True)
        states = self._model(
            input_ids=torch.from_numpy(ids).to(self.device, non_blocking=True), attention_mask=on_device
        ).last_hidden_state
        return pool(states, on_device, self._pooling)

    def computed_tokens(self, lengths: NDArray[np.int64]) -> int:
        """Tokens computed for a batch of texts of these lengths: each as long as the longest."""
        return len(lengths) * int(lengths.max())


def padded(
    tokenized: Tokenized, members: NDArray[np.int64], pad_id: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids and mask, both int64 (len(members), longest member), padded on the right.

    Right, because a decoder's positions then count from the text's beginning without being told where that is.
    """
    lengths = tokenized.lengths[members]
    mask = (np.arange(int(lengths.max())) < lengths[:, None]).astype(np.int64)
    ids = np.full(mask.shape, pad_id, dtype=np.int64)
    ids[mask.astype(bool)] = tokenized.joined(members)
    return ids, mask
