"""Plans kept and read again: the same bytes, every reader, no secret and no query in any message."""

import logging
import multiprocessing
import os
import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelray.errors import BabelrayError, ConfigError, InputError, UpstreamError
from babelray.retrieval.plan import Budgets, DriftProblem, Purpose, QueryPlan, TranslationRecord, Variant
from babelray.retrieval.query import AnchorRecord, Freshness, LanguageShare, QueryAnalysis, QueryType
from babelray.retrieval.sink_sql import PlanTable, StoredPreview
from babelray.retrieval.sinks import JsonlSink, SqlSink, StoredPlan, open_sink, plan_json, read_plans

NOW = datetime(2026, 8, 6, 12, 30, 0, 5, tzinfo=UTC)
SECRET = "wie-lautet-das-geheimnis"
TABLES = ("babelray_query_plans", "babelray_citation_previews")
SERVERS = {"postgresql": "TEST_POSTGRESQL_URL", "mariadb": "TEST_MARIADB_URL"}


def plan(text="为什么 ERR_1205 会重试 😀", **more):
    anchor = AnchorRecord(type="error_code", start=4, end=12, value="ERR_1205", normalized="ERR_1205")
    analysis = QueryAnalysis(
        text=text, normalized=text, language="zh-Hans",
        candidates=(LanguageShare(language="zh-Hans", probability=0.9),),
        scripts={"Hani": 0.5, "Latn": 0.5}, types=(QueryType.CODE_SWITCH,), anchors=(anchor,),
        freshness=Freshness(start=NOW, text="今天"),
    )  # fmt: skip
    translation = TranslationRecord(
        translation_id="t1", translator="glossary", model="m", version="1", route=("zh", "en")
    )
    values = {
        "index": "main",
        "generation": "g1",
        "access_revision": "r1",
        "scope_digest": "0123456789abcdef",
        "analysis": analysis,
        "answer_language": "zh-Hans",
        "interface_locale": "zh-CN",
        "variants": (
            Variant(variant_id="v1", purpose=Purpose.ORIGINAL_LEXICAL, text=text, language="zh-Hans"),
            Variant(
                variant_id="v2", purpose=Purpose.TRANSLATED_LEXICAL, text="why retry", language="en",
                translation=translation, problems=(DriftProblem(kind="anchor_loss", expected="ERR_1205"),),
            ),
        ),
        "weights": {"exact": 2.0, "dense": 0.1},
        "budgets": Budgets(per_channel={"exact": 50}, union=200, per_document=3, rerank_window=30),
        "versions": {"analyzer": "analysis-1", "aliases": "abc"},
    }  # fmt: skip
    return QueryPlan.model_validate(values | more)


@pytest.fixture(params=["jsonl", "sqlite", *(pytest.param(name, marks=pytest.mark.services) for name in SERVERS)])
def setting(request, tmp_path):
    if request.param in ("jsonl", "sqlite"):
        prefix = "sqlite:///" if request.param == "sqlite" else ""
        yield f"{prefix}{tmp_path}/deep/down/plans.{request.param}"
        return
    server = os.environ.get(SERVERS[request.param])
    if not server:
        pytest.skip(f"{SERVERS[request.param]} does not name a {request.param} server")
    yield server
    with PlanTable(server)._engine.begin() as connection:
        for table in TABLES:
            connection.exec_driver_sql(f"drop table {table}")


def test_plans_come_back_as_they_were(setting):
    sink = open_sink(setting)
    plans = [plan(), plan("ISTANBUL ıstanbul"), plan("x" * 70_000)]
    for number, one in enumerate(plans):
        sink.write(f"r{number}", "tenant", one, NOW + timedelta(microseconds=number))
    stored = list(read_plans(setting))
    assert [one.plan for one in stored] == plans
    assert [(one.request_id, one.tenant_id) for one in stored] == [(f"r{n}", "tenant") for n in range(3)]
    assert [one.created_at for one in stored] == [NOW + timedelta(microseconds=n) for n in range(3)]
    assert [plan_json(one.plan) for one in stored] == [plan_json(one) for one in plans]
    for one in stored:
        open_sink(setting).write(f"again {one.request_id}", "tenant", one.plan, NOW + timedelta(days=1))
    assert [plan_json(one.plan) for one in read_plans(setting)] == [plan_json(one) for one in plans] * 2


def test_reading_can_be_kept_to_a_tenant_and_a_request(setting):
    sink = open_sink(setting)
    for tenant in ("a", "A", "b"):
        for request in ("r1", "R1"):
            sink.write(request, tenant, plan(f"{tenant} {request}"), NOW)
    assert [one.plan.analysis.text for one in read_plans(setting, tenant_id="A", request_id="r1")] == ["A r1"]
    assert sorted(one.plan.analysis.text for one in read_plans(setting, tenant_id="a")) == ["a R1", "a r1"]
    assert list(read_plans(setting, tenant_id="c")) == []


def test_times_are_kept_in_utc_and_need_a_zone(setting):
    sink = open_sink(setting)
    east = datetime(2026, 8, 6, 20, 30, tzinfo=timezone(timedelta(hours=8)))
    sink.write("r1", "a", plan(), east)
    assert next(read_plans(setting)).created_at == east
    with pytest.raises(InputError, match="created_at"):
        sink.write("r2", "a", plan(), datetime(2026, 8, 6))


@pytest.mark.parametrize(("request_id", "tenant"), [("", "a"), ("r", ""), ("r" * 129, "a"), ("r", "t" * 256)])
def test_ids_that_no_table_could_hold_are_refused_by_every_sink(setting, request_id, tenant):
    with pytest.raises(InputError, match="_id"):
        open_sink(setting).write(request_id, tenant, plan(), NOW)
    assert list(read_plans(setting)) == []


def test_a_number_that_json_does_not_have_is_refused():
    with pytest.raises(InputError, match="finite"):
        plan_json(plan(weights={"exact": float("nan")}))


def test_a_database_takes_the_same_plan_twice_and_no_other_under_its_id(tmp_path):
    sink = SqlSink(f"sqlite:///{tmp_path}/plans.sqlite")
    sink.write("r1", "a", plan(), NOW)
    sink.write("r1", "a", plan(), NOW)
    with pytest.raises(InputError, match="another plan"):
        sink.write("r1", "a", plan("else"), NOW)
    sink.write("r1", "b", plan("else"), NOW)
    assert len(list(sink.table.rows())) == 2


def test_report_columns_say_what_the_plan_says(tmp_path):
    url = f"sqlite:///{tmp_path}/plans.sqlite"
    SqlSink(url).write("r1", "a", plan(), NOW)
    (row,) = PlanTable(url).rows()
    assert (row.original_query, row.query_language, row.glossary_version) == (plan().analysis.text, "zh-Hans", "abc")
    assert row.scope_hash == plan().scope_digest and row.query_plan_version == plan().plan_version
    assert '"ERR_1205"' in row.anchors and '"anchor_loss"' in row.validation_result
    assert '"why retry"' in row.translations and "original_lexical" not in row.validation_result


def preview(**more):
    values = {
        "citation_id": "c1", "source_revision": "r1", "target_language": "zh", "translation_model_key": "apertium 1",
        "original_text_hash": "a" * 64, "translated_text": "删除 😀", "translated_text_hash": "b" * 64,
        "created_at": NOW,
    }  # fmt: skip
    return StoredPreview.model_validate(values | more)


def test_previews_are_found_by_their_whole_key(setting):
    if "://" not in setting:
        pytest.skip("a file keeps no previews")
    table = PlanTable(setting)
    table.keep_preview(preview())
    table.keep_preview(preview(translated_text="another"))
    table.keep_preview(preview(source_revision="r2", glossary_version="7", translated_text="neu"))
    assert table.preview("c1", "r1", "zh", "apertium 1") == preview()
    assert table.preview("c1", "r2", "zh", "apertium 1", "7").translated_text == "neu"
    assert table.preview("c1", "r2", "zh", "apertium 1") is None
    assert table.preview("C1", "r1", "zh", "apertium 1") is None


def test_a_torn_line_spoils_only_itself(tmp_path):
    path = tmp_path / "plans.jsonl"
    sink = JsonlSink(path)
    sink.write("r1", "a", plan(), NOW)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:100])
    sink.write("r2", "a", plan(), NOW)
    lines = path.read_bytes().split(b"\n")
    assert [len(line) for line in lines] == [len(whole) - 1, 100, len(whole) - 1, 0]
    read = read_plans(str(path))
    assert next(read).request_id == "r1"
    with pytest.raises(InputError, match="line 2"):
        next(read)
    path.write_bytes(b"\n".join([lines[0], b"", *lines[2:]]))
    assert [one.request_id for one in read_plans(str(path))] == ["r1", "r2"]


@pytest.mark.parametrize("line", ['{"request_id": "r"}', "[]", '"x"', '{"plan": {"plan_version": "plan-0"}}'])
def test_lines_of_another_kind_are_named(tmp_path, line):
    path = tmp_path / "plans.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=r"line 1"):
        list(read_plans(str(path)))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        list(read_plans(str(tmp_path / "none.jsonl")))


def _write_many(setting, name, count):
    sink = open_sink(setting)
    for number in range(count):
        sink.write(f"{name}-{number}", "a", plan("长" * 5000), NOW)


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_writers_in_threads_and_processes_lose_and_mix_nothing(tmp_path, kind):
    setting = f"sqlite:///{tmp_path}/plans.sqlite" if kind == "sqlite" else str(tmp_path / "plans.jsonl")
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write_many, args=(setting, f"p{n}", 20)) for n in range(2)]
    writers += [threading.Thread(target=_write_many, args=(setting, f"t{n}", 20)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    names = [f"{kind}{n}-{i}" for kind, most in (("p", 2), ("t", 4)) for n in range(most) for i in range(20)]
    assert sorted(one.request_id for one in read_plans(setting)) == sorted(names)


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ("nodialect://user:hunter2@host/x", ConfigError),
        ("mysql+pymysql://user:hunter2@127.0.0.1:9/x", BabelrayError),
        ("sqlite:hunter2@x", ConfigError),
        ("mysql+pymysql://127.0.0.1:9/x?user=me&password=hunter2", BabelrayError),
        ("sqlite:////proc/nowhere/hunter2@plans.sqlite", ConfigError),
        ("sqlite:////proc/hunter2@plans.sqlite", UpstreamError),
    ],
)
def test_a_password_never_shows(setting, error):
    with pytest.raises(error) as caught:
        open_sink(setting)
    assert "hunter2" not in str(caught.value)


def test_a_path_that_cannot_be_written_is_refused_at_once(tmp_path):
    with pytest.raises(ConfigError, match="plan_sink"):
        open_sink(str(tmp_path))


def test_no_message_holds_the_text_of_a_query(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    messages = []
    url = f"sqlite:///{tmp_path}/plans.sqlite"
    sink = open_sink(url)
    sink.write("r1", "a", plan(SECRET), NOW)
    with pytest.raises(InputError) as caught:
        sink.write("r1", "a", plan(SECRET + "!"), NOW)
    messages.append(caught.value)
    with sink.table._engine.begin() as connection:
        connection.exec_driver_sql("drop table babelray_query_plans")
    with pytest.raises(UpstreamError) as caught:
        sink.write("r2", "a", plan(SECRET), NOW)
    messages += [caught.value, caught.value.__cause__]
    path = tmp_path / "plans.jsonl"
    path.write_text('{"plan": {"analysis": {"text": "' + SECRET + '"}}}\n')
    with pytest.raises(InputError) as caught:
        list(read_plans(str(path)))
    messages.append(caught.value)
    assert all(SECRET not in str(one) for one in messages)
    assert SECRET not in caplog.text


_TEXT = st.text(max_size=20)
_SHARE = st.floats(allow_nan=False, allow_infinity=False)
_MOMENTS = st.datetimes(timezones=st.just(UTC))
_ANALYSES = st.builds(
    QueryAnalysis, text=_TEXT, normalized=_TEXT, language=_TEXT,
    candidates=st.lists(st.builds(LanguageShare, language=_TEXT, probability=_SHARE), max_size=2).map(tuple),
    scripts=st.dictionaries(_TEXT, _SHARE, max_size=3),
    types=st.lists(st.sampled_from(QueryType), max_size=2).map(tuple),
    freshness=st.none() | st.builds(Freshness, start=st.none() | _MOMENTS, end=st.none() | _MOMENTS, text=_TEXT),
    groups=st.lists(_TEXT, max_size=2).map(tuple),
)  # fmt: skip
_VARIANTS = st.builds(
    Variant, variant_id=_TEXT, purpose=st.sampled_from(Purpose), text=_TEXT, language=_TEXT,
    problems=st.lists(st.builds(DriftProblem, kind=_TEXT, expected=_TEXT, got=_TEXT), max_size=2).map(tuple),
)  # fmt: skip
_PLANS = st.builds(
    plan, analysis=_ANALYSES, variants=st.lists(_VARIANTS, max_size=3).map(tuple),
    weights=st.dictionaries(_TEXT, _SHARE, max_size=3), versions=st.dictionaries(_TEXT, _TEXT, max_size=3),
    evidence_languages=st.lists(_TEXT, max_size=3).map(tuple),
)  # fmt: skip


@given(_PLANS)
@settings(deadline=None, max_examples=60)
def test_any_plan_survives_and_has_one_json(one):
    again = QueryPlan.model_validate_json(plan_json(one))
    assert again == one and plan_json(again) == plan_json(one)
    turned = one.model_copy(update={"weights": dict(reversed(one.weights.items()))})
    assert plan_json(turned) == plan_json(one)
    stored = StoredPlan(request_id="r", tenant_id="t", created_at=NOW, plan=one)
    assert StoredPlan.model_validate_json(stored.model_dump_json()) == stored
