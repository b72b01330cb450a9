"""Spans of ICU MessageFormat syntax: nested plural and select arguments, so that only their branches are translated.

ICU's own parser (`icu4py.messageformat`) says whether a pattern is valid but gives no spans; this one gives spans.
"""

import re
from dataclasses import dataclass, field

_HEAD = re.compile(
    r"\{\s*(?P<name>[\w.-]+)\s*,\s*(?P<type>plural|selectordinal|select)\s*,\s*(?:offset\s*:\s*\d+\s*)?", re.UNICODE
)
_SELECTOR = re.compile(r"\s*(?P<key>=\d+|[\w-]+)\s*\{")
_SIMPLE = re.compile(
    r"\{\s*(?P<name>[\w.-]+)\s*(?:,\s*(?:number|date|time|spellout|ordinal|duration|list)\s*(?:,[^{}]*)?)?\}"
)
MAX_DEPTH = 40
"""Arguments inside one another; no message for people has more than a few."""
PLURAL_KEYS = frozenset({"zero", "one", "two", "few", "many", "other"})


@dataclass(frozen=True, slots=True)
class IcuArgument:
    """A plural or select argument: its name, its type and the keys of its branches in order."""

    name: str
    type: str
    keys: tuple[str, ...]


@dataclass(slots=True)
class IcuMessage:
    """What a pattern holds.

    Attributes:
        syntax: Spans that must not be translated, in order: argument heads, branch keys, closing braces, `#`,
            simple arguments.
        arguments: The branching arguments, outer before inner.
        names: Names of simple arguments, and `#`, as often as they occur.
    """

    syntax: list[tuple[int, int]] = field(default_factory=list)
    arguments: list[IcuArgument] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


def looks_branching(text: str) -> bool:
    """Whether a text has the head of a plural or select argument."""
    return "," in text and _HEAD.search(text) is not None


def parse_icu(text: str) -> IcuMessage | None:
    """Read a pattern; `None` if it is not well formed as ICU MessageFormat, or deeper than anybody writes one."""
    message = IcuMessage()
    end = _message(text, 0, message, numbered=False, depth=0)
    return message if end == len(text) else None


def _message(text: str, at: int, into: IcuMessage, *, numbered: bool, depth: int) -> int | None:
    """Read literal text and arguments up to the end or the brace that closes a branch; the offset there, or None."""
    while at < len(text):
        char = text[at]
        if char == "'":
            at = _after_quote(text, at, numbered)
        elif char == "#" and numbered:
            into.syntax.append((at, at + 1))
            into.names.append("#")
            at += 1
        elif char == "{":
            after = _argument(text, at, into, numbered, depth)
            if after is None:
                return None
            at = after
        elif char == "}":
            return at if depth else None
        else:
            at += 1
    return None if depth else at


def _after_quote(text: str, at: int, numbered: bool) -> int:
    """Step over an apostrophe: `''` is one apostrophe, `'{...'` quotes syntax, any other is itself."""
    following = text[at + 1 : at + 2]
    if following == "'":
        return at + 2
    if following and following in ("{}#" if numbered else "{}"):
        close = text.find("'", at + 1)
        return len(text) if close < 0 else close + 1
    return at + 1


def _argument(text: str, at: int, into: IcuMessage, numbered: bool, depth: int) -> int | None:
    simple = _SIMPLE.match(text, at)
    if simple:
        into.syntax.append(simple.span())
        into.names.append(simple["name"])
        return simple.end()
    head = _HEAD.match(text, at)
    if not head or depth >= MAX_DEPTH:
        return None
    place = len(into.arguments)
    keys: list[str] = []
    opened = at
    position = head.end()
    while selector := _SELECTOR.match(text, position):
        keys.append(selector["key"])
        into.syntax.append((opened, selector.end()))
        inner = head["type"] != "select" or numbered
        end = _message(text, selector.end(), into, numbered=inner, depth=depth + 1)
        if end is None:
            return None
        opened, position = end, end + 1
    close = re.compile(r"\s*\}").match(text, position)
    if not keys or not close:
        return None
    into.syntax.append((opened, close.end()))
    into.arguments.insert(place, IcuArgument(head["name"], head["type"], tuple(keys)))
    return close.end()


def icu_damage(source: IcuMessage, output: str) -> list[str]:
    """What is wrong with a translated pattern, in words; empty if it can be formatted with the same arguments.

    A language may have more or fewer plural branches, so their number may differ; select keys may not.
    """
    message = parse_icu(output)
    if message is None:
        return ["the output is not a well-formed ICU message"]
    wanted = sorted((a.name, a.type) for a in source.arguments)
    got = sorted((a.name, a.type) for a in message.arguments)
    # Translators may repeat an inner argument in each plural branch of their language, so sets are compared.
    problems = [] if set(wanted) == set(got) else [f"branching arguments {got} instead of {wanted}"]
    select_keys = {(a.name, frozenset(a.keys)) for a in source.arguments if a.type == "select"}
    for argument in message.arguments:
        if "other" not in argument.keys:
            problems.append(f"`{argument.name}` has no branch `other`")
        if argument.type == "select":
            if (argument.name, frozenset(argument.keys)) not in select_keys:
                problems.append(f"select `{argument.name}` has other keys: {', '.join(argument.keys)}")
        elif wrong := [k for k in argument.keys if k not in PLURAL_KEYS and not k.startswith("=")]:
            problems.append(f"plural `{argument.name}` has unknown keys: {', '.join(wrong)}")
    if set(message.names) != set(source.names):
        problems.append(f"arguments {sorted(set(message.names))} instead of {sorted(set(source.names))}")
    return problems
