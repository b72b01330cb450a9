"""What a translator must not touch: placeholders, tags, entities, code, links; found with spans, checked after."""

import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from babelray.glossary.icu_message import icu_damage, looks_branching, parse_icu


class ProtectedKind(StrEnum):
    """What a protected span is."""

    ICU = "icu"
    CODE = "code"
    TAG = "tag"
    ENTITY = "entity"
    NESTING = "nesting"
    PLACEHOLDER = "placeholder"
    PRINTF = "printf"
    LINK = "link"
    URL = "url"


@dataclass(frozen=True, slots=True)
class Protected:
    """A span of a string that must survive translation."""

    kind: ProtectedKind
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Damage:
    """Something protected that did not survive.

    Attributes:
        problem: `lost`, `added`, `reordered`, `nesting` or `icu`.
        fatal: Whether the string would break the program or the page that shows it. An entity may give way to its
            character, so its loss is reported but is not fatal.
    """

    kind: ProtectedKind
    problem: str
    detail: str
    fatal: bool = True


# Every pattern is linear: runs are possessive or bounded, and no opener is scanned past the next one.
_PATTERNS: tuple[tuple[ProtectedKind, str], ...] = (
    (ProtectedKind.CODE, r"(?<!`)`++[^`\n]++`++"),
    (ProtectedKind.TAG, r"<!--(?:[^<-]|-(?!->)|<(?!!--))*+-->"),
    (ProtectedKind.TAG, r"</?(?:[A-Za-z][\w:.-]*|\d+)(?:\s(?:[^<>\"']|\"[^\"]*\"|'[^']*')*)?/?>"),
    (ProtectedKind.ENTITY, r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"),
    (
        ProtectedKind.NESTING,
        r"\$t\((?:[^(){}]|\{\{[^{}]*\}\}|\{[^{}]*\})*\)|@(?:\.\w+)?:(?:\([\w.]+\)|[A-Za-z_][\w.]*\w)",
    ),
    # i18next and Handlebars, JavaScript templates, Ruby, then single braces: names, numbers, Python and .NET formats.
    (ProtectedKind.PLACEHOLDER, r"\{\{\{?[^{}]*\}?\}\}|[$%#]\{[^{}]*\}"),
    (ProtectedKind.PLACEHOLDER, r"\{\s*[\w.$-]*\s*(?:![rsa])?(?:[:,][^{}]*)?\}"),
    # No blank flag, and no digit before: `100% sure` and `50%discount` are text.
    (
        ProtectedKind.PRINTF,
        r"(?<![\d%])%(?:\d+\$|\([\w.]+\))?[-+#0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|ll|[hlqjztL])?[diouxXeEfFgGaAcCsSp@]"
        r"|(?<!\d)%%",
    ),
    (ProtectedKind.LINK, r"\]\((?:[^()\s]|\([^()\s]*\))+(?:\s+\"[^\"]*\")?\)"),
    (
        ProtectedKind.URL,
        r"\b(?:https?|ftp|s3|file)://[^\s<>\"'`(){}\[\]]+[^\s<>\"'`(){}\[\].,;:!?]"
        r"|\b[\w.+-]{1,64}+@[\w-]{1,63}+(?:\.[\w-]{1,63}+)++",
    ),
)
_FINDER = re.compile("|".join(f"(?P<k{i}>{pattern})" for i, (_, pattern) in enumerate(_PATTERNS)), re.DOTALL)
_TRIGGER = re.compile(r"[{}<&%`@$]|\]\(|://")
_TAG_NAME = re.compile(r"<(/?)([A-Za-z][\w:.-]*|\d+)[^>]*?(/?)>")
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)


def find_protected(text: str) -> tuple[Protected, ...]:
    """Protected spans of a string, sorted and disjoint.

    A string with a plural or select argument is read as ICU MessageFormat if it is well formed as such: its syntax is
    protected piece by piece and the text of the branches stays open to translation.
    """
    if not _TRIGGER.search(text):
        return ()
    message = parse_icu(text) if looks_branching(text) else None
    syntax = [] if message is None else message.syntax
    found = [Protected(ProtectedKind.ICU, a, b, text[a:b]) for a, b in syntax]
    for start, end in _gaps(syntax, len(text)):
        for match in _FINDER.finditer(text, start, end):
            assert match.lastgroup is not None
            kind = _PATTERNS[int(match.lastgroup[1:])][0]
            found.append(Protected(kind, match.start(), match.end(), match[0]))
    return tuple(sorted(found, key=lambda p: p.start))


def _gaps(spans: list[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    edges = [(0, 0), *spans, (length, length)]
    return [(a[1], b[0]) for a, b in pairwise(edges) if b[0] > a[1]]


def verify_protected(source: str, output: str) -> list[Damage]:
    """Compare what is protected in a string and in its translation, by count and, where it matters, by order.

    Named and numbered placeholders may move, since word order differs; printf arguments without a number may not. Tags
    must nest as they did.
    """
    before, after = find_protected(source), find_protected(output)
    if not before and not after:
        return []
    damages: list[Damage] = []
    message = parse_icu(source) if looks_branching(source) else None
    if message is not None:
        damages += [Damage(ProtectedKind.ICU, "icu", problem) for problem in icu_damage(message, output)]
        # Branches are repeated as the language needs, so what stands in them is compared as a set.
        before, after = _once(before), _once(after)
    wanted, got = _counts(before), _counts(after)
    for kind, text in (wanted - got).elements():
        damages.append(Damage(kind, "lost", text, fatal=kind is not ProtectedKind.ENTITY))
    for kind, text in (got - wanted).elements():
        damages.append(Damage(kind, "added", text, fatal=kind is not ProtectedKind.ENTITY))
    if not damages and _positional(before) != _positional(after):
        damages.append(Damage(ProtectedKind.PRINTF, "reordered", " ".join(_positional(after))))
    broken = _nesting_problem(after)
    if broken and _nesting_problem(before) is None:
        damages.append(Damage(ProtectedKind.TAG, "nesting", broken))
    return damages


def _once(spans: tuple[Protected, ...]) -> tuple[Protected, ...]:
    return tuple({(p.kind, p.text): p for p in spans if p.kind is not ProtectedKind.ICU}.values())


def _counts(spans: tuple[Protected, ...]) -> Counter[tuple[ProtectedKind, str]]:
    return Counter(
        (p.kind, re.sub(r"\s+", "", p.text) if p.kind is ProtectedKind.PLACEHOLDER else p.text) for p in spans
    )


def _positional(spans: tuple[Protected, ...]) -> list[str]:
    """Placeholders whose meaning is their place: printf without number or name, and empty braces."""
    return [
        p.text
        for p in spans
        if (p.kind is ProtectedKind.PRINTF and "$" not in p.text and "(" not in p.text and p.text != "%%")
        or p.text == "{}"
    ]


def _nesting_problem(spans: tuple[Protected, ...]) -> str | None:
    """The first tag that closes what is not open, or stays open; None if all tags nest."""
    stack: list[str] = []
    for span in spans:
        match = _TAG_NAME.fullmatch(span.text) if span.kind is ProtectedKind.TAG else None
        if match is None or match[3] or match[2].lower() in _VOID:
            continue
        if not match[1]:
            stack.append(match[2])
        elif not stack or stack.pop() != match[2]:
            return span.text
    return f"<{stack[-1]}>" if stack else None
