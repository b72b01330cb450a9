import json

import pytest
import typer
from typer.testing import CliRunner

from babelray.errors import InputError, ModelKeyMismatch
from babelray.index.access_changes import parse_changes
from babelray.index.access_store import apply_changes
from babelray.index.generations import Catalog
from babelray.index.store import open_store
from cli import search as command
from models import retrieval_parts
from tests.index.generation_worlds import StillEmbedder, build
from tests.index.segment_worlds import KEY

APP = typer.Typer()
APP.command()(command.search)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    root = tmp_path_factory.mktemp("search")
    store = open_store(str(root / "store"))
    build(store, root)
    Catalog(store, "main").publish("g1")
    return root


@pytest.fixture
def configured(published, monkeypatch):
    """The command with the embedder that the generation was made with, in place of the settings' own."""
    monkeypatch.setenv("BABELRAY_STORE", str(published / "store"))
    monkeypatch.setattr(retrieval_parts, "model_key", lambda *_: KEY)
    monkeypatch.setattr(retrieval_parts, "build_embedder", lambda *_: StillEmbedder())
    return published


def run(*arguments):
    return CliRunner().invoke(APP, list(arguments), catch_exceptions=False)


def found(*arguments):
    return json.loads(run(*arguments, "--json").output)


def test_passages_carry_citations_ranks_and_channels(configured):
    answer = found("pod 数据库", "--tenant", "a", "--group", "dev", "--group", "ops", "-k", "5")
    assert answer["generation"] == "g1" and answer["model_key"] == KEY.readable()
    assert [one["rank"] for one in answer["passages"]] == list(range(1, len(answer["passages"]) + 1))
    for one in answer["passages"]:
        cited = one["citation"]
        assert cited["section_path"][0] == "Top"
        assert cited["end"] - cited["start"] == len(cited["original_quote"])
        assert all(place["rank"] >= 1 for place in one["channels"].values())


def candidates(*arguments):
    trace = found("pod", *arguments, "--explain", "-k", "500")["trace"]
    return {one["chunk_id"] for one in trace["candidates"]}


def test_the_scope_comes_from_the_options(configured):
    alone, grouped = candidates("--tenant", "a"), candidates("--tenant", "a", "--group", "dev")
    assert alone < grouped
    narrowed = found("pod", "--tenant", "a", "--group", "dev", "--kb", "wiki", "-k", "500")["passages"]
    assert narrowed and {one["knowledge_base_id"] for one in narrowed} == {"wiki"}
    assert found("pod", "--tenant", "nobody")["passages"] == []
    with pytest.raises(InputError, match="scope"):
        run("pod", "--tenant", "a", "--group", "*")


def test_a_deleted_document_is_gone_from_the_next_search(configured, published):
    store = open_store(str(published / "store"))
    arguments = ("pod", "--tenant", "b", "--group", "dev", "-k", "500")
    victim = found(*arguments)["passages"][0]["citation"]["doc_id"]
    apply_changes(store, "main", parse_changes([{"action": "delete_document", "doc_id": victim}], "t"))
    left = found(*arguments, "--explain")
    assert left["passages"] and victim not in {one["doc_id"] for one in left["trace"]["candidates"]}


def test_text_output_shows_titles_channels_and_what_was_done_without(configured):
    output = run("pod", "--tenant", "a", "--group", "dev").output
    assert "1. " in output and "> Top" in output and "dense #" in output
    assert "done without: lang_low_confidence" in output
    assert "nothing that this caller may see" in run("pod", "--tenant", "nobody").output


def test_explain_draws_plan_stages_channels_and_candidates(configured):
    output = run("pod scheduler", "--tenant", "a", "--group", "dev", "--explain").output
    for heading in ("Variants", "Stages", "Channels", "Candidates", "fate"):
        assert heading in output
    assert "channel dense" in output and "█" in output and "in the answer" in output


def test_the_schema_is_printed_without_an_index():
    schema = json.loads(run("--schema").output)
    assert {"passages", "trace", "degraded"} <= set(schema["properties"])


def test_another_model_is_refused_before_it_is_loaded(configured, monkeypatch):
    monkeypatch.setattr(retrieval_parts, "model_key", lambda *_: KEY.model_copy(update={"revision": "2"}))
    monkeypatch.setattr(retrieval_parts, "build_embedder", lambda *_: pytest.fail("weights were loaded"))
    with pytest.raises(ModelKeyMismatch, match="different: revision"):
        run("pod", "--tenant", "a")


def test_an_embedder_that_does_not_reproduce_the_golden_vectors_is_refused(configured, monkeypatch):
    class Other(StillEmbedder):
        def encode(self, texts, role):
            encoded = super().encode(texts, role)
            return type(encoded)(encoded.vectors[:, ::-1].copy(), encoded.tokens, encoded.truncated)

    monkeypatch.setattr(retrieval_parts, "build_embedder", lambda *_: Other())
    with pytest.raises(ModelKeyMismatch, match="golden"):
        run("pod", "--tenant", "a")
