"""All settings of a job or a command, and how they are loaded."""

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import BaseModel, Field, ValidationError

from babelray.config.base import CREDENTIALS, NAME_PATTERN, Group
from babelray.config.corpus import SourceSettings, TextSettings
from babelray.config.embedders import BundledE5Settings, EmbedderSettings
from babelray.config.jobs import ResourceSettings, UnitSettings, VectorSettings
from babelray.config.localization import LocalizationSettings
from babelray.config.retrieval import RetrievalSettings
from babelray.config.serving import ServingSettings
from babelray.errors import ConfigError

ENV_PREFIX = "BABELRAY_"


class Settings(Group):
    """All settings of a job or a command."""

    store: str = Field(
        default=".babelray/store",
        description="folder, or s3://bucket/prefix?endpoint_override=host:port&scheme=http&region=name",
    )
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
    retrieval: RetrievalSettings = Field(default=RetrievalSettings(), description="how searches are answered")
    localization: LocalizationSettings = Field(default=LocalizationSettings(), description="payloads under glossaries")
    serving: ServingSettings = Field(default=ServingSettings(), description="the endpoint")
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


def _known_keys(group: type[BaseModel] = Settings) -> set[str]:
    """Names of all settings, those of nested groups included."""
    names = set(group.model_fields)
    for field in group.model_fields.values():
        for nested in _groups_in(field.annotation):
            names |= _known_keys(nested)
    return names


def _groups_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _groups_in(part)


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
        got=CREDENTIALS.sub("...@", repr(problem.get("input")))[:200],
        fix="see `babelray config show` for every setting and its bounds",
    )
