"""Hints: terms found by meaning in what no enforced match covers. They never bind; approving one makes it an alias."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from babelray.glossary.match import Hint, MatchScope, StringMatches, TermMatcher
from babelray.glossary.spans import Covered, Taken
from babelray.glossary.thresholds import Thresholds
from babelray.glossary.vector_cache import NGramVectors
from babelray.protocols import Embedder

Floats = NDArray[np.float32]
_ROWS = 1024
"""Windows compared at a time: a block of scores of 50,000 forms stays at 200 MB."""


@dataclass(frozen=True, eq=False)
class HintIndex:
    """Vectors of the forms of a matcher's terms; flat, since glossaries are small.

    Attributes:
        forms: n different folded forms.
        vectors: float32 (n, dimension), unit length; zero for a form that has none.
    """

    forms: tuple[str, ...]
    vectors: Floats

    def similar(self, windows: Floats, least: float) -> list[list[tuple[int, float]]]:
        """For each window the forms with at least this cosine, best first.

        Args:
            windows: float32 (m, dimension), unit length; a zero row is similar to nothing.
            least: Cosine.
        """
        found: list[list[tuple[int, float]]] = []
        for start in range(0, len(windows), _ROWS):
            scores = windows[start : start + _ROWS] @ self.vectors.T
            scores[~windows[start : start + _ROWS].any(axis=1)] = -1.0
            rows: list[list[tuple[int, float]]] = [[] for _ in range(len(scores))]
            for row, form in zip(*np.nonzero(scores >= least), strict=True):
                rows[row].append((int(form), float(scores[row, form])))
            found += [sorted(row, key=lambda one: (-one[1], one[0])) for row in rows]
        return found


def build_hint_index(matcher: TermMatcher, embedder: Embedder, cache: NGramVectors) -> HintIndex:
    """Embed the forms of a matcher's terms.

    Raises:
        UpstreamError: The embedder failed.
    """
    forms, _ = matcher.listed
    return HintIndex(forms, cache.of(forms, embedder))


class WindowSearch(Protocol):
    """Says which forms windows are similar to."""

    def similar(self, windows: Sequence[str], least: float) -> dict[str, list[tuple[int, float]]]:
        """Window -> forms, by position in `TermMatcher.listed`, with at least this cosine, best first."""
        ...


class LiveSearch:
    """Embeds windows as they come.

    Args:
        index: Vectors of the forms.
        embedder: The same model's.
        cache: Vectors of windows.
    """

    def __init__(self, index: HintIndex, embedder: Embedder, cache: NGramVectors) -> None:
        self._index, self._embedder, self._cache = index, embedder, cache

    def similar(self, windows: Sequence[str], least: float) -> dict[str, list[tuple[int, float]]]:
        """Embed what is not known and compare.

        Raises:
            UpstreamError: The embedder failed.
        """
        distinct = list(dict.fromkeys(windows))
        vectors = self._cache.of(distinct, self._embedder)
        return dict(zip(distinct, self._index.similar(vectors, least), strict=True))


class StoredSearch:
    """Windows that were compared before, over a whole backlog at once.

    Args:
        found: Window -> forms and cosines, best first; a window without any may be missing.
    """

    def __init__(self, found: Mapping[str, list[tuple[int, float]]]) -> None:
        self._found = found

    def similar(self, windows: Sequence[str], least: float) -> dict[str, list[tuple[int, float]]]:
        """Look up."""
        return {text: [one for one in self._found.get(text, ()) if one[1] >= least] for text in windows}


class HintFinder:
    """Finds hints in strings whose enforced matches are known.

    Args:
        matcher: Whose terms are hinted at.
        search: Compares windows with the forms of these terms.
        thresholds: By locale pair.
        per_ngram: Terms that one window may hint at.
        margin: Cosines so little under the threshold are reported as near misses, for calibration; 0: none.
    """

    def __init__(
        self,
        matcher: TermMatcher,
        search: WindowSearch,
        thresholds: Thresholds,
        per_ngram: int = 3,
        margin: float = 0.0,
    ) -> None:
        self.thresholds = thresholds
        self.margin = margin
        self._matcher, self._search = matcher, search
        self._owners = matcher.listed[1]
        self._per_ngram = per_ngram

    def find(self, strings: Sequence[StringMatches], scope: MatchScope) -> list[tuple[Hint, ...]]:
        """Hints of each string, by place; near misses among them have a score under their threshold.

        Args:
            strings: Matched with `with_ngrams=True`.
            scope: What they were matched under.

        Raises:
            UpstreamError: The embedder failed.
        """
        threshold = self.thresholds.of(self._matcher.source_locale, scope.target_locale)
        windows = [gram.text for one in strings for gram in one.open_ngrams]
        similar = self._search.similar(windows, threshold - self.margin)
        numbers = self._matcher.allowed_numbers(scope)
        return [self._of_string(one, similar, numbers, threshold) for one in strings]

    def _of_string(
        self,
        string: StringMatches,
        similar: dict[str, list[tuple[int, float]]],
        allowed: frozenset[int],
        threshold: float,
    ) -> tuple[Hint, ...]:
        candidates = [
            (score, gram, number)
            for gram in string.open_ngrams
            for number, score in self._terms(similar[gram.text], allowed)
        ]
        bound: dict[str, list[tuple[int, int]]] = {}
        for match in string.enforced:
            bound.setdefault(match.term.term_id, []).append((match.start, match.end))
        enforced = {term_id: Covered(spans) for term_id, spans in bound.items()}
        hinted: dict[str, Taken] = {}
        kept: list[Hint] = []
        for score, gram, number in sorted(candidates, key=lambda one: (-one[0], one[1].start, one[1].end, one[2])):
            term = self._matcher.terms[number]
            taken = hinted.setdefault(term.term_id, Taken())
            # One hint a term and place: windows around the best one say the same, only less well.
            known = term.term_id in enforced and enforced[term.term_id].meets(gram.start, gram.end)
            if not known and not taken.meets(gram.start, gram.end):
                taken.add(gram.start, gram.end)
                surface = string.text[gram.start : gram.end]
                kept.append(Hint(term, gram.start, gram.end, surface, score, threshold))
        return tuple(sorted(kept, key=lambda hint: (hint.start, hint.end, -hint.score, hint.term.term_id)))

    def _terms(self, similar: Sequence[tuple[int, float]], allowed: frozenset[int]) -> list[tuple[int, float]]:
        """The best allowed terms of one window."""
        best: dict[int, float] = {}
        for form, score in similar:
            for number in self._owners[form]:
                if number in allowed:
                    best.setdefault(number, score)
        return list(best.items())[: self._per_ngram]
