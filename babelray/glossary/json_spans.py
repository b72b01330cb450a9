"""A JSON scanner that keeps where every string value stands, so that a payload can be put back byte for byte.

The standard library's decoder forgets spans, escapes, number forms and repeated keys. This one reads strict RFC 8259
JSON without recursion and reports each string value with its JSON Pointer (RFC 6901) and its span in the raw text.
"""

import json
import re
from dataclasses import dataclass

from babelray.errors import InputError

MAX_DEPTH = 1000
"""Nesting over this is refused: no locale file comes near it, and a hostile one would cost memory."""

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"')
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PLAIN = re.compile(r"[^\\]*")


@dataclass(frozen=True, slots=True)
class StringSpan:
    """One string value of a JSON text.

    Attributes:
        pointer: JSON Pointer; two members of the same name in one object share it.
        start, end: Span of the token's inside (without its quotes) in the raw text.
        value: The decoded string; a lone surrogate escape stays a lone surrogate.
    """

    pointer: str
    start: int
    end: int
    value: str


def scan_strings(raw: str) -> list[StringSpan]:
    """Every string value of a JSON text, in the order of the text; keys are not values.

    Raises:
        InputError: The text is not JSON; line and column are named.
    """
    return _Scanner(raw).run()


class _Scanner:
    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.at = 1 if raw.startswith("\ufeff") else 0
        self.found: list[StringSpan] = []
        # One entry an open container: its pointer, and the next item's number for an array or None for an object.
        self.open: list[tuple[str, int | None]] = []

    def run(self) -> list[StringSpan]:
        self._space()
        self._value("")
        while self.open:
            self._after_value()
        self._space()
        if self.at != len(self.raw):
            raise self._error("there is text after the JSON value", "the end of the text")
        return self.found

    def _space(self) -> None:
        match = _SPACE.match(self.raw, self.at)
        assert match is not None
        self.at = match.end()

    def _peek(self) -> str:
        return self.raw[self.at : self.at + 1]

    def _value(self, pointer: str) -> None:
        """Read a scalar, or open a container and read its first value."""
        while True:
            mark = self._peek()
            if mark == '"':
                start, end, value = self._string()
                self.found.append(StringSpan(pointer, start, end, value))
                return
            if mark not in ("{", "["):
                self._scalar()
                return
            if len(self.open) >= MAX_DEPTH:
                raise self._error("the JSON is nested too deeply", f"at most {MAX_DEPTH} levels")
            self.at += 1
            self._space()
            if self._peek() == ("}" if mark == "{" else "]"):
                self.at += 1
                return
            self.open.append((pointer, None if mark == "{" else 0))
            pointer = f"{pointer}/{self._member()}" if mark == "{" else f"{pointer}/0"

    def _after_value(self) -> None:
        """Go on in the innermost container: its next value, or its end."""
        self._space()
        pointer, number = self.open[-1]
        mark = self._peek()
        if mark == ",":
            self.at += 1
            self._space()
            if number is None:
                self._value(f"{pointer}/{self._member()}")
            else:
                self.open[-1] = (pointer, number + 1)
                self._value(f"{pointer}/{number + 1}")
        elif mark == ("}" if number is None else "]"):
            self.at += 1
            self.open.pop()
        else:
            raise self._error(
                "a container is not continued or closed", "`,` or `}`" if number is None else "`,` or `]`"
            )

    def _member(self) -> str:
        if self._peek() != '"':
            raise self._error("an object member has no name", "a string in double quotes")
        _, _, name = self._string()
        self._space()
        if self._peek() != ":":
            raise self._error("a member's name is not followed by a colon", "`:`")
        self.at += 1
        self._space()
        return name.replace("~", "~0").replace("/", "~1")

    def _string(self) -> tuple[int, int, str]:
        match = _STRING.match(self.raw, self.at)
        if match is None:
            raise self._error(
                "a string is not closed, or holds a control character or an unknown escape", "JSON string"
            )
        start, end = match.span(1)
        self.at = match.end()
        return start, end, decode_string(self.raw[start:end])

    def _scalar(self) -> None:
        match = _SCALAR.match(self.raw, self.at)
        if match is None:
            raise self._error(
                "a JSON value is missing or malformed", "object, array, string, number, true, false, null"
            )
        self.at = match.end()

    def _error(self, what: str, allowed: str) -> InputError:
        line = self.raw.count("\n", 0, self.at) + 1
        column = self.at - (self.raw.rfind("\n", 0, self.at) + 1) + 1
        got = repr(self.raw[self.at : self.at + 20]) if self.at < len(self.raw) else "the end of the text"
        return InputError(what, where=f"line {line}, column {column}", got=got, allowed=allowed)


def decode_string(inside: str) -> str:
    """The value of a string token's inside."""
    if "\\" not in inside:
        return inside
    value = json.loads(f'"{inside}"', strict=False)
    assert isinstance(value, str)
    return value


@dataclass(frozen=True, slots=True)
class EscapeStyle:
    """How a JSON text writes what it could write in two ways; new strings are written the same way."""

    ascii_only: bool
    slashes: bool
    upper_hex: bool

    @classmethod
    def of(cls, raw: str) -> "EscapeStyle":
        """Read the style off a JSON text.

        Non-ASCII is escaped only if the text itself is pure ASCII and has escapes of printable characters.
        """
        escapes = re.findall(r"\\u([0-9a-fA-F]{4})", raw)
        printable = [code for code in escapes if int(code, 16) > 0x9F]
        letters = [code for code in escapes if re.search("[a-fA-F]", code)]
        return cls(
            ascii_only=raw.isascii() and bool(printable),
            slashes="\\/" in raw and re.search(r"(?<!\\)(?:\\\\)*/", raw) is None,
            upper_hex=bool(letters) and all(code == code.upper() for code in letters),
        )

    def encode(self, value: str) -> str:
        """The inside of a string token with this value."""
        inside = json.dumps(value, ensure_ascii=self.ascii_only)[1:-1]
        if not self.ascii_only:
            # A lone surrogate cannot be written as UTF-8, so it always stays an escape.
            inside = re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", inside)
        if self.upper_hex:
            inside = re.sub(r"(\\+)u([0-9a-f]{4})", _upper_if_escape, inside)
        return inside.replace("/", "\\/") if self.slashes else inside


def _upper_if_escape(match: re.Match[str]) -> str:
    return f"{match[1]}u{match[2].upper()}" if len(match[1]) % 2 else match[0]
