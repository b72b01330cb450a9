"""HTML pages to leaves: block tags divide, inline tags are cut, spaces collapse as a browser collapses them."""

import html
import re
from collections.abc import Iterator

from babelray.text.code_kinds import code_kind
from babelray.text.html_tokens import HtmlToken, html_tokens
from babelray.text.leaves import Leaf, assemble
from babelray.text.types import Block, BlockKind, Cut

_INLINE = frozenset(
    {
        "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "button", "cite", "code", "data", "del", "dfn", "em", "font",
        "i", "img", "input", "ins", "kbd", "label", "mark", "meter", "output", "q", "rp", "rt", "ruby", "s", "samp",
        "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
    }
)  # fmt: skip
_HIDDEN = frozenset(
    {"script", "style", "template", "svg", "math", "title", "textarea", "iframe", "noembed", "noframes"}
)
_LISTS = frozenset({"ul", "ol", "dl", "menu"})
_ENDS_HEADING = frozenset({"p", "ul", "ol", "dl", "table", "pre", "blockquote", "section", "article", "main"})
_HEADING = re.compile(r"h([1-6])")
_LANGUAGE_CLASS = re.compile(r"\b(?:language|lang|highlight-source)-([\w+#-]+)")
# Runs of white space other than one space, and entities, with or without the semicolon that old pages forget.
_SPACE_OR_ENTITY = re.compile(
    r"[ \t\n\r\f]{2,}+|[\t\n\r\f]|&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?"
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?")
_SPACES = " \t\n\r\f"
CELL_JOINT = " | "


def html_blocks(text: str) -> list[Block]:
    """Blocks of an HTML page; spans are those of the raw source."""
    return assemble(text, html_leaves(text, 0, len(text)))


def html_leaves(text: str, start: int, end: int) -> list[Leaf]:
    """Leaves of a piece of HTML source, which may begin or end inside elements."""
    builder = _Builder(text)
    for token in html_tokens(text, start, end):
        builder.take(token)
    return list(builder.finish())


class _Builder:
    def __init__(self, text: str) -> None:
        self.text = text
        self.leaves: list[Leaf] = []
        self.leaf: Leaf | None = None
        # What is to stand between the last shown character and the next one of the same leaf.
        self.gap = ""
        self.hidden: list[str] = []
        self.depth = {"list": 0, "quote": 0, "table": 0, "pre": 0}
        self.group = 0
        self.level = 0
        self.info = ""

    def take(self, token: HtmlToken) -> None:
        if token.name in _HIDDEN:
            self._hide(token)
        elif self.hidden:
            return
        elif token.kind == "text":
            self._text(token.start, token.end)
        elif token.name == "br":
            self.gap = "\n"
        elif token.name in _INLINE:
            if self.depth["pre"] and token.name == "code":
                self._note_language(token)
            if token.name == "img" and (shown := _alternative(token)):
                self._text(*shown)
        else:
            self._divide(token)

    def finish(self) -> Iterator[Leaf]:
        self._flush()
        return iter(self.leaves)

    def _hide(self, token: HtmlToken) -> None:
        if token.kind == "open" and not token.attributes.endswith("/"):
            self.hidden.append(token.name)
        elif token.kind == "close" and token.name in self.hidden:
            while self.hidden.pop() != token.name:
                pass

    def _note_language(self, token: HtmlToken) -> None:
        found = _LANGUAGE_CLASS.search(token.attributes)
        if found:
            self.info = found[1]

    def _divide(self, token: HtmlToken) -> None:
        """A block tag: ends the leaf, except in tables, which are one leaf."""
        name, step = token.name, 1 if token.kind == "open" else -1
        if self.depth["table"] and name != "table":
            if self.leaf is not None:
                wanted = {"tr": "\n", "td": CELL_JOINT, "th": CELL_JOINT}.get(name, " ")
                self.gap = "\n" if "\n" in (self.gap, wanted) else max(self.gap, wanted, key=len)
            return
        self._flush()
        heading = _HEADING.fullmatch(name)
        if heading:
            self.level = int(heading[1]) if step > 0 else 0
        elif name in _ENDS_HEADING:
            self.level = 0
        part = "list" if name in _LISTS else {"blockquote": "quote", "table": "table", "pre": "pre"}.get(name)
        if part:
            if step > 0 and not any(self.depth.values()):
                self.group += 1
            self.depth[part] = max(0, self.depth[part] + step)
            self.info = ""
            if name == "pre" and step > 0:
                self._note_language(token)

    def _kind(self) -> BlockKind:
        for part, kind in (("table", BlockKind.TABLE), ("pre", BlockKind.CODE)):
            if self.depth[part]:
                return kind
        if self.level:
            return BlockKind.HEADING
        if self.depth["list"]:
            return BlockKind.LIST
        return BlockKind.QUOTE if self.depth["quote"] else BlockKind.PARAGRAPH

    def _text(self, start: int, end: int) -> None:
        kept = self.text[start:end]
        code = self._kind() is BlockKind.CODE
        inner = kept.strip(_SPACES)
        if not inner:
            self.gap = kept if code else self.gap or " "
            return
        if code:
            first = start + len(kept) - len(kept.lstrip("\r\n")) if self.leaf is None else start
            last = end
        else:
            first = start + len(kept) - len(kept.lstrip(_SPACES))
            last = first + len(inner)
            if first > start and not self.gap:
                self.gap = " "
        if self.leaf is None:
            self.leaf = Leaf(self._kind(), first, last, level=self.level, group=self._leaf_group())
        elif self.text[self.leaf.end : first] != self.gap:
            self.leaf.cuts.append(Cut(self.leaf.end, first, self.gap))
        self.leaf.end = last
        self.gap = " " if last < end else ""
        self._inner_cuts(first, last, _ENTITY if code else _SPACE_OR_ENTITY)

    def _inner_cuts(self, start: int, end: int, pattern: re.Pattern[str]) -> None:
        assert self.leaf is not None
        for found in pattern.finditer(self.text, start, end):
            shown = html.unescape(found[0]) if found[0][0] == "&" else " "
            if shown != found[0]:
                self.leaf.cuts.append(Cut(*found.span(), shown))

    def _leaf_group(self) -> int | None:
        return self.group if any(self.depth.values()) and not self.level and not self.depth["pre"] else None

    def _flush(self) -> None:
        leaf, self.leaf, self.gap = self.leaf, None, ""
        if leaf is None:
            return
        if leaf.kind is BlockKind.CODE:
            leaf.end -= len(self.text[leaf.start : leaf.end]) - len(self.text[leaf.start : leaf.end].rstrip())
            leaf.cuts = [cut for cut in leaf.cuts if cut.end <= leaf.end]
            leaf.kind = code_kind(self.text[leaf.start : leaf.end], self.info)
        self.leaves.append(leaf)


_ALT = re.compile(r"\balt\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.I)


def _alternative(token: HtmlToken) -> tuple[int, int] | None:
    """Span of an image's alternative text."""
    found = _ALT.search(token.attributes)
    if found is None:
        return None
    group = 1 if found[1] is not None else 2
    offset = token.end - 1 - len(token.attributes)
    return offset + found.start(group), offset + found.end(group)
