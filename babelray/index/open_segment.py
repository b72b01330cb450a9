"""One segment of a generation with its indexes, and the search in them under a scope."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from babelray.index.access import CompiledScope
from babelray.index.layout import SegmentLayout
from babelray.index.lexical import UNFILTERED, LexicalPart, SegmentLexical
from babelray.index.segment_tables import SegmentTables
from babelray.index.vector_report import SearchPlan
from babelray.index.vectors import Floats, Found, SegmentVectors, count_rows, in_bitmap

_INVERTED = Path(SegmentLayout(".").vectors).as_posix()
_LEXICAL = Path(SegmentLayout(".").lexical).as_posix()
WIDE_SHARE = 0.3
"""From this share of allowed rows on, asking without the filter clause was faster (100,000 rows, 5 fields)."""


class OpenSegment(SegmentTables):
    """The opened files of one segment.

    Args:
        name: Its name in the manifest.
        folder: Local folder with its files, already verified.
        files: Relative paths of its files.
        dimension: Of the generation's vectors.
        threads: OpenMP threads of one vector search.

    Raises:
        IntegrityError: The files do not fit together.
    """

    def __init__(self, name: str, folder: Path, files: Sequence[str], dimension: int, threads: int = 1) -> None:
        self._files, self._threads = frozenset(files), threads
        super().__init__(name, folder, dimension)
        words = f"{_LEXICAL}/"
        self.lexical = SegmentLexical([folder / one for one in files if one.startswith(words)], self.access.rows)

    def _load_vectors(self, folder: Path) -> SegmentVectors:
        inverted = folder / _INVERTED if _INVERTED in self._files else None
        return SegmentVectors.load(folder / SegmentLayout(".").vectors_f16, inverted, self._threads)

    def search_dense(self, query: Floats, scope: CompiledScope, k: int, plan: SearchPlan) -> Found:
        """Nearest rows that the scope allows; not yet checked on the way out."""
        bits, allowed = self.access.bitmap(scope)
        return self.vectors.search(query, k, bits, allowed, plan)

    def search_lexical(self, parts: Sequence[LexicalPart], scope: CompiledScope, k: int) -> Found:
        """Best rows by words that the scope allows; not yet checked on the way out.

        A filter clause keeps Tantivy from skipping what cannot reach the top. So where most rows are allowed, more
        rows are asked for without it and those outside are taken out here: the same rows in the same order, since no
        score depends on the filter. Where that leaves too few, and under narrow scopes, the clause is used.
        """
        permitted = self.access.permitted(scope)
        share = count_rows(permitted) / max(self.rows, 1)
        if share >= WIDE_SHARE:
            wanted = int(k / share * 1.5) + 16
            whole = self.lexical.search(parts, UNFILTERED, wanted)
            inside = np.flatnonzero(in_bitmap(permitted, whole.rows))[:k]
            if len(inside) == k or len(whole.rows) < wanted:
                return Found(whole.rows[inside], whole.scores[inside])
        return self.lexical.search(parts, self.access.lexical_filter(scope), k)
