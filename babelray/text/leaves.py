"""What the parsers of all formats produce, and how it becomes blocks: one place for spans, cuts and section paths."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from babelray.text.projection import Projection, cuts_inside, merge_cuts, project
from babelray.text.types import Block, BlockKind, Cut

# Never content in any format: NUL and the other control characters except tab and line ends, byte order marks.
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufeff]+")


@dataclass(slots=True)
class Leaf:
    """A piece of content in the coordinates of the text that was parsed.

    Attributes:
        level: 1..6 for a heading.
        group: Leaves of the same kind that follow each other with the same group become one block (a list's items).
        path: Section path given by the format itself (JSON pointers); headings are not used then.
    """

    kind: BlockKind
    start: int
    end: int
    cuts: list[Cut] = field(default_factory=list)
    level: int = 0
    group: int | None = None
    path: tuple[str, ...] | None = None


def join_groups(leaves: Iterable[Leaf]) -> list[Leaf]:
    """Join neighbours of one group by a line feed; what stood between them (markers, blank lines) is cut."""
    joined: list[Leaf] = []
    for leaf in leaves:
        last = joined[-1] if joined else None
        if last and leaf.group is not None and last.group == leaf.group and last.kind == leaf.kind:
            if leaf.start > last.end:
                last.cuts.append(Cut(last.end, leaf.start, "\n"))
            last.cuts.extend(leaf.cuts)
            last.end = leaf.end
        else:
            joined.append(leaf)
    return joined


def assemble(
    text: str, leaves: Sequence[Leaf], source: Projection | None = None, base: Sequence[Cut] = ()
) -> list[Block]:
    """Blocks in the order of the text, without those that show nothing.

    Args:
        text: The document's text.
        leaves: In order, disjoint.
        source: If the leaves were found in a projection of the text, that projection; `base` are its cuts.
        base: Sorted, disjoint.
    """
    blocks: list[Block] = []
    headings: list[tuple[int, str]] = []
    for leaf in join_groups(leaves):
        start, end, cuts = leaf.start, leaf.end, leaf.cuts
        if source is not None:
            start, end = source.span(start, end)
            cuts = [Cut(*source.span(cut.start, cut.end), cut.replacement) for cut in cuts]
            cuts.extend(cuts_inside(base, start, end))
        cuts.extend(Cut(start + m.start(), start + m.end()) for m in _UNREADABLE.finditer(text[start:end]))
        final = tuple(merge_cuts(cuts))
        shown = project(text, start, end, final).text.strip()
        if leaf.kind is BlockKind.HEADING:
            while headings and headings[-1][0] >= leaf.level:
                headings.pop()
        if shown:
            path = leaf.path if leaf.path is not None else tuple(title for _, title in headings)
            blocks.append(Block(leaf.kind, start, end, path, final))
        if leaf.kind is BlockKind.HEADING:
            headings.append((leaf.level, " ".join(shown.split())))
    return [block for block in blocks if block.end > block.start]
