"""Windows of one to n words of a string: the phrases that are looked up by meaning where no term was found by form."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from babelray.glossary.breaks import Span, base_language, sentence_spans, word_spans
from babelray.glossary.normalize import BREAK, Normalized
from babelray.glossary.protect import Protected
from babelray.glossary.spans import Covered

MIN_LONGEST = 3
"""Windows reach at least this many words even if every term of the glossary is shorter."""

_JOINED = re.compile(r"[ '\-.]?")
"""Between two words of one window: nothing (scripts without spaces), a space, a hyphen, an apostrophe, a dot."""


@dataclass(frozen=True, slots=True)
class NGram:
    """A window of words.

    Attributes:
        text: Normalized and folded: what is embedded and what a cache is keyed by.
        start, end: Its span in the original string.
        words: Number of words.
        edge_stop: Whether its first or last word is a function word of the language.
        content: Its words without function words.
    """

    text: str
    start: int
    end: int
    words: int
    edge_stop: bool
    content: tuple[str, ...]


@cache
def stop_words(language: str) -> frozenset[str]:
    """Function words of a base language; empty for a language without a list."""
    lists = json.loads((Path(__file__).parent / "stopwords.json").read_text(encoding="utf-8"))
    return frozenset(lists.get(language, "").split())


def content_words(words: Iterable[str], locale: str) -> tuple[str, ...]:
    """Folded words without the function words of their language."""
    stops = stop_words(base_language(locale))
    return tuple(word for word in words if word not in stops)


def longest_term(sources: Iterable[str], locale: str) -> int:
    """The window length a glossary needs: the words of its longest term, `MIN_LONGEST` at least."""
    return max(MIN_LONGEST, *(len(word_spans(source, locale)) for source in sources), 0)


def string_sentences(text: str, locale: str, protected: Sequence[Protected]) -> list[Span]:
    """Spans of a string's sentences, by ICU over the original: the case of the next letter decides after a full stop.

    Protected spans are hidden first, so that the dots of a link end no sentence.
    """
    pieces: list[str] = []
    done = 0
    for span in protected:
        pieces += (text[done : span.start], BREAK * (span.end - span.start))
        done = span.end
    return sentence_spans("".join(pieces) + text[done:], locale)


def ngrams(normalized: Normalized, locale: str, longest: int) -> list[NGram]:
    """All windows of 1 to `longest` words, by start, then by length.

    A window never reaches over punctuation, a protected span or a blank line.
    """
    stops = stop_words(base_language(locale))
    text = normalized.text
    words = word_spans(text, locale)
    texts = [text[start:end] for start, end in words]
    found: list[NGram] = []
    for first, (start, _) in enumerate(words):
        for count in range(1, longest + 1):
            last = first + count - 1
            if last >= len(words) or (count > 1 and not _JOINED.fullmatch(text, words[last - 1][1], words[last][0])):
                break
            end = words[last][1]
            edge_stop = texts[first] in stops or texts[last] in stops
            content = tuple(word for word in texts[first : last + 1] if word not in stops)
            found.append(NGram(text[start:end], *normalized.to_original(start, end), count, edge_stop, content))
    return found


def uncovered(grams: Sequence[NGram], covered: Sequence[Span]) -> list[NGram]:
    """The windows worth looking up by meaning.

    Left out are windows that lie inside enforced matches, windows that begin or end with a function word, and windows
    without any letter.

    Args:
        grams: Windows of one string.
        covered: Spans of its enforced matches in the original string.
    """
    matched = Covered(covered)
    return [
        gram
        for gram in grams
        if not gram.edge_stop and any(char.isalpha() for char in gram.text) and not matched.holds(gram.start, gram.end)
    ]
