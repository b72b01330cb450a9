"""Forward pass of BERT-like encoders on CPU without padding: the tokens of a batch stand one after the other.

On a CPU matrix products take nearly all the time, so a padding token costs as much as a real one, and cache decides the
rest. Here the products see real tokens only, query, key and value come out of one product, and attention runs per run
of texts of equal length, without a mask. `benchmarks/token_budget_sweep.py` compares this with the padded pass of
transformers, which is the oracle in the tests.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from babelray.errors import IntegrityError
from models.pooling import Pooling
from models.tokenization import Tokenized

# Model type -> whether positions start after the padding id, as in RoBERTa.
_OFFSET_POSITIONS = {"bert": False, "roberta": True, "xlm-roberta": True}
_PREFIXES = ("", "bert.", "roberta.")


def is_packable(config: dict[str, Any]) -> bool:
    """Whether a checkpoint with this `config.json` computes what this module computes."""
    return (
        config.get("model_type") in _OFFSET_POSITIONS
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not config.get("is_decoder", False)
    )


@dataclass(frozen=True, slots=True)
class _Affine:
    weight: torch.Tensor
    bias: torch.Tensor


@dataclass(frozen=True, slots=True)
class _Layer:
    query_key_value: _Affine
    attention_out: _Affine
    attention_norm: _Affine
    widen: _Affine
    narrow: _Affine
    out_norm: _Affine


class PackedBert:
    """Turns a batch of tokenized texts into pooled vectors; fp32, CPU.

    Args:
        config: The checkpoint's `config.json`, for which `is_packable` holds.
        tensors: The checkpoint's weights by name; those in fp32 are used in place, but for query, key and value.
        pooling: How token states become one vector.

    Raises:
        IntegrityError: A weight is missing.
    """

    device = torch.device("cpu")

    def __init__(self, config: dict[str, Any], tensors: dict[str, torch.Tensor], pooling: Pooling) -> None:
        weights = _Weights(tensors)
        self._pooling: Pooling = pooling
        self._heads: int = config["num_attention_heads"]
        self._epsilon: float = config["layer_norm_eps"]
        self._first_position = config["pad_token_id"] + 1 if _OFFSET_POSITIONS[config["model_type"]] else 0
        self._pad_id: int | None = config["pad_token_id"] if self._first_position else None
        self._words = weights["embeddings.word_embeddings.weight"]
        # The texts here are single segments, so the first token type is part of every position.
        self._positions = (
            weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self._norm = weights.affine("embeddings.LayerNorm")
        self._layers = [_layer(weights, f"encoder.layer.{number}") for number in range(config["num_hidden_layers"])]

    @torch.inference_mode()
    def pooled(self, tokenized: Tokenized, members: NDArray[np.int64]) -> torch.Tensor:
        """float32 (len(members), dimension), not normalized."""
        lengths = tokenized.lengths[members]
        ids = tokenized.joined(members).astype(np.int64)
        states = self._states(ids, self._position_ids(ids, lengths), lengths)
        ends = torch.from_numpy(np.cumsum(lengths))
        counts = torch.from_numpy(lengths)
        if self._pooling == "cls":
            return states[ends - counts]
        if self._pooling == "last":
            return states[ends - 1]
        return torch.segment_reduce(states, "mean", lengths=counts, axis=0)

    def computed_tokens(self, lengths: NDArray[np.int64]) -> int:
        """Tokens computed for a batch of texts of these lengths: the real ones."""
        return int(lengths.sum())

    def _position_ids(self, ids: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
        if self._pad_id is None:
            return np.asarray(np.arange(len(ids)) - starts)
        # RoBERTa gives a padding id inside a text (someone wrote `<pad>`) no position of its own.
        real = ids != self._pad_id
        counted = np.cumsum(real)
        within = counted - (counted[starts] - real[starts])
        return np.asarray(within * real + self._pad_id)

    def _states(self, ids: NDArray[np.int64], positions: NDArray[np.int64], lengths: NDArray[np.int64]) -> torch.Tensor:
        """float32 (sum of lengths, dimension): the last layer's states."""
        states = self._words[torch.from_numpy(ids)]
        states += self._positions[torch.from_numpy(positions)]
        states = self._normalize(states, self._norm)
        runs = equal_runs(lengths)
        attended = torch.empty_like(states)
        for layer in self._layers:
            self._attend(_apply(layer.query_key_value, states), runs, attended)
            mixed = _apply(layer.attention_out, attended)
            mixed += states
            states = self._normalize(mixed, layer.attention_norm)
            widened = functional.gelu(_apply(layer.widen, states))
            mixed = _apply(layer.narrow, widened)
            mixed += states
            states = self._normalize(mixed, layer.out_norm)
        return states

    def _attend(self, projected: torch.Tensor, runs: list[tuple[int, int]], attended: torch.Tensor) -> None:
        """Attention of each text to itself.

        Args:
            projected: (tokens, 3 x dimension), query, key and value side by side.
            runs: As `equal_runs` gives them.
            attended: (tokens, dimension), written.
        """
        start = 0
        for count, length in runs:
            stop = start + count * length
            query, key, value = projected[start:stop].view(count, length, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(query, key, value)
            attended[start:stop].view(count, length, self._heads, -1).copy_(mixed.transpose(1, 2))
            start = stop

    def _normalize(self, states: torch.Tensor, norm: _Affine) -> torch.Tensor:
        return functional.layer_norm(states, (states.shape[-1],), norm.weight, norm.bias, self._epsilon)


def equal_runs(lengths: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Neighbours of equal length as (how many, length)."""
    borders = np.flatnonzero(np.diff(lengths)) + 1
    starts = [0, *borders.tolist()]
    stops = [*borders.tolist(), len(lengths)]
    return [(stop - start, int(lengths[start])) for start, stop in zip(starts, stops, strict=True)]


class _Weights:
    """Tensors by their name inside the encoder; checkpoints of whole models put the encoder's name before it."""

    def __init__(self, tensors: dict[str, torch.Tensor]) -> None:
        self._tensors = tensors
        known = [prefix for prefix in _PREFIXES if f"{prefix}embeddings.word_embeddings.weight" in tensors]
        self._prefix = known[0] if known else ""

    def __getitem__(self, name: str) -> torch.Tensor:
        tensor = self._tensors.get(self._prefix + name)
        if tensor is None:
            raise IntegrityError("the checkpoint lacks a weight", where=self._prefix + name)
        return tensor.to(torch.float32)

    def affine(self, name: str) -> _Affine:
        return _Affine(self[f"{name}.weight"], self[f"{name}.bias"])


def _layer(weights: _Weights, name: str) -> _Layer:
    parts = [weights.affine(f"{name}.attention.self.{part}") for part in ("query", "key", "value")]
    return _Layer(
        query_key_value=_Affine(torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts])),
        attention_out=weights.affine(f"{name}.attention.output.dense"),
        attention_norm=weights.affine(f"{name}.attention.output.LayerNorm"),
        widen=weights.affine(f"{name}.intermediate.dense"),
        narrow=weights.affine(f"{name}.output.dense"),
        out_norm=weights.affine(f"{name}.output.LayerNorm"),
    )


def _apply(affine: _Affine, states: torch.Tensor) -> torch.Tensor:
    return functional.linear(states, affine.weight, affine.bias)
