"""The collections of the QASC benchmarks as stored sentences, with vectors that are kept between runs."""

import argparse
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measuring import OUT
from numpy.typing import NDArray

from babelray.config import BundledE5Settings, BundledMiniLmSettings, EmbedderSettings, TextSettings
from babelray.evaluation.cases import EvidenceCase, EvidenceSet, load_clapnq, load_xquad_long
from babelray.index.document_sentences import DocumentSentences
from babelray.keys import ModelKey, Role
from babelray.protocols import Embedder
from babelray.text.chunks import passage_text
from babelray.text.language import LanguagePolicy
from babelray.text.prepare import prepare_document, sentence_text
from babelray.text.types import Document, PreparedDocument
from models.identifier import FastTextIdentifier
from models.registry import build_embedder, ensure_on_node, model_key

EMBEDDERS: dict[str, EmbedderSettings] = {
    "bundled-e5": BundledE5Settings(kind="bundled-e5"),
    "bundled-minilm": BundledMiniLmSettings(kind="bundled-minilm"),
}
"""The second one is English only: it shows what of the first one's results is the model's."""
SAVE_EVERY = 512
"""Texts between two writes of the kept vectors, so that a run that is cut off loses little."""


def load_sets(data: Path) -> dict[str, EvidenceSet]:
    """The sets that are reported, by name."""
    articles = load_xquad_long(data / "qasc_xquad_long")
    return {
        "xquad en-en": articles.pair("en", "en"),
        "xquad zh-en": articles.pair("zh", "en"),
        "clapnq": load_clapnq(data / "qasc_clapnq"),
    }


class KeptVectors:
    """Vectors of one model by text, kept in an .npz file under `benchmarks/out`.

    Args:
        cache: Folder of converted models.
        threads: CPU threads of the encoder.
        embedder: Name in `EMBEDDERS`.
    """

    def __init__(self, cache: Path, threads: int, embedder: str = "bundled-e5") -> None:
        self._cache, self._threads, self._settings = cache, threads, EMBEDDERS[embedder]
        self._path = OUT / "qasc_vectors" / f"{embedder}.npz"
        self._embedder: Embedder | None = None
        self._known: dict[str, NDArray[np.float32]] = {}
        if self._path.exists():
            with np.load(self._path) as kept:
                self._known = dict(zip(kept["names"].tolist(), kept["vectors"].astype(np.float32), strict=True))

    @property
    def key(self) -> ModelKey:
        """Model key of the vectors."""
        ensure_on_node(self._settings, self._cache)
        return model_key(self._settings, self._cache)

    def get(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """float32 (n, d), as the store gives them: rounded to fp16, except for queries."""
        names = [hashlib.sha256(f"{role}\x00{text}".encode()).hexdigest()[:32] for text in texts]
        missing = {name: text for name, text in zip(names, texts, strict=True) if name not in self._known}
        pending = sorted(missing.items(), key=lambda item: (len(item[1]), item[0]))
        for at in range(0, len(pending), SAVE_EVERY):
            part = pending[at : at + SAVE_EVERY]
            encoded = self._load().encode([text for _, text in part], role)
            if encoded.refused:
                raise RuntimeError(f"texts without a vector: {dict(encoded.refused)}")
            self._known |= {name: vector for (name, _), vector in zip(part, encoded.vectors, strict=True)}
            self._save()
            print(f"encoded {at + len(part)} of {len(pending)} texts", flush=True)
        found = np.stack([self._known[name] for name in names])
        return found if role is Role.QUERY else found.astype(np.float16).astype(np.float32)

    def _load(self) -> Embedder:
        if self._embedder is None:
            ensure_on_node(self._settings, self._cache)
            self._embedder = build_embedder(self._settings, self._cache, threads=self._threads)
        return self._embedder

    def _save(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        names = sorted(self._known)
        np.savez(self._path, names=np.array(names), vectors=np.stack([self._known[name] for name in names]))


def prepare(collection: EvidenceSet, policy: TextSettings) -> list[PreparedDocument]:
    """The documents as a reindex job would cut them."""
    languages = LanguagePolicy(FastTextIdentifier())
    return [
        prepare_document(
            Document(one.doc_id, one.doc_id, "1", one.text, title=one.title.replace("_", " "),
                     declared_language=one.language),
            languages,
            policy,
        )
        for one in collection.documents
    ]  # fmt: skip


def stored(prepared: Iterable[PreparedDocument], vectors: KeptVectors) -> dict[str, DocumentSentences]:
    """Prepared documents as they would be read from a generation, by document id."""
    prepared = list(prepared)
    key = vectors.key
    sentences = vectors.get(
        [sentence_text(one, at) for one in prepared for at in range(len(one.sentences))], Role.PASSAGE
    )
    chunks = vectors.get([passage_text(chunk) for one in prepared for chunk in one.chunks], Role.PASSAGE)
    made, first, first_chunk = {}, 0, 0
    for number, one in enumerate(prepared):
        n, c = len(one.sentences), len(one.chunks)
        made[one.document.doc_id] = DocumentSentences(
            segment=0,
            document=number,
            doc_id=one.document.doc_id,
            key=key,
            starts=np.array([s.start for s in one.sentences], dtype=np.int64),
            ends=np.array([s.end for s in one.sentences], dtype=np.int64),
            blocks=np.array([s.block for s in one.sentences], dtype=np.int32),
            languages=tuple(one.blocks[s.block].language for s in one.sentences),
            kinds=tuple(str(one.blocks[s.block].kind) for s in one.sentences),
            sections=np.zeros(n, dtype=np.int32),
            tokens=np.array([s.tokens for s in one.sentences], dtype=np.int32),
            vectors=sentences[first : first + n],
            has_vector=np.ones(n, dtype=bool),
            parent_vectors=chunks[first_chunk : first_chunk + c],
            parent_has_vector=np.ones(c, dtype=bool),
            parents=np.array([(x.first_sentence, x.last_sentence) for x in one.chunks], dtype=np.int32).reshape(c, 2),
            text=one.document.text,
        )
        first, first_chunk = first + n, first_chunk + c
    return made


@dataclass(frozen=True, slots=True)
class Question:
    """A case with its vector and the documents that every method gets for it, most similar first."""

    case: EvidenceCase
    query: NDArray[np.float32]
    documents: list[DocumentSentences]

    @property
    def tuning(self) -> bool:
        """Whether its document belongs to the half that settings are tuned on; the other half is reported."""
        return tuning_half(self.case.doc_id)


@dataclass(frozen=True, slots=True)
class StoredSet:
    """One collection, ready to be asked."""

    name: str
    collection: EvidenceSet
    documents: dict[str, DocumentSentences]
    questions: list[Question]


def tuning_half(doc_id: str) -> bool:
    """By a hash of the document; an article is in the same half in every language."""
    article = re.sub(r"^(xq-\d+)-[a-z]+$", r"\1", doc_id)
    return hashlib.sha256(article.encode()).digest()[0] % 2 == 0


def load_stored(data: Path, vectors: KeptVectors, most: int = 5, only: Sequence[str] | None = None) -> list[StoredSet]:
    """All sets, or some, with the `most` documents of each question whose best chunk is most similar to it."""
    made = []
    kept: dict[str, dict[str, DocumentSentences]] = {}
    for name, collection in load_sets(data).items():
        if only and name not in only:
            continue
        corpus = name.split()[0] + name[-2:]
        documents = kept.setdefault(corpus, {}) or stored(prepare(collection, TextSettings()), vectors)
        kept[corpus] = documents
        queries = vectors.get([case.question for case in collection.cases], Role.QUERY)
        best = np.stack([(queries @ one.parent_vectors.T).max(axis=1) for one in documents.values()], axis=1)
        order = np.argsort(-best, axis=1, kind="stable")[:, :most]
        names = list(documents)
        questions = [
            Question(case, query, [documents[names[at]] for at in row])
            for case, query, row in zip(collection.cases, queries, order, strict=True)
        ]
        made.append(StoredSet(name, collection, documents, questions))
    return made


def main() -> None:
    """Encode all that the benchmarks need of sentences, chunks and questions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/babelray"))
    arguments = parser.parse_args()
    vectors = KeptVectors(arguments.cache.expanduser(), arguments.threads)
    for one in load_stored(arguments.data, vectors):
        print(one.name, len(one.documents), sum(map(len, one.documents.values())), len(one.questions))


if __name__ == "__main__":
    main()
