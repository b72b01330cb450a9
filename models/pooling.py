"""From token states to one vector a text. Pure torch; the mask says which tokens are real, on whichever side."""

from typing import Literal

import torch

Pooling = Literal["mean", "cls", "last"]


def pool(states: torch.Tensor, mask: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    """Pool token states over the real tokens.

    Args:
        states: (n, tokens, dimension), any float type.
        mask: (n, tokens), 1 where the token is real; padding may stand left or right.
        pooling: `mean` of the real tokens, the first real one (`cls`), or the `last` real one.

    Returns:
        float32 (n, dimension), not normalized; NaN for a row without a real token under `mean`.
    """
    if pooling == "mean":
        weights = mask.to(torch.float32).unsqueeze(-1)
        # Sums are taken in fp32: a bf16 sum over 512 tokens loses what bf16 weights have kept.
        return (states.to(torch.float32) * weights).sum(dim=1) / weights.sum(dim=1)
    real = mask.to(torch.int64)
    # argmax gives the first of equal values: seen from the end it is the last.
    last = mask.shape[1] - 1 - real.flip(dims=(1,)).argmax(dim=1)
    positions = real.argmax(dim=1) if pooling == "cls" else last
    rows = torch.arange(states.shape[0], device=states.device)
    return states[rows, positions].to(torch.float32)
