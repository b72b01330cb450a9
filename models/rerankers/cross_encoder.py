"""A Hugging Face cross-encoder in a local folder: reads query and passage together and gives one score."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from babelray.config import RerankSettings
from babelray.errors import ConfigError, InputError, UpstreamError
from babelray.glossary.locales import serves
from babelray.keys import digest_of
from models.batching import plan_batches
from models.checkpoints import (
    check_folder,
    check_positions,
    choose_device,
    files_digest,
    load_pretrained,
    load_tokenizer,
    read_config,
)
from models.tokenization import unique_rows, without_surrogates

_WHERE = "retrieval.rerank"
# Padded tokens a batch: attention of the longest pairs stays within a few hundred megabytes.
_TOKEN_BUDGET = 8192


class CrossEncoder:
    """A `Reranker` by a sequence classification model with one output, or with two of which the second says yes.

    A pair that is too long loses the end of its passage, never a part of the query. One call computes at a time. The
    same query and passages give the same bytes; on another machine or beside other passages the last digits may differ.

    Args:
        folder: As `save_pretrained` writes it.
        languages: BCP 47 languages that the model was made for; empty: any.
        max_tokens: Of query and passage together, special tokens included.
        device: `auto`, `cpu` or `cuda`.

    Raises:
        ConfigError: The folder is no such checkpoint, or has fewer positions than tokens.
        IntegrityError: The checkpoint lacks weights.
    """

    def __init__(self, folder: Path, languages: Sequence[str], max_tokens: int, device: str = "auto") -> None:
        from transformers import AutoModelForSequenceClassification

        check_folder(folder)
        config = read_config(folder)
        check_positions(max_tokens, config, f"{_WHERE}.max_tokens")
        self._device = choose_device(device, f"{_WHERE}.device")
        model = load_pretrained(AutoModelForSequenceClassification, folder)
        if model.config.num_labels > 2:
            raise ConfigError(
                "the model is not a cross-encoder",
                where=f"{_WHERE}.path, {folder}",
                got=f"{model.config.num_labels} outputs",
                allowed="one score, or two of which the second says that the passage answers",
            )
        self._model = model.to(self._device).eval()
        self._tokens, self._padding = load_tokenizer(folder)
        self._tokens.no_padding()
        self._max_tokens = max_tokens
        # Models without such a table (XLM-R) have one row in it, or none.
        self._sides = int(config.get("type_vocab_size") or 0) > 1
        self._languages = tuple(languages)
        self._lock = threading.Lock()
        shaping = [files_digest(folder, tokenizer=tokenizer) for tokenizer in (False, True)]
        self._version = f"{folder.resolve().name} {digest_of([*shaping, max_tokens])}"

    @property
    def version(self) -> str:
        """The folder's name, and a digest of its files and of the token cap."""
        return self._version

    def supports(self, query_language: str, passage_language: str) -> bool:
        """Whether the model was made for both languages, whichever is asked in."""
        return not self._languages or all(
            any(serves(known, language) is not None for known in self._languages)
            for language in (query_language, passage_language)
        )

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """float32 (n,), finite, higher is better.

        Raises:
            InputError: The query leaves no room for a passage.
            UpstreamError: A score is not a number, or the device ran out of memory.
        """
        if not len(passages):
            return np.zeros(0, dtype=np.float32)
        different, rows = unique_rows(passages)
        with self._lock:
            encodings = self._encode(without_surrogates(query), [without_surrogates(text) for text in different])
            scores = np.empty(len(different), dtype=np.float32)
            for batch in plan_batches([len(one.ids) for one in encodings], _TOKEN_BUDGET):
                scores[batch] = self._forward([encodings[int(number)] for number in batch])
        if not np.isfinite(scores).all():
            raise UpstreamError(
                "the cross-encoder gave scores that are not numbers",
                where=self._version,
                got=f"{int((~np.isfinite(scores)).sum())} of {len(scores)}",
                fix="see that the checkpoint is whole",
            )
        return scores[rows]

    def _encode(self, query: str, passages: list[str]) -> list[Any]:
        self._tokens.no_truncation()
        alone = len(self._tokens.encode(query, add_special_tokens=False).ids)
        most = self._max_tokens - self._tokens.num_special_tokens_to_add(is_pair=True) - 1
        if alone > most:
            raise InputError(
                "the query leaves the cross-encoder no room for a passage",
                where=f"{_WHERE}.max_tokens",
                got=f"{alone} tokens",
                allowed=f"at most {most}",
            )
        self._tokens.enable_truncation(max_length=self._max_tokens, strategy="only_second")
        return list(self._tokens.encode_batch_fast([(query, passage) for passage in passages]))

    def _forward(self, encodings: list[Any]) -> NDArray[np.float32]:
        longest = max(len(one.ids) for one in encodings)
        ids = torch.full((len(encodings), longest), self._padding, dtype=torch.long)
        mask = torch.zeros((len(encodings), longest), dtype=torch.long)
        sides = torch.zeros((len(encodings), longest), dtype=torch.long)
        for row, one in enumerate(encodings):
            length = len(one.ids)
            ids[row, :length] = torch.tensor(one.ids)
            mask[row, :length] = 1
            sides[row, :length] = torch.tensor(one.type_ids)
        given = {"input_ids": ids, "attention_mask": mask} | ({"token_type_ids": sides} if self._sides else {})
        try:
            with torch.inference_mode():
                logits = self._model(**{name: tensor.to(self._device) for name, tensor in given.items()}).logits
        except torch.OutOfMemoryError as error:
            raise UpstreamError(
                "the device ran out of memory", where=self._version, got=f"{len(encodings)} pairs of {longest} tokens"
            ) from error
        values = logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits[:, 0]
        scores: NDArray[np.float32] = values.float().cpu().numpy()
        return scores


def build_cross_encoder(settings: RerankSettings) -> CrossEncoder:
    """Load the cross-encoder of the settings.

    Raises:
        ConfigError: No path is set, or it holds no cross-encoder.
        IntegrityError: The checkpoint lacks weights.
    """
    if settings.path is None:
        raise ConfigError(
            "a cross-encoder needs a checkpoint", where=f"{_WHERE}.path", got="nothing", allowed="a folder"
        )
    return CrossEncoder(settings.path.expanduser(), settings.languages, settings.max_tokens, settings.device)
