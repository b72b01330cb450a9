"""What a Markdown page holds besides Markdown: front matter, HTML comments and Hugo shortcodes, found before parsing.

They are cut from the source first, because they cross the borders of Markdown's own blocks: a comment may hold half a
list, a shortcode may stand inside a heading or around three sections. In code they are text and stay.
"""

import re

from babelray.text.types import Cut

FRONT_MATTER = re.compile(
    r"\ufeff?(?:---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$|\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*\r?$)", re.S | re.M
)
"""A YAML (`---`, group 1) or TOML (`+++`, group 2) header at the start of a page."""

# What can begin outside of code. A fence may stand in any depth of lists and quotes.
_EVENT = re.compile(
    r"^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*+(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})|`+|<!--|\{\{[<%]", re.M
)
_BACKTICKS = re.compile("`+")
# A code span ends at the latest with its block. What is cut wrongly here is lost, so every likely border counts.
_BLOCK_BORDER = re.compile(r"\n(?=[ \t]*\r?\n|[ \t>]*(?:<!--|[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|\||`{3}|~{3}))")
_SHORTCODE = re.compile(
    r"""\{\{[<%][ \t]*+(?P<close>/?)[ \t]*+(?P<name>[\w./-]*+)
        (?P<arguments>(?:[^"`>%{]|\{(?!\{)|"(?:[^"\\\n]|\\.)*+"|`[^`\n]*+`|[>%](?!\}\}))*+)[>%]\}\}""",
    re.X,
)
_ARGUMENT = re.compile(r'(?:([\w-]++)[ \t]*+=[ \t]*+)?"((?:[^"\\\n]|\\.)*+)"')
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_COMMENT_END = re.compile(r"\{\{[<%][ \t]*/[ \t]*comment[ \t]*[>%]\}\}")

# Arguments that a reader of the page sees.
_SHOWN = frozenset({"text", "title", "caption", "alt", "header", "name", "heading", "summary", "prepend"})


def source_cuts(text: str) -> list[Cut]:
    """Spans of front matter, comments and shortcode tags; sorted and disjoint.

    The readable arguments of a shortcode (`text="..."`, `title="..."`) are left standing between two cuts. A comment
    that is never closed is taken for text, since the alternative loses the rest of the page; only its mark is cut.
    """
    return _Scanner(text).run()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.cuts: list[Cut] = []
        self.comment_closes = True
        self.border = -1
        # Length of a run of backticks -> starts of the runs of that length in this block, last one first.
        self.runs: dict[int, list[int]] = {}

    def run(self) -> list[Cut]:
        header = FRONT_MATTER.match(self.text)
        position = header.end() if header else 0
        if header:
            self.cuts.append(Cut(0, position))
        elif self.text.startswith("\ufeff"):
            # Before a heading or a list the mark would make a paragraph of it.
            self.cuts.append(Cut(0, 1))
        while (event := _EVENT.search(self.text, position)) is not None:
            if event["fence"]:
                position = self._after_fence(event)
            elif event[0][0] == "`":
                position = self._after_code_span(event.start(), event.end())
            elif event[0] == "<!--":
                position = self._after_comment(event.start())
            else:
                position = self._after_shortcode(event.start())
        return self.cuts

    def _after_fence(self, event: re.Match[str]) -> int:
        fence = event["fence"]
        closing = re.compile(rf"^[ \t>]*+{fence[0]}{{{len(fence)},}}[ \t]*\r?$", re.M)
        found = closing.search(self.text, event.end())
        return found.end() if found else len(self.text)

    def _after_code_span(self, start: int, end: int) -> int:
        if start >= self.border:
            self._enter_block(start)
        starts = self.runs.get(end - start, [])
        while starts and starts[-1] <= start:
            starts.pop()
        return starts[-1] + end - start if starts else end

    def _enter_block(self, start: int) -> None:
        border = _BLOCK_BORDER.search(self.text, start)
        self.border = border.start() if border else len(self.text)
        self.runs = {}
        for run in reversed(list(_BACKTICKS.finditer(self.text, start, self.border))):
            self.runs.setdefault(run.end() - run.start(), []).append(run.start())

    def _after_comment(self, start: int) -> int:
        # `<!-->` is a comment too, so the search begins at its dashes.
        close = self.text.find("-->", start + 2) if self.comment_closes else -1
        self.comment_closes = close >= 0
        end = close + 3 if close >= 0 else start + 4
        self.cuts.append(Cut(start, end))
        return end

    def _after_shortcode(self, start: int) -> int:
        tag = _SHORTCODE.match(self.text, start)
        if tag is None or self.text.startswith("/*", start + 3):  # `{{</* name */>}}` shows a shortcode
            return start + 3
        end = tag.end()
        if tag["name"] == "comment" and not tag["close"]:
            closing = _COMMENT_END.search(self.text, end)
            end = closing.end() if closing else end
        elif not tag["close"]:
            for shown_start, shown_end in _shown_arguments(tag):
                self.cuts.append(Cut(start, shown_start, " " if start > tag.start() else ""))
                comments = _COMMENT.finditer(self.text, shown_start, shown_end)
                self.cuts.extend(Cut(*comment.span()) for comment in comments)
                start = shown_end
        self.cuts.append(Cut(start, end))
        return end


def _shown_arguments(tag: re.Match[str]) -> list[tuple[int, int]]:
    """Spans of the arguments of a shortcode that a reader sees; a tooltip without text shows its term's name."""
    offset = tag.start("arguments")
    by_name: list[tuple[str, int, int]] = [
        (found[1] or "", offset + found.start(2), offset + found.end(2))
        for found in _ARGUMENT.finditer(tag["arguments"])
    ]
    shown = [(start, end) for name, start, end in by_name if name in _SHOWN and end > start]
    if not shown and tag["name"] in {"heading", "glossary_tooltip"}:
        shown = [(start, end) for name, start, end in by_name if name in {"", "term_id"} and end > start][:1]
    return shown
