"""Plain text to leaves: paragraphs between blank lines, logs and JSON by their shape."""

import re
from collections.abc import Iterator

from babelray.text.code_kinds import looks_like_json, looks_like_log
from babelray.text.leaves import Leaf, assemble
from babelray.text.lines import split_lines
from babelray.text.types import Block, BlockKind, Cut
from babelray.text.wrapping import joint

_BLANK = re.compile(r"(?:\r\n?|\n)[ \t]*+(?:(?:\r\n?|\n)[ \t]*+)+")
_WRAPPED_AT = 40
"""A line shorter than this is not taken for one that was wrapped."""


def plain_blocks(text: str) -> list[Block]:
    """Blocks of a plain text; a wrapped paragraph is read as one line."""
    return assemble(text, list(_leaves(text)))


def _leaves(text: str) -> Iterator[Leaf]:
    position = 0
    for blank in _BLANK.finditer(text):
        yield from _paragraph(text, position, blank.start())
        position = blank.end()
    yield from _paragraph(text, position, len(text))


def _paragraph(text: str, start: int, end: int) -> Iterator[Leaf]:
    content = text[start:end]
    shown = content.strip()
    if not shown:
        return
    start += len(content) - len(content.lstrip())
    end = start + len(shown)
    if looks_like_log(shown):
        yield Leaf(BlockKind.LOG, start, end)
    elif looks_like_json(shown):
        yield Leaf(BlockKind.JSON, start, end)
    else:
        yield Leaf(BlockKind.PARAGRAPH, start, end, _line_cuts(text, start, end))


def _line_cuts(text: str, start: int, end: int) -> list[Cut]:
    lines = split_lines(text, start, end)
    longest = max(len(line) for line in lines.texts)
    cuts: list[Cut] = []
    for number in range(len(lines.texts) - 1):
        line, following = lines.texts[number], lines.texts[number + 1]
        left = lines.end(number) - len(line) + len(line.rstrip())
        right = lines.starts[number + 1] + len(following) - len(following.lstrip())
        # A full line was wrapped by its writer; a short one ended on purpose (a list, an address, a verse).
        wrapped = len(line) >= _WRAPPED_AT and 4 * len(line) >= 3 * longest
        between = joint(text, left, right) if wrapped else "\n"
        if text[left:right] != between:
            cuts.append(Cut(left, right, between))
    return cuts
