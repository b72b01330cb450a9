import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from babelray import config
from babelray.config import Settings, load_settings
from babelray.errors import ConfigError

ROOT = Path(__file__).parents[1]
# Serve's own configurations are no settings; tests/infra holds them against Serve's schema.
CONFIGS = sorted(path for path in (ROOT / "configs").glob("*.yaml") if not path.name.startswith("serve-"))


def every_setting() -> Iterator[tuple[str, str, str | None]]:
    """Group, name and description of every setting there is."""
    for group in vars(config).values():
        if isinstance(group, type) and issubclass(group, BaseModel) and group is not BaseModel:
            yield from ((group.__name__, name, field.description) for name, field in group.model_fields.items())


def write(folder: Path, text: str) -> Path:
    path = folder / "settings.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.name)
def test_every_committed_config_loads(path: Path) -> None:
    settings = load_settings(path, environ={})
    assert settings.sources or settings.localization.backlog


def test_there_are_configs_to_load() -> None:
    assert len(CONFIGS) >= 3


def test_the_environment_overrides_the_file_and_the_file_the_defaults(tmp_path: Path) -> None:
    path = write(tmp_path, "index: news\nvectors: {kind: flat, seed: 4}\n")
    settings = load_settings(
        path, environ={"BABELRAY_VECTORS__KIND": "ivf_sq8", "BABELRAY_CORPUS": "press", "OTHER": "x"}
    )
    assert (settings.index, settings.corpus, settings.vectors.kind, settings.vectors.seed) == (
        "news",
        "press",
        "ivf_sq8",
        4,
    )
    assert settings.text.max_tokens == Settings().text.max_tokens


def test_an_environment_variable_can_replace_a_list(tmp_path: Path) -> None:
    environ = {"BABELRAY_SOURCES": "[{path: /docs, format: html, tenant_id: t}]"}
    (source,) = load_settings(None, environ).sources
    assert (source.path, source.format, source.tenant_id) == ("/docs", "html", "t")


def test_changing_the_embedder_kind_by_environment_is_a_model_upgrade(tmp_path: Path) -> None:
    path = write(tmp_path, "embedder: {kind: bundled-e5}\n")
    assert load_settings(path, {"BABELRAY_EMBEDDER__KIND": "bundled-minilm"}).embedder.kind == "bundled-minilm"


@pytest.mark.parametrize(
    ("text", "where", "fix"),
    [
        ("stoer: x", "unknown setting `stoer`", "did you mean `store`?"),
        ("vectors: {recal_target: 0.9}", "unknown setting `vectors.recal_target`", "did you mean `recall_target`?"),
        ("sources: [{path: a, tenant: t}]", "unknown setting `sources.0.tenant`", "did you mean `tenant_id`?"),
        ("zzzzzz: 1", "unknown setting `zzzzzz`", "`babelray config show` prints all settings"),
        ("text: {max_tokens: 1}", "setting `text.max_tokens`", None),
        ("index: ../escape", "setting `index`", None),
        ("embedder: {kind: gpt}", "setting `embedder`", None),
        ("embedder: {kind: torch}", "setting `embedder.torch.model`", None),
        ("sources: [{path: a, language_from_path: '(x)'}]", "setting `sources.0.language_from_path`", None),
    ],
)
def test_a_wrong_setting_is_named_with_its_place(tmp_path: Path, text: str, where: str, fix: str | None) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_settings(path, environ={})
    assert caught.value.what.startswith(where)
    assert caught.value.where == str(path)
    assert fix is None or caught.value.fix == fix


@pytest.mark.parametrize(("text", "what"), [("a: [", "is not YAML"), ("- 1", "must hold a mapping")])
def test_a_broken_file_is_a_config_error(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        load_settings(write(tmp_path, text), environ={})


def test_a_missing_file_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        load_settings(tmp_path / "none.yaml", environ={})


def test_a_broken_environment_value_names_the_variable() -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(None, {"BABELRAY_SOURCES": "[{path: "})
    assert caught.value.where == "BABELRAY_SOURCES"


def test_a_group_variable_and_a_value_variable_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError):
        load_settings(None, {"BABELRAY_TEXT": "3", "BABELRAY_TEXT__MAX_TOKENS": "64"})


@pytest.mark.parametrize("expression", ["(", "[a-", "(?P<lang>x"])
def test_a_broken_regular_expression_is_a_config_error(tmp_path: Path, expression: str) -> None:
    path = write(tmp_path, f"sources: [{{path: a, language_from_path: '{expression}'}}]\n")
    with pytest.raises(ConfigError, match="not a regular expression"):
        load_settings(path, environ={})


@pytest.mark.parametrize("uri", ["s3://AKIA:hush@bucket/docs", "s3://AKIA@bucket"])
def test_credentials_in_a_path_are_refused_and_not_repeated(tmp_path: Path, uri: str) -> None:
    with pytest.raises(ConfigError, match="credentials") as caught:
        load_settings(write(tmp_path, f"sources: [{{path: '{uri}'}}]\n"), environ={})
    assert "hush" not in str(caught.value)
    assert "AKIA" not in str(caught.value)


def test_an_at_sign_further_down_a_path_is_no_credential(tmp_path: Path) -> None:
    path = write(tmp_path, "sources: [{path: 's3://bucket/a@b'}, {path: 'docs/me@home'}]\n")
    assert len(load_settings(path, environ={}).sources) == 2


def test_a_wrong_variable_is_blamed_beside_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "index: news\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(path, environ={"BABELRAY_VECTORS__KIND": "hnsw"})
    assert caught.value.where == f"{path} or environment (BABELRAY_VECTORS...)"


def test_every_setting_says_what_it_is() -> None:
    assert [(group, name) for group, name, description in every_setting() if not description] == []


def test_every_setting_is_read_somewhere() -> None:
    files = [
        path for folder in ("babelray", "models", "jobs", "cli", "serve") for path in (ROOT / folder).rglob("*.py")
    ]
    nodes = (node for path in files for node in ast.walk(ast.parse(path.read_text())))
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    assert [(group, name) for group, name, _ in every_setting() if name not in read] == []


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Settings().index = "other"  # type: ignore[misc]


@pytest.mark.parametrize("name", ["glossary", "plan_sink"])
@pytest.mark.parametrize(
    ("url", "printed"),
    [
        ("postgresql+psycopg://me:hun/ter2@db.example.com/plans", "postgresql+psycopg://***@db.example.com/plans"),
        ("mysql+pymysql://db/x?user=me&password=hunter2&ssl=1", "mysql+pymysql://db/x?user=me&password=***&ssl=1"),
        ("sqlite:////data/plans.sqlite", "sqlite:////data/plans.sqlite"),
        ("plans/of@today.jsonl", "plans/of@today.jsonl"),
    ],
)
def test_passwords_of_databases_are_kept_and_never_written_out(name: str, url: str, printed: str) -> None:
    settings = load_settings(environ={f"BABELRAY_RETRIEVAL__{name.upper()}": url})
    assert getattr(settings.retrieval, name) == url
    assert settings.model_dump(mode="json")["retrieval"][name] == printed
    assert "ter2" not in settings.model_dump_json()
