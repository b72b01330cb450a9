"""A whole generation out of shards, as the job builds it, on made-up vectors."""

from datetime import UTC, datetime

import numpy as np

from babelray.config import VectorSettings
from babelray.index.access import AccessValues
from babelray.index.access_store import register_classes
from babelray.index.golden import make_golden
from babelray.index.layout import LAYOUT
from babelray.index.manifest import Counts, Manifest, content_digest, write_manifest
from babelray.index.open_segment import OpenSegment
from babelray.index.segments import build_segment
from babelray.index.shards import write_embedded, write_prepared
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
    """Build the generation and write its manifest; it is not published."""
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
