"""Which windows of several words are worth an embedding: those that share words with a term about as long."""

from collections import Counter
from collections.abc import Iterable, Sequence

from babelray.glossary.breaks import base_language, word_spans
from babelray.glossary.inflect.rules import language_rules
from babelray.glossary.ngrams import NGram, content_words

_BEGINNING = 4
"""Letters that two words must begin with alike to count as shared: enough for `reset` and `resetting`."""


class WindowSieve:
    """Keeps a window if some term could be meant by it as a whole.

    One word may always mean a term that looks otherwise (`reply`, response). A window of more words means a term as a
    whole only if the term has as many words, and models then place the two together only when they share words: one
    of a window of two words, two of a longer one (or all that a term has). A longer window around a shorter term says
    nothing that the window without its other words does not say better.

    Languages without rules of inflection are not sieved: their words may change at the beginning.

    Args:
        forms: Listed forms of the terms, folded.
        locale: Of the forms and of the windows.
    """

    def __init__(self, forms: Iterable[str], locale: str) -> None:
        self._open = language_rules(base_language(locale)) is None
        self._lengths: list[int] = []
        self._needed: list[int] = []
        self._by_beginning: dict[str, list[int]] = {}
        for number, form in enumerate(() if self._open else forms):
            words = [form[start:end] for start, end in word_spans(form, locale)]
            beginnings = _beginnings(content_words(words, locale))
            self._lengths.append(len(words))
            self._needed.append(min(2, len(beginnings)))
            for beginning in beginnings if len(words) > 1 else ():
                self._by_beginning.setdefault(beginning, []).append(number)

    def keeps(self, gram: NGram) -> bool:
        """Whether to embed a window."""
        if self._open or gram.words == 1:
            return True
        shared: Counter[int] = Counter()
        for beginning in _beginnings(gram.content):
            shared.update(n for n in self._by_beginning.get(beginning, ()) if self._lengths[n] >= gram.words)
        return any(count >= min(self._needed[n], gram.words - 1) for n, count in shared.items())


def _beginnings(words: Sequence[str]) -> set[str]:
    return {word[:_BEGINNING] for word in words}
