import pytest

from babelray.config import HashSettings, Settings, SourceSettings
from babelray.errors import ModelKeyMismatch
from babelray.index.golden import GoldenVectors, make_golden
from babelray.index.store import open_store
from jobs.planning import make_plan
from jobs.stages.embed import EmbedUnits
from models.registry import build_embedder


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "page.md").write_text("# Title\n\nText.\n", encoding="utf-8")
    source = SourceSettings(path=str(tmp_path / "in"), format="markdown")
    return make_plan(
        Settings(store=str(tmp_path / "store"), sources=(source,), embedder=HashSettings(kind="hash", dimension=32))
    )[0]


def test_the_first_embed_worker_leaves_golden_vectors_and_the_next_reproduces_them(plan):
    EmbedUnits(plan, threads=1)
    store, path = open_store(plan.settings.store), plan.embed_layout.golden
    written = store.read_bytes(path)
    EmbedUnits(plan, threads=1)
    assert store.read_bytes(path) == written
    assert GoldenVectors.model_validate_json(written).model_key == plan.record.model_key.digest


def test_an_embed_worker_with_other_vectors_under_the_same_key_is_refused(plan, tmp_path):
    other = build_embedder(HashSettings(kind="hash", dimension=32, seed=1), tmp_path / "cache")
    foreign = make_golden(other).model_copy(update={"model_key": plan.record.model_key.digest})
    open_store(plan.settings.store).write_atomic(plan.embed_layout.golden, foreign.model_dump_json().encode())
    with pytest.raises(ModelKeyMismatch, match="does not reproduce"):
        EmbedUnits(plan, threads=1)
