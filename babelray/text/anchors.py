"""Finds what must be matched exactly: error codes, identifiers, versions, URLs, paths, hashes and their like.

The text is cut into runs of technical characters, each run is cut at most three times by weaker and weaker separators
and every piece is classified by its shape (`babelray.text.anchor_shapes`). A pattern is only ever tried on a whole
piece, so the time is linear in the text whatever it holds. Runs end where another script begins, hence an identifier
glued to Han, kana or hangul is found; one glued to a letter of a spaced script (`configura` in `configuração`) is not.

Full-width Latin letters, digits, `＿`, `－` and `．` count as their ASCII forms; spans and `value` keep the original.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from babelray.text.anchor_shapes import (
    AnchorType,
    Found,
    after_version_word,
    classify_flag,
    classify_path,
    classify_run,
    classify_word,
    in_capitals,
    normalize,
)
from babelray.text.scripts import UNSPACED, script_of

__all__ = ["Anchor", "AnchorType", "exact_tokens", "find_anchors"]

# Longer runs are data (base64, minified code), not names that someone would search for.
_MAX_NAME = 256
_MAX_URL = 2048

_WIDE = {0xFF01 + i: 0x21 + i for i in range(94) if chr(0x21 + i).isalnum() or chr(0x21 + i) in "_-."}
_HAS_WIDE = re.compile("[\uff0d\uff0e\uff10-\uff19\uff21-\uff3a\uff3f\uff41-\uff5a]")

_RUN = re.compile(r"[A-Za-z0-9_.~/\\@#:{+-][A-Za-z0-9_.~/\\@#:{}+-]*+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,15}\Z")
_URL_BODY = re.compile(r"[A-Za-z0-9\[$-][A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%{}]*+")
# What is written with a space inside: standards and status codes.
_SPACED = re.compile(
    r"(?<![A-Za-z0-9_./-])(?:"
    r"(?P<rfc>(?:RFC|rfc)[ -]?\d{1,5})"
    r"|(?P<status>HTTP(?:/[\d.]{1,3})?[ ][1-5]\d\d)"
    r"|(?P<standard>(?:ISO(?:/IEC)?|IEC|IEEE|ANSI|ECMA|FIPS|NIST SP|DIN|GB/T|JIS)[ ][A-Z]?\d[\d.:-]{0,15}(?<![.:-]))"
    r")(?![A-Za-z0-9_])"
)


@dataclass(frozen=True, slots=True)
class Anchor:
    """One exact thing in a text.

    Attributes:
        type: What it is.
        start, end: Code point span; `text[start:end] == value`.
        value: As written.
        normalized: The form under which spellings of the same thing meet (`v2.1.0` and `2.1.0`, `RFC2119` and
            `RFC 2119`); case is kept where it may carry meaning.
    """

    type: AnchorType
    start: int
    end: int
    value: str
    normalized: str


def find_anchors(text: str) -> list[Anchor]:
    """All anchors of a text, sorted and disjoint. Never raises; time is linear in the text."""
    plain = text.translate(_WIDE) if _HAS_WIDE.search(text) else text
    found: list[Anchor] = []
    taken = sorted([*_urls(plain), *_spaced(plain)], key=lambda item: (item[1], -item[2]))
    position = 0
    for kind, start, end in taken:
        if start < position:
            continue
        _scan(text, plain, position, start, found)
        _add(text, plain, (kind, start, end), found)
        position = end
    _scan(text, plain, position, len(plain), found)
    return found


def exact_tokens(text: str) -> tuple[str, ...]:
    """The values of all anchors of a text, original case, each once, in order of first appearance."""
    return unique_values(find_anchors(text))


def unique_values(anchors: Iterable[Anchor]) -> tuple[str, ...]:
    """The values of anchors, each once, in order."""
    return tuple(dict.fromkeys(anchor.value for anchor in anchors))


def _add(text: str, plain: str, item: Found, found: list[Anchor]) -> None:
    kind, start, end = item
    if end - start > (_MAX_URL if kind is AnchorType.URL else _MAX_NAME):
        return
    if _glued(plain, start - 1) or _glued(plain, end):
        return
    shape = plain[start:end]
    if kind is AnchorType.ACRONYM and in_capitals(plain, start, end):
        return
    normalized = _normalize_url(shape) if kind is AnchorType.URL else normalize(kind, shape)
    found.append(Anchor(kind, start, end, text[start:end], unicodedata.normalize("NFKC", normalized)))


def _glued(text: str, position: int) -> bool:
    """Whether a letter of a spaced script stands at the position, so that what touches it is part of a word."""
    if not 0 <= position < len(text):
        return False
    char = text[position]
    if char < "\x80":
        return False
    return char.isalnum() and script_of(char) not in UNSPACED


def _urls(text: str) -> Iterator[Found]:
    position = text.find("://")
    while position >= 0:
        scheme = _SCHEME.search(text, max(0, position - 16), position)
        # The body is only looked for behind a scheme: else every `://` of a long run would read the run's whole rest.
        body = _URL_BODY.match(text, position + 3) if scheme else None
        end = position + 3
        if scheme and body:
            start = scheme.start()
            # `see:https://` and `url=https://` stop at their sign; digits before a scheme belong to another word.
            end = _trim_url(text, body.start(), body.end())
            if end > body.start() and (start == 0 or not text[start - 1].isascii() or not text[start - 1].isalnum()):
                yield AnchorType.URL, start, end
        position = text.find("://", max(end, position + 3))


def _trim_url(text: str, start: int, end: int) -> int:
    """Drop punctuation that belongs to the sentence, and a closing bracket that the URL did not open."""
    body = text[start:end]
    balance = {")": body.count(")") - body.count("("), "]": body.count("]") - body.count("[")}
    balance["}"] = body.count("}") - body.count("{")
    while end > start:
        last = text[end - 1]
        if last in ".,;:!?'*_~":
            end -= 1
        elif balance.get(last, 0) > 0:
            balance[last] -= 1
            end -= 1
        else:
            break
    return end


def _normalize_url(url: str) -> str:
    """Scheme and host in small letters, no fragment marker at the end."""
    try:
        parts = urlsplit(url)
    except ValueError:  # malformed bracketed host: keep it as it is
        return url
    return parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower()).geturl()


def _spaced(text: str) -> Iterator[Found]:
    kinds = {"rfc": AnchorType.RFC, "status": AnchorType.ERROR_CODE, "standard": AnchorType.DESIGNATION}
    for match in _SPACED.finditer(text):
        if match.lastgroup:
            yield kinds[match.lastgroup], match.start(), match.end()


def _scan(text: str, plain: str, start: int, end: int, found: list[Anchor]) -> None:
    for match in _RUN.finditer(plain, start, end):
        run = match.group()
        if run.isalpha() and (run.islower() or run.istitle()):
            continue
        for item in _split_run(plain, match.start(), match.end()):
            _add(text, plain, item, found)


def _split_run(text: str, start: int, end: int) -> Iterator[Found]:
    """Classify a run as a whole, else by `:`, `@`, `#` and braces, else by slashes, else word by word."""
    start, end = _strip(text, start, end)
    if start >= end:
        return
    whole = classify_run(text, start, end)
    if whole is not None:
        yield whole
        return
    for piece_start, piece_end in _pieces(text, start, end, ":@#{}~"):
        if text.find("/", piece_start, piece_end) < 0 and text.find("\\", piece_start, piece_end) < 0:
            yield from _word(text, piece_start, piece_end)
            continue
        path = classify_path(text, piece_start, piece_end)
        if path is not None:
            yield path
            continue
        for word_start, word_end in _pieces(text, piece_start, piece_end, "/\\"):
            yield from _word(text, word_start, word_end)


def _word(text: str, start: int, end: int) -> Iterator[Found]:
    start, end = _strip(text, start, end)
    if start >= end:
        return
    item = classify_flag(text, start, end)
    if item is None:
        start, end = _bare(text, start, end)
        kind = classify_word(text[start:end], versioned=after_version_word(text, start))
        item = (kind, start, end) if kind is not None else None
    if item is not None:
        yield item


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    """Drop the punctuation of the sentence around a run."""
    while end > start and text[end - 1] in ".:-@\\{~":
        end -= 1
    while start < end and text[start] in ":}@":
        start += 1
    return start, end


def _bare(text: str, start: int, end: int) -> tuple[int, int]:
    """Drop signs before a word and the underscores of Markdown's emphasis around it."""
    while start < end and text[start] in "-+":
        start += 1
    if not text.startswith("__", start):
        while start < end and text[start] == "_":
            start += 1
        while end > start and text[end - 1] == "_":
            end -= 1
    return start, end


def _pieces(text: str, start: int, end: int, separators: str) -> Iterator[tuple[int, int]]:
    piece = start
    for position in range(start, end):
        if text[position] in separators:
            if position > piece:
                yield piece, position
            piece = position + 1
    if end > piece:
        yield piece, end
