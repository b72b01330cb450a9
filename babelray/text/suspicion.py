"""Flags what may be meant to deceive a reader or a model: lookalike letters, unseen characters, orders to a model.

Orders are found by phrases of many languages, in prose and code alike, through unseen characters, full-width and
lookalike letters, and inside Base64. A flag is a hint and no verdict: a page about prompt injection has the phrases
too. Nothing is removed.
"""

import base64
import binascii
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex
from ahocorasick_rs import AhoCorasick, MatchKind

from babelray.text.confusables import MixedWord, find_mixed_words, unmask
from babelray.text.folding import fold
from babelray.text.han import simplify
from babelray.text.hidden_characters import Hidden, find_hidden
from babelray.text.query_words import GAP, PhraseTrie, Row, Word, cut_words
from babelray.text.tables import read_rows

_SENTENCE_END = frozenset(".?!。？！")
_BASE64 = regex.compile(r"[A-Za-z0-9+/_-]{24,}+(?:\r?\n[ \t]*+[A-Za-z0-9+/_-]{16,}+)*+={0,2}")
_MARK = regex.compile(r"\p{M}")
_SURROGATE = regex.compile("[\ud800-\udfff]")
_MAX_ENCODED = 1 << 16
"""Characters of one encoded candidate that are decoded; an order to a model stands at its beginning or is a needle."""
# Windows are sieved before they are cut into words; a phrase with gaps is shorter than their overlap.
_WINDOW, _OVERLAP = 1000, 250
_MAX_DEPTH = 2
_READABLE = 0.9
_DETAIL = 80


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One thing that is not what it seems.

    Attributes:
        kind: `confusable`, `mixed_script`, `hidden_character`, `instruction` or `encoded_instruction`.
        start, end: Code point span in the text as given.
        detail: What it is, in words for a human.
    """

    kind: str
    start: int
    end: int
    detail: str


def find_suspicions(text: str) -> list[Suspicion]:
    """All suspicions of a text, sorted by place. Never raises; time is linear in the text."""
    mixed = list(find_mixed_words(text))
    found = [Suspicion(one.kind, one.start, one.end, one.detail) for one in mixed]
    unseen = list(find_hidden(text))
    for hidden in unseen:
        if hidden.suspicious:
            codes = " ".join(dict.fromkeys(f"U+{ord(char):04X}" for char in text[hidden.start : hidden.end]))
            found.append(Suspicion("hidden_character", hidden.start, hidden.end, codes[:_DETAIL]))
    found += [
        Suspicion("instruction", start, end, text[start:end][:_DETAIL]) for start, end in _orders(text, mixed, unseen)
    ]
    found += _encoded(text)
    return sorted(found, key=lambda one: (one.start, one.end, one.kind, one.detail))


def normalize_visible(text: str) -> str:
    """NFKC of what a reader sees: without hidden characters."""
    kept, position = [], 0
    for hidden in find_hidden(text):
        kept.append(text[position : hidden.start])
        position = hidden.end
    return unicodedata.normalize("NFKC", "".join(kept) + text[position:])


def _words(text: str) -> list[Word]:
    """Words without accents and the signs between them; hangul by syllables, since its words carry particles."""
    words: list[Word] = []
    for word in cut_words(text):
        if word.kind == "sign" and word.text not in _SENTENCE_END:
            continue
        folded = simplify(fold(word.raw, "und", "general"))
        if "\uac00" <= folded[:1] <= "\ud7a3":
            syllables = zip(folded, range(word.start, word.end), strict=False)
            words += [Word(char, start, start + 1, "char") for char, start in syllables]
        elif folded:
            words.append(word._replace(text=folded))
    return words


class _Phrases:
    """The table of orders: a trie of their words, and a sieve that lets through texts that have all words of one."""

    def __init__(self) -> None:
        self.trie = PhraseTrie()
        marks, needs = [], []
        for language, phrases in read_rows("instruction_phrases.tsv", 2):
            for phrase in phrases.split(", "):
                if language == "*":
                    marks.append(phrase)
                    continue
                parts = [[word.text for word in _words(part)] for part in phrase.split(GAP)]
                self.trie.add(parts, Row("instruction", True, language))
                needs.append(frozenset(_flatten(part) for part in phrase.replace(GAP, " ").split()))
        self.marks = tuple(marks)
        self._numbers = {word: number for number, word in enumerate(sorted(frozenset().union(*needs)))}
        self._needs = [frozenset(self._numbers[word] for word in words) for words in needs]
        self._sieve = AhoCorasick(list(self._numbers), matchkind=MatchKind.Standard)

    def may_be_in(self, text: str) -> bool:
        """Whether a text has all the words of some phrase, anywhere; cheap, and never wrong when it says no."""
        found = {number for number, _, _ in self._sieve.find_matches_as_indexes(_flatten(text), overlapping=True)}
        return any(words <= found for words in self._needs)


@lru_cache(maxsize=1)
def _phrases() -> _Phrases:
    return _Phrases()


def _flatten(text: str) -> str:
    """Small letters without marks, simplified Han; coarser than what words are compared by."""
    if text.isascii():
        return text.lower()
    text = _SURROGATE.sub("\ufffd", text)
    return simplify(_MARK.sub("", unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())))


def _orders(text: str, mixed: Iterable[MixedWord], unseen: Sequence[Hidden]) -> Iterator[tuple[int, int]]:
    """Spans of orders to a model in the visible text, in places of the text as given."""
    visible, places = _visible(text, mixed, unseen)
    phrases = _phrases()
    last = 0
    for offset in range(0, max(1, len(visible) - _OVERLAP), _WINDOW - _OVERLAP):
        window = visible[offset : offset + _WINDOW]
        for start, end in _orders_in(window, phrases):
            # A phrase in the overlap of two windows is found in both.
            if offset + end > last:
                last = offset + end
                yield places[offset + start], places[last - 1] + 1
    folded = visible.lower() if visible.isascii() else visible
    for mark in phrases.marks:
        start = folded.find(mark)
        if start >= 0:
            yield places[start], places[start + len(mark) - 1] + 1


def _orders_in(window: str, phrases: "_Phrases") -> Iterator[tuple[int, int]]:
    """Spans of orders in a short text, disjoint."""
    words = _words(window) if phrases.may_be_in(window) else []
    position = 0
    while position < len(words):
        found = phrases.trie.begin_at(words, position)
        if found:
            yield words[position].start, words[found[-1].last - 1].end
        position = found[-1].last if found else position + 1


def _visible(text: str, mixed: Iterable[MixedWord], unseen: Sequence[Hidden]) -> tuple[str, range | list[int]]:
    """The text as a reader takes it, and for each of its characters the place in the text as given."""
    unmasked = list(text)
    for one in mixed:
        if one.kind == "confusable":
            unmasked[one.start : one.end] = unmask(text[one.start : one.end])
    shown = "".join(unmasked)
    if not unseen:
        return shown, range(len(text))
    kept: list[str] = []
    places: list[int] = []
    position = 0
    for start, end in [*((one.start, one.end) for one in unseen), (len(text), len(text))]:
        kept.append(shown[position:start])
        places += range(position, start)
        position = end
    return "".join(kept), places


def _encoded(text: str) -> Iterator[Suspicion]:
    for match in _BASE64.finditer(text):
        order = _decoded_order(match.group(), _MAX_DEPTH)
        if order is not None:
            yield Suspicion("encoded_instruction", match.start(), match.end(), order[:_DETAIL])


def _decoded_order(encoded: str, depth: int) -> str | None:
    """The first order inside Base64, or inside Base64 in it."""
    decoded = _decode(encoded)
    if decoded is None:
        return None
    for start, end in _orders(decoded, (), list(find_hidden(decoded))):
        return decoded[start:end]
    if depth > 1:
        for match in _BASE64.finditer(decoded):
            order = _decoded_order(match.group(), depth - 1)
            if order is not None:
                return order
    return None


def _decode(encoded: str) -> str | None:
    """Text from Base64 of either alphabet, or nothing where the bytes are no text."""
    plain = "".join(encoded[:_MAX_ENCODED].split()).rstrip("=").translate(str.maketrans("-_", "+/"))
    plain = plain[: len(plain) - (len(plain) % 4 == 1)]
    try:
        data = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error:
        return None
    # Bytes cut off in the middle of a character at the end are no reason to give up.
    decoded = data.decode("utf-8", errors="ignore")
    if len(decoded.encode()) < _READABLE * len(data):
        return None
    readable = sum(char.isprintable() or char.isspace() for char in decoded)
    return decoded if readable >= _READABLE * len(decoded) and decoded else None
