"""A generation of real pages in several languages, built in this process with the hash embedder."""

from collections import Counter
from datetime import UTC, datetime
from functools import cache

from babelray.config import HashSettings, RetrievalSettings, TextSettings, VectorSettings
from babelray.index.access import AccessScope, AccessValues
from babelray.index.access_store import register_classes
from babelray.index.golden import make_golden
from babelray.index.layout import LAYOUT
from babelray.index.manifest import Counts, Manifest, content_digest, write_manifest
from babelray.index.open_segment import OpenSegment
from babelray.index.reader import open_generation
from babelray.index.segments import build_segment
from babelray.index.shards import EmbeddedShard, write_embedded, write_prepared
from babelray.index.store import open_store
from babelray.index.tuning import TuningSegment, sample_queries, tune
from babelray.keys import Role
from babelray.retrieval.engine import Parts, Retriever
from babelray.text.analysis import analyzer_version
from babelray.text.chunks import passage_text
from babelray.text.language import LanguagePolicy
from babelray.text.prepare import prepare_document, sentence_text
from babelray.text.types import Document
from models.embedders.hashed import HashEmbedder
from models.identifier import FastTextIdentifier

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
PAGES = {
    "en/queues": (
        "acme",
        "*",
        """
# Queues

A producer sends messages to a queue. The broker keeps three replicas of each message.

## Errors

ERR_1205 means that a partition delete conflicts with a consumer. Retry after 30 seconds.

## Settings

The setting `queue.visibility.timeout_ms` must be >= 1000. Its default is 30000.
""",
    ),
    "en/errors": (
        "acme",
        "*",
        """
# Error codes

ERR_1207 means that the quota is used up. Ask for a higher quota.

ERR_1300 is returned when a token has expired. Log in again.
""",
    ),
    "en/rollback": (
        "acme",
        "*",
        """
# Roll back a release

Run `kubectl rollout undo deployment/web` to go back to the release before.

A rollback does not delete data. It takes less than a minute.
""",
    ),
    "de/sicherung": (
        "acme",
        "*",
        """
# Sicherungen

Sicherungen werden vor dem Hochladen verschlüsselt. Der Schlüssel liegt nie im Objektspeicher.

Eine Sicherung wird 30 Tage aufbewahrt und danach gelöscht.
""",
    ),
    "es/facturas": (
        "acme",
        "*",
        """
# Facturas

Las facturas se exportan cada mes en formato CSV. El archivo se guarda en el proyecto.

No se pueden borrar facturas de meses anteriores.
""",
    ),
    "zh/fenqu": (
        "acme",
        "*",
        """
# 删除分区

如果分区仍有消费者，删除会失败并返回ERR_1205。请先停止消费者，然后再删除分区。

库伯内特斯集群上的队列由操作员管理。
""",
    ),
    "ja/gateway": (
        "acme",
        "*",
        """
# ゲートウェイ

ゲートウェイのタイムアウトは30秒です。タイムアウトするとERR_1300が返されます。

再試行は3回までです。
""",
    ),
    "en/oncall": (
        "acme",
        "ops",
        """
# On-call secrets

The pager password rotates every week. ERR_9000 wakes the engineer on call.
""",
    ),
    "en/rival": (
        "rival",
        "*",
        """
# Rival queues

The rival keeps messages in a queue too. ERR_1205 is its error for everything.
""",
    ),
    "en/rival-copy": (
        "rival",
        "*",
        """
# Error codes

ERR_1207 means that the quota is used up. Ask for a higher quota.
""",
    ),
}
"""Path -> tenant, group, Markdown."""


def documents():
    made = []
    for number, (path, (tenant, group, text)) in enumerate(PAGES.items()):
        made.append(
            Document(
                doc_id=f"{number:016x}", source_uri=f"{path}.md", source_revision="r1", text=text.strip(), title="",
                media_type="text/markdown", tenant_id=tenant, knowledge_base_id="docs", acl_groups=(group,),
                updated_at=datetime(2026, 1 + number % 6, 1, tzinfo=UTC),
            )
        )  # fmt: skip
    return made


@cache
def languages():
    return LanguagePolicy(FastTextIdentifier())


def embed(prepared, embedder):
    chunks = [passage_text(chunk) for one in prepared for chunk in one.chunks]
    sentences = [sentence_text(one, number) for one in prepared for number in range(len(one.sentences))]
    first, second = embedder.encode(chunks, Role.PASSAGE), embedder.encode(sentences, Role.PASSAGE)
    return EmbeddedShard(
        chunk_vectors=first.vectors.astype("float16"), sentence_vectors=second.vectors.astype("float16"),
        chunk_tokens=first.tokens, sentence_tokens=second.tokens, chunk_truncated=first.truncated,
        sentence_truncated=second.truncated, chunk_refused=dict(first.refused), sentence_refused=dict(second.refused),
    )  # fmt: skip


def build_pages(root, pages, embedder, *, index="pages", segments=2, text=None):
    """Build and open a generation of documents; returns it opened, not published."""
    store, work = open_store(str(root / "store")), root / "work"
    work.mkdir(parents=True, exist_ok=True)
    layout = LAYOUT.index(index).generation("g1")
    policy = text or TextSettings(max_tokens=64)
    prepared = [prepare_document(page, languages(), policy) for page in pages]
    class_of = register_classes(store, index, {AccessValues.of(page) for page in pages})
    records = []
    for number in range(segments):
        part = prepared[number::segments]
        paths = f"prepared/{number}.parquet", f"embedded/{number}.parquet"
        write_prepared(store, paths[0], part)
        write_embedded(store, paths[1], embed(part, embedder))
        name = f"{number:04d}-a"
        records.append(build_segment(store, layout.segment(name), name, [paths], class_of, embedder.key, None, work))
    settings = VectorSettings(kind="flat", heldout_queries=8, recall_floor=0)
    opened = [
        OpenSegment(one.name, store.local_path(layout.segment(one.name).root), list(one.files), embedder.key.dimension)
        for one in records
    ]
    parts = [TuningSegment(one.vectors, one.access.has_vector) for one in opened]
    report = tune(parts, sample_queries([one.sentence_vectors for one in opened], 8, seed=1), "flat", settings)
    by_language = Counter(chunk.languages[0] for one in prepared for chunk in one.chunks)
    digest = content_digest(
        model_key=embedder.key, policy_digest="p", analyzer_version=analyzer_version(), corpus_revision="c",
        kind="flat",
        segments=tuple(records),
    )  # fmt: skip
    manifest = Manifest(
        generation="g1", index=index, created_at=NOW, content_digest=digest, model_key=embedder.key, chunk_policy={},
        policy_digest="p", language_policy_version="l", analyzer_version=analyzer_version(), corpus="pages",
        corpus_revision="c",
        vectors=report, segments=tuple(records), golden=make_golden(embedder), run="r",
        counts=Counts(
            documents=sum(one.documents for one in records), chunks=sum(one.rows for one in records),
            sentences=sum(one.sentences for one in records), chunks_by_language=dict(by_language),
        ),
    )  # fmt: skip
    write_manifest(store, layout, manifest)
    return open_generation(store, index, "g1", root / "cache")


def hash_embedder():
    return HashEmbedder(HashSettings(kind="hash", dimension=256))


def retriever_of(generation, *, settings=None, **parts):
    values = {"languages": languages(), "settings": settings or RetrievalSettings(), "embedder": hash_embedder()}
    return Retriever(generation, Parts(**{**values, **parts}))


def scope_of(tenant="acme", groups=(), **more):
    return AccessScope(tenant_id=tenant, groups=frozenset(groups), as_of=NOW, **more)
