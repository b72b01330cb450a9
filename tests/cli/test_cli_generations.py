import json

import pytest
from typer.testing import CliRunner

from babelray.errors import GateFailed, InputError, IntegrityError, ModelKeyMismatch, PublishConflict
from babelray.index.generations import Catalog
from cli import generations as command
from cli.generation_tables import readable_bytes
from tests.index.generation_worlds import StillEmbedder
from tests.index.segment_worlds import KEY
from tests.index.small_generations import plant, planted, template


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("BABELRAY_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("COLUMNS", "160")
    return plant(tmp_path / "store", ["g1", "g2"])


def run(*arguments):
    done = CliRunner().invoke(command.app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def run_json(*arguments):
    return json.loads(run(*arguments, "--json"))


def test_list_shows_what_is_served_and_what_each_holds(store):
    run("publish", "g1")
    run("pin", "g1", "--reason", "baseline")
    rows = {row["generation"]: row for row in run_json("list")}
    assert (rows["g1"]["status"], rows["g1"]["current"], rows["g1"]["pinned"]) == ("current", True, True)
    assert (rows["g2"]["status"], rows["g2"]["current"]) == ("candidate", False)
    assert rows["g2"]["chunks"] == template().counts.chunks and rows["g2"]["model_key"] == KEY.readable()
    assert rows["g2"]["lowest_filtered_recall"] == min(template().vectors.filtered_recall.values())
    table = run("list")
    assert "current, pinned" in table and "candidate" in table and f"{template().counts.chunks:,}" in table


def test_list_names_what_is_wrong_with_a_generation(store):
    path = store.local_path("indexes/main/generations/g2/manifest.json")
    path.write_bytes(path.read_bytes()[:-3])
    assert "g2: a file is not JSON" in run("list")
    problems = {row["generation"]: row.get("problem") for row in run_json("list")}
    assert problems == {"g1": None, "g2": "a file is not JSON"}


def test_a_mistyped_index_is_an_error_that_names_the_others(store):
    for arguments in (["list"], ["show"], ["verify"], ["publish", "g1"], ["rollback"], ["pin", "g1"], ["unpin", "g1"]):
        with pytest.raises(InputError, match="no such index") as caught:
            run(*arguments, "--index", "mian")
        assert caught.value.allowed == "main"
    assert store.folders("indexes") == ["main"]


def test_publish_and_rollback_say_what_is_served_and_keep_who_and_why(store):
    assert "index main: g1 is served\n" in run("publish", "g1", "--by", "ann", "--reason", "first")
    assert "g2 is served; before: g1" in run("publish", "g2", "--expected", "g1")
    assert "g2 is served already; nothing changed" in run("publish", "g2")
    assert run_json("rollback", "--reason", "worse") == {
        "index": "main", "generation": "g1", "from": "g2", "changed": True,
    }  # fmt: skip
    history = run_json("show")["history"]
    assert [(one["action"], one["generation"], one["from"], one["reason"]) for one in history] == [
        ("publish", "g1", None, "first"), ("publish", "g2", "g1", ""), ("rollback", "g1", "g2", "worse"),
    ]  # fmt: skip
    assert history[0]["by"] == "ann" and "@" in history[1]["by"]
    assert "g2 is served; before: g1" in run("rollback", "--to", "g2")


def test_errors_come_through_with_their_exit_codes(store, tmp_path):
    with pytest.raises(InputError, match="nothing is published"):
        run("rollback")
    with pytest.raises(PublishConflict):
        run("publish", "g1", "--expected", "g2")
    worse = template().vectors.model_copy(update={"recall": 0.1, "floor": 0.5})
    plant(tmp_path / "store", ["g3"], vectors=worse)
    with pytest.raises(GateFailed):
        run("publish", "g3")
    assert "g3 is served" in run("publish", "g3", "--force-gate")


def test_show_tells_model_recall_segments_and_history(store):
    run("publish", "g1", "--reason", "first [build]")
    shown = run("show")
    for expected in ("published", KEY.digest, "recall@10", "0000-a", "0001-a", "first [build]", "history of the index"):
        assert expected in shown
    assert "not published" in run("show", "g2")
    values = run_json("show", "g2")
    assert values["generation"] == "g2" and values["current"] is False and "golden" not in values
    with pytest.raises(InputError, match="no such generation"):
        run("show", "g9")


def test_verify_without_options_compares_sizes_and_deep_every_byte(store):
    run("publish", "g1")
    assert "--deep compares every byte" in run("verify")
    assert "every segment opened" in run("verify", "g2", "--deep")
    path = planted(store, "g1").segments[0].files["rows.arrow"].path
    data = bytearray(store.read_bytes(path))
    data[-20] ^= 1
    store.local_path(path).write_bytes(bytes(data))
    assert run_json("verify")["deep"] is False
    with pytest.raises(IntegrityError) as caught:
        run("verify", "--deep")
    assert caught.value.where == path


def test_verify_golden_loads_the_settings_embedder(store, monkeypatch):
    monkeypatch.setenv("BABELRAY_EMBEDDER", "{kind: hash, dimension: 16}")
    with pytest.raises(ModelKeyMismatch, match="not the one"):
        run("verify", "g1", "--golden")
    monkeypatch.setattr(command, "build_embedder", lambda *_: StillEmbedder())
    assert "reproduced at cosine 1.000000" in run("verify", "g1", "--golden")
    assert run_json("verify", "g1", "--golden")["golden_cosine"] == pytest.approx(1)


def test_pins_are_set_and_taken_off(store):
    assert "g2 is pinned" in run("pin", "g2", "--reason", "baseline")
    assert "was pinned already" in run("pin", "g2")
    assert Catalog(store, "main").pinned() == {"g2": "baseline"}
    assert "no longer pinned" in run("unpin", "g2")
    assert "was not pinned" in run("unpin", "g2")


@pytest.mark.parametrize("name", ["list", "show", "verify", "publish", "rollback", "pin"])
def test_help_teaches_by_an_example(name):
    assert f"babelray generations {name}" in run(name, "--help")


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (17_400, "17 kB"), (1_234_567_890, "1.2 GB")]
)
def test_bytes_are_readable(count, text):
    assert readable_bytes(count) == text
