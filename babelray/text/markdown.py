"""Markdown pages to leaves: `markdown-it-py` finds the blocks, its line maps and the text of the lines the spans."""

import re
from collections.abc import Container, Iterator
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from babelray.text.code_kinds import code_kind
from babelray.text.html import html_leaves
from babelray.text.leaves import Leaf, assemble
from babelray.text.lines import split_lines
from babelray.text.markdown_inline import inline_cuts
from babelray.text.markdown_source import source_cuts
from babelray.text.markdown_tables import table_leaf
from babelray.text.projection import project
from babelray.text.types import Block, BlockKind, Cut

_MAX_NESTING = 60
_CONTAINERS = {
    "bullet_list_open": BlockKind.LIST, "ordered_list_open": BlockKind.LIST, "blockquote_open": BlockKind.QUOTE,
}  # fmt: skip
_PARSER = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable("table")


def markdown_blocks(text: str) -> list[Block]:
    """Blocks of a Markdown page; front matter, comments, shortcode tags and link targets are no content."""
    base = source_cuts(text)
    source = project(text, 0, len(text), base)
    leaves = _Walk(source.text).run()
    return assemble(text, leaves, source, base)


class _Walk:
    """Goes over the block tokens of a page once; all offsets are those of the page without `source_cuts`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = split_lines(text)
        self.references: Container[str] = ()
        # Kind and number of the outermost list or quote around the current token, and the depth inside it.
        self.kind = BlockKind.PARAGRAPH
        self.group: int | None = None
        self.depth = 0

    def run(self) -> list[Leaf]:
        # The parser sees LF only, and no NUL, which it would otherwise treat as an end of input here and there.
        source = "\n".join(self.lines.texts).replace("\0", "\ufffd")
        tokens: list[Token] = []
        env: dict[str, Any] = {}
        _PARSER.block.parse(source, _PARSER, env, tokens)
        self.references = env.get("references", {})
        leaves = list(self._leaves(tokens))
        if any(token.level >= _MAX_NESTING - 2 for token in tokens):
            leaves = self._with_skipped_lines(leaves)
        return leaves

    def _leaves(self, tokens: list[Token]) -> Iterator[Leaf]:
        position = 0
        while position < len(tokens):
            token = tokens[position]
            position += 1
            if token.type in _CONTAINERS:
                if self.depth == 0:
                    self.kind, self.group = _CONTAINERS[token.type], position
                self.depth += 1
            elif token.type.replace("_close", "_open") in _CONTAINERS:
                self.depth -= 1
                if self.depth == 0:
                    self.kind, self.group = BlockKind.PARAGRAPH, None
            elif token.map is None:
                continue
            elif token.type == "table_open":
                yield from self._table(token)
                while tokens[position - 1].type != "table_close":
                    position += 1
            elif token.type in {"fence", "code_block"}:
                yield from self._code(token)
            elif token.type == "html_block":
                yield from self._html(token)
            elif token.type == "inline":
                opening = tokens[position - 2]
                level = int(opening.tag[1]) if opening.type == "heading_open" else 0
                yield from self._text(token, level)

    def _text(self, token: Token, level: int) -> Iterator[Leaf]:
        assert token.map is not None
        segments = list(self._segments(token.map[0], token.content, skip_marks=level > 0))
        if not segments:
            return
        content = "\n".join(self.text[start:end] for start, end in segments)
        leaf = Leaf(self.kind, segments[0][0], segments[-1][1], group=self.group)
        if level and self.depth == 0:
            leaf.kind, leaf.level = BlockKind.HEADING, level
        leaf.cuts = _from_content(inline_cuts(content, self.references), segments)
        yield leaf

    def _segments(self, line: int, content: str, *, skip_marks: bool) -> Iterator[tuple[int, int]]:
        """Where each line of a token's content stands in the source."""
        for number, wanted in enumerate(content.split("\n"), line):
            shown = wanted.strip()
            there = self.lines.texts[number].replace("\0", "\ufffd")
            at = there.find(shown, _marks(there) if skip_marks else 0) if skip_marks else there.rfind(shown)
            if at < 0:
                at, shown = 0, there
            if shown:
                yield self.lines.starts[number] + at, self.lines.starts[number] + at + len(shown)

    def _table(self, token: Token) -> Iterator[Leaf]:
        assert token.map is not None
        leaf = table_leaf(self.lines, token.map[0], token.map[1], self.references)
        if leaf:
            yield leaf

    def _code(self, token: Token) -> Iterator[Leaf]:
        """Code with its own indentation; what its containers put before each line is cut."""
        assert token.map is not None
        contents = token.content.split("\n")
        first = token.map[0] + (token.type == "fence")
        if contents and not contents[-1]:
            contents.pop()
        start, end, cuts = -1, -1, []
        for number, wanted in enumerate(contents, first):
            line_start, line = self.lines.starts[number], self.lines.texts[number]
            if not wanted.strip():
                continue
            kept = len(wanted) if line.replace("\0", "\ufffd").endswith(wanted) else len(wanted.lstrip())
            at = self.lines.end(number) - kept
            if start < 0:
                start = at
            else:
                blank = "\n" * min(2, self._line_ends(end, line_start))
                if self.text[end:at] != blank:
                    cuts.append(Cut(end, at, blank + wanted[: len(wanted) - kept]))
            end = self.lines.end(number)
        if start >= 0:
            kind = code_kind(token.content, token.info)
            yield Leaf(kind, start, end, cuts)

    def _line_ends(self, start: int, end: int) -> int:
        between = self.text[start:end]
        return max(between.count("\n"), between.count("\r"))

    def _html(self, token: Token) -> Iterator[Leaf]:
        assert token.map is not None
        start, end = self.lines.starts[token.map[0]], self.lines.end(token.map[1] - 1)
        marks = [
            Cut(self.lines.starts[number], self.lines.starts[number] + found)
            for number in range(*token.map)
            if self.kind is BlockKind.QUOTE and (found := _marks(self.lines.texts[number]))
        ]
        for leaf in html_leaves(self.text, start, end):
            if self.depth and leaf.kind is not BlockKind.CODE:
                leaf.kind, leaf.group, leaf.level = self.kind, self.group, 0
            leaf.cuts.extend(mark for mark in marks if leaf.start <= mark.start and mark.end <= leaf.end)
            yield leaf

    def _with_skipped_lines(self, leaves: list[Leaf]) -> list[Leaf]:
        """Add the lines that the parser dropped because they were nested too deeply."""
        found: list[Leaf] = []
        ordered = iter([*leaves, Leaf(BlockKind.PARAGRAPH, len(self.text) + 1, len(self.text) + 1)])
        following = next(ordered)
        for number, line in enumerate(self.lines.texts):
            start, end = self.lines.starts[number] + _marks(line), self.lines.end(number)
            while following.end <= start and following.start <= len(self.text):
                found.append(following)
                following = next(ordered)
            if following.start >= end and line[_marks(line) :].strip():
                found.append(Leaf(BlockKind.PARAGRAPH, start, end))
        return [*found, *(leaf for leaf in [following, *ordered] if leaf.start <= len(self.text))]


_MARKS = re.compile(r"[ \t>#*+-]*")


def _marks(line: str) -> int:
    found = _MARKS.match(line)
    return found.end() if found else 0


def _from_content(cuts: list[Cut], segments: list[tuple[int, int]]) -> list[Cut]:
    """Move cuts of the joined lines to the places of the lines; a cut over a line end covers what stands between."""
    moved: list[Cut] = []
    number, offset = 0, 0
    for cut in cuts:
        while cut.start > offset + segments[number][1] - segments[number][0]:
            offset += segments[number][1] - segments[number][0] + 1
            number += 1
        start = segments[number][0] + cut.start - offset
        last, last_offset = number, offset
        while cut.end > last_offset + segments[last][1] - segments[last][0]:
            last_offset += segments[last][1] - segments[last][0] + 1
            last += 1
        moved.append(Cut(start, segments[last][0] + cut.end - last_offset, cut.replacement))
    return moved
