"""Codes, identifiers, versions and paths in a string: no translator may touch them, though nothing marks them up."""

import re
from collections.abc import Sequence

from babelray.glossary.match import EnforcedMatch
from babelray.glossary.protect import Protected
from babelray.glossary.spans import Covered, Span
from babelray.text.anchors import AnchorType, find_anchors

_ESCAPE = re.compile(r"\\[nrt]")


def find_codes(text: str, protected: Sequence[Protected], matches: Sequence[EnforcedMatch]) -> list[Span]:
    """Spans of exact tokens, in order and disjoint.

    Acronyms are left out: many languages have their own (UN, ONU). So are those inside a protected span, which are kept
    with it, and those that a term of the glossary decides about.
    """
    decided = Covered([*((one.start, one.end) for one in protected), *((one.start, one.end) for one in matches)])
    found: list[Span] = []
    for anchor in find_anchors(_without_escapes(text)):
        span = (anchor.start, anchor.end)
        free = not decided.meets(*span) and not (found and span[0] < found[-1][1])
        if anchor.type is not AnchorType.ACRONYM and free:
            found.append(span)
    return found


def _without_escapes(text: str) -> str:
    r"""The text with blanks for escaped breaks but in paths: `\nERR_1205` is a break and a code, `C:\new` a path."""
    if "\\" not in text:
        return text
    paths = Covered([(one.start, one.end) for one in find_anchors(text) if "\\" in text[one.start + 1 : one.end]])
    return _ESCAPE.sub(lambda found: found[0] if paths.holds(*found.span()) else "  ", text)


def lost_codes(
    text: str, output: str, protected: Sequence[Protected], matches: Sequence[EnforcedMatch]
) -> tuple[str, ...]:
    """Exact tokens of a string that its translation holds less often."""
    codes = [text[start:end] for start, end in find_codes(text, protected, matches)]
    return tuple(code for code in dict.fromkeys(codes) if output.count(code) < codes.count(code))
