"""Vectors of windows of words, by model key and normalized text: each is embedded once for all payloads and locales."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from babelray.errors import IntegrityError
from babelray.index.digests import sha256_of
from babelray.index.layout import LAYOUT
from babelray.index.store import Store
from babelray.keys import ModelKey, Role
from babelray.protocols import Embedder

Floats = NDArray[np.float32]


class NGramVectors:
    """A bounded memory of one model's vectors, kept in halves. Safe between threads.

    Args:
        key: Whose vectors they are.
        entries: How many are kept; the ones not used for longest go.
    """

    def __init__(self, key: ModelKey, entries: int = 200_000) -> None:
        self.key = key
        self._entries = entries
        self._vectors: OrderedDict[str, NDArray[np.float16]] = OrderedDict()
        self._lock = Lock()
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._vectors)

    def of(self, texts: Sequence[str], embedder: Embedder) -> Floats:
        """float32 (n, dimension) of the texts, zero for one that has no vector; what is not known is embedded at once.

        Raises:
            UpstreamError: The embedder failed.
        """
        wanted = dict.fromkeys(texts)
        known = self._known(wanted)
        missing = [text for text in wanted if text not in known]
        self.hits += len(wanted) - len(missing)
        self.misses += len(missing)
        if missing:
            known |= dict(zip(missing, self.embed(missing, embedder)[0], strict=True))
        if not texts:
            return np.zeros((0, self.key.dimension), dtype=np.float32)
        return np.stack([known[text] for text in texts]).astype(np.float32)

    def embed(self, texts: Sequence[str], embedder: Embedder) -> tuple[NDArray[np.float16], int]:
        """Embed different texts and keep their vectors.

        Returns:
            float16 (n, dimension), zero for a text that has none, and the tokens that the model read.

        Raises:
            UpstreamError: The embedder failed.
        """
        # One role on both sides: a window and a term are compared as equals.
        encoded = embedder.encode(texts, Role.QUERY)
        vectors = encoded.vectors.astype(np.float16)
        self.put(zip(texts, vectors, strict=True))
        return vectors, int(encoded.tokens.sum())

    def known(self, texts: Iterable[str]) -> set[str]:
        """Those that are kept."""
        with self._lock:
            return {text for text in texts if text in self._vectors}

    def put(self, vectors: Iterable[tuple[str, NDArray[np.float16]]]) -> None:
        """Keep vectors that were made elsewhere."""
        with self._lock:
            for text, vector in vectors:
                self._vectors[text] = vector
                self._vectors.move_to_end(text)
            while len(self._vectors) > self._entries:
                self._vectors.popitem(last=False)

    def _known(self, texts: Iterable[str]) -> dict[str, NDArray[np.float16]]:
        found = {}
        with self._lock:
            for text in texts:
                vector = self._vectors.get(text)
                if vector is not None:
                    self._vectors.move_to_end(text)
                    found[text] = vector
        return found


def write_vectors(store: Store, key: ModelKey, texts: Sequence[str], vectors: NDArray[np.float16]) -> str | None:
    """Keep vectors in the store for later runs, as one immutable file that is named by its content; its path.

    Args:
        store: Where to.
        key: Of the model.
        texts: n different normalized windows, sorted.
        vectors: float16 (n, dimension).
    """
    if not texts:
        return None
    data = pack_vectors(texts, vectors)
    path = LAYOUT.window_vectors(key.digest, sha256_of(data)[:24])
    store.write_atomic(path, data)
    return path


def pack_vectors(texts: Sequence[str], vectors: NDArray[np.float16]) -> bytes:
    """Texts and their vectors, float16 (n, dimension), as a Parquet file."""
    width = pa.list_(pa.float16(), vectors.shape[1])
    flat = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(vectors).reshape(-1)), type=width)
    sink = pa.BufferOutputStream()
    table = pa.table({"text": pa.array(texts, pa.string()), "vector": flat})
    pq.write_table(table, sink, compression="zstd", use_dictionary=False)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def unpack_vectors(data: bytes) -> tuple[list[str], NDArray[np.float16]]:
    """The reverse of `pack_vectors`."""
    table = pq.read_table(pa.BufferReader(data))
    values = table["vector"].combine_chunks()
    texts: list[str] = table["text"].to_pylist()
    return texts, values.flatten().to_numpy().reshape(len(table), values.type.list_size)


def read_vectors(store: Store, key: ModelKey, into: NGramVectors) -> int:
    """Take in all that the store has for a model; how many vectors.

    Raises:
        IntegrityError: A file is not what its name says.
    """
    taken = 0
    for path, _ in store.files(LAYOUT.window_vectors_of(key.digest)):
        taken += read_file(store, path, into)
    return taken


def read_file(store: Store, path: str, into: NGramVectors) -> int:
    """Take in one file.

    Raises:
        IntegrityError: It is not what its name says.
    """
    data = store.read_bytes(path)
    if sha256_of(data)[:24] != path.rpartition("/")[2].removesuffix(".parquet"):
        raise IntegrityError("stored window vectors are damaged", where=path, fix="delete the file: it is made again")
    texts, vectors = unpack_vectors(data)
    into.put(zip(texts, vectors, strict=True))
    return len(texts)
