"""Inline Markdown: which characters of a paragraph are markup. One pass, linear in the length.

The parser of `markdown-it-py` keeps no offsets inside a line, so the marks are found here; its rendering is the oracle
of the tests.
"""

import html
import re
import unicodedata
from collections.abc import Container
from html.entities import html5

from babelray.text.types import Cut
from babelray.text.wrapping import joint

# A search over a set of characters is many times faster than one over the alternatives below.
_SPECIAL = re.compile(r"[\\`*_~!\[\]<&\n]")
_TOKEN = re.compile(
    r"""(?P<escape>\\[!-/:-@\[-`{-~])
      | (?P<code>`+)
      | (?P<run>\*+|_+|~~)
      | (?P<open>!?\[)
      | (?P<close>\])
      | (?P<auto><(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*+|[^\s<>@]++@[^\s<>@]++)>)
      | (?P<tag></?[A-Za-z][A-Za-z0-9-]*+
          (?:\s++[^\s"'<>/=]++(?:\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+'|[^\s"'=<>`]++))?+)*+\s*+/?>)
      | (?P<entity>&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)
      | (?P<line>\\?\n[ \t]*+)""",
    re.X,
)
_DESTINATION = re.compile(
    r"""\(\s*+(?:<[^<>\n]*+>|(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*+\))*+)
        (?:\s++(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)))?+\s*+\)""",
    re.X | re.S,
)
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.){0,999}+)\]", re.S)
_LABEL_LIMIT = 999
_MARKS_LOOKED_OVER = 4
_WRAP = re.compile(r"(?<![ \t])[ \t]*+\n[ \t]*+")
_ALERT = re.compile(r"\[!\w+\]")
# Hugo and Pandoc attributes: `{#anchor}`, `{.class}`, `{width=50%}` at the end of a heading or image, or alone.
_ATTRIBUTES = re.compile(r"[ \t]*\{[#.:][^{}\n]*\}[ \t]*$")


def normalize_label(label: str) -> str:
    """The key of a link reference, as `markdown-it-py` keeps it."""
    return " ".join(label.split()).lower().upper()


def inline_cuts(content: str, references: Container[str] = ()) -> list[Cut]:
    """Markup of a paragraph, heading or cell, with offsets in `content`; sorted and disjoint.

    Cut are emphasis marks, back ticks, tags, escapes, the targets of links and images (their texts stay), attribute
    lists. Entities are replaced by their characters, line ends inside a paragraph by what joins their two sides.

    Args:
        content: Lines joined by a line feed.
        references: Normalized labels of the link references that the document defines.
    """
    return _Inline(content, references).run()


class _Inline:
    def __init__(self, content: str, references: Container[str]) -> None:
        self.content = content
        self.references = references
        self.cuts: list[Cut] = []
        self.brackets: list[tuple[int, int]] = []
        # Runs of `*`, `_`, `~` that may open: [mark, start, end], shrinking from the right as they are used.
        self.openers: list[list[int]] = []
        self.counts: dict[str, int] = {}
        self.runs: dict[int, list[int]] | None = None
        self.wraps: list[int] = []

    def run(self) -> list[Cut]:
        content, position, stop = self.content, 0, len(self.content)
        attributes = _ATTRIBUTES.search(content, content.rfind("{")) if content.endswith(("}", "} ")) else None
        if attributes:
            stop = attributes.start()
            while stop and content[stop - 1] in " \t":
                stop -= 1
            self.cuts.append(Cut(stop, len(content)))
        alert = _ALERT.match(content)
        if alert:
            self.cuts += [Cut(0, 2), Cut(alert.end() - 1, alert.end())]
            position = alert.end()
        while (special := _SPECIAL.search(content, position, stop)) is not None:
            token = _TOKEN.match(content, special.start(), stop)
            position = self._take(token, position) if token else special.end()
        self.cuts.sort(key=lambda cut: cut.start)
        if self.wraps:
            self._join_lines()
        return self.cuts

    def _join_lines(self) -> None:
        """Replace each wrapped line end by what joins the two characters that are seen beside it."""
        wraps = frozenset(self.wraps)
        for number, cut in enumerate(self.cuts):
            if cut.start not in wraps:
                continue
            before, after = cut.start, cut.end
            for other in reversed(self.cuts[max(0, number - _MARKS_LOOKED_OVER) : number]):
                if other.end == before:
                    before = other.start
            for other in self.cuts[number + 1 : number + 1 + _MARKS_LOOKED_OVER]:
                if other.start == after:
                    after = other.end
            self.cuts[number] = Cut(cut.start, cut.end, joint(self.content, before, after))

    def _take(self, token: re.Match[str], position: int) -> int:
        """Note the cuts of a token; `position` is where the token before it ended. Returns where this one ends."""
        start, end = token.span()
        kind = token.lastgroup
        if kind == "escape":
            self.cuts.append(Cut(start, start + 1))
        elif kind == "code":
            return self._code(start, end)
        elif kind == "run":
            self._emphasis(start, end)
        elif kind == "open":
            self.brackets.append((start, end))
        elif kind == "close":
            return self._link(start)
        elif kind == "auto":
            self.cuts += [Cut(start, start + 1), Cut(end - 1, end)]
        elif kind == "tag":
            self.cuts.append(Cut(start, end, " " if token[0][1:3].lower() == "br" else ""))
        elif kind == "entity":
            # `html.unescape` also reads a name's beginning (`&notin` as `¬in`); Markdown reads whole names only.
            if token[0][1] == "#" or token[0][1:] in html5:
                self.cuts.append(Cut(start, end, html.unescape(token[0])))
        else:
            while start > position and self.content[start - 1] in " \t":
                start -= 1
            hard = self.content.startswith("  ", start) or "\\" in token[0]
            if not hard:
                self.wraps.append(start)
            self.cuts.append(Cut(start, end, "\n"))
        return end

    def _code(self, start: int, end: int) -> int:
        if self.runs is None:
            self.runs = {}
            for run in reversed(list(re.finditer("`+", self.content))):
                self.runs.setdefault(run.end() - run.start(), []).append(run.start())
        starts = self.runs.get(end - start, [])
        while starts and starts[-1] <= start:
            starts.pop()
        if not starts:
            return end
        close = starts[-1]
        self.cuts += [Cut(start, end), Cut(close, close + end - start)]
        for line in _WRAP.finditer(self.content, end, close):
            self.cuts.append(Cut(line.start(), line.end(), " "))
        return close + end - start

    def _emphasis(self, start: int, end: int) -> None:
        mark = self.content[start]
        before = self.content[start - 1] if start else " "
        after = self.content[end] if end < len(self.content) else " "
        left = not after.isspace() and (not _punctuation(after) or before.isspace() or _punctuation(before))
        right = not before.isspace() and (not _punctuation(before) or after.isspace() or _punctuation(after))
        can_open, can_close = left, right
        if mark == "_":
            can_open = left and (not right or _punctuation(before))
            can_close = right and (not left or _punctuation(after))
        if can_close:
            start = self._close(mark, start, end)
        if can_open and start < end:
            self.openers.append([ord(mark), start, end])
            self.counts[mark] = self.counts.get(mark, 0) + 1

    def _close(self, mark: str, start: int, end: int) -> int:
        """Match closing marks with the nearest openers; returns where the marks begin that are left."""
        while start < end and self.counts.get(mark):
            opener = self.openers[-1]
            if opener[0] != ord(mark):
                # Unmatched marks of another kind between an opener and its closer are text.
                self.counts[chr(opener[0])] -= 1
                self.openers.pop()
                continue
            used = min(2, end - start, opener[2] - opener[1])
            opener[2] -= used
            self.cuts += [Cut(opener[2], opener[2] + used), Cut(start, start + used)]
            start += used
            if opener[1] == opener[2]:
                self.counts[mark] -= 1
                self.openers.pop()
        return start

    def _link(self, close: int) -> int:
        if not self.brackets:
            return close + 1
        start, end = self.brackets.pop()
        target = _DESTINATION.match(self.content, close + 1)
        if target is None:
            label = _LABEL.match(self.content, close + 1)
            # Only the bounded slice is copied: brackets nest, and each would copy all inside it.
            name = label[1] if label and label[1].strip() else self.content[end : min(close, end + _LABEL_LIMIT + 1)]
            if len(name) > _LABEL_LIMIT or normalize_label(name) not in self.references:
                return close + 1
            stop = label.end() if label else close + 1
        else:
            stop = target.end()
        self.cuts += [Cut(start, end), Cut(close, stop)]
        return stop


def _punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"
