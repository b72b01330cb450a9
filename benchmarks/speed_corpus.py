"""A generation of any size with the word statistics of real pages: their sentences, put together anew.

Words, codes, languages and lengths are those of the pages; which sentence follows which is random. Vectors are random
clusters: a chunk lies near a topic, its sentences near the chunk. The functions that build are those of the job.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from babelray.config import SourceSettings, TextSettings, VectorSettings
from babelray.index.access import AccessValues
from babelray.index.access_store import register_classes
from babelray.index.golden import make_golden
from babelray.index.layout import LAYOUT, GenerationLayout
from babelray.index.manifest import Counts, Manifest, SegmentRecord, content_digest, write_manifest
from babelray.index.open_segment import OpenSegment
from babelray.index.segments import build_segment
from babelray.index.shards import EmbeddedShard, write_embedded, write_prepared
from babelray.index.store import Store
from babelray.index.tuning import TuningSegment, sample_queries, tune
from babelray.index.vectors import choose_kind, train
from babelray.keys import ModelKey, Role
from babelray.protocols import Encoded
from babelray.text.analysis import analyzer_version
from babelray.text.anchors import exact_tokens
from babelray.text.language import LanguagePolicy
from babelray.text.prepare import prepare_document, sentence_text
from babelray.text.readers import list_parts, read_part
from babelray.text.tokens import count_tokens
from babelray.text.types import Block, BlockKind, Chunk, Document, PreparedDocument, Reject, Sentence
from models.identifier import FastTextIdentifier

DIMENSION = 384
INDEX = "speed"
GENERATION = "g1"
CLASSES = 100
"""Access classes, one group each, so that a scope allows a known share of the rows."""
TOPICS = 2_000
CHUNK_NOISE, SENTENCE_NOISE, QUERY_NOISE = 0.8, 0.5, 0.5
"""Length of the random part beside a unit vector: topic -> chunk, chunk -> sentence, sentence -> query."""
SENTENCES_A_CHUNK = (3, 8)
CHUNKS_A_DOCUMENT = (4, 16)
DOCUMENTS_A_UNIT = 1_000
SEGMENT_CHUNKS = 250_000
KEY = ModelKey(
    provider="random", name="clusters", revision="1", dimension=DIMENSION, dtype="fp32", max_tokens=512,
    tokenizer_revision="1",
)  # fmt: skip


@dataclass(frozen=True)
class Pool:
    """What documents are made of.

    Attributes:
        sentences: Language -> sentences of real pages.
        titles: Language -> titles.
        shares: Language -> share of the sentences.
    """

    sentences: dict[str, list[str]]
    titles: dict[str, list[str]]
    shares: dict[str, float]


def read_pool(docs: Path, kept: Path, pages: int) -> Pool:
    """Sentences of real pages, cut and judged by language as the job does; remembered in a file.

    Args:
        docs: Folder of Markdown pages.
        kept: File that remembers the result.
        pages: Pages to read, evenly over the folder.
    """
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(_read_pages(docs, pages), ensure_ascii=False), encoding="utf-8")
    sentences, titles = json.loads(kept.read_text(encoding="utf-8"))
    total = sum(map(len, sentences.values()))
    return Pool(sentences, titles, {language: len(found) / total for language, found in sorted(sentences.items())})


def _read_pages(docs: Path, pages: int) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    source, policy = SourceSettings(path=str(docs), format="markdown"), LanguagePolicy(FastTextIdentifier())
    parts = list(list_parts(source, 0))
    sentences: dict[str, list[str]] = {}
    titles: dict[str, list[str]] = {}
    for part in parts[:: max(len(parts) // pages, 1)]:
        for document in read_part(part, source, TextSettings()):
            if isinstance(document, Reject):
                continue
            prepared = prepare_document(document, policy, TextSettings())
            if isinstance(prepared, Reject):
                continue
            for number, sentence in enumerate(prepared.sentences):
                language = prepared.blocks[sentence.block].language
                text = " ".join(sentence_text(prepared, number).split())
                if text:
                    sentences.setdefault(language, []).append(text)
                    titles.setdefault(language, []).append(document.title or text[:40])
    # A language with a few sentences only would be the same text over and over.
    return {tag: found for tag, found in sentences.items() if len(found) >= 500}, titles


class Clusters:
    """Vectors of a made-up model: around topics. Its `encode` gives queries that lie near stored sentences.

    Args:
        seed: The same topics each time.
    """

    key = KEY

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.topics = _unit(self._rng.standard_normal((TOPICS, DIMENSION), dtype=np.float32))

    def chunks(self, count: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """float32 (count, 384), unit length: chunks of random topics."""
        return self._near(self.topics[rng.integers(0, TOPICS, count)], CHUNK_NOISE, rng)

    def sentences(
        self, chunks: NDArray[np.float32], counts: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float32]:
        """float32 (sum of counts, 384), unit length: so many sentences of each chunk, in order."""
        return self._near(np.repeat(chunks, counts, axis=0), SENTENCE_NOISE, rng)

    def encode(self, texts: list[str], role: Role) -> Encoded:
        """One query vector a text, drawn by the text alone."""
        made = []
        for text in texts:
            rng = np.random.default_rng(list(text.encode()))
            made.append(self._near(self.chunks(1, rng), QUERY_NOISE, rng)[0])
        count = len(texts)
        return Encoded(np.stack(made), np.ones(count, np.int32), np.zeros(count, np.bool_))

    @staticmethod
    def _near(vectors: NDArray[np.float32], noise: float, rng: np.random.Generator) -> NDArray[np.float32]:
        return _unit(vectors + noise * _unit(rng.standard_normal(vectors.shape, dtype=np.float32)))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def make_document(pool: Pool, number: int, rng: np.random.Generator) -> PreparedDocument:
    """One document of one language: a paragraph is a chunk, its sentences are real ones in random order."""
    languages = list(pool.shares)
    language = languages[int(rng.choice(len(languages), p=list(pool.shares.values())))]
    known = pool.sentences[language]
    paragraphs = [
        [known[at] for at in rng.integers(0, len(known), int(rng.integers(*SENTENCES_A_CHUNK)))]
        for _ in range(int(rng.integers(*CHUNKS_A_DOCUMENT)))
    ]
    title = pool.titles[language][int(rng.integers(0, len(known)))]
    doc_id = f"{number:016x}"
    kind = BlockKind.CODE if language == "zxx" else BlockKind.PARAGRAPH
    blocks: list[Block] = []
    sentences: list[Sentence] = []
    chunks: list[Chunk] = []
    at = 0
    for place, paragraph in enumerate(paragraphs):
        content, begin, first = " ".join(paragraph), at, len(sentences)
        for sentence in paragraph:
            sentences.append(Sentence(at, at + len(sentence), place, count_tokens(sentence)))
            at += len(sentence) + 1
        span = (begin, begin + len(content))
        blocks.append(Block(kind, *span, section_path=(title,), language=language))
        chunks.append(
            Chunk(
                f"{doc_id}-{place}", *span, first, len(sentences) - 1, (place,), content, title, (language,), {},
                count_tokens(content), exact_tokens(content),
            )
        )  # fmt: skip
        at += 1
    document = Document(
        doc_id, f"mem://{doc_id}", "r1", "\n\n".join(" ".join(paragraph) for paragraph in paragraphs), title=title,
        tenant_id="a", knowledge_base_id="docs", acl_groups=(f"g{number % CLASSES:02d}",),
    )  # fmt: skip
    return PreparedDocument(document, tuple(blocks), tuple(sentences), tuple(chunks))


def embed_documents(made: list[PreparedDocument], clusters: Clusters, rng: np.random.Generator) -> EmbeddedShard:
    """Vectors of the chunks and sentences of some documents."""
    chunks = [chunk for one in made for chunk in one.chunks]
    counts = np.array([chunk.last_sentence - chunk.first_sentence + 1 for chunk in chunks], dtype=np.int64)
    vectors = clusters.chunks(len(chunks), rng)
    sentences = clusters.sentences(vectors, counts, rng)
    tokens = np.array([one.tokens for document in made for one in document.sentences], dtype=np.int32)
    return EmbeddedShard(
        chunk_vectors=vectors.astype(np.float16),
        sentence_vectors=sentences.astype(np.float16),
        chunk_tokens=np.array([chunk.tokens for chunk in chunks], dtype=np.int32),
        sentence_tokens=tokens,
        chunk_truncated=np.zeros(len(chunks), dtype=bool),
        sentence_truncated=np.zeros(len(sentences), dtype=bool),
        chunk_refused={},
        sentence_refused={},
    )


def _units(pool: Pool, chunks: int, clusters: Clusters, rng: np.random.Generator) -> Iterator[list[PreparedDocument]]:
    """Documents by units, until there are so many chunks."""
    done = number = 0
    while done < chunks:
        unit = []
        while done < chunks and len(unit) < DOCUMENTS_A_UNIT:
            unit.append(make_document(pool, number, rng))
            number += 1
            done += len(unit[-1].chunks)
        yield unit


def build(store: Store, work: Path, pool: Pool, chunks: int, seed: int, settings: VectorSettings) -> Manifest:
    """Build the generation, one segment for each quarter of a million chunks.

    Args:
        store: Where it is put.
        work: Local folder for temporary files.
        pool: Sentences.
        chunks: How many.
        seed: The same generation each time.
        settings: Kind of vector index and recall wanted.
    """
    work.mkdir(parents=True, exist_ok=True)
    rng, clusters = np.random.default_rng(seed), Clusters(seed)
    layout = LAYOUT.index(INDEX).generation(GENERATION)
    values = {AccessValues("a", "docs", (f"g{number:02d}",), "active") for number in range(CLASSES)}
    class_of = register_classes(store, INDEX, values)
    kind = choose_kind(settings, chunks)
    rows = min(chunks, SEGMENT_CHUNKS)
    trained = train(clusters.chunks(min(100_000, chunks), rng), kind, settings, rows=rows)
    records: list[SegmentRecord] = []
    waiting: list[tuple[str, str]] = []
    held = 0
    languages: Counter[str] = Counter()

    def finish() -> None:
        name = f"{len(records):04d}-a"
        records.append(build_segment(store, layout.segment(name), name, waiting, class_of, KEY, trained, work))
        for paths in waiting:
            for path in paths:
                store.delete(path)
        waiting.clear()

    for number, unit in enumerate(_units(pool, chunks, clusters, rng)):
        paths = (f"shards/{number:05d}-prepared.parquet", f"shards/{number:05d}-embedded.parquet")
        write_prepared(store, paths[0], unit)
        write_embedded(store, paths[1], embed_documents(unit, clusters, rng))
        waiting.append(paths)
        held += sum(len(one.chunks) for one in unit)
        languages.update(chunk.languages[0] for one in unit for chunk in one.chunks)
        if held >= SEGMENT_CHUNKS * (len(records) + 1):
            finish()
    if waiting:
        finish()
    return _write(store, layout, records, clusters, kind, settings, languages)


def _write(
    store: Store,
    layout: GenerationLayout,
    records: list[SegmentRecord],
    clusters: Clusters,
    kind: str,
    settings: VectorSettings,
    languages: Counter[str],
) -> Manifest:
    """Tune on the first segment and write the manifest."""
    first = records[0]
    folder = store.local_path(layout.segment(first.name).root)
    assert folder is not None
    opened = OpenSegment(first.name, folder, list(first.files), DIMENSION)
    queries = sample_queries([opened.sentence_vectors], settings.heldout_queries, settings.seed)
    report = tune([TuningSegment(opened.vectors, opened.access.has_vector)], queries, kind, settings)
    versions = {"policy_digest": "speed", "analyzer_version": analyzer_version(), "corpus_revision": "speed"}
    manifest = Manifest(
        generation=GENERATION, index=INDEX, created_at=datetime.now(UTC), model_key=KEY, chunk_policy={},
        content_digest=content_digest(model_key=KEY, kind=kind, segments=tuple(records), **versions),
        language_policy_version="speed", corpus="speed", vectors=report, segments=tuple(records),
        golden=make_golden(clusters), run="speed",
        counts=Counts(
            documents=sum(one.documents for one in records), chunks=sum(one.rows for one in records),
            sentences=sum(one.sentences for one in records), chunks_by_language=dict(languages),
        ),
        **versions,
    )  # fmt: skip
    write_manifest(store, layout, manifest)
    return manifest
