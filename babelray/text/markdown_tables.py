"""Markdown tables: one line a row, cells joined by a bar."""

import re
from collections.abc import Container
from itertools import pairwise

from babelray.text.leaves import Leaf
from babelray.text.lines import Lines
from babelray.text.markdown_inline import inline_cuts
from babelray.text.types import BlockKind, Cut

CELL_JOINT = " | "
_ESCAPED_BAR = re.compile(r"\\\|")
_BAR = re.compile(r"(?<!\\)\|")


def table_leaf(lines: Lines, first: int, last: int, references: Container[str]) -> Leaf | None:
    """The rows of lines `first` to `last` (exclusive); the second line, which draws the border, is cut."""
    leaf: Leaf | None = None
    for number in range(first, last):
        if number == first + 1:
            continue
        for position, (start, end) in enumerate(_cells(lines.texts[number], lines.starts[number])):
            content = lines.texts[number][start - lines.starts[number] : end - lines.starts[number]]
            cuts = [
                Cut(start + cut.start, start + cut.end, cut.replacement) for cut in inline_cuts(content, references)
            ]
            # In a cell an escaped bar is a bar even inside code.
            cuts.extend(Cut(start + bar.start(), start + bar.start() + 1) for bar in _ESCAPED_BAR.finditer(content))
            if leaf is None:
                leaf = Leaf(BlockKind.TABLE, start, end, cuts)
            else:
                leaf.cuts.append(Cut(leaf.end, start, CELL_JOINT if position else "\n"))
                leaf.cuts.extend(cuts)
                leaf.end = end
    return leaf


def _cells(line: str, start: int) -> list[tuple[int, int]]:
    """Spans of the cells that hold something, their outer spaces not counted."""
    cells: list[tuple[int, int]] = []
    bars = [-1, *(bar.start() for bar in _BAR.finditer(line)), len(line)]
    for left, right in pairwise(bars):
        cell = line[left + 1 : right]
        shown = cell.strip(" \t>") if left < 0 else cell.strip()
        if shown:
            at = left + 1 + cell.index(shown)
            cells.append((start + at, start + at + len(shown)))
    return cells
