import json

import pytest
from typer.testing import CliRunner

from babelray.errors import InputError, PublishConflict
from babelray.index.access import AccessValues
from babelray.index.access_store import read_current, register_classes
from babelray.index.store import open_store
from cli.access import app

ENG = AccessValues("acme", "docs", ("eng",), "active")
HR = AccessValues("acme", "wiki", (), "active")


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("BABELRAY_STORE", str(tmp_path / "store"))
    opened = open_store(str(tmp_path / "store"))
    register_classes(opened, "main", [ENG, HR])
    return opened


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def changes_file(tmp_path, text):
    path = tmp_path / "changes.yaml"
    path.write_text(text, encoding="utf-8")
    return path


OPEN_TO_OPS = "- {action: set_class, where: {tenant_id: acme, groups: [eng]}, set: {groups: [eng, ops]}}\n"


def test_apply_changes_rights_and_says_what_changed(store, tmp_path):
    path = changes_file(tmp_path, OPEN_TO_OPS + "- {action: delete_document, doc_id: d2}\n")
    result = run("apply", path, "--note", "ticket 7")
    assert result.exit_code == 0
    assert "class 0" in result.output and "eng, ops" in result.output and "document d2: deleted" in result.output
    pointed = read_current(store, "main")
    assert pointed.table.classes[0].effective.groups == ("eng", "ops")
    assert pointed.table.deleted == {"d2"} and pointed.history[-1]["note"] == "ticket 7"


def test_a_dry_run_changes_nothing(store, tmp_path):
    before = read_current(store, "main").table
    result = run("apply", changes_file(tmp_path, OPEN_TO_OPS), "--dry-run")
    assert "would change" in result.output and "eng, ops" in result.output
    assert read_current(store, "main").table == before


def test_a_wrong_file_is_named_and_nothing_is_changed(store, tmp_path):
    revision = read_current(store, "main").table.revision
    with pytest.raises(InputError, match="cannot be read"):
        run("apply", tmp_path / "none.yaml")
    with pytest.raises(InputError, match="entry 0"):
        run("apply", changes_file(tmp_path, "- {action: open_everything}\n"))
    with pytest.raises(PublishConflict):
        run("apply", changes_file(tmp_path, OPEN_TO_OPS), "--expected", "000000-other")
    assert read_current(store, "main").table.revision == revision


def test_show_and_classes_tell_what_is_in_force(store, tmp_path):
    override = "- {action: set_document, doc_id: d1, tenant_id: acme, knowledge_base_id: docs, groups: [hr]}\n"
    run("apply", changes_file(tmp_path, OPEN_TO_OPS + override))
    shown = json.loads(run("show", "--json").output)
    assert shown["classes"] == 2 and shown["overrides"]["d1"]["groups"] == ["hr"]
    assert shown["revision"] == read_current(store, "main").table.revision
    listed = json.loads(run("classes", "--json").output)
    assert [one["declared"]["groups"] for one in listed] == [["eng"], []]
    assert [one["effective"]["groups"] for one in listed] == [["eng", "ops"], []]
    assert "nobody" in run("classes").output and "d1" in run("show").output


@pytest.mark.parametrize("arguments", [("show",), ("classes",), ("apply", "changes.yaml")])
def test_a_mistyped_index_is_an_error_and_makes_nothing(store, tmp_path, arguments):
    path = changes_file(tmp_path, "- {action: delete_document, doc_id: d}\n")
    arguments = [path if one == "changes.yaml" else one for one in arguments]
    with pytest.raises(InputError, match="no access table"):
        run(*arguments, "--index", "mian")
    assert store.folders("indexes") == ["main"]


def test_help_teaches_the_actions():
    text = run("apply", "--help").output
    assert all(action in text for action in ("set_class", "set_document", "delete_document", "restore_document"))
