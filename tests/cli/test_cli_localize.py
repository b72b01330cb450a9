"""`babelray localize` on the demo's payloads, and what it says when something is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "demo/localization"


@pytest.fixture
def demo(tmp_path):
    """Settings over the demo's glossary, with a translator that any machine has: `tr`."""

    def make(*command, **profile):
        values = yaml.safe_load((DEMO / "profile.yaml").read_text()) | profile
        (tmp_path / "profile.yaml").write_text(yaml.safe_dump(values))
        translators = [
            {"kind": "command", "name": "tr", "command": list(command), "pairs": ["en>es", "en>de"], "version": "1"}
        ]
        settings = {
            "store": str(tmp_path / "store"),
            "localization": {"profile": str(tmp_path / "profile.yaml"), "hints": {"enabled": False}}
            | ({"translation": {"translators": translators}} if command else {}),
        }
        path = tmp_path / "settings.yaml"
        path.write_text(yaml.safe_dump(settings))
        assert run("glossary", "import", "orchard", DEMO / "glossary.csv", "-c", path).returncode == 0
        return path

    return make


def run(*arguments):
    command = [sys.executable, "-m", "cli.main", *map(str, arguments)]
    environ = {**os.environ, "COLUMNS": "160", "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ)


def test_a_payload_keeps_its_shape_and_the_report_names_every_term(demo, tmp_path):
    config = demo("tr", "a-z", "A-Z")
    output = tmp_path / "app.es.json"
    done = run("localize", DEMO / "payloads/app.json", "--to", "es", "-c", config, "-o", output)
    assert done.returncode == 0, done.stderr
    source, made = (json.loads(path.read_text()) for path in (DEMO / "payloads/app.json", output))
    assert made["title"] == "Orchard panel de control" and made["backup"]["started"].count("{{workspace}}") == 1
    assert made["limits"][0] == 100 and made["limits"][1].startswith("AT MOST %d factura")
    assert list(made) == list(source) and made["version"] == "v2.1.0" and made["empty"] == ""
    assert "Orchard" in done.stdout and "retention period" in done.stdout and "applied" in done.stdout


def test_json_holds_records_with_verdicts(demo):
    config = demo("tr", "a-z", "A-Z")
    done = run("localize", DEMO / "payloads/app.json", "--to", "de", "-c", config, "--json")
    strings = {one["pointer"]: one for one in json.loads(done.stdout)["strings"]}
    (verdict,) = strings["/nav/invoices"]["verdicts"]
    assert (verdict["term_id"], verdict["class"], verdict["status"]) == ("invoice", "custom_translation", "applied")
    assert strings["/nav/invoices"]["output"] == "Rechnung"


def test_a_lost_string_ends_with_exit_code_6(demo):
    config = demo("tr", "-d", "0-9")
    done = run("localize", DEMO / "payloads/app.json", "--to", "es", "-c", config)
    assert done.returncode == 6
    assert "protected_damaged" in done.stdout and "strings have no translation" in done.stderr


def test_a_term_that_is_lost_ends_with_exit_code_6(demo, tmp_path):
    # Terms that the profile's domain leaves out are not given; the scorer of another profile would miss them. Here
    # the translation is forbidden: the engine's own word for an unlisted form.
    payload = tmp_path / "one.json"
    payload.write_text('["The tablero of the dashboard"]')
    done = run("localize", payload, "--to", "es", "-c", demo("cat"))
    assert done.returncode == 6 and "dashboard (forbidden)" in done.stderr


def test_without_a_translator_terms_are_found_and_nothing_fails(demo, tmp_path):
    output = tmp_path / "out.json"
    done = run("localize", DEMO / "payloads/mail/welcome.json", "--to", "es", "-c", demo(), "-o", output)
    assert done.returncode == 0 and not output.exists()
    assert "Harvest Key" in done.stdout and "not translated" in done.stdout


@pytest.mark.parametrize(
    ("text", "what"),
    [('{"a": ', "bad input"), ("", "bad input")],
)
def test_what_is_no_payload_is_said(demo, tmp_path, text, what):
    payload = tmp_path / "broken.json"
    payload.write_text(text)
    done = run("localize", payload, "--to", "es", "-c", demo())
    assert done.returncode == 2 and what in done.stderr


def test_no_glossary_is_said(tmp_path):
    payload = tmp_path / "a.json"
    payload.write_text('["a"]')
    config = tmp_path / "settings.yaml"
    config.write_text(f"store: {tmp_path / 'store'}\n")
    done = run("localize", payload, "--to", "es", "-c", config)
    assert done.returncode == 2 and "no glossary is named" in done.stderr
