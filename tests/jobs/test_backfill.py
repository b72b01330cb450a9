"""The backfill job end to end on a local Ray cluster: shapes, records, dead letters, hints, resuming."""

import json
import random
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from babelray.errors import ConfigError, InputError
from babelray.glossary.records import Failure
from jobs.backfill import status
from jobs.backfill_plan import make_backfill_plan
from tests.jobs.backfill_worlds import BROKEN, BackfillWorld, payload
from tests.jobs.kills import Command

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]


@pytest.fixture
def backlog(tmp_path):
    return BackfillWorld.create(tmp_path)


def test_payloads_keep_their_shape_and_only_strings_change(backlog):
    summary = backlog.run()
    assert (summary.failed, summary.unfinished, summary.dead_letters) == ({}, 0, 0)
    assert summary.payloads == 6 + 5 + 2
    assert summary.rejects_by_reason == {"bad_json": 2, "null": 1}
    made = backlog.payloads("es")
    assert sorted(made) == sorted(f.relative_to(backlog.backlog).as_posix() for f in backlog.backlog.rglob("*.*"))
    one = made["deep/er/p001.json"].decode()
    assert one == (
        '{ "title" : "THE copia 1 OF Orchard",\n  "n": 1.50e3, "k": "SAVE {name}", "k": "CAF\\u00e9 1",'
        ' "list": ["AN factura", 7, null, ""],\t"deep": {"help": "Periodo de retenci\\u00f3n OF <b>1</b> DAYS"} }'
    )
    assert made["broken.json"].decode() == BROKEN
    lines = made["rows.jsonl"].decode().split("\n")
    assert (lines[3], lines[4], lines[-1]) == ("\r", "not JSON\r", "")
    table = pq.read_table(backlog.output / "payloads/es/rows.parquet")
    assert table.schema == pq.read_table(backlog.backlog / "rows.parquet").schema
    assert table["payload"][1].as_py() is None and "THE copia 201" in table["payload"][2].as_py()
    assert table["z"].to_pylist() == ["a", "b", "c"]


def test_a_translator_that_changes_nothing_gives_the_backlog_back(tmp_path):
    world = BackfillWorld.create(tmp_path, program=("cat",)).with_(targets=["de"])
    (tmp_path / "profile.yaml").write_text("name: test\nglossaries: [g]\ndomains: [none]\npreload_limit: 0\n")
    # The glossary has no domain, so its terms bind; without them every byte stays.
    from babelray.glossary.store import open_glossaries

    open_glossaries(world.values["localization"]["database"]).commit("g", [])
    world.run()
    for path, data in world.payloads("de").items():
        if not path.endswith(".parquet"):
            assert data == (world.backlog / path).read_bytes(), path


def test_records_and_dead_letters_account_for_every_string_once(tmp_path):
    world = BackfillWorld.create(tmp_path, program=("tr", "-d", "0-3"))
    summary = world.run()
    for target in ("es", "de"):
        records = world.records(target)
        assert len(records) == 13 * 6 == summary.pairs[f"en>{target}"].strings
        assert len({one.record_id for one in records}) == len(records)
        dead = world.lines("dead_letters", target)
        assert {one["record_id"] for one in dead} == {one.record_id for one in records if one.output is None}
        assert summary.pairs[f"en>{target}"].dead == {"protected_damaged": len(dead)} and dead
        assert all(one["detail"] and one["failure"] == Failure.PROTECTED_DAMAGED for one in dead)
    kept = json.loads(world.payloads("es")["p000.json"])
    assert kept["title"] == "The backup 0 of Orchard", "a string without translation stays as it was"


def test_a_payload_with_a_dead_letter_can_be_left_out(tmp_path):
    world = BackfillWorld.create(tmp_path, program=("tr", "-d", "0-3")).with_(incomplete_payloads="leave_out")
    world.run()
    made = world.payloads("es")
    assert not any(path.startswith(("p0", "deep")) for path in made) and made["broken.json"].decode() == BROKEN


def test_without_a_translator_records_say_what_binds_one(backlog):
    world = backlog.with_(translation=None)
    summary = world.run()
    assert not summary.translated and world.payloads("es") == {} and world.lines("dead_letters", "es") == []
    rows = {(row["payload"], row["pointer"]): row for row in world.lines("enriched", "es")}
    one = rows["p000.json", "/title"]
    assert [term["term_id"] for term in one["retrieved"]] == ["backup", "orchard"]
    assert [term["source"] for term in one["constraints"]["custom"]] == ["backup"]
    assert '- "backup" -> "copia"' in one["prompt"] and "output" not in one


def test_hints_are_embedded_once_over_the_backlog_and_kept_for_the_next_run(backlog):
    world = backlog.with_(hints={"enabled": True, "threshold": 0.6, "margin": 0.05})
    summary = world.run()
    assert 0 < summary.embedded_windows <= summary.distinct_windows < summary.windows
    hinted = [(one.pointer, h.surface, h.term_id) for one in world.records("es") for h in one.hints]
    assert all(h.score >= 0.6 and h.threshold == 0.6 for one in world.records("es") for h in one.hints)
    assert all(0.55 <= h.score < 0.6 for one in world.records("es") for h in one.near_misses)
    again = world.with_(hints={"enabled": True, "threshold": 0.61, "margin": 0.06})
    assert again.run().embedded_windows == 0, "vectors of another run are found"
    fewer = {(one.pointer, h.surface, h.term_id) for one in again.records("es") for h in one.hints}
    assert set(hinted) >= fewer


def test_running_again_does_nothing_and_status_says_so(backlog):
    with pytest.raises(InputError, match="never started"):
        status(backlog.settings)
    first = backlog.run()
    assert first.localized_now == first.units > 1
    assert backlog.run().localized_now == 0
    found = status(backlog.settings)
    assert found["stages"] == {"localize": {"done": first.units, "of": first.units, "quarantined": []}}


def test_what_shapes_the_output_names_the_run(backlog):
    names = {make_backfill_plan(backlog.settings)[0].record.run}
    names.add(make_backfill_plan(backlog.with_(targets=["es"]).settings)[0].record.run)
    names.add(make_backfill_plan(backlog.with_(translation=None).settings)[0].record.run)
    (backlog.root / "profile.yaml").write_text("name: test\nglossaries: [g]\nbrand_voice: Calm.\n")
    names.add(make_backfill_plan(backlog.settings)[0].record.run)
    (backlog.backlog / "p000.json").write_text(payload(999))
    names.add(make_backfill_plan(backlog.settings)[0].record.run)
    assert len(names) == 5


def test_what_is_missing_is_said_before_anything_starts(backlog, tmp_path):
    for name in ("backlog", "targets"):
        with pytest.raises(ConfigError, match="nothing to localize"):
            backlog.with_(**{name: []}).run()
    with pytest.raises(InputError, match="same relative path"):
        backlog.with_(backlog=[{"path": str(backlog.backlog)}, {"path": str(backlog.backlog)}]).run()


def test_a_translator_that_is_not_there_is_said_before_anything_starts(backlog):
    engine = {"kind": "command", "name": "x", "command": ["no-such-program"], "pairs": ["en>es"], "version": "1"}
    with pytest.raises(ConfigError, match="no such program"):
        backlog.with_(translation={"translators": [engine]}).run()
    assert not backlog.output.exists()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_and_resumed_no_string_is_lost_and_none_is_there_twice(tmp_path, ray_cluster):
    chance = random.Random(20_261_201)
    world = BackfillWorld.create(tmp_path, files=60)
    undisturbed = world.elsewhere("undisturbed")
    units = undisturbed.run().units
    assert units >= 8
    killed = world.elsewhere("killed")
    for _ in range(2):
        point = killed.receipts("localize") + chance.randint(1, max(units // 4, 1))
        command = Command(killed, ray_cluster, job="backfill")
        command.until(lambda point=point: killed.receipts("localize") >= point).kill()
    assert killed.receipts("localize") < units
    killed.run()
    for target in ("es", "de"):
        ours, theirs = killed.records(target), undisturbed.records(target)
        ids = Counter(one.record_id for one in ours)
        assert set(ids) == {one.record_id for one in theirs} and set(ids.values()) == {1}
        assert {one.record_id: one.output for one in ours} == {one.record_id: one.output for one in theirs}
        assert killed.payloads(target) == undisturbed.payloads(target)
    assert not list(Path(killed.output).rglob("*.pieces"))
