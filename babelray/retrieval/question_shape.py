"""How a question is put: does it compare two things, does it hang on the answer of another question."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

import regex
from icu4py.breakers import WordBreaker

from babelray.text.query_words import Match, PhraseTrie, Reading, Row, Word, cut_words, likely_languages
from babelray.text.tables import read_rows

_MAX_SIDE = 12
"""Words of one side of a comparison; more is a clause, and no thing to compare."""
_BREAKS = frozenset(".?!;:,。？！；：，、¿¡()（）\n")
_PAUSES = frozenset(",:，：、")
_ENDS = frozenset("?？")
_PART_MIN = 3
_BEYOND_BMP = regex.compile("[\U00010000-\U0010ffff]")


@lru_cache(maxsize=64)
def _phrases(languages: tuple[str, ...]) -> PhraseTrie:
    trie = PhraseTrie()
    for language, kind, phrases in read_rows("question_words.tsv", 3):
        if language in languages:
            for phrase in phrases.split(", "):
                trie.add([[word.text for word in cut_words(phrase)]], Row(kind, True, language))
    return trie


class QuestionShape:
    """The words of a question and what the tables say of them.

    Args:
        text: The question.
        languages: BCP 47 tags that it may be in.
        kept: Sorted, disjoint spans that are one word each: exact names, which hold no words of a question.
    """

    def __init__(self, text: str, languages: Sequence[str], kept: Sequence[tuple[int, int]]) -> None:
        self._text = text
        self._words: Sequence[Word] = cut_words(text, kept)
        self._reading = Reading(self._words, _phrases(likely_languages(text, languages)))
        self._borders: frozenset[int] | None = None

    def sides(self) -> tuple[str, ...]:
        """The two sides of a comparison as written, or nothing."""
        for position in range(len(self._words)):
            sign = self._find(position, "compare_sign")
            found = self._around(sign) if sign is not None else ()
            before = self._find(position, "compare_before")
            found = found or (self._after_opening(before) if before is not None else ())
            if found:
                return found
        for position in range(len(self._words)):
            after = self._find(position, "compare_after")
            if after is not None:
                found = self._before_closing(after)
                if found:
                    return found
        return ()

    def hops(self) -> bool:
        """Whether it asks several questions, or one that needs the answer of another first."""
        asked = 0
        letters = 0
        for position, word in enumerate(self._words):
            if word.kind == "sign":
                if word.text in _ENDS and letters >= _PART_MIN:
                    asked, letters = asked + 1, 0
                continue
            letters += 1
            if position and self._find(position, "hop") is not None:
                return True
        return asked > 1

    def _find(self, position: int, kind: str) -> Match | None:
        return self._reading.find(position, kind)

    def _clause_start(self, position: int) -> int:
        while position and not self._is_break(position - 1):
            position -= 1
        return position

    def _clause_end(self, position: int) -> int:
        while position < len(self._words) and not self._is_break(position):
            position += 1
        return position

    def _is_break(self, position: int) -> bool:
        word = self._words[position]
        return word.kind == "sign" and word.text in _BREAKS

    def _around(self, sign: Match) -> tuple[str, ...]:
        """`A vs B`: the clause on both sides."""
        return self._pair(self._clause_start(sign.first), sign, self._clause_end(sign.last))

    def _after_opening(self, opening: Match) -> tuple[str, ...]:
        """`difference between A and B`, `which is better: A or B`: up to the end of the clause."""
        start = opening.last
        if start < len(self._words) and self._words[start].text in _PAUSES:
            start += 1
        end = self._clause_end(start)
        for position in range(start + 1, min(end, start + _MAX_SIDE + 1)):
            between = self._between(position) or self._find(position, "compare_sign")
            if between is not None:
                return self._pair(start, between, end)
        return ()

    def _before_closing(self, closing: Match) -> tuple[str, ...]:
        """A 和 B 的区别, `A or B: which is better`: back to the beginning of the clause; the nearest joiner divides."""
        end = closing.first
        if end and self._words[end - 1].text in _PAUSES:
            end -= 1
        start = self._clause_start(end)
        for position in range(end - 1, max(start, end - 2 * _MAX_SIDE - 1), -1):
            between = self._between(position)
            found = self._pair(start, between, end) if between is not None else ()
            if found:
                return found
        return ()

    def _between(self, position: int) -> Match | None:
        """A joining word; a character inside a longer word joins nothing (和 in 求和)."""
        match = self._find(position, "compare_between")
        if match is None or self._words[position].kind != "char":
            return match
        first, last = self._words[position].start, self._words[match.last - 1].end
        return match if {first, last} <= self._word_borders() else None

    def _word_borders(self) -> frozenset[int]:
        """Places where a word begins or ends by the dictionary; sought once, and only where a character joins."""
        if self._borders is None:
            # ICU counts in UTF-16; with characters beyond the BMP replaced, both counts agree.
            segments = WordBreaker(_BEYOND_BMP.sub("\ufffd", self._text), "en")
            self._borders = frozenset(accumulate(map(len, segments), initial=0))
        return self._borders

    def _pair(self, start: int, between: Match, end: int) -> tuple[str, ...]:
        left, right = self._side(start, between.first), self._side(between.last, end)
        return (left, right) if left and right and left != right else ()

    def _side(self, start: int, end: int) -> str:
        """The text of one side without the words that lead up to it or close the question behind it."""
        for position in range(start, end):
            after = self._find(position, "compare_after")
            if after is not None:
                end = position
                break
        while start < end:
            lead = self._find(start, "lead")
            if lead is None or lead.last > end:
                break
            start = lead.last
        words: Sequence[Word] = self._words[start:end]
        if not words or len(words) > _MAX_SIDE * (2 if words[0].kind == "char" else 1):
            return ""
        return self._text[words[0].start : words[-1].end].strip()
