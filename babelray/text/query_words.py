"""Cuts a query into words and finds in it the words and phrases of tables, longest first, each language by its own.

Han characters and kana are words of one character each, so a phrase of any writing is a sequence of words and one
mechanism serves all. What a class of a table means is decided by whoever asks for it; a `shield` is a phrase that
means nothing and keeps the shorter entries inside it from being found (不同 holds no negation).
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

import regex

from babelray.text import language_evidence as evidence
from babelray.text.folding import language_of
from babelray.text.han import simplify
from babelray.text.scripts import count_scripts
from babelray.text.tables import read_rows

ANY_LANGUAGE = "*"
SHIELD = "shield"
AFFIX = "negation_affix"
_MAX_GAP = 4
_MAX_AFFIX = 10
_AFFIX_REST = 3
"""Letters that a word has beside its affix, at least."""
GAP = "…"
_TABLES = ("constraint_words.tsv", "quantity_words.tsv")
_CHARACTER = r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ーｰ"
_WORD = regex.compile(
    rf"(?P<number>\p{{Nd}}++(?:[.,'’٬٫．，]\p{{Nd}}++)*+)"
    rf"|(?P<char>[{_CHARACTER}])"
    rf"|(?P<word>[[\p{{L}}\p{{M}}]--[{_CHARACTER}]]++)"
    r"|(?P<sign>\.\.|[^\s\p{L}\p{M}\p{Nd}])",
    regex.V1,
)
_APOSTROPHES = str.maketrans("’ʼ′", "'''")
_BREAKS = frozenset('.,;:!?。，、；：！？…()（）[]{}"“”„«»「」『』《》|/')


class Word(NamedTuple):
    """One word, number, character or sign of a text.

    Attributes:
        text: Folded: NFKC, small letters, simplified Han.
        raw: As written.
        kind: `word`, `char`, `number`, `sign`, or `anchor` for a whole technical anchor.
    """

    text: str
    start: int
    end: int
    kind: str
    raw: str = ""


class Row(NamedTuple):
    """What a table says of a phrase.

    Attributes:
        kind: Class of the table.
        sure: Whether the phrase says so whatever stands around it.
        normalized: The same for all languages.
        gapped: Whether other words stand inside the phrase.
    """

    kind: str
    sure: bool
    normalized: str
    gapped: bool = False


@dataclass(slots=True)
class _Node:
    children: dict[str, "_Node"] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()


class Match(NamedTuple):
    """A phrase found: words `first` up to `last` (exclusive), with what the tables say of it, never empty."""

    first: int
    last: int
    rows: tuple[Row, ...]

    def of(self, kind: str) -> Row | None:
        """The first row of a class."""
        return next((row for row in self.rows if row.kind == kind), None)

    @property
    def row(self) -> Row:
        """The first row."""
        return self.rows[0]


def cut_words(text: str, anchors: Iterable[tuple[int, int]] = ()) -> list[Word]:
    """Words of a text in order.

    Args:
        text: Any text.
        anchors: Disjoint, sorted spans; each is one word of kind `anchor` whatever it holds.
    """
    words: list[Word] = []
    position = 0
    for start, end in anchors:
        words += _cut(text, position, start)
        words.append(Word("\0", start, end, "anchor"))
        position = end
    words += _cut(text, position, len(text))
    return words


def _cut(text: str, start: int, end: int) -> list[Word]:
    return [
        Word(_fold(match.group()), match.start(), match.end(), str(match.lastgroup), match.group())
        for match in _WORD.finditer(text, start, end)
    ]


@lru_cache(maxsize=1 << 14)
def _fold(word: str) -> str:
    if word.isascii():
        return word.lower()
    return simplify(unicodedata.normalize("NFKC", word).casefold().translate(_APOSTROPHES))


@lru_cache(maxsize=1)
def _rows() -> dict[str, list[tuple[str, Row]]]:
    """Language -> its phrases."""
    found: dict[str, list[tuple[str, Row]]] = {}
    for name in _TABLES:
        for languages, kind, weight, normalized, phrases in read_rows(name, 5):
            row = Row(kind, weight == "sure", normalized)
            for language in languages.split():
                entries = found.setdefault(language, [])
                for phrase in phrases.split(", "):
                    entries.append((phrase, row._replace(gapped=GAP in phrase)))
    return found


def languages_with_words() -> frozenset[str]:
    """Primary language subtags that the tables have words of."""
    return frozenset(_rows()) - {ANY_LANGUAGE}


class PhraseTrie:
    """Phrases as sequences of words. A phrase may have gaps inside."""

    def __init__(self) -> None:
        self._root = _Node()

    def add(self, parts: Sequence[Sequence[str]], row: Row) -> None:
        """Take in a phrase.

        Args:
            parts: Its words; between two parts stands a gap of one to four words, or none.
            row: What it means. A phrase may mean several things.
        """
        node = self._root
        for number, part in enumerate(parts):
            if number:
                node = node.children.setdefault(GAP, _Node())
            for word in part:
                node = node.children.setdefault(word, _Node())
        if row not in node.rows:
            node.rows = (*node.rows, row)

    def begin_at(self, words: Sequence[Word], position: int) -> list[Match]:
        """All phrases that begin at a word, shortest first."""
        found: list[Match] = []
        self._walk(self._root, words, position, position, found)
        found.sort(key=lambda match: match.last)
        return found

    def _walk(self, node: _Node, words: Sequence[Word], first: int, position: int, found: list[Match]) -> None:
        while True:
            if node.rows:
                found.append(Match(first, position, node.rows))
            if GAP in node.children:
                self._over_gap(node.children[GAP], words, first, position, found)
            if position >= len(words):
                return
            child = node.children.get(words[position].text)
            if child is None:
                return
            node, position = child, position + 1

    def _over_gap(self, node: _Node, words: Sequence[Word], first: int, position: int, found: list[Match]) -> None:
        """The rest of a phrase behind a gap of one to four words without a break; the nearest place where it is."""
        for start in range(position, min(position + _MAX_GAP, len(words) - 1)):
            if words[start].kind == "sign" and words[start].text in _BREAKS:
                return
            if words[start + 1].text in node.children:
                before = len(found)
                self._walk(node, words, first, start + 1, found)
                if len(found) > before:
                    return


class WordTable(PhraseTrie):
    """The phrases of some languages; made by `word_table`."""

    def __init__(self, languages: Sequence[str]) -> None:
        super().__init__()
        self.languages = tuple(languages)
        self._affixes: dict[str, Row] = {}
        for language in (ANY_LANGUAGE, *languages):
            for phrase, row in _rows().get(language, ()):
                if "*" in phrase:
                    self._affixes[phrase] = row
                else:
                    self.add([[word.text for word in cut_words(part)] for part in phrase.split(GAP)], row)

    def begin_at(self, words: Sequence[Word], position: int) -> list[Match]:
        """All phrases that begin at a word, shortest first; where there is none, what an affix of the word says."""
        found = super().begin_at(words, position)
        row = self._affix(words[position]) if not found else None
        return found if row is None else [Match(position, position + 1, (row,))]

    def _affix(self, word: Word) -> Row | None:
        """What the longest affix of a long word says; a shielding one says nothing."""
        if word.kind != "word" or not self._affixes:
            return None
        text = word.text
        for length in range(min(len(text) - 1, _MAX_AFFIX), 1, -1):
            for pattern in (f"{text[:length]}*", f"*{text[-length:]}"):
                row = self._affixes.get(pattern)
                if row is not None and (row.kind == SHIELD or len(text) >= length + _AFFIX_REST):
                    return None if row.kind == SHIELD else row
        return None


class Reading:
    """The words of one text together with the phrases that begin at each, found once."""

    def __init__(self, words: Sequence[Word], phrases: PhraseTrie, languages: Sequence[str] = ()) -> None:
        self.words = words
        self.languages = tuple(languages)
        self._phrases = phrases
        self._found: list[list[Match] | None] = [None] * len(words)

    def longest(self, position: int, kinds: frozenset[str]) -> Match | None:
        """The longest phrase that begins at a word and has rows of the classes asked for; only those rows."""
        if not 0 <= position < len(self._found):
            return None
        found = self._found[position]
        if found is None:
            found = self._found[position] = self._phrases.begin_at(self.words, position)
        for match in reversed(found):
            rows = tuple(row for row in match.rows if row.kind in kinds)
            if rows:
                return match if len(rows) == len(match.rows) else match._replace(rows=rows)
        return None

    def find(self, position: int, kind: str) -> Match | None:
        """The longest phrase of one class that begins at a word."""
        return self.longest(position, _only(kind))


@cache
def _only(kind: str) -> frozenset[str]:
    return frozenset({kind})


@lru_cache(maxsize=64)
def _table_of(languages: tuple[str, ...]) -> WordTable:
    return WordTable(languages)


def likely_languages(text: str, languages: Sequence[str]) -> tuple[str, ...]:
    """Primary subtags of the languages whose words a text is read with.

    Args:
        text: Any text.
        languages: BCP 47 tags it may be in. Without any that the tables know, languages are taken that are written in
            the text's scripts and, of those of one script, the ones that most of its small words belong to.
    """
    known = dict.fromkeys(tag for tag in map(language_of, languages) if tag in languages_with_words())
    return tuple(known) if known else _likely(text)


def read_words_of(text: str, anchors: Iterable[tuple[int, int]], languages: tuple[str, ...]) -> Reading:
    """The words of a text with the phrases of the tables of some languages.

    Args:
        text: Any text.
        anchors: As of `cut_words`.
        languages: As `likely_languages` gives them.
    """
    return Reading(cut_words(text, anchors), _table_of(languages), languages)


def _likely(text: str) -> tuple[str, ...]:
    scripts = count_scripts(text)
    found: list[str] = []
    if "Hira" in scripts or "Kana" in scripts:
        found.append("ja")
    elif "Hani" in scripts:
        found.append("zh")
    if "Cyrl" in scripts:
        found.append("ru")
    if "Latn" in scripts:
        written = sorted(languages_with_words() - {"ja", "zh", "ru"})
        # Small words, counted once each, are the only evidence that short text has without a model.
        owners = evidence.known_words(evidence.words_of(text))
        counts = {tag: sum(tag in some for some in owners) for tag in written}
        most = max(counts.values())
        found += [tag for tag in written if counts[tag] == most]
    return tuple(found)
