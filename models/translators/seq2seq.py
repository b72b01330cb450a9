"""A Hugging Face sequence-to-sequence model in a local folder as a translator."""

import logging
import threading
from collections.abc import Sequence
from typing import Any

import torch

from babelray.config import Seq2SeqTranslatorSettings
from babelray.errors import ConfigError, UpstreamError
from babelray.keys import digest_of
from models.batching import plan_batches
from models.checkpoints import check_folder, choose_device, files_digest, load_full_tokenizer, load_pretrained
from models.tokenization import without_surrogates
from models.translators.language_pairs import code_of, covers, parse_pairs

logger = logging.getLogger(__name__)

_TOKEN_BUDGET = 2048
_DEFAULT_LIMIT = 512


class Seq2SeqTranslator:
    """A `Translator` by an encoder and a decoder, greedy or with beams: the same texts give the same translations.

    Models of many languages are told which by their tokenizer (`src_lang`, the first token of the output), by a prefix,
    or by both. One call runs at a time: such tokenizers keep the language as a state.

    Args:
        settings: Folder, pairs, codes, limits.

    Raises:
        ConfigError: The folder is no such checkpoint, its tokenizer does not know a language code, or a GPU is missing.
        IntegrityError: The checkpoint lacks weights.
    """

    external = False
    glossary_version: str | None = None

    def __init__(self, settings: Seq2SeqTranslatorSettings) -> None:
        from transformers import AutoModelForSeq2SeqLM

        folder = check_folder(settings.path.expanduser())
        self._settings = settings
        self._pairs = parse_pairs(settings.pairs)
        self._where = f"translator {settings.name}"
        self._device = choose_device(settings.device, f"{self._where}, `device`")
        self._tokenizer = load_full_tokenizer(folder)
        self._model = load_pretrained(AutoModelForSeq2SeqLM, folder).to(self._device).eval()
        self._limit = _longest_input(self._tokenizer, self._model.config)
        self._lock = threading.Lock()
        self.name = settings.name
        self.model = folder.resolve().name
        weights, words = (files_digest(folder, tokenizer=tokenizer) for tokenizer in (False, True))
        shaping = [settings.prefix, dict(settings.language_codes), settings.beams, settings.max_new_tokens]
        self.version = digest_of([weights, words, shaping])
        for _, target in sorted(self._pairs):
            self._first_token(target)

    def pairs(self) -> frozenset[tuple[str, str]]:
        """As the settings say."""
        return self._pairs

    def knows(self, source: str, target: str) -> bool:
        """Whether one of the pairs serves the languages."""
        return covers(self._pairs, source, target)

    def translate(
        self, texts: Sequence[str], source: str, target: str, *, tenant_id: str, domain: str = ""
    ) -> list[str | None]:
        """One translation a text; None for one that is longer than the model reads or writes, which is logged.

        Raises:
            UpstreamError: The device ran out of memory.
        """
        codes = {"source": code_of(self._settings.language_codes, source)}
        codes["target"] = code_of(self._settings.language_codes, target)
        prefix = self._settings.prefix.replace("{source}", codes["source"]).replace("{target}", codes["target"])
        found: list[str | None] = [None] * len(texts)
        with self._lock, torch.inference_mode():
            if self._by_language:
                self._tokenizer.src_lang = codes["source"]
            rows = [self._tokenizer(prefix + without_surrogates(text))["input_ids"] for text in texts]
            short = [number for number, ids in enumerate(rows) if len(ids) <= self._limit]
            if len(short) < len(rows):
                logger.warning(
                    "%s: %d texts have more tokens than the %d that the model reads",
                    self._where, len(rows) - len(short), self._limit,
                )  # fmt: skip
            for batch in plan_batches([len(rows[number]) for number in short], _TOKEN_BUDGET):
                numbers = [short[int(position)] for position in batch]
                for number, text in zip(numbers, self._generate([rows[n] for n in numbers], target), strict=True):
                    found[number] = text
        return found

    def _generate(self, rows: list[list[int]], target: str) -> list[str | None]:
        padded = self._tokenizer.pad({"input_ids": rows}, return_tensors="pt", padding_side="right")
        first = self._first_token(target)
        try:
            output = self._model.generate(
                input_ids=padded["input_ids"].to(self._device),
                attention_mask=padded["attention_mask"].to(self._device),
                max_new_tokens=self._settings.max_new_tokens,
                max_length=None,
                num_beams=self._settings.beams,
                do_sample=False,
                **({} if first is None else {"forced_bos_token_id": first}),
            )
        except torch.OutOfMemoryError as error:
            raise UpstreamError(
                "the device ran out of memory", where=self._where, got=f"{len(rows)} texts", fix="set `device: cpu`"
            ) from error
        return [self._text(row.tolist()) for row in output]

    def _text(self, ids: list[int]) -> str | None:
        padding = self._model.generation_config.pad_token_id
        # The first token starts the decoder; it may be the padding token.
        written = len(ids) - 1
        while written and ids[written] == padding:
            written -= 1
        if written >= self._settings.max_new_tokens:
            logger.warning("%s: a translation does not end within %d tokens", self._where, written)
            return None
        return str(self._tokenizer.decode(ids, skip_special_tokens=True)).strip()

    @property
    def _by_language(self) -> bool:
        return hasattr(self._tokenizer, "src_lang")

    def _first_token(self, target: str) -> int | None:
        """Token that the output must begin with, for models that are told the language by it."""
        if not self._by_language:
            return None
        code = code_of(self._settings.language_codes, target)
        token = self._tokenizer.convert_tokens_to_ids(code)
        if hasattr(self._tokenizer, "get_lang_id"):  # M2M100 writes its codes with underscores around them
            token = self._tokenizer.lang_code_to_id.get(code)
        if token is None or token == self._tokenizer.unk_token_id:
            raise ConfigError(
                "the model has no such language code",
                where=f"{self._where}, `language_codes`",
                got=f"{target}: {code}",
                fix="give the model's own code, for example {en: eng_Latn}",
            )
        return int(token)


def _longest_input(tokenizer: Any, config: Any) -> int:
    """Tokens that the model reads: the tokenizer's limit (a very large number stands for none) or its positions."""
    limits = [tokenizer.model_max_length, getattr(config, "max_position_embeddings", None)]
    return min((limit for limit in limits if limit and limit < 1_000_000), default=_DEFAULT_LIMIT)
