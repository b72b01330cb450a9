"""Plain retrieval by vectors alone: of whole strings, and of every 1- to 3-gram.

What glossaries are usually searched with. Here to be compared with, and for those who want it: nothing that it finds is
certain, so none of it binds a translator.
"""

from collections.abc import Sequence

import numpy as np

from babelray.glossary.hints import HintIndex
from babelray.glossary.match import Hint, MatchScope, TermMatcher
from babelray.glossary.ngrams import ngrams
from babelray.glossary.normalize import normalize
from babelray.glossary.protect import find_protected
from babelray.glossary.vector_cache import NGramVectors
from babelray.protocols import Embedder

LONGEST = 3
"""Words of a window of the plain baseline."""


class PlainRetrieval:
    """Both baselines over one index.

    Args:
        matcher: Whose terms the index is of; its matching is not used.
        index: Vectors of their forms.
        embedder: The same model's.
        cache: Vectors of windows and strings.
    """

    def __init__(self, matcher: TermMatcher, index: HintIndex, embedder: Embedder, cache: NGramVectors) -> None:
        self._matcher, self._index = matcher, index
        self._embedder, self._cache = embedder, cache
        self._owners = matcher.listed[1]

    def by_sentence(self, texts: Sequence[str], scope: MatchScope, top: int = 5) -> list[list[Hint]]:
        """The `top` terms nearest to each whole string, whatever their cosine.

        Raises:
            UpstreamError: The embedder failed.
        """
        allowed = self._matcher.allowed_numbers(scope)
        forms = [number for number, owners in enumerate(self._owners) if any(one in allowed for one in owners)]
        if not forms:
            return [[] for _ in texts]
        folded = [normalize(text, self._matcher.source_locale, find_protected(text)).text for text in texts]
        scores = self._cache.of(folded, self._embedder) @ self._index.vectors[forms].T
        found = []
        for text, row in zip(texts, scores, strict=True):
            hints: dict[int, Hint] = {}
            for at in np.argsort(-row, kind="stable"):
                for number in self._owners[forms[int(at)]]:
                    if number in allowed and len(hints) < top:
                        score = float(row[at])
                        hints.setdefault(number, Hint(self._matcher.terms[number], 0, len(text), text, score, -1.0))
                if len(hints) >= top:
                    break
            found.append(list(hints.values()))
        return found

    def by_ngrams(self, texts: Sequence[str], scope: MatchScope, threshold: float) -> list[list[Hint]]:
        """Every term that some 1- to 3-gram reaches the threshold with, by its best one.

        Raises:
            UpstreamError: The embedder failed.
        """
        allowed, locale = self._matcher.allowed_numbers(scope), self._matcher.source_locale
        views = [ngrams(normalize(text, locale, find_protected(text)), locale, LONGEST) for text in texts]
        windows = list(dict.fromkeys(gram.text for grams in views for gram in grams))
        similar = self._index.similar(self._cache.of(windows, self._embedder), threshold)
        by_window = dict(zip(windows, similar, strict=True))
        found = []
        for text, grams in zip(texts, views, strict=True):
            best: dict[int, Hint] = {}
            for gram in grams:
                for form, score in by_window[gram.text]:
                    for number in self._owners[form]:
                        if number in allowed and (number not in best or score > best[number].score):
                            surface = text[gram.start : gram.end]
                            term = self._matcher.terms[number]
                            best[number] = Hint(term, gram.start, gram.end, surface, score, threshold)
            found.append(sorted(best.values(), key=lambda hint: (hint.start, hint.end, hint.term.term_id)))
        return found
