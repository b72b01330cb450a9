"""Settings of query translation: engines, routes, and what text may leave to which service."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from babelray.config.base import Group

_KIND = "chooses the translator"
_NAME = r"^[a-z0-9][a-z0-9._-]{0,62}$"
_PAIRS = "language pairs it translates, as source>target: [es>en, en>es]"
_PAIR = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]*>[A-Za-z][A-Za-z0-9-]*$")]
_BOUNDARY = "local: texts stay on machines of one's own; external: only for tenants whose boundary names the translator"
_RETRIES = "of a call that failed for the time being"


class GlossaryTranslatorSettings(Group):
    """Replaces glossary terms by their translation and leaves the rest: deterministic, always there."""

    kind: Literal["glossary"] = Field(description=_KIND)
    name: str = Field(default="glossary", pattern=_NAME, description="what routes and traces call it")
    reverse: bool = Field(
        default=True, description="also from a term's target to its source, where that is the only term with it"
    )


class CommandTranslatorSettings(Group):
    """Any command that reads lines and writes as many lines, such as `apertium -n -u eng-spa`.

    Apertium starts a dozen processes, which takes a hundred times as long as the translation of a query; kept open as a
    stream it answers in milliseconds.
    """

    kind: Literal["command"] = Field(description=_KIND)
    name: str = Field(pattern=_NAME, description="what routes and traces call it")
    command: tuple[str, ...] = Field(min_length=1, description="program and arguments; no shell reads them")
    pairs: tuple[_PAIR, ...] = Field(min_length=1, description=_PAIRS)
    exchange: Literal["lines", "apertium-stream"] = Field(
        default="lines",
        description="lines: started for each call; apertium-stream: it stays, reads and writes Apertium's "
        "stream format and ends each answer with NUL, as a mode's pipeline with -z does",
    )
    version: str = Field(default="", description="of engine and data; part of cache keys; empty: asked of the program")
    version_command: tuple[str, ...] = Field(
        default=(),
        description="prints the version of engine and data, as in [dpkg-query, -W, apertium, apertium-eng-spa]; "
        "empty: the program with --version",
    )
    unknown_marks: str = Field(
        default="*@#", max_length=8, description="signs that the program puts before words it cannot translate"
    )
    data_boundary: Literal["local", "external"] = Field(default="local", description=_BOUNDARY)
    timeout_seconds: float = Field(default=2.0, gt=0, le=600, description="of one call")
    retries: int = Field(default=1, ge=0, le=10, description=_RETRIES)


class Seq2SeqTranslatorSettings(Group):
    """A Hugging Face sequence-to-sequence model in a local folder (Marian, M2M100, NLLB)."""

    kind: Literal["seq2seq"] = Field(description=_KIND)
    name: str = Field(pattern=_NAME, description="what routes and traces call it")
    path: Path = Field(description="folder with the checkpoint and its tokenizer")
    pairs: tuple[_PAIR, ...] = Field(min_length=1, description=_PAIRS)
    language_codes: Mapping[str, str] = Field(
        default_factory=dict, description="BCP 47 -> the model's own code, for models of many languages: {en: eng_Latn}"
    )
    prefix: str = Field(
        default="",
        max_length=200,
        description="put before each text; {source} and {target} stand for the codes: `>>{target}<< ` of Marian models "
        "with several targets, `translate {source} to {target}: ` of T5",
    )
    max_new_tokens: int = Field(default=128, ge=8, le=2048, description="longest translation")
    beams: int = Field(default=1, ge=1, le=16, description="1 is greedy")
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description="auto: the GPU where there is one")


class HttpTranslatorSettings(Group):
    """An OpenAI-compatible chat completions URL that is asked to translate.

    Queries are translated as they come; strings of payloads go in batches, with the rules that bind them.
    """

    kind: Literal["http"] = Field(description=_KIND)
    name: str = Field(pattern=_NAME, description="what routes, boundaries and traces call it")
    url: str = Field(pattern=r"^https?://", description="base URL; /chat/completions is added")
    model: str = Field(description="name that the service knows the model by")
    revision: str = Field(default="", description="what the operator calls this version; part of cache keys")
    pairs: tuple[_PAIR, ...] = Field(min_length=1, description=_PAIRS)
    api_key_file: Path | None = Field(default=None, description="file that holds the bearer token; never logged")
    data_boundary: Literal["local", "external"] = Field(
        default="local",
        description="local: only loopback and private addresses; external: only for tenants whose boundary names it",
    )
    json_mode: bool = Field(
        default=True, description="ask for `response_format: json_object`; for services that refuse the field: false"
    )
    max_tokens: int = Field(default=2048, ge=16, le=131_072, description="longest answer to one request")
    timeout_seconds: float = Field(default=5.0, gt=0, le=600, description="of one request")
    retries: int = Field(default=1, ge=0, le=10, description=_RETRIES)
    batch_strings: int = Field(default=20, ge=1, le=500, description="strings of payloads in one request at most")
    batch_characters: int = Field(default=4000, ge=100, le=1_000_000, description="of the strings of one request")
    concurrency: int = Field(default=4, ge=1, le=64, description="requests under way at a time")
    requests_per_minute: float = Field(default=0.0, ge=0, le=100_000, description="0: as many as it takes")
    input_price: float = Field(default=0.0, ge=0, description="of a million tokens sent, for the cost in summaries")
    output_price: float = Field(default=0.0, ge=0, description="of a million tokens received")


TranslatorSettings = Annotated[
    GlossaryTranslatorSettings | CommandTranslatorSettings | Seq2SeqTranslatorSettings | HttpTranslatorSettings,
    Field(discriminator="kind"),
]


class RouteSettings(Group):
    """The way from one language to another, step by step."""

    languages: tuple[str, ...] = Field(min_length=2, description="languages passed through: [pt, es, en]")
    translators: tuple[str, ...] = Field(min_length=1, description="one a step, by name")

    @model_validator(mode="after")
    def _one_translator_a_step(self) -> Self:
        if len(self.translators) != len(self.languages) - 1:
            raise ValueError(
                f"{len(self.languages)} languages have {len(self.languages) - 1} steps between them, "
                f"but there are {len(self.translators)} translators"
            )
        return self


class Redaction(Group):
    """What is replaced before text leaves for an external service."""

    name: str = Field(
        pattern=r"^[A-Z][A-Z0-9_]{0,30}$", description="in capitals; what messages say in place of the private text"
    )
    pattern: re.Pattern[str] = Field(description="regular expression of what must not leave")


class DataBoundary(Group):
    """What text may leave, and to whom. Nothing may by default."""

    services: tuple[str, ...] = Field(default=(), description="names of external translators that may receive text")
    redactions: tuple[Redaction, ...] = Field(default=(), description="applied before every external call")


class TranslationSettings(Group):
    """The translated channel."""

    translators: tuple[TranslatorSettings, ...] = Field(
        default=(GlossaryTranslatorSettings(kind="glossary"),),
        description="engines; none sends text anywhere by default",
    )
    routes: tuple[RouteSettings, ...] = Field(
        default=(), description="how a pair is translated; without one: the first translator that knows the pair"
    )
    bind_terms: bool = Field(
        default=True, description="terms of the glossary travel as marks and come back as their own translation"
    )
    targets: tuple[str, ...] = Field(
        default=(), description="languages translated into; empty: the generation's largest ones but the query's own"
    )
    max_targets: int = Field(default=2, ge=0, le=16, description="translations of one query at most")
    boundaries: Mapping[str, DataBoundary] = Field(
        default_factory=dict, description="tenant -> what of its text may leave; a tenant not named: nothing"
    )
    failures_to_open: int = Field(default=3, ge=1, le=100, description="failures in a row that stop calls for a while")
    open_seconds: float = Field(default=30.0, gt=0, le=3600, description="how long calls then stop")
    cache_entries: int = Field(default=4096, ge=0, le=10_000_000, description="translations kept in memory")
