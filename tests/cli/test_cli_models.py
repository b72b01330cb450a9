import json

import pytest
from typer.testing import CliRunner

from babelray.config import HashSettings
from babelray.errors import ConfigError
from cli.models import app
from models.registry import model_key


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("BABELRAY_CACHE", str(tmp_path / "cache"))

    def invoke(*arguments, **embedder):
        path = tmp_path / "settings.yaml"
        path.write_text(json.dumps({"embedder": embedder}))
        return CliRunner().invoke(app, [*arguments, "-c", str(path)], catch_exceptions=False)

    return invoke


def test_show_prints_key_digest_and_place(run, tmp_path):
    key = model_key(HashSettings(kind="hash", dimension=32), tmp_path)
    shown = run("show", kind="hash", dimension=32)
    assert shown.exit_code == 0
    assert key.digest in shown.output and "words-seed-0" in shown.output and "no weights: ready" in shown.output
    data = json.loads(run("show", "--json", kind="hash", dimension=32).output)
    assert (data["digest"], data["key"], data["problem"]) == (key.digest, key.model_dump(), None)


def test_show_says_that_the_default_model_is_not_prepared(run):
    shown = run("show", kind="bundled-e5")
    assert "multilingual-e5-small" in shown.output
    assert "missing; run `babelray models prepare`" in shown.output


def test_prepare_tells_where_and_which(run, tmp_path):
    done = run("prepare", kind="hash")
    assert "ready after" in done.output
    assert model_key(HashSettings(kind="hash"), tmp_path).digest in done.output


def test_hub_model_without_commit_is_an_error_before_any_download(run):
    with pytest.raises(ConfigError, match="pinned revision"):
        run("prepare", kind="torch", model="acme/tiny", revision="main")


def test_endpoint_outside_of_the_boundary_is_found_by_prepare(run):
    settings = {"kind": "endpoint", "url": "http://93.184.216.34/v1", "model": "m", "revision": "1", "dimension": 4}
    with pytest.raises(ConfigError, match="may not leave"):
        run("prepare", **settings)
