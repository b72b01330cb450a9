"""Scoring and calibration over what a backfill wrote, on a local Ray cluster and by the command line."""

import json

import pytest
from typer.testing import CliRunner

from babelray.errors import ConfigError, InputError
from babelray.glossary.labels import read_labels
from babelray.glossary.scoring import Blame, Status
from babelray.glossary.store import open_glossaries
from babelray.index.store import open_store
from cli import calibrate, score
from jobs.score import read_scores, run
from tests.jobs.backfill_worlds import BackfillWorld, terms
from tests.models.chat_server import completion
from tests.models.embedding_server import serving

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]


@pytest.fixture
def localized(tmp_path):
    world = BackfillWorld.create(tmp_path, files=2)
    world.run()
    return world


def scores(world):
    return {(one.payload, one.pointer, one.target_locale): one for one in read_scores(open_store(str(world.output)))}


def command(app, *arguments):
    done = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_every_localized_string_is_scored_once_and_again_only_under_other_rules(localized):
    summary = run(localized.settings)
    assert (summary.records, summary.unscored, summary.kept) == (2 * 9 * 6, 0, 0)
    one = scores(localized)["p000.json", "/title", "es"]
    assert {v.term_id: (v.status, v.kind.value) for v in one.verdicts} == {
        "backup": (Status.APPLIED, "custom_translation"),
        "orchard": (Status.APPLIED, "non_translatable"),
    }
    assert one.scorer == "rules" and one.localizer
    again = run(localized.settings)
    assert again.kept == again.files and again.records == summary.records
    (localized.root / "profile.yaml").write_text(
        "name: test\nglossaries: [g]\ninflected_targets: [es]\npreload_limit: 0\n"
    )
    assert run(localized.settings).kept == 0


def test_a_term_that_was_not_given_is_found_by_the_scorer_and_blamed_on_retrieval(localized):
    changed = [one for one in terms() if one.term_id != "retention"]
    late = terms()[-1].model_copy(update={"term_id": "days", "source": "days", "target": "días"})
    open_glossaries(localized.values["localization"]["database"]).commit("g", [*changed, late])
    run(localized.settings)
    (verdict,) = scores(localized)["p000.json", "/deep/help", "es"].verdicts
    assert (verdict.term_id, verdict.status, verdict.blame, verdict.given) == (
        "days", Status.MISSED, Blame.RETRIEVAL, False,
    )  # fmt: skip


def test_labels_overrule_the_scorer_and_move_the_threshold(tmp_path):
    world = BackfillWorld.create(tmp_path, files=40).with_(
        hints={"enabled": True, "margin": 0.3}, targets=["es"],
        calibration={"minimum_sample": 4, "step": 0.02, "precision_floor": 0.0, "lowest": 0.1},
    )  # fmt: skip
    # The hash embedder gives a window that shares one of two words with a term a cosine of about 0.7.
    save = terms()[-1].model_copy(update={"term_id": "save", "source": "save file", "target": "guardar archivo"})
    open_glossaries(world.values["localization"]["database"]).commit("g", [*terms(), save])
    world.run()
    seen = [(one.record_id, hint.term_id) for one in world.records("es") for hint in (*one.hints, *one.near_misses)]
    assert len(seen) >= 8
    labels = tmp_path / "labels.csv"
    rows = "".join(f"{record},{term},true\n" for record, term in seen)
    labels.write_text(f"record_id,term_id,present\n{rows}")
    labelled = world.with_(scoring={"labels": str(labels)})
    config = labelled.write_config()
    assert "labelled" in command(score.app, "run", "-c", config)
    decided = json.loads(command(calibrate.app, "run", "-c", config, "--dry-run", "--json"))
    assert decided["state"].startswith("would be") and decided["moves"][0]["direction"] == "loosened"
    command(calibrate.app, "run", "-c", config)
    shown = json.loads(command(calibrate.app, "show", "-c", config, "--json"))
    assert shown["pairs"][0]["threshold"] == decided["moves"][0]["threshold"] < shown["default"]
    versions = [one["version"] for one in json.loads(command(calibrate.app, "history", "-c", config, "--json"))]
    assert versions[0] == shown["version"]
    with pytest.raises(InputError, match="no such calibration to go back to"):
        command(calibrate.app, "rollback", "-c", config)
    back = command(calibrate.app, "rollback", "--to", shown["version"], "-c", config)
    assert back.startswith(f"{shown['version']} in force: en>es")
    # The next backfill is another run, under the new threshold.
    before = {one.record_id: len(one.hints) for one in world.records("es")}
    world.run()
    assert world.records("es")[0].thresholds_version == shown["version"]
    assert sum(len(one.hints) for one in world.records("es")) >= sum(before.values())


def test_reports_keep_the_two_classes_apart_and_draw(localized, tmp_path):
    run(localized.settings)
    config = localized.write_config()
    picture = tmp_path / "adherence.png"
    found = json.loads(command(score.app, "report", "-c", config, "--json", "--plot", picture))
    days = {one["pair"]: one for one in found["days"]}
    assert set(days) == {"en>es", "en>de"}
    assert days["en>es"]["verbatim"]["adherence"] == 1.0 and days["en>es"]["custom"]["total"] == 3 * 9
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "translations applied" in command(score.app, "report", "-c", config)


def test_a_judge_scores_what_rules_cannot_and_is_never_the_localizer(localized):
    criterion = {"name": "calm", "kind": "judge", "description": "The text is calm."}
    profile = {"name": "test", "glossaries": ["g"], "preload_limit": 0, "criteria": [criterion]}
    profile["instructions"] = {"es": ["Address the reader informally."], "de": ["Formally."]}
    (localized.root / "profile.yaml").write_text(json.dumps(profile))
    run(localized.settings)
    assert scores(localized)["p000.json", "/title", "es"].criteria[0].score is None, "nobody judged"
    with serving(lambda *_: completion('{"score": 0.75}')) as (url, script):
        judged = localized.with_(scoring={"judge": {"url": url, "model": "j"}})
        run(judged.settings)
        one = scores(localized)["p000.json", "/title", "es"]
        assert one.criteria[0].score == 0.75 and one.scorer.startswith("rules+")
        assert [c.name for c in one.criteria] == ["calm", "instruction 1"]
        rules = {json.loads(body["messages"][1]["content"])["rule"] for _, _, body in script.requests}
        assert rules == {"The text is calm.", "Address the reader informally.", "Formally."}
        same = {"kind": "http", "name": "llm", "url": url, "model": "j", "pairs": ["en>es"]}
        with pytest.raises(ConfigError, match="may not score its own"):
            run(judged.with_(translation={"translators": [same]}).settings)


def test_what_is_missing_is_said(tmp_path):
    world = BackfillWorld.create(tmp_path)
    with pytest.raises(InputError, match="nothing to score"):
        run(world.settings)
    with pytest.raises(InputError, match="no scores"):
        CliRunner().invoke(score.app, ["report", "-c", str(world.write_config())], catch_exceptions=False)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("record_id,term_id,present\na,b,maybe\n", "neither yes nor no"),
        ("record_id,term_id\na,b\n", "lacks a column"),
        ("record_id,term_id,present\na,b,yes\na,b,no\n", "contradict"),
    ],
)
def test_labels_that_say_nothing_clear_are_refused(tmp_path, text, what):
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=what):
        read_labels(path)


def test_labels_are_read_from_lines_of_json_too(tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_text(
        '{"record_id": "a", "term_id": "b", "present": true}\n\n{"record_id": "a", "term_id": "c", "present": 0}\n'
    )
    assert read_labels(path) == {"a": {"b": True, "c": False}}
