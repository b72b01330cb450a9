"""Whether a span of a projection is whole words: what keeps `list` out of `listen` and テスト out of コンテスト."""

import re

from babelray.glossary.breaks import base_language, is_spaceless, is_word_char, word_borders
from babelray.glossary.inflect.rules import LanguageRules

_HIRAGANA = re.compile("[\u3041-\u3096]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
MIN_UNBROKEN = 4
"""Han runs of this length are taken even across ICU's word borders: its dictionary cuts technical terms at will, and
four characters do not meet by chance."""


class Boundaries:
    """Answers for one folded text; ICU is asked once, and only for texts that need it."""

    def __init__(self, text: str, locale: str, rules: LanguageRules | None, compound_words: frozenset[str]) -> None:
        self.text = text
        self.locale = locale
        self.language = base_language(locale)
        self.rules = rules
        self.compound_words = compound_words
        self._icu: frozenset[int] | None = None

    def whole_words(self, start: int, end: int) -> bool:
        """Whether both ends of a span are borders of words."""
        unbroken = end - start >= MIN_UNBROKEN and all("\u3400" <= c <= "\u9fff" for c in self.text[start:end])
        if not self._border(start, unbroken):
            return False
        return self._border(end, unbroken) or self._suffix_follows(start, end) or self._okurigana_follow(start, end)

    def in_compound(self, start: int, end: int) -> bool:
        """Whether a span is a member of a compound whose other members are known words.

        Only for languages whose rules know compounds. The rest of the word, less a linking element, must be a word of
        the glossary or of the rule file: `Container` in `Containerabbild`, but not `Rat` in `Heirat`.
        """
        if self.rules is None or not self.rules.compound_words or end - start < MIN_UNBROKEN:
            return False
        first, last = start, end
        while first > 0 and self.text[first - 1].isalpha():
            first -= 1
        while last < len(self.text) and self.text[last].isalpha():
            last += 1
        left, right = self.text[first:start], self.text[end:last]
        links = self.rules.compound_links
        left_known = not left or any(
            left.endswith(k) and left[: len(left) - len(k)] in self.compound_words for k in links
        )
        return left_known and (
            not right or any(right.startswith(k) and right[len(k) :] in self.compound_words for k in links)
        )

    def _border(self, at: int, unbroken: bool) -> bool:
        if at in (0, len(self.text)):
            return True
        before, after = self.text[at - 1], self.text[at]
        if not is_word_char(before) and not is_word_char(after):
            return True  # behind `C#`
        if not is_word_char(before) or not is_word_char(after):
            return self._open_punctuation(at, before, after)
        wide_before, wide_after = is_spaceless(before), is_spaceless(after)
        if not wide_before and not wide_after:
            # Hangul and Latin meet where a particle follows a foreign name; a digit and a letter are one word.
            return before.isalpha() and after.isalpha() and bool(_HANGUL.match(before)) != bool(_HANGUL.match(after))
        if wide_before != wide_after:
            return True
        return unbroken or at in self._icu_borders()

    def _open_punctuation(self, at: int, before: str, after: str) -> bool:
        """At the edge of a word: whether the punctuation there ends it, or holds a name, number or clitic together."""
        mark, beyond = (
            (after, self.text[at + 1 : at + 2]) if is_word_char(before) else (before, self.text[at - 2 : at - 1])
        )
        if not beyond or not is_word_char(beyond) or is_spaceless(beyond):
            return True
        if mark == ".":
            return False  # `config.json`, `node.js`, `3.5`: not two words
        if mark in "@#$\\":
            return False
        if mark != "'":
            return True
        if is_word_char(before):  # the apostrophe follows: a genitive, or a contraction such as `you're`
            if self.language in ("tr", "az"):
                return True  # case endings of names: `Kubernetes'in`
            return self.text[at + 1 : at + 2] == "s" and not self.text[at + 2 : at + 3].isalpha()
        return self.language in ("fr", "it", "ca", "pt")  # it precedes: an elision such as `l'image`

    def _suffix_follows(self, start: int, end: int) -> bool:
        if self.rules is None or not self.rules.suffixes or not _HANGUL.match(self.text[end - 1]):
            return False
        last = end
        while last < len(self.text) and _HANGUL.match(self.text[last]):
            last += 1
        return self.text[end:last] in self.rules.suffixes

    def _okurigana_follow(self, start: int, end: int) -> bool:
        """A Japanese verb stem such as 読み込ん goes on in kana, with no border that ICU would see."""
        kana = _HIRAGANA.match(self.text[end - 1]) and _HIRAGANA.match(self.text[end : end + 1])
        return bool(kana) and any("\u4e00" <= char <= "\u9fff" for char in self.text[start:end])

    def _icu_borders(self) -> frozenset[int]:
        if self._icu is None:
            self._icu = word_borders(self.text, self.locale)
        return self._icu
