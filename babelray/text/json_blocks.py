"""JSON documents to leaves: every string value is one, under the path of its keys."""

import re
from collections.abc import Iterator

from babelray.text.leaves import Leaf, assemble
from babelray.text.types import Block, BlockKind, Cut

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*+)"|[{}\[\]:,]', re.S)
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.S)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "", "f": "\n"}


def json_blocks(text: str) -> list[Block]:
    """Blocks of a JSON text: one a string value that holds a letter; keys and array positions are the section path.

    The text is taken to be valid JSON (readers see to it); of anything else, what looks like string values is found.
    """
    return assemble(text, list(_leaves(text)))


def _leaves(text: str) -> Iterator[Leaf]:
    # One entry an open container: the key or position that leads to the current value.
    path: list[str | int] = []
    key: str | None = None
    for token in _TOKEN.finditer(text):
        mark = token[0][0]
        if mark == '"':
            in_object = bool(path) and isinstance(path[-1], str)
            if in_object and key is None:
                key = _decode(token[1])
                path[-1] = key
            elif any(map(str.isalpha, _decode(token[1]))):
                start, end = token.span(1)
                yield Leaf(BlockKind.PARAGRAPH, start, end, list(_escapes(text, start, end)), path=_pointer(path))
        elif mark in "{[":
            path.append("" if mark == "{" else 0)
            key = None
        elif mark in "}]":
            if path:
                path.pop()
            key = None
        elif mark == "," and path:
            last = path[-1]
            if isinstance(last, int):
                path[-1] = last + 1
            key = None


def _pointer(path: list[str | int]) -> tuple[str, ...]:
    return tuple(str(part) for part in path)


def _escapes(text: str, start: int, end: int) -> Iterator[Cut]:
    for found in _ESCAPE.finditer(text, start, end):
        yield Cut(*found.span(), _character(found[0]))


def _character(escape: str) -> str:
    if escape[1] != "u":
        return _SIMPLE.get(escape[1], escape[1])
    if len(escape) == 12:
        high, low = int(escape[2:6], 16), int(escape[8:], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    code = int(escape[2:], 16)
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else chr(code)


def _decode(raw: str) -> str:
    if "\\" not in raw:
        return raw
    return _ESCAPE.sub(lambda found: _character(found[0]), raw)
