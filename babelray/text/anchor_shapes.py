"""Tells what a piece of technical text is by its shape. Every function looks at one piece and is linear in it."""

import ipaddress
import re
from collections.abc import Callable
from datetime import date
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

from babelray.text.tables import read_rows


class AnchorType(StrEnum):
    """What an anchor is."""

    URL = "url"
    EMAIL = "email"
    UUID = "uuid"
    IP = "ip"
    DATE = "date"
    HASH = "hash"
    PATH = "path"
    ROUTE = "route"
    FLAG = "flag"
    ERROR_CODE = "error_code"
    TICKET = "ticket"
    RFC = "rfc"
    DESIGNATION = "designation"
    VERSION = "version"
    SNAKE = "snake"
    CAMEL = "camel"
    DOTTED = "dotted"
    KEBAB = "kebab"
    CODE = "code"
    ACRONYM = "acronym"
    NAME = "name"


Found = tuple[AnchorType, int, int]

_EMAIL = re.compile(r"[A-Za-z0-9_.+-]++@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)+")
_UUID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
_DATE = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:[Tt](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})?)?"
)
_IPV4 = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?")
_IPV6 = re.compile(r"[0-9A-Fa-f:]{3,39}(?:/\d{1,3})?")
_DIGEST = re.compile(r"(?:md5|sha1|sha224|sha256|sha384|sha512):[0-9A-Fa-f]{6,128}")
_HEX = re.compile(r"[0-9a-f]{7,128}|[0-9A-F]{7,128}")
_SCOPED = re.compile(r"[A-Za-z_]\w*+(?:::[A-Za-z_]\w*+)+", re.ASCII)
_WINDOWS = re.compile(r"[A-Za-z]:[\\/][A-Za-z0-9_.~\\/+-]*+|\\\\[A-Za-z0-9_.-]++(?:\\[A-Za-z0-9_.$-]++)++\\?")
_TICKET_NUMBER = re.compile(r"#\d{2,9}")
_ROUTE_PART = re.compile(r"/(?:api|apis|rest|graphql|v\d+(?:(?:alpha|beta)\d+)?)(?=/|\Z)|\{[A-Za-z_]|/:[A-Za-z]")
_METHOD_BEFORE = re.compile(r"(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|CONNECT|TRACE)[ \t]{1,3}\Z")
_EXTENSION = re.compile(r"[A-Za-z0-9_-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,7}", re.ASCII)
_LONG_FLAG = re.compile(r"--[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]")
_SHORT_FLAG = re.compile(r"-[A-Za-z0-9?]")
_VERSION = re.compile(
    r"[vV]?\d{1,8}(?:\.\d{1,8}){1,4}(?:\.[xX*])?"
    r"(?:[-.]?(?:alpha|beta|rc|dev|post|pre|preview|snapshot|a|b|m|ga|final|lts)[-.]?\d{0,8})?"
    r"(?:-[a-z]{1,10}[.-]?\d{1,8})?(?:\.\d{1,8})?(?:\+[0-9A-Za-z.-]{1,40})?"
    r"|v\d{1,3}(?:(?:alpha|beta|rc)\d{1,3})?|[vV]?\d{1,5}\.[xX]",
    re.IGNORECASE,
)
_DESIGNATION = re.compile(r"([A-Za-z][A-Za-z0-9]{0,11})-(\d{1,7})(?:-\d{1,7})*")
_SYMBOL_NAME = re.compile(r"[A-Za-z]{1,12}\+\+(?:\d{2})?|[A-Z]#")
_SNAKE = re.compile(r"_*+[A-Za-z0-9]++(?:_++[A-Za-z0-9]++)*+_*+")
_DOTTED_PART = re.compile(r"[A-Za-z0-9_][\w-]*+", re.ASCII)
_HIDDEN = re.compile(r"\.[A-Za-z][A-Za-z0-9_-]{2,}(?:\.[A-Za-z0-9_-]+)*+")
_KEBAB = re.compile(r"[a-z][a-z0-9]*+(?:-[a-z0-9]++)++")
_CAMEL = re.compile(r"[A-Za-z0-9]*+")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]{2,}")
_CODE = re.compile(r"([A-Z]{1,6})(\d{3,8})")
_HEX_CODE = re.compile(r"0[xX][0-9A-Fa-f]{2,16}")
_ACRONYM = re.compile(r"[A-Z][A-Z0-9]{1,9}|[A-Z]{2,8}s")
_ROMAN = re.compile(r"[IVX]{2,5}")
_WORDS = re.compile(r"[A-Za-z]{2,}")
_VERSION_WORD_WINDOW = 16
_CAPITALS_WINDOW = 60


@lru_cache(maxsize=1)
def _vocabulary() -> dict[str, frozenset[str]]:
    """Word lists of `anchor_words.tsv` by their purpose."""
    lists: dict[str, set[str]] = {}
    for purpose, words in read_rows("anchor_words.tsv", 2):
        lists.setdefault(purpose, set()).update(words.split())
    return {purpose: frozenset(words) for purpose, words in lists.items()}


def classify_run(text: str, start: int, end: int) -> Found | None:
    """What a whole run is, if it is one of the shapes that hold weak separators inside."""
    run = text[start:end]
    kind = _separated_kind(run)
    if kind is not None:
        return kind, start, end
    return classify_path(text, start, end) if "/" in run or run[0] == "~" else None


def _separated_kind(run: str) -> AnchorType | None:
    checks: tuple[tuple[bool, AnchorType, Callable[[str], object]], ...] = (
        ("@" in run, AnchorType.EMAIL, _EMAIL.fullmatch),
        (run[0].isdigit() and "-" in run, AnchorType.DATE, _is_date),
        (run[0].isdigit() and "/" in run, AnchorType.IP, _is_network),
        (":" in run, AnchorType.HASH, _DIGEST.fullmatch),
        ("::" in run, AnchorType.DOTTED, _SCOPED.fullmatch),
        (run.count(":") > 1, AnchorType.IP, _is_ipv6),
        ("\\" in run or run[1:2] == ":", AnchorType.PATH, _WINDOWS.fullmatch),
        (run[0] == "#", AnchorType.TICKET, _TICKET_NUMBER.fullmatch),
        (run[-1] == "#", AnchorType.NAME, _SYMBOL_NAME.fullmatch),
    )
    return next((kind for possible, kind, check in checks if possible and check(run)), None)


def classify_path(text: str, start: int, end: int) -> Found | None:
    """A path or an API route, or nothing where the slash only means `or` (`and/or`, `TCP/IP`, `km/h`)."""
    run = text[start:end]
    parts = [part for part in run.replace("\\", "/").split("/") if part]
    if "\\" in run or not parts:
        return None
    if run[0] == "/":
        if "//" in run[:2] or (start and text[start - 1] in "<)]"):
            return None
        if not any(sum(char.isalpha() for char in part[:40]) > 1 for part in parts):
            return None
        is_route = _ROUTE_PART.search(run) or _METHOD_BEFORE.search(text, max(0, start - 12), start)
        return (AnchorType.ROUTE if is_route else AnchorType.PATH), start, end
    if run.startswith(("./", "../", "~/")):
        return AnchorType.PATH, start, end
    return (AnchorType.PATH, start, end) if _relative_path(parts) else None


def _relative_path(parts: list[str]) -> bool:
    """Whether parts joined by slashes look like names of files rather than alternatives of prose."""
    if len(parts) < 2 or not any(char.isalpha() for char in parts[0][:40]):
        return False
    if all(_VERSION.fullmatch(part) or part.isdigit() or _DESIGNATION.fullmatch(part) for part in parts):
        return False
    if _EXTENSION.fullmatch(parts[-1]) or _EXTENSION.fullmatch(parts[0]):
        return max(len(part) for part in parts[-1].split(".") + parts[0].split(".")) > 2
    if any("_" in part for part in parts):
        return True
    return any(part.islower() and any(c.isdigit() for c in part) and not part[0].isdigit() for part in parts)


def classify_flag(text: str, start: int, end: int) -> Found | None:
    """A command-line flag: a long one anywhere it does not touch a word, a short one only between spaces."""
    if text[start] != "-":
        return None
    before = text[start - 1] if start else " "
    if before.isascii() and (before.isalnum() or before in "-_"):
        return None
    if _LONG_FLAG.fullmatch(text, start, end):
        return AnchorType.FLAG, start, end
    after = text[end] if end < len(text) else " "
    if _SHORT_FLAG.fullmatch(text, start, end) and before in " \t\n`'\"(" and after in " \t\n`'\"),=":
        return (AnchorType.FLAG, start, end) if not text[start + 1].isdigit() else None
    return None


def classify_word(word: str, *, versioned: bool = False) -> AnchorType | None:
    """What a word of letters, digits, `_`, `.`, `-` and `+` is; nothing for prose and plain numbers.

    Args:
        word: The word without surrounding punctuation.
        versioned: Whether a word such as `version` or 版本 stands before it, so that `3.2` is no decimal number.
    """
    if len(word) < 2:
        return None
    has_digit = any(char.isdigit() for char in word)
    if has_digit:
        numeric = _numeric_kind(word, versioned)
        if numeric is not None:
            return numeric
    if "+" in word:
        return AnchorType.NAME if _SYMBOL_NAME.fullmatch(word) else None
    if "." in word:
        return AnchorType.DOTTED if _is_dotted(word) else None
    if "_" in word:
        return _snake_kind(word)
    if "-" in word:
        return _hyphen_kind(word)
    return _solid_kind(word, has_digit)


def _numeric_kind(word: str, versioned: bool) -> AnchorType | None:
    """Shapes that need a digit."""
    if word[0].isdigit() or word[0] in "vV":
        if _IPV4.fullmatch(word) and _is_ip(word):
            return AnchorType.IP
        if _is_date(word):
            return AnchorType.DATE
        if _VERSION.fullmatch(word) and (versioned or _is_version(word)):
            return AnchorType.VERSION
        if versioned and word.isdigit() and len(word) < 5:
            return AnchorType.VERSION
    if len(word) == 36 and _UUID.fullmatch(word):
        return AnchorType.UUID
    if _HEX_CODE.fullmatch(word):
        return AnchorType.CODE
    if _HEX.fullmatch(word) and not word.isdigit() and not _CODE.fullmatch(word) and _looks_random(word):
        return AnchorType.HASH
    return None


def _looks_random(word: str) -> bool:
    """Whether hex digits are mixed; `1000000f` is a number with a suffix, `deadbeef1` a word with one."""
    changes = sum(left.isdigit() != right.isdigit() for left, right in pairwise(word))
    return changes >= 2


def _is_version(word: str) -> bool:
    """Whether a match of the version pattern is one without help: a `v`, three numbers or a release word."""
    if word[0] == "v" or (word[0] == "V" and "." in word):
        return True
    return word.count(".") > 1 or any(char.isalpha() for char in word)


def _is_ip(word: str) -> bool:
    try:
        ipaddress.ip_interface(word)
    except ValueError:
        return False
    return True


def _is_network(run: str) -> bool:
    return bool(_IPV4.fullmatch(run)) and _is_ip(run)


def _is_ipv6(run: str) -> bool:
    return bool(_IPV6.fullmatch(run)) and any(char.isdigit() for char in run) and _is_ip(run)


def _is_date(word: str) -> bool:
    match = _DATE.fullmatch(word)
    if not match:
        return False
    try:
        date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return False
    return True


def _is_dotted(word: str) -> bool:
    if word[0] == ".":
        return bool(_HIDDEN.fullmatch(word))
    parts = word.split(".")
    if not all(_DOTTED_PART.fullmatch(part) for part in parts) or not (parts[0][0].isalpha() or parts[0][0] == "_"):
        return False
    words = _vocabulary()
    if max(len(part) for part in parts) < 3 and parts[-1].lower() not in words["extension"]:
        return False  # abbreviations: e.g, z.B, U.S.A, Ph.D
    if word.lower() in words["abbreviation"]:
        return False
    # A sentence that lost the space after its full stop.
    glued = len(parts) == 2 and parts[0].isalpha() and parts[1].isalpha() and parts[1].istitle()
    return not (glued and parts[1].lower() in words["sentence_start"])


def _snake_kind(word: str) -> AnchorType | None:
    core = word.strip("_")
    if "_" not in core:
        # Dunder names; a single underscore at an end is emphasis of Markdown or a convention nobody searches for.
        is_dunder = word.startswith("__") and word.endswith("__") and core.isalnum()
        return AnchorType.SNAKE if is_dunder and len(core) > 1 else None
    if not any(char.isalpha() for char in core):
        return None
    if _SNAKE.fullmatch(word):
        return AnchorType.ERROR_CODE if word.isupper() and _names_error(core.split("_")) else AnchorType.SNAKE
    mixed = core.islower() and all(_DOTTED_PART.fullmatch(part) for part in core.split("-"))
    return AnchorType.KEBAB if mixed else None


def _names_error(parts: list[str]) -> bool:
    return parts[0] == "E" or any(part in _vocabulary()["error_part"] for part in parts)


def _hyphen_kind(word: str) -> AnchorType | None:
    words = _vocabulary()
    designation = _DESIGNATION.fullmatch(word)
    if designation:
        prefix = designation[1].upper()
        if prefix in words["designation"]:
            return AnchorType.DESIGNATION
        if not designation[1].isupper():
            return None
        if prefix in words["error_prefix"]:
            return AnchorType.ERROR_CODE
        if len(prefix) < 2:
            return None  # N-1, B-2
        return AnchorType.TICKET if len(designation[2]) > 1 else AnchorType.NAME
    return AnchorType.KEBAB if _KEBAB.fullmatch(word) and _is_technical_kebab(word) else None


def _is_technical_kebab(word: str) -> bool:
    """Hyphens are also prose (`well-known`, `state-of-the-art`, `24-hour`, `diga-me`): ask for a technical sign.

    Signs: a part that mixes letters and digits (`bge-reranker-v2-m3`), a part known from technical names (`kube-`,
    `-config`), or four parts of which none is a small word of prose.
    """
    words = _vocabulary()
    parts = word.split("-")
    if any(part in words["prose_part"] for part in parts):
        return False
    if any(part in words["technical_part"] for part in parts):
        return True
    if any(part[0].isalpha() and not part.isalpha() for part in parts):
        return True
    return len(parts) > 3 and all(len(part) > 2 and part.isalpha() for part in parts)


def _solid_kind(word: str, has_digit: bool) -> AnchorType | None:
    """A word of letters and digits only."""
    words = _vocabulary()
    if not word.isascii() or not word.isalnum() or word.isdigit():
        return None
    if word in words["error_name"]:
        return AnchorType.ERROR_CODE
    if word.isupper() or (len(word) > 2 and word[-1] == "s" and word[:-1].isupper()):
        code = _CODE.fullmatch(word) if has_digit else None
        if code:
            if code[1] == "RFC":
                return AnchorType.RFC
            return AnchorType.ERROR_CODE if code[1] in words["error_prefix"] else AnchorType.CODE
        is_name = _ACRONYM.fullmatch(word) and not _ROMAN.fullmatch(word) and word not in words["unit"]
        return AnchorType.ACRONYM if is_name else None
    if word[0].isalpha() and len(word) < 80 and len(word) > 2 and _HUMP.search(word):
        return AnchorType.CAMEL
    mixed = has_digit and word[0].isalpha() and not word[-1].isdigit() and len(word) > 2
    return AnchorType.NAME if mixed and word in words["technical_part"] else None


def after_version_word(text: str, start: int) -> bool:
    """Whether one of the words for `version` (any language of the table) stands right before the position."""
    if start == 0 or not text[start : start + 1].isdigit():
        return False
    before = text[max(0, start - _VERSION_WORD_WINDOW) : start].rstrip(" \t=<>~^:\u00a0").casefold()
    return before.endswith(tuple(_vocabulary()["version_word"]))


def in_capitals(text: str, start: int, end: int) -> bool:
    """Whether the words around a span are in capitals too (a shouted line), so that capitals name nothing."""
    around = text[max(0, start - _CAPITALS_WINDOW) : start] + " " + text[end : end + _CAPITALS_WINDOW]
    neighbours = _WORDS.findall(around)
    return len(neighbours) > 2 and sum(word.isupper() for word in neighbours) > 0.7 * len(neighbours)


def normalize(kind: AnchorType, shape: str) -> str:
    """The form under which spellings of the same thing meet."""
    match kind:
        case AnchorType.VERSION:
            return shape.lstrip("vV").lower() if "." in shape else shape.lower()
        case AnchorType.RFC:
            return "RFC " + shape[3:].lstrip(" -")
        case AnchorType.DESIGNATION:
            return shape.upper()
        case AnchorType.HASH | AnchorType.UUID | AnchorType.IP | AnchorType.EMAIL:
            return shape.lower()
        case AnchorType.ACRONYM:
            return shape.removesuffix("s")
        case AnchorType.ERROR_CODE if shape.startswith("HTTP"):
            return "HTTP " + shape[-3:]
        case _:
            return shape
