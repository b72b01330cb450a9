"""`babelray reindex` as a user meets it: what it prints, what it ends with."""

import errno
import json

import pytest
from typer.testing import CliRunner

from babelray.errors import ConfigError, IncompleteRun, InputError
from cli import reindex
from cli.main import app
from tests.jobs.job_worlds import JobWorld

runner = CliRunner()


def test_no_sources_are_refused_with_an_example(tmp_path):
    (tmp_path / "job.yaml").write_text(f"store: {tmp_path}/store\n")
    for command in ("plan", "run", "status"):
        result = runner.invoke(app, ["reindex", command, "-c", str(tmp_path / "job.yaml")])
        assert isinstance(result.exception, ConfigError) and "reindex-demo.yaml" in str(result.exception)


def test_status_of_what_was_never_started(world):
    result = runner.invoke(app, ["reindex", "status", "-c", str(world.write_config())])
    assert isinstance(result.exception, InputError) and "never started" in str(result.exception)


def test_interrupting_is_one_line_and_the_code_of_shells(world, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("jobs.reindex.run", interrupted)
    result = runner.invoke(app, ["reindex", "run", "-c", str(world.write_config())])
    assert result.exit_code == reindex.INTERRUPTED == 130
    assert "finished units are kept" in result.output and "Traceback" not in result.output


def test_a_full_disk_is_one_message_with_a_way_on(world, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "plan.json")

    monkeypatch.setattr("jobs.reindex.run", full)
    result = runner.invoke(app, ["reindex", "run", "-c", str(world.write_config())])
    assert isinstance(result.exception, IncompleteRun) and result.exception.exit_code == 7
    assert "No space left on device" in str(result.exception)


@pytest.mark.ray
def test_plan_run_and_status(tmp_path, ray_cluster):
    world = JobWorld.of_rows(tmp_path, rows=6, units=2)
    config = str(world.write_config())
    planned = runner.invoke(app, ["reindex", "plan", "-c", config, "--json"])
    values = json.loads(planned.stdout)
    assert values["units"] == 2 and values["cluster"] == "2 CPUs, 0 GPUs"
    assert runner.invoke(app, ["reindex", "run", "-c", config, "--dry-run"]).exit_code == 0
    assert not (tmp_path / "store").exists(), "planning writes nothing"

    done = runner.invoke(app, ["reindex", "run", "-c", config])
    assert done.exit_code == 0, done.output
    assert "published" in done.output and "6" in done.output
    found = json.loads(runner.invoke(app, ["reindex", "status", "-c", config, "--json"]).stdout)
    assert found["built"] and found["published"]
    assert found["stages"]["embed"] == {"done": 2, "quarantined": {}, "of": 2}
    assert values["generation"] == found["generation"] == world.current()
    table = runner.invoke(app, ["reindex", "status", "-c", config])
    assert "2 of 2 units" in table.output

    summary = json.loads(runner.invoke(app, ["reindex", "run", "-c", config, "--json"]).stdout)
    assert summary["already_built"] and summary["computed_tokens"] == 0


@pytest.mark.ray
def test_plan_refuses_what_cannot_fit(tmp_path, ray_cluster):
    world = JobWorld.of_rows(tmp_path, rows=2, units=2).with_(resources={"embed_actors": 3})
    result = runner.invoke(app, ["reindex", "plan", "-c", str(world.write_config())])
    assert isinstance(result.exception, ConfigError) and "3 x 1 + 1" in str(result.exception)
