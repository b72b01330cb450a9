"""Small corpora of prepared documents with made-up vectors, built into real segments for the reader tests."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np

from babelray.config import VectorSettings
from babelray.index.access import AccessValues
from babelray.index.access_store import register_classes
from babelray.index.open_segment import OpenSegment
from babelray.index.reader import OpenGeneration
from babelray.index.segment_search import LocalSearch
from babelray.index.segments import SegmentWriter
from babelray.index.shards import EmbeddedShard
from babelray.index.vector_report import PlanStep, SearchPlan
from babelray.index.vectors import train
from babelray.keys import ModelKey
from babelray.text.anchors import exact_tokens
from babelray.text.types import Block, BlockKind, Chunk, Document, PreparedDocument, Sentence
from tests.index.access_worlds import random_values

KEY = ModelKey(
    provider="hash", name="t", revision="1", dimension=16, dtype="fp32", max_tokens=64, tokenizer_revision="1"
)
NOW = datetime(2025, 6, 1, tzinfo=UTC)
WORDS = ("pod", "scheduler", "volume", "retries", "gateway", "secret", "租户", "数据库", "再起動", "Wiederholung")


def prepared_document(doc_id, lines, values=None, title="", valid_from=None, valid_to=None, language="en"):
    """One paragraph a line, and each a sentence and a chunk of its own."""
    values = values or AccessValues("a", "docs", ("*",), "active")
    text = "\n".join(lines)
    spans, at = [], 0
    for line in lines:
        spans.append((at, at + len(line)))
        at += len(line) + 1
    document = Document(
        doc_id, f"mem://{doc_id}", "r1", text, title=title or doc_id, tenant_id=values.tenant_id,
        knowledge_base_id=values.knowledge_base_id, acl_groups=values.groups, status=values.status,
        valid_from=valid_from, valid_to=valid_to,
    )  # fmt: skip
    blocks = tuple(Block(BlockKind.PARAGRAPH, *span, section_path=("Top", doc_id), language=language) for span in spans)
    sentences = tuple(Sentence(*span, block=at, tokens=5) for at, span in enumerate(spans))
    chunks = tuple(
        Chunk(
            f"{doc_id}#{at}",
            *span,
            at,
            at,
            (at,),
            lines[at],
            title or doc_id,
            (language,),
            {"Latn": 1.0},
            5,
            exact_tokens(lines[at]),
        )
        for at, span in enumerate(spans)
    )
    return PreparedDocument(document, blocks, sentences, chunks)


def unit_vectors(rng, count):
    vectors = rng.standard_normal((count, KEY.dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


def embedded(rng, documents, refused=()):
    chunks = sum(len(one.chunks) for one in documents)
    sentences = sum(len(one.sentences) for one in documents)
    vectors = unit_vectors(rng, chunks)
    vectors[list(refused)] = 0
    return EmbeddedShard(
        chunk_vectors=vectors,
        sentence_vectors=unit_vectors(rng, sentences),
        chunk_tokens=np.full(chunks, 5, dtype=np.int32),
        sentence_tokens=np.full(sentences, 5, dtype=np.int32),
        chunk_truncated=np.zeros(chunks, dtype=bool),
        sentence_truncated=np.zeros(sentences, dtype=bool),
        chunk_refused=dict.fromkeys(refused, "non_finite"),
        sentence_refused={},
    )


def random_documents(rng, count, prefix, words=WORDS):
    def moment():
        return NOW + timedelta(microseconds=int(rng.integers(-1, 2))) if rng.random() < 0.15 else None

    return [
        prepared_document(
            f"{prefix}{number}",
            [" ".join(str(word) for word in rng.choice(words, 6)) for _ in range(int(rng.integers(1, 4)))],
            random_values(rng),
            valid_from=moment(),
            valid_to=moment(),
        )
        for number in range(count)
    ]


def write_segment(folder, units, class_of, kind="flat"):
    """Write and open one segment; returns it with its logical digest."""
    folder.mkdir(parents=True)
    trained = None
    if kind == "ivf_sq8":
        sample = np.concatenate([shard.chunk_vectors for _, shard in units]).astype(np.float32)
        trained = train(sample, kind, VectorSettings())
    with SegmentWriter(folder, KEY, class_of, trained) as writer:
        for documents, shard in units:
            writer.add(documents, shard)
        files = writer.close()
    relative = [path.relative_to(folder).as_posix() for path in files]
    return OpenSegment(folder.name, folder, relative, KEY.dimension), writer.content_digest


def always_probe(nprobe=2, refine=4):
    step = PlanStep(share=1e-9, nprobe=nprobe, recall=1.0, probe_micros=0.0, scan_micros=1.0)
    return SearchPlan(refine=refine, steps=(step,))


def open_world(store, root, rng, kind="flat", plan=None, segments=2, documents=12, words=WORDS):
    """Random documents in a few segments, registered and opened; with the documents by segment."""
    corpora = [random_documents(rng, documents, f"s{number}d", words) for number in range(segments)]
    declared = {AccessValues.of(one.document) for corpus in corpora for one in corpus}
    class_of = register_classes(store, "main", declared)
    opened = []
    for number, corpus in enumerate(corpora):
        half = len(corpus) // 2
        units = [(part, embedded(rng, part, refused=(1,))) for part in (corpus[:half], corpus[half:])]
        opened.append(write_segment(root / f"{number:04d}", units, class_of, kind)[0])
    manifest = SimpleNamespace(
        index="main", generation="g1", model_key=KEY, vectors=SimpleNamespace(plan=plan or SearchPlan())
    )
    return OpenGeneration(store, manifest, opened, LocalSearch(opened)), corpora
