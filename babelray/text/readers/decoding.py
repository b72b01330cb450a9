"""Bytes to text, or the reason why not. Nothing is guessed: text is UTF-8, or says by a byte order mark what it is."""

import codecs
import re
from dataclasses import dataclass

# Longer marks first: that of UTF-32-LE begins with that of UTF-16-LE.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SAMPLE = 80
# UTF-16 without a mark has a NUL at every other place of Latin text; a stray NUL in a page is no reason to refuse it.
_BINARY_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something cannot be a document: a code for counting, a line for a human, and a safe sample."""

    reason: str
    detail: str
    sample: str = ""


def decode(data: bytes) -> str | Refusal:
    """Decode a file; a byte order mark stays in the text, as every other character does."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        detail = f"not {encoding}: {error.reason} at byte {error.start}"
        return Refusal("wrong_encoding", detail, safe_sample(data[:_SAMPLE].decode("latin-1")))
    return check_text(text)


def check_text(text: str) -> str | Refusal:
    """Refuse what cannot be read by anyone: nothing, binary data, halves of surrogate pairs."""
    if not text.strip("\ufeff\0 \t\r\n\f\v"):
        return Refusal("empty", "no characters besides white space")
    lone = _SURROGATE.search(text)
    if lone:
        detail = f"half of a surrogate pair (U+{ord(lone[0]):04X}) at character {lone.start()}"
        return Refusal("lone_surrogate", detail, safe_sample(text[max(0, lone.start() - 20) :]))
    if text.count("\0") > _BINARY_SHARE * len(text):
        return Refusal("binary", f"{text.count(chr(0))} NUL in {len(text)} characters", safe_sample(text))
    return text


def safe_sample(text: str) -> str:
    """The first characters with everything escaped that a terminal or a table might stumble over."""
    short = text[:_SAMPLE].encode("utf-8", "backslashreplace").decode()
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in short)
