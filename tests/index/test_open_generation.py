from datetime import UTC, datetime

import numpy as np
import pytest

from babelray.config import VectorSettings
from babelray.errors import GateFailed, InputError, IntegrityError
from babelray.index.access import AccessScope, AccessValues
from babelray.index.access_store import register_classes
from babelray.index.generations import Catalog
from babelray.index.golden import make_golden
from babelray.index.layout import LAYOUT
from babelray.index.lexical import query_parts
from babelray.index.manifest import Counts, Manifest, content_digest, write_manifest
from babelray.index.open_segment import OpenSegment
from babelray.index.reader import open_generation
from babelray.index.segments import build_segment
from babelray.index.shards import write_embedded, write_prepared
from babelray.index.store import open_store
from babelray.index.tuning import TuningSegment, sample_queries, tune
from babelray.index.vectors import train
from babelray.protocols import Encoded
from tests.index.segment_worlds import KEY, embedded, random_documents, unit_vectors


class StillEmbedder:
    """Always gives the same vectors: enough to make golden ones."""

    key = KEY

    def encode(self, texts, role):
        vectors = unit_vectors(np.random.default_rng(1), len(texts)).astype(np.float32)
        return Encoded(vectors, np.ones(len(texts), np.int32), np.zeros(len(texts), bool))


def build(store, work, generation="g1", kind="ivf_sq8", floor=0.5, documents=160):
    """All of a generation out of shards, as the job does it, on made-up vectors."""
    rng = np.random.default_rng(4)
    layout = LAYOUT.index("main").generation(generation)
    units = []
    corpora = [random_documents(rng, documents // 4, f"u{number}d") for number in range(4)]
    for number, corpus in enumerate(corpora):
        prepared, vectors = f"prepared/{number}.parquet", f"embedded/{number}.parquet"
        write_prepared(store, prepared, corpus)
        write_embedded(store, vectors, embedded(rng, corpus, refused=(2,)))
        units.append((prepared, vectors))
    class_of = register_classes(store, "main", {AccessValues.of(one.document) for corpus in corpora for one in corpus})
    settings = VectorSettings(kind=kind, recall_floor=floor, recall_target=0.9, heldout_queries=40)
    trained = train(unit_vectors(rng, 400).astype(np.float32), kind, settings)
    records = tuple(
        build_segment(store, layout.segment(f"000{at}-a"), f"000{at}-a", units[2 * at : 2 * at + 2], class_of, KEY,
                      trained, work)
        for at in range(2)
    )  # fmt: skip
    opened = [
        OpenSegment(one.name, store.local_path(layout.segment(one.name).root), list(one.files), KEY.dimension)
        for one in records
    ]
    parts = [TuningSegment(one.vectors, one.access.has_vector) for one in opened]
    report = tune(parts, sample_queries([one.sentence_vectors for one in opened], 40, seed=1), kind, settings)
    digest = content_digest(
        model_key=KEY, policy_digest="p", analyzer_version="a", corpus_revision="c", kind=kind, segments=records
    )
    manifest = Manifest(
        generation=generation, index="main", created_at=datetime.now(UTC), content_digest=digest, model_key=KEY,
        chunk_policy={}, policy_digest="p", language_policy_version="l", analyzer_version="a", corpus="main",
        corpus_revision="c", vectors=report, segments=records, golden=make_golden(StillEmbedder()), run="r",
        counts=Counts(
            documents=sum(one.documents for one in records), chunks=sum(one.rows for one in records),
            sentences=sum(one.sentences for one in records),
        ),
    )  # fmt: skip
    write_manifest(store, layout, manifest)
    return manifest


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
    write_manifest(store, LAYOUT.index("main").generation("g1"), manifest.model_copy(update={"vectors": worse}))
    with pytest.raises(GateFailed, match=r"recall@10 0\.400"):
        Catalog(store, "main").publish("g1")
