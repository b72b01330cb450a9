"""A tokenizer of HTML that keeps where every token stands in the source.

The parsers at hand (selectolax among them) repair the tree and forget the offsets. Finding text needs no tree: the
order of tags and texts, raw-text elements and comments are enough. Linear in the length, for broken input too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][^\s/>]*+)(?P<rest>(?:[^\"'>]|\"[^\"]*+\"|'[^']*+')*+)>")
_MARK = re.compile(r"<(?=[A-Za-z!?/])")
_RAW_TEXT = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"})


@dataclass(frozen=True, slots=True)
class HtmlToken:
    """A tag or a text between tags; comments, declarations and the insides of scripts give no token.

    Attributes:
        name: Lower-case name of a tag, empty for a text.
        attributes: The raw rest of an opening tag.
    """

    kind: Literal["text", "open", "close"]
    start: int
    end: int
    name: str = ""
    attributes: str = ""


def html_tokens(text: str, start: int, end: int) -> Iterator[HtmlToken]:
    """Tokens of `text[start:end]`, which are disjoint and in order."""
    position = shown = start
    last_comment_end = text.rfind("-->", start, end)
    while (mark := _MARK.search(text, position, end)) is not None:
        token = None
        if text.startswith(("<!", "<?"), mark.start()):
            position = _after_declaration(text, mark.start(), end, last_comment_end)
        elif (tag := _TAG.match(text, mark.start(), end)) is not None:
            name = tag["name"].lower()
            token = HtmlToken("close" if tag["close"] else "open", *tag.span(), name, tag["rest"])
            position = tag.end()
        elif text.startswith("</", mark.start()):
            close = text.find(">", mark.start(), end)
            if close < 0:
                break
            position = close + 1
        else:
            # The tag never ends, and no later one can: what is left is shown as it is.
            break
        if mark.start() > shown:
            yield HtmlToken("text", shown, mark.start())
        shown = position
        if token is not None:
            yield token
            if token.kind == "open" and token.name in _RAW_TEXT:
                closing = re.compile(rf"</{token.name}(?=[\s/>])", re.I).search(text, position, end)
                shown = position = closing.start() if closing else end
    if end > shown:
        yield HtmlToken("text", shown, end)


def _after_declaration(text: str, start: int, end: int, last_comment_end: int) -> int:
    if text.startswith("<!--", start):
        close = text.find("-->", start + 2, end) if start + 2 <= last_comment_end else -1
        # An unclosed comment would swallow the page; only its mark is dropped.
        return close + 3 if close >= 0 else start + 4
    close = text.find(">", start, end)
    return close + 1 if close >= 0 else end
