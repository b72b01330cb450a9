"""Vector files of one segment, in FAISS: a flat fp16 index, and beside it an IVF index when there are many rows.

The flat fp16 file answers exact scans and gives the final scores of whatever the quantized index proposes. Row i of
the segment is id i in both. Vectors have unit length and are compared by inner product.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from babelray.config import VectorSettings
from babelray.errors import ConfigError, IntegrityError
from babelray.index.vector_report import IndexKind, SearchPlan

try:
    import faiss as _faiss
except ModuleNotFoundError as error:
    raise ConfigError(
        "FAISS is not installed: its builds for CPU and GPU exclude each other, so that it is an extra",
        fix="pip install 'babelray[cpu]', or babelray[gpu] on a machine with CUDA",
    ) from error

# FAISS's own type stubs leave out what its Python layer adds: keyword parameters, fields of subclasses.
faiss: Any = _faiss

FLAT_UP_TO = 50_000
"""Rows up to which `auto` stays flat: an exact fp16 scan of 50,000 x 384 takes 3 ms on one core, with recall 1."""

SAMPLE_PER_LIST = 39
"""FAISS's own minimum of training vectors a centroid."""

Bits = NDArray[np.uint8]
Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


def choose_kind(settings: VectorSettings, rows: int) -> IndexKind:
    """The kind of index for a generation of this many rows; `auto` decides by size."""
    if settings.kind != "auto":
        return settings.kind
    return "flat" if rows <= FLAT_UP_TO else "ivf_sq8"


def list_count(rows: int, sample: int) -> int:
    """Inverted lists for a segment: a power of two near 4 sqrt(rows), as far as the sample can train them."""
    wanted = min(4.0 * max(rows, 1) ** 0.5, max(sample // SAMPLE_PER_LIST, 1))
    return int(2 ** int(np.log2(wanted))) if wanted >= 1 else 1


def train(sample: Floats, kind: IndexKind, settings: VectorSettings, rows: int | None = None) -> bytes:
    """Train once on a sample; every segment starts from the result.

    Args:
        sample: float32 (n, d), unit length.
        kind: For `flat` there is nothing to train and the result is empty.
        settings: Gives the seed.
        rows: Rows that one segment will hold; the sample's length if not given.

    Returns:
        The empty trained index as `serialize_index` bytes.
    """
    if kind == "flat":
        return b""
    count, dimension = sample.shape
    lists = list_count(rows or count, count)
    index = faiss.index_factory(dimension, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
    index.cp.seed = settings.seed
    # Every list has at most its share of the sample, so that training time does not grow with a generous sample.
    index.cp.max_points_per_centroid = 128
    # `list_count` has seen to it that there are enough; below one list's worth FAISS would warn on stderr.
    index.cp.min_points_per_centroid = 1
    index.train(np.ascontiguousarray(sample, dtype=np.float32))
    return bytes(faiss.serialize_index(index).tobytes())


def pack_rows(allowed: NDArray[np.bool_]) -> Bits:
    """A bitmap of rows, bit i of byte i // 8 counted from the lowest, as FAISS reads it."""
    return np.packbits(allowed, bitorder="little")


def count_rows(bits: Bits) -> int:
    """Rows in a bitmap."""
    return int(np.bitwise_count(bits).sum(dtype=np.int64))


def in_bitmap(bits: Bits, rows: Rows) -> NDArray[np.bool_]:
    """Which of some rows are in a bitmap."""
    inside: NDArray[np.bool_] = (bits[rows >> 3] >> (rows & 7).astype(np.uint8) & 1).astype(bool)
    return inside


def check_bitmap(bits: Bits, rows: int) -> None:
    """FAISS reads ids beyond a short bitmap as not allowed, and so drops rows without a word: refuse it before.

    Raises:
        IntegrityError: The bitmap has another length than the segment's rows ask for, or bits beyond them.
    """
    expected = (rows + 7) // 8
    if bits.dtype != np.uint8 or bits.ndim != 1 or bits.size != expected:
        raise IntegrityError(
            "the row bitmap does not fit the segment",
            got=f"{bits.dtype} {bits.shape}",
            allowed=f"uint8 ({expected},) for {rows} rows",
        )
    if rows % 8 and bits[-1] >> (rows % 8):
        raise IntegrityError("the row bitmap allows rows beyond the segment", got=f"last byte {bits[-1]:#04x}")


class VectorBuilder:
    """Collects the vectors of one segment in row order and writes its files.

    Args:
        dimension: Length of a vector.
        trained: What `train` gave; empty or `None` for `flat`.
    """

    def __init__(self, dimension: int, trained: bytes | None) -> None:
        self._exact = faiss.IndexScalarQuantizer(dimension, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        self._approximate = faiss.deserialize_index(np.frombuffer(trained, dtype=np.uint8)) if trained else None
        if self._approximate is not None and self._approximate.d != dimension:
            raise IntegrityError(
                "the trained index is of another dimension", got=self._approximate.d, allowed=dimension
            )

    @property
    def rows(self) -> int:
        """Rows added so far."""
        return int(self._exact.ntotal)

    def add(self, vectors: NDArray[np.float16], present: NDArray[np.bool_]) -> None:
        """Append rows.

        Args:
            vectors: float16 (n, d); rows that are not present are stored as zeros to keep the numbering.
            present: bool (n,), false for a row that has no vector: it never enters the approximate index.
        """
        first = self.rows
        block = np.where(present[:, None], vectors, np.float16(0)).astype(np.float32)
        self._exact.add(block)
        if self._approximate is not None and present.any():
            ids = first + np.flatnonzero(present)
            self._approximate.add_with_ids(np.ascontiguousarray(block[present]), ids.astype(np.int64))

    def write(self, exact: Path, approximate: Path) -> list[Path]:
        """Write the files, `approximate` only when there is such an index; returns what was written."""
        faiss.write_index(self._exact, str(exact))
        if self._approximate is None:
            return [exact]
        faiss.write_index(self._approximate, str(approximate))
        return [exact, approximate]


@dataclass(frozen=True, slots=True)
class Found:
    """Best rows of one query: scores falling, equal scores by row.

    Attributes:
        rows: int64 (k,), fewer where fewer rows are allowed.
        scores: float32 (k,), cosine from the fp16 vectors.
    """

    rows: Rows
    scores: Floats


class SegmentVectors:
    """The vectors of one segment, opened for search.

    Args:
        exact: Flat fp16 FAISS index.
        approximate: IVF index over the same rows, or `None`.
        threads: OpenMP threads of one search. One by default: queries run side by side, and a pool of threads for
            each of them costs more than it gives.
    """

    def __init__(self, exact: Any, approximate: Any | None = None, threads: int = 1) -> None:
        self._exact = exact
        self._approximate = approximate
        self._threads = threads
        self.rows = int(exact.ntotal)
        self.dimension = int(exact.d)
        # A view on FAISS's own (mapped) memory: no copy. The index is kept, so that it stays valid.
        self._halves: NDArray[np.float16] = (
            faiss.rev_swig_ptr(exact.codes.data(), self.rows * self.dimension * 2)
            .view(np.float16)
            .reshape(self.rows, self.dimension)
            if self.rows
            else np.zeros((0, self.dimension), dtype=np.float16)
        )

    @classmethod
    def load(cls, exact: Path, approximate: Path | None, threads: int = 1) -> "SegmentVectors":
        """Open files, memory-mapped and read-only, so that processes share one copy in the page cache.

        Raises:
            IntegrityError: A file is not such an index, or the two disagree.
        """
        flat = _read(exact)
        if not isinstance(flat, faiss.IndexScalarQuantizer) or flat.code_size != 2 * flat.d:
            raise IntegrityError("not a flat fp16 index", where=exact, got=type(flat).__name__)
        inverted = _read(approximate) if approximate is not None else None
        if inverted is not None and (inverted.d != flat.d or inverted.ntotal > flat.ntotal):
            raise IntegrityError(
                "the two vector files disagree",
                where=approximate,
                got=f"{inverted.ntotal} x {inverted.d}",
                allowed=f"at most {flat.ntotal} x {flat.d}",
            )
        return cls(flat, inverted, threads)

    @property
    def nlist(self) -> int:
        """Inverted lists of the approximate index; 0 without one."""
        return int(self._approximate.nlist) if self._approximate is not None else 0

    def vectors(self, rows: Rows) -> Floats:
        """float32 (n, d): the stored fp16 vectors of rows."""
        return self._halves[rows].astype(np.float32)

    def similarities(self, queries: Floats) -> Floats:
        """float32 (q, rows): inner products computed by numpy, block by block; the yardstick for every search.

        Args:
            queries: float32 (q, d).
        """
        blocks = [
            queries @ self.vectors(np.arange(at, min(at + 8192, self.rows))).T for at in range(0, self.rows, 8192)
        ]
        return np.concatenate(blocks, axis=1) if blocks else np.zeros((len(queries), 0), dtype=np.float32)

    def search(self, query: Floats, k: int, bits: Bits, allowed: int, plan: SearchPlan) -> Found:
        """Search as the plan says for this share of allowed rows.

        Args:
            query: float32 (d,).
            k: Results wanted; fewer come back only where fewer rows are allowed.
            bits: Bitmap of the allowed rows.
            allowed: How many they are.
            plan: Tuned plan of the generation.
        """
        nprobe = plan.nprobe(self.rows, allowed) if self._approximate is not None else None
        if nprobe is None:
            return self.scan(query, k, bits)
        found = self.probe(query, k, bits, min(nprobe, self.nlist), plan.refine)
        # The probed lists may hold too few allowed rows when the filter and the query pull apart.
        return found if len(found.rows) >= min(k, allowed) else self.scan(query, k, bits)

    def scan(self, query: Floats, k: int, bits: Bits) -> Found:
        """Exact search among the allowed rows.

        Args:
            query: float32 (d,).
            k: Results wanted.
            bits: Bitmap of the allowed rows, `pack_rows`.
        """
        return self._search(self._exact, query, k, k, bits, None)

    def probe(self, query: Floats, k: int, bits: Bits, nprobe: int, refine: int) -> Found:
        """Approximate search among the allowed rows: `k * refine` candidates by quantized vectors, scored from fp16."""
        if self._approximate is None:
            return self.scan(query, k, bits)
        return self._search(self._approximate, query, k, k * refine, bits, nprobe)

    def _search(self, index: Any, query: Floats, k: int, candidates: int, bits: Bits, nprobe: int | None) -> Found:
        check_bitmap(bits, self.rows)
        wanted = min(candidates, self.rows)
        if wanted == 0:
            return Found(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
        # The setting belongs to the calling thread, so that it has to be made here and not once at the start.
        faiss.omp_set_num_threads(self._threads)
        selector = faiss.IDSelectorBitmap(bits)
        if nprobe is None:
            parameters = faiss.SearchParameters(sel=selector)
        else:
            parameters = faiss.SearchParametersIVF(nprobe=nprobe, sel=selector)
        _, labels = index.search(query[None, :], wanted, params=parameters)
        rows = labels[0][labels[0] >= 0]
        scores = np.einsum("ij,j->i", self.vectors(rows), query)
        order = np.lexsort((rows, -scores))[:k]
        return Found(rows[order], scores[order])


def _read(path: Path) -> Any:
    try:
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:
        raise IntegrityError("not a vector index that FAISS can read", where=path, got=str(error)[:200]) from error
