import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.pooling import pool


def naive(states, mask, pooling):
    rows = []
    for row, keep in zip(states, mask.astype(bool), strict=True):
        real = row[keep]
        rows.append({"mean": real.mean(axis=0), "cls": real[0], "last": real[-1]}[pooling])
    return np.array(rows)


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    side=st.sampled_from(["left", "right"]),
    pooling=st.sampled_from(["mean", "cls", "last"]),
    seed=st.integers(0, 1000),
)
def test_equals_the_plain_way_with_padding_on_either_side(lengths, side, pooling, seed):
    width = max(lengths)
    states = np.random.default_rng(seed).normal(size=(len(lengths), width, 4)).astype(np.float32)
    mask = np.zeros((len(lengths), width), dtype=np.int64)
    for row, length in enumerate(lengths):
        mask[row, slice(width - length, None) if side == "left" else slice(length)] = 1
    pooled = pool(torch.from_numpy(states), torch.from_numpy(mask), pooling)
    np.testing.assert_allclose(pooled.numpy(), naive(states, mask, pooling), rtol=1e-5, atol=1e-6)


def test_padding_does_not_leak():
    states = torch.tensor([[[1.0], [3.0], [1e30]]])
    assert pool(states, torch.tensor([[1, 1, 0]]), "mean").item() == 2.0


def test_bf16_states_are_summed_in_fp32():
    states = torch.ones((1, 4096, 1), dtype=torch.bfloat16)
    pooled = pool(states, torch.ones((1, 4096), dtype=torch.int64), "mean")
    assert pooled.dtype == torch.float32
    assert pooled.item() == pytest.approx(1.0, abs=1e-6)
