import json

import pytest
from typer.testing import CliRunner

from babelray.errors import InputError
from babelray.glossary.importing import read_terms
from cli.glossary import app

CSV = "term_id,source,target,domain\nn,node,nodo,k8s\np,Pod,,k8s\nm,[b]mark[/b],marca,\n"
DEFAULTS = ["--default", "source_locale=en", "--default", "target_locale=es"]


@pytest.fixture
def run(tmp_path):
    def call(*arguments, fails=None):
        command, *rest = arguments
        extra = [] if command == "match" and "--glossary" in rest and rest[-1] == "file" else ["--database", database]
        result = CliRunner().invoke(app, [command, *map(str, rest), *extra])
        if fails:
            assert isinstance(result.exception, fails), result.output
            return str(result.exception)
        assert result.exit_code == 0, (result.output, result.exception)
        return result.output

    database = f"sqlite:///{tmp_path}/g.sqlite"
    (tmp_path / "g.csv").write_text(CSV)
    return call


def test_import_list_history_diff_export(run, tmp_path):
    assert "version 1: 3 terms" in run("import", "k8s", tmp_path / "g.csv", *DEFAULTS)
    (tmp_path / "more.csv").write_text("term_id,source,target\nn,node,nudo\n")
    assert "version 2: 3 terms" in run("import", "k8s", tmp_path / "more.csv", "--add", *DEFAULTS)
    rows = [json.loads(line) for line in run("list", "k8s", "--json").splitlines()]
    assert [(r["id"], r["target"]) for r in rows] == [("m", "marca"), ("n", "nudo"), ("p", "Pod")]
    assert json.loads(run("list", "--json"))["version"] == 2
    assert [json.loads(line)["version"] for line in run("history", "k8s", "--json").splitlines()] == [2, 1]
    change = json.loads(run("diff", "k8s", 1, 2, "--json"))
    assert change["change"] == "changed" and "target: nodo -> nudo" in change["fields"]
    assert "[b]mark[/b]" in run("list", "k8s")
    run("export", "k8s", tmp_path / "out.tbx", "--version", 1)
    assert {t.target for t in read_terms(tmp_path / "out.tbx").terms} == {"nodo", "", "marca"}


def test_a_glossary_that_contradicts_itself_is_refused_or_stored_without_the_conflict(run, tmp_path):
    (tmp_path / "bad.csv").write_text(CSV + "n2,Node,nudo,k8s\n")
    message = run("import", "k8s", tmp_path / "bad.csv", *DEFAULTS, fails=InputError)
    assert "contradicts itself" in message and "--skip-conflicts" in message
    assert "nothing to show" in run("list")
    assert "version 1: 2 terms, 2 left out" in run("import", "k8s", tmp_path / "bad.csv", "--skip-conflicts", *DEFAULTS)
    assert "2 terms, 0 errors" in run("lint", "k8s")


def test_an_unknown_field_is_named(run, tmp_path):
    assert "sauce" in run("import", "k8s", tmp_path / "g.csv", "--map", "sauce=x", fails=InputError)


def test_match_reads_payloads_and_says_what_binds(run, tmp_path):
    run("import", "k8s", tmp_path / "g.csv", *DEFAULTS)
    payload = tmp_path / "en.json"
    payload.write_text('{"menu": {"add": "Add nodes to a Pod", "x": ["[b]mark[/b]"]}}')
    report = json.loads(run("match", payload, "--to", "es", "-g", "k8s", "--preload-limit", 0, "--json"))
    assert report["mode"] == "search"
    assert [(m["pointer"], m["surface"], m["rendering"], m["kind"], m["use"]) for m in report["matches"]] == [
        ("/menu/add", "nodes", "nodo", "inflected", "selected"),
        ("/menu/add", "Pod", "Pod", "exact", "selected"),
        ("/menu/x/0", "[b]mark[/b]", "marca", "exact", "selected"),
    ]
    assert [t["source"] for t in report["constraints"]["custom"]] == ["node", "[b]mark[/b]"]
    assert '- "node" -> "nodo" (in the text: "nodes")' in run(
        "match", payload, "--to", "es", "-g", "k8s", "--preload-limit", 0, "--prompt"
    )
    assert "mode preload: 3 terms" in run("match", payload, "--to", "es", "-g", "k8s", "--domain", "k8s")
    assert "mode skip" in run("match", payload, "--to", "de", "-g", "k8s")
