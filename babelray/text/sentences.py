"""Blocks into sentences: ICU's rules for prose, rows for tables, groups of lines for code, logs and JSON."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from icu4py.breakers import LineBreaker, SentenceBreaker

from babelray.text.projection import project
from babelray.text.tokens import MAX_TOKENS_PER_CHARACTER, count_tokens
from babelray.text.types import Block, BlockKind, Document, Sentence

_BY_SENTENCE_RULES = frozenset({BlockKind.PARAGRAPH, BlockKind.LIST, BlockKind.QUOTE})
_SEPARATOR = "\u2029"
# Lines of code mean little alone; groups of about this many tokens still point at a place.
_LINE_GROUP_TOKENS = 64
# CLDR's list of abbreviations after which a full stop ends no sentence; ICU ignores it where a language has none.
_SUPPRESSIONS = "-u-ss-standard"


def split_sentences(document: Document, blocks: Sequence[Block], cap: int) -> list[Sentence]:
    """Sentences of all blocks in the order of the text; they cover every visible character that is not white space.

    Args:
        document: The document of the blocks.
        blocks: With their languages, which choose the abbreviations that do not end a sentence.
        cap: Most tokens of a sentence; a longer one is divided at word borders, a longer word anywhere.
    """
    shown = [project(document.text, block.start, block.end, block.cuts) for block in blocks]
    spans = _prose_spans([projection.text for projection in shown], blocks)
    sentences: list[Sentence] = []
    for number, (projection, block) in enumerate(zip(shown, blocks, strict=True)):
        found = spans[number] if number in spans else _other_spans(projection.text, block.kind, cap)
        for start, end in found:
            for first, last, tokens in _capped(projection.text, start, end, cap):
                original_start, original_end = projection.span(first, last)
                if original_end > original_start:
                    sentences.append(Sentence(original_start, original_end, number, tokens))
    return sentences


def _prose_spans(texts: Sequence[str], blocks: Sequence[Block]) -> dict[int, list[tuple[int, int]]]:
    """Sentences of the prose blocks by the block's position.

    To build ICU's iterator with a list of abbreviations takes half a millisecond, so the blocks of a language share
    one: ICU always breaks after a paragraph separator.
    """
    by_locale: dict[str, list[int]] = {}
    for number, block in enumerate(blocks):
        if block.kind in _BY_SENTENCE_RULES:
            by_locale.setdefault(_locale(block.language), []).append(number)
    spans: dict[int, list[tuple[int, int]]] = {}
    for locale, numbers in by_locale.items():
        breaks = _breaks(_SEPARATOR.join(texts[number] for number in numbers), locale)
        offset = at = 0
        for number in numbers:
            text = texts[number]
            found: list[tuple[int, int]] = []
            start, end = 0, len(text)
            while at < len(breaks) and breaks[at] < offset + end:
                found.extend(_trimmed(text, start, breaks[at] - offset))
                start = breaks[at] - offset
                at += 1
            found.extend(_trimmed(text, start, end))
            spans[number] = found
            offset += end + 1
            while at < len(breaks) and breaks[at] <= offset:
                at += 1
    return spans


def _breaks(text: str, locale: str) -> list[int]:
    """Ends of the sentences. ICU counts UTF-16 units, so the lengths of the segments are added up instead."""
    return list(accumulate(map(len, SentenceBreaker(text, locale))))


def _other_spans(text: str, kind: BlockKind, cap: int) -> Iterator[tuple[int, int]]:
    if kind is BlockKind.HEADING:
        return _trimmed(text, 0, len(text))
    return _line_groups(text, 0 if kind is BlockKind.TABLE else min(cap, _LINE_GROUP_TOKENS))


def _locale(language: str) -> str:
    return "und" if language in {"und", "zxx", "mul"} else language + _SUPPRESSIONS


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    part = text[start:end]
    shown = part.strip()
    if shown:
        first = start + len(part) - len(part.lstrip())
        yield first, first + len(shown)


def _line_groups(text: str, most: int) -> Iterator[tuple[int, int]]:
    """Runs of lines of up to `most` tokens (at least one line each), never over an empty line."""
    position, start, tokens = 0, 0, 0
    for line in text.split("\n"):
        size = count_tokens(line)
        if size == 0 or tokens + size > most:
            yield from _trimmed(text, start, position)
            start, tokens = position, 0
        tokens += size
        position += len(line) + 1
    yield from _trimmed(text, start, len(text))


def _capped(text: str, start: int, end: int, cap: int) -> Iterator[tuple[int, int, int]]:
    """A sentence as it is, or its pieces of at most `cap` tokens; each with its tokens."""
    part = text[start:end]
    tokens = count_tokens(part)
    if tokens <= cap:
        yield start, end, tokens
        return
    position, first, total = start, start, 0
    for word in _words(part, cap):
        size = count_tokens(word)
        if total + size > cap:
            yield from _counted(text, first, position)
            first, total = position, 0
        total += size
        position += len(word)
    yield from _counted(text, first, end)


def _counted(text: str, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    for first, last in _trimmed(text, start, end):
        yield first, last, count_tokens(text[first:last])


def _words(text: str, cap: int) -> Iterator[str]:
    """Pieces at which a line may be broken, none over the cap."""
    longest = max(1, cap // MAX_TOKENS_PER_CHARACTER)
    for word in LineBreaker(text, "und"):
        if len(word) <= longest:
            yield word
        else:
            yield from (word[at : at + longest] for at in range(0, len(word), longest))
