import numpy as np
import pytest

from babelray.errors import GateFailed, InputError, IntegrityError
from babelray.index.access import AccessScope
from babelray.index.generations import Catalog
from babelray.index.layout import LAYOUT
from babelray.index.lexical import query_parts
from babelray.index.manifest import write_manifest
from babelray.index.reader import open_generation
from babelray.index.store import open_store
from tests.index.generation_worlds import build
from tests.index.segment_worlds import KEY, unit_vectors


@pytest.mark.parametrize("kind", ["flat", "ivf_sq8"])
def test_a_built_generation_is_published_opened_and_searched(tmp_path, kind):
    store = open_store(str(tmp_path / "store"))
    work = tmp_path / "work"
    work.mkdir()
    manifest = build(store, work, kind=kind)
    assert not list(work.iterdir()), "nothing is left in the work folder"
    with pytest.raises(InputError, match="nothing is published"):
        open_generation(store, "main", None, tmp_path / "cache")
    Catalog(store, "main").publish("g1")
    before = sorted(path for path in (tmp_path / "store").rglob("*") if path.is_file())
    opened = open_generation(store, "main", None, tmp_path / "cache")
    assert opened.manifest == manifest and opened.key == KEY
    scope = opened.compile(AccessScope(tenant_id="a", groups=frozenset({"dev", "ops"})))
    dense = opened.search_dense(unit_vectors(np.random.default_rng(2), 1)[0].astype(np.float32), KEY, scope, 5)
    words = opened.search_lexical(query_parts("pod", ["en"]), scope, 5)
    assert len(dense) == 5 and words
    assert {record.tenant_id for record in opened.records(dense + words, scope)} == {"a"}
    after = sorted(path for path in (tmp_path / "store").rglob("*") if path.is_file())
    assert after == before, "reading leaves nothing in the store"


def test_two_builds_have_the_same_content_digest(tmp_path):
    digests = []
    for name in ("one", "two"):
        work = tmp_path / f"work-{name}"
        work.mkdir()
        manifest = build(open_store(str(tmp_path / name)), work)
        digests.append((manifest.content_digest, [one.content_digest for one in manifest.segments]))
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    "name", ["rows.arrow", "vectors.faiss", "vectors.f16.faiss", "documents.arrow", "lexical/meta.json"]
)
def test_a_changed_byte_is_found_before_anything_is_loaded(tmp_path, name):
    store = open_store(str(tmp_path / "store"))
    manifest = build(store, tmp_path)
    path = store.local_path(manifest.segments[1].files[name].path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(IntegrityError, match="other bytes"):
        open_generation(store, "main", "g1", tmp_path / "cache")


def test_recall_under_the_floor_is_not_published(tmp_path):
    store = open_store(str(tmp_path / "store"))
    manifest = build(store, tmp_path, floor=0.5)
    worse = manifest.vectors.model_copy(update={"recall": 0.4})
    store.delete(LAYOUT.index("main").generation("g1").manifest)
    write_manifest(store, LAYOUT.index("main").generation("g1"), manifest.model_copy(update={"vectors": worse}))
    with pytest.raises(GateFailed, match=r"recall@10 0\.400"):
        Catalog(store, "main").publish("g1")
