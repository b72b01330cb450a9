"""Settings of glossary-aware localization: backlog, glossaries, hints, translators, scoring and calibration."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from babelray.config.base import NAME_PATTERN, DatabaseUrl, Group
from babelray.config.translation import TranslationSettings


class BacklogSettings(Group):
    """Where payloads are read from."""

    path: str = Field(description="folder or file of payloads")
    format: Literal["auto", "json", "jsonl", "parquet"] = Field(
        default="auto", description="auto: by suffix; json: one payload a file; jsonl: one a line"
    )
    include: tuple[str, ...] = Field(
        default=("*.json", "*.jsonl", "*.ndjson", "*.parquet"), description="glob patterns of the files in a folder"
    )
    column: str = Field(default="payload", description="of a Parquet file")
    source_locale: str = Field(default="en", min_length=2, description="BCP 47 of its strings")


class HintSettings(Group):
    """Terms found by meaning, over the windows that no enforced match covers."""

    enabled: bool = Field(default=True, description="false: enforced matches alone, no model is loaded")
    threshold: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="least cosine; null: the calibrated one, or the model's starting value",
    )
    per_ngram: int = Field(default=3, ge=1, le=50, description="terms that one window may hint at")
    margin: float = Field(
        default=0.03, ge=0, le=1, description="cosines so little under the threshold are kept for calibration"
    )
    cache_entries: int = Field(default=200_000, ge=0, description="vectors of windows kept in memory")


class JudgeSettings(Group):
    """A chat model that scores what rules cannot. Never the one that localizes."""

    url: str = Field(pattern=r"^https?://", description="base URL of an OpenAI-compatible service")
    model: str = Field(description="name that the service knows the model by")
    revision: str = Field(default="", description="what the operator calls this version")
    api_key_file: Path | None = Field(default=None, description="file that holds the bearer token; never logged")
    data_boundary: Literal["local", "external"] = Field(
        default="local",
        description="local: only loopback and private addresses; external: only if the profile names `judge`",
    )
    timeout_seconds: float = Field(default=30.0, gt=0, le=600, description="of one request")
    retries: int = Field(default=2, ge=0, le=10, description="of a request that failed for the time being")


class ScoringSettings(Group):
    """Scores of what was localized, made apart from the localizer."""

    judge: JudgeSettings | None = Field(default=None, description="for criteria of kind `judge`; null: they stay open")
    labels: Path | None = Field(
        default=None, description="CSV or JSONL of record_id, term_id, present: what people say about the sources"
    )


class CalibrationSettings(Group):
    """How thresholds of hints move."""

    step: float = Field(
        default=0.01, gt=0, le=0.2, description="cosine that a calibration moves a threshold by at most"
    )
    minimum_sample: int = Field(default=30, ge=2, le=1_000_000, description="labelled hints of a pair, or it stays")
    miss_target: float = Field(default=0.1, ge=0, le=1, description="share of meant terms that may lie under it")
    irrelevant_target: float = Field(default=0.3, ge=0, le=1, description="share of hints that may be irrelevant")
    hysteresis: float = Field(
        default=0.05, ge=0, le=0.5, description="a share must be so far beyond its target before anything moves"
    )
    precision_floor: float = Field(default=0.5, ge=0, le=1, description="gate: of held-out hints after loosening")
    recall_floor: float = Field(default=0.5, ge=0, le=1, description="gate: of held-out meant terms after tightening")
    lowest: float = Field(default=0.5, ge=-1, le=1, description="no threshold is ever under it")
    highest: float = Field(default=0.995, ge=-1, le=1, description="no threshold is ever over it")


class LocalizationSettings(Group):
    """Glossary-aware localization of payloads."""

    name: str = Field(default="main", pattern=NAME_PATTERN, description="of the backlog; its runs carry it")
    database: DatabaseUrl | None = Field(
        default=None, description="SQLAlchemy URL of the glossaries; null: glossaries.sqlite beside the store"
    )
    profile: Path | None = Field(default=None, description="YAML file of the engine profile; null: terms alone bind")
    glossaries: tuple[str, ...] = Field(default=(), description="names; empty: those of the profile")
    targets: tuple[str, ...] = Field(default=(), description="BCP 47 locales to localize into")
    backlog: tuple[BacklogSettings, ...] = Field(default=(), description="where payloads are read from")
    output: str = Field(default=".babelray/localized", description="folder of payloads, records and dead letters")
    hints: HintSettings = Field(default=HintSettings(), description="terms found by meaning")
    translation: TranslationSettings | None = Field(
        default=None, description="engines and routes; null: payloads are enriched with terms and not translated"
    )
    strings_per_unit: int = Field(
        default=2000, ge=1, le=1_000_000, description="of a work unit, estimated from bytes; each for every target"
    )
    actors: int = Field(default=1, ge=1, le=1024, description="workers that localize side by side")
    incomplete_payloads: Literal["keep_source", "leave_out"] = Field(
        default="keep_source",
        description="of a payload with a string that has no translation: that string stays in its source language, or "
        "no payload is written",
    )
    scoring: ScoringSettings = Field(default=ScoringSettings(), description="verdicts on what was localized")
    calibration: CalibrationSettings = Field(default=CalibrationSettings(), description="how thresholds of hints move")
