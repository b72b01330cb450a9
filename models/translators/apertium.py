"""What is particular to Apertium: its stream format, and the signs it puts before words it cannot translate."""

import re

_RESERVED = re.compile(r"[\[\]{}^$/\\@<>]")
# An escaped sign, or format in brackets, which is nothing but what `to_stream` put there.
_ESCAPED_OR_FORMAT = re.compile(r"\\(.)|\[[^\]]*\]", re.DOTALL)


def to_stream(text: str) -> bytes:
    """A text without line breaks in the stream format, with the end of line that closes its last sentence."""
    return (_RESERVED.sub(lambda match: f"\\{match[0]}", text) + "[][\n]").encode()


def from_stream(answer: bytes) -> str:
    """The text of an answer.

    Raises:
        UnicodeDecodeError: It is not UTF-8.
    """
    return _ESCAPED_OR_FORMAT.sub(lambda match: match[1] or "", answer.decode()).strip()


def without_unknown_marks(output: str, source: str, marks: str) -> str:
    """Take the signs off words that a program did not know (`*`), has no translation or no form for (`@`, `#`).

    A sign that the text has itself before a word, as in `*important*` or `#12`, is only taken off before a word that
    was copied.

    Args:
        output: With signs.
        source: What was translated.
        marks: The signs.
    """
    if not marks or not any(mark in output for mark in marks):
        return output
    sign = re.compile(rf"(?<!\w)([{re.escape(marks)}])(\w+)")
    own = {match[1] for match in sign.finditer(source)}
    words = set(re.findall(r"\w+", source)) if own else set()

    def bare(match: re.Match[str]) -> str:
        if match[1] in own and (match[2] not in words or match[0] in source):
            return match[0]
        return match[2]

    return sign.sub(bare, output)
