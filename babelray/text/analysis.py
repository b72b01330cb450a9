"""Turns text into the terms of the word index; the same function when an index is built and when it is asked.

Words come from ICU's word breaks. Beside each identifier or path stand its parts, so that `max_retries` is found whole
and by `retries`; the whole shares the position of its first part and the next word follows the last, so a phrase of
parts matches as well as a phrase of wholes. Han characters are simplified in every language, since the language of a
short Han query is a guess and both sides must meet.

Chinese, Japanese and Korean runs take one position a character. The `stemmed` field holds ICU's dictionary words, the
`general` field overlapping pairs of Han characters and of hangul syllables, and kana words whole. Measured by BM25 on
XQuAD zh and on headings against sections of Kubernetes pages, zh and ja:

- words alone rank technical pages better than pairs alone (MRR .395 to .372 zh, .468 to .402 ja);
- pairs in the same field as words spoil them (.365 and .412): long words are then counted three times;
- pairs in a second field find what the dictionary cut differently (XQuAD zh recall@1 .918 to .936, zh pages recall@20
  .804 to .812), and cost Japanese nothing as long as kana is not paired (MRR .465 to .462; with kana .431).

Pairs of hangul stand for the particles that ICU leaves on a noun; not measured.

German compounds stay whole: neither ICU nor Snowball splits them.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.metadata import version as package_version
from typing import NamedTuple

import regex
from icu4py.breakers import WordBreaker

from babelray.keys import ANALYZER_VERSION
from babelray.text.anchors import Anchor
from babelray.text.folding import DOTTED_I, Field, fold, language_of, stem, stem_algorithm
from babelray.text.han import simplify
from babelray.text.scripts import UNSPACED, script_of

# A longer word is data (base64, minified code): nobody types it, and each would be a term of its own.
MAX_TERM = 255
_CACHE_WORDS = 1 << 17
_CACHE_LENGTH = 64
# ICU's rules differ by locale in a few signs only (the Swedish colon); one locale keeps index and query alike.
_LOCALE = "en"
_UNKNOWN = "und"
_PAIRED = frozenset({"Hani", "Hira", "Kana", "Hang", "Bopo"})

# Scripts whose words hold no Latin letter: those that ICU's dictionaries cut only where none touches them, and those
# with particles that are written before a foreign name.
_NO_LATIN = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}\p{Arabic}\p{Hebrew}\u0640"
_SCRIPT_BORDER = regex.compile(rf"(?<=[{_NO_LATIN}])(?=[A-Za-z0-9_])|(?<=[A-Za-z0-9_])(?=[{_NO_LATIN}])")

_SURROGATE = re.compile("[\ud800-\udfff]")
_BEYOND_BMP = re.compile("[\U00010000-\U0010ffff]")
# Names that ICU would cut: kebab, paths, c++, C#, .NET. A name starts where no Latin letter precedes.
_COMPOUND = re.compile(
    r"(?<![A-Za-z0-9_])(?:[A-Za-z]++(?:\+\+\d*+|#)|\.?[A-Za-z0-9_]++(?:(?:::|->|[./\\:@-])[A-Za-z0-9_]++)++|\.[A-Za-z]\w++)",
    re.ASCII,
)
_PART = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’][\p{L}\p{M}\p{N}]+)*+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_VERSION = re.compile(r"[vV]\d+(?:[.-]\w+)+", re.ASCII)
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")
_POSSESSIVE = re.compile(r"['’][sS]\Z")
_ELISION = re.compile(
    r"\A(?:[ldjmtsnc]|qu|lorsqu|puisqu|jusqu|dell|all|nell|sull|dall|un|quest|quell)['’](?=\w{2})", re.I
)
# Turkish puts case endings of names behind an apostrophe (`Kubernetes'in`); a short head is a name (`O'Reilly`).
_HEAD = regex.compile(r"\A(\p{Latin}{3,}+)'(?!t\Z)\p{Latin}")
_ELIDING = frozenset({"fr", "it", "ca", "oc"})


class Token(NamedTuple):
    """A term with its place.

    Attributes:
        text: Folded (and stemmed) form, never empty, at most 255 characters.
        start, end: Code point span in the analyzed text.
        position: For phrases; grows by one a word, a part or a CJK character.
    """

    text: str
    start: int
    end: int
    position: int


# Terms of one word: (term, start in the word, end in the word, position in the word), and the positions it takes.
_Analyzed = tuple[tuple[tuple[str, int, int, int], ...], int]


def analyze(text: str, language: str, field: Field) -> list[Token]:
    """Terms of a text in order of position.

    Args:
        text: Any string; lone surrogates are read as unknown characters.
        language: BCP 47 tag of the block or query; `und` where unknown.
        field: `stemmed` for the field that is analyzed by language, `general` for the one that is the same for all.

    Returns:
        Tokens sorted by position, then by start, longest first.
    """
    readable = text if text.isascii() else simplify(_SURROGATE.sub("\ufffd", text))
    cache = _word_cache(language, field)
    tokens: list[Token] = []
    run: list[tuple[int, int]] = []
    position = 0
    for start, end, paired in _words(readable):
        if run and (not paired or run[-1][1] != start):
            position = _add_run(readable, run, position, field, tokens)
            run = []
        if paired:
            run.append((start, end))
            continue
        word = readable[start:end]
        analyzed = cache.get(word)
        if analyzed is None:
            analyzed = _analyze_word(word, language, field)
            if len(word) <= _CACHE_LENGTH:
                if len(cache) >= _CACHE_WORDS:
                    cache.clear()
                cache[word] = analyzed
        for term, first, last, offset in analyzed[0]:
            tokens.append(Token(term, start + first, start + last, position + offset))
        position += analyzed[1]
    if run:
        _add_run(readable, run, position, field, tokens)
    return tokens


@lru_cache(maxsize=1)
def analyzer_version() -> str:
    """Names the rules of this module and the libraries whose data shape a term; a generation's manifest holds it."""
    libraries = [f"{name}-{package_version(name)}" for name in ("icu4py", "PyStemmer", "opencc")]
    return "/".join([ANALYZER_VERSION, *libraries, f"unicode-{unicodedata.unidata_version}"])


def exact_terms(anchors: Iterable[Anchor]) -> tuple[str, ...]:
    """Terms of the exact field for anchors: each as written and in its normalized small-letter form, each once.

    A query that has the case right meets two terms, one in another case still meets the folded one.
    """
    terms: dict[str, None] = {}
    for anchor in anchors:
        terms[anchor.value] = None
        terms[anchor.normalized.casefold()] = None
    return tuple(terms)


@lru_cache(maxsize=512)
def _word_cache(language: str, field: Field) -> dict[str, _Analyzed]:
    """The memory of one language and field; words repeat so much that it carries most of the speed."""
    return {}


def _words(text: str) -> Iterator[tuple[int, int, bool]]:
    """Spans of words and names in order, with whether they are of the scripts that are cut into character pairs."""
    nothing = (len(text), len(text))
    compounds = _compounds(text)
    name_start, name_end = next(compounds, nothing)
    done = 0
    for start, end in _segments(text):
        if start < done:
            continue
        while name_start < start:
            name_start, name_end = next(compounds, nothing)
        char = text[start]
        if name_start == start and name_end > end:
            done = name_end
            yield start, name_end, False
        elif char >= "\u1100" and script_of(char) in _PAIRED:
            yield start, end, True
        elif _starts_word(char):
            yield start, end, False


def _starts_word(char: str) -> bool:
    return char.isalnum() or char == "_" or (char >= "\x80" and char.isidentifier())


def _segments(text: str) -> Iterator[tuple[int, int]]:
    """Word segments in code points, with a border wherever scripts that never mix meet."""
    begin = 0
    borders = [] if text.isascii() else [match.start() for match in _SCRIPT_BORDER.finditer(text)]
    for stop in (*borders, len(text)):
        for start, end in _icu_segments(text[begin:stop] if borders else text):
            yield begin + start, begin + end
        begin = stop


def _icu_segments(text: str) -> Iterator[tuple[int, int]]:
    """ICU word segments in code points; ICU itself counts UTF-16 units."""
    segments: Iterator[tuple[int, int]] = WordBreaker(text, _LOCALE).segments()
    if not _BEYOND_BMP.search(text):
        yield from segments
        return
    # UTF-16 offset of the end of each character beyond the basic plane: one unit more than code points each.
    ends = [match.end() + number for number, match in enumerate(_BEYOND_BMP.finditer(text), start=1)]
    passed = 0
    for start, end in segments:
        first = start - passed
        while passed < len(ends) and ends[passed] <= end:
            passed += 1
        yield first, end - passed


def _compounds(text: str) -> Iterator[tuple[int, int]]:
    """Spans of names that hold separators and are not part of a word with letters outside ASCII."""
    for match in _COMPOUND.finditer(text):
        if not _glued(text, match.start() - 1) and not _glued(text, match.end()):
            yield match.span()


def _glued(text: str, position: int) -> bool:
    if not 0 <= position < len(text) or text[position] < "\x80":
        return False
    return text[position].isalnum() and script_of(text[position]) not in UNSPACED


def _analyze_word(word: str, language: str, field: Field) -> _Analyzed:
    parts = list(_parts(word))
    if not parts:
        return (), 1
    if len(parts) > 1 and word.isascii():
        # A name in code is of no language: the I of `MAX_RETRIES` is none of the two Turkish ones.
        language = _UNKNOWN if language_of(language) in DOTTED_I else language
    whole = fold(word, language, field).strip("_")
    if len(parts) == 1 and parts[0] == (0, len(word)):
        found = [(term, 0, len(word), 0) for term in _word_terms(word, language, field) if 0 < len(term) <= MAX_TERM]
        return tuple(found), 1
    terms: list[tuple[str, int, int, int]] = []
    if 0 < len(whole) <= MAX_TERM:
        terms.append((whole, 0, len(word), 0))
    if _VERSION.fullmatch(word):
        return (*terms, (whole[1:], 1, len(word), 0)), 1
    if all(word[start:end].isdecimal() for start, end in parts):
        return tuple(terms), 1
    for number, (start, end) in enumerate(parts):
        term = _term(word[start:end], language, field)
        if 0 < len(term) <= MAX_TERM and (number or term != whole):
            terms.append((term, start, end, number))
    return tuple(terms), len(parts)


def _parts(word: str) -> Iterator[tuple[int, int]]:
    """Spans of the parts of a name: at separators and at humps (`maxRetries`, `HTTPServer`)."""
    for match in _PART.finditer(word):
        start, part = match.start(), match.group()
        if part.isascii() and not part.islower():
            for hump in _HUMP.finditer(part):
                yield start, match.start() + hump.start()
                start = match.start() + hump.start()
        yield start, match.end()


def _word_terms(word: str, language: str, field: Field) -> tuple[str, ...]:
    """The term of a word; in the `general` field also what stands before an apostrophe inside it."""
    term = _term(word, language, field)
    head = _HEAD.match(term) if field == "general" and "'" in term else None
    return (term, head[1]) if head else (term,)


def _term(word: str, language: str, field: Field) -> str:
    if "'" in word or "’" in word:
        word = _POSSESSIVE.sub("", word)
        if field == "general" or language_of(language) in _ELIDING:
            word = _ELISION.sub("", word)
    if field == "general":
        return fold(word, language, field)
    # Snowball leaves `pvcs` alone for want of a vowel.
    folded = fold(word[:-1] if _PLURAL_ACRONYM.fullmatch(word) else word, language, field)
    return stem(folded, stem_algorithm(language, latin=folded.isascii()))


def _add_run(text: str, run: list[tuple[int, int]], position: int, field: Field, tokens: list[Token]) -> int:
    """Add the terms of one CJK run; returns the position after it."""
    begin, stop = run[0][0], run[-1][1]
    shift = position - begin
    spans = run if field == "stemmed" else _general_spans(text, run)
    normal = unicodedata.is_normalized("NFKC", text[begin:stop])
    for start, end in spans:
        term = text[start:end] if normal else unicodedata.normalize("NFKC", text[start:end])
        if len(term) <= MAX_TERM:
            tokens.append(Token(term, start, end, start + shift))
    return stop + shift


def _general_spans(text: str, run: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs of neighbouring Han characters and of the characters of hangul words; kana words and lone ones whole."""
    spans = []
    begin, stop = run[0][0], run[-1][1]
    han = [script_of(char) == "Hani" for char in text[begin:stop]] + [False]
    for start, end in run:
        first = start - begin
        hangul = script_of(text[start]) == "Hang"
        if not hangul and not all(han[first : end - begin]):
            spans.append((start, end))
            continue
        for place in range(start, end):
            paired = place + 1 < end if hangul else han[place - begin + 1]
            if paired:
                spans.append((place, place + 2))
            elif (end - start == 1) if hangul else not (place > begin and han[place - begin - 1]):
                spans.append((place, place + 1))
    return spans
