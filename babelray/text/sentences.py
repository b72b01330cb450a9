"""Blocks into sentences: ICU's rules for prose, rows for tables, groups of lines for code, logs and JSON."""

from collections.abc import Iterator, Sequence

from icu4py.breakers import LineBreaker, SentenceBreaker

from babelray.text.leaves import PROSE
from babelray.text.projection import project
from babelray.text.tokens import MAX_TOKENS_PER_CHARACTER, count_tokens
from babelray.text.types import Block, BlockKind, Document, Sentence

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
    sentences: list[Sentence] = []
    for number, block in enumerate(blocks):
        shown = project(document.text, block.start, block.end, block.cuts)
        for start, end in _spans(shown.text, block, cap):
            for first, last, tokens in _capped(shown.text, start, end, cap):
                original_start, original_end = shown.span(first, last)
                if original_end > original_start:
                    sentences.append(Sentence(original_start, original_end, number, tokens))
    return sentences


def _spans(text: str, block: Block, cap: int) -> Iterator[tuple[int, int]]:
    if block.kind is BlockKind.HEADING:
        yield from _trimmed(text, 0, len(text))
    elif block.kind is BlockKind.TABLE:
        yield from _line_groups(text, 0)
    elif block.kind in PROSE:
        position = 0
        for segment in SentenceBreaker(text, _locale(block.language)):
            yield from _trimmed(text, position, position + len(segment))
            position += len(segment)
    else:
        yield from _line_groups(text, min(cap, _LINE_GROUP_TOKENS))


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
