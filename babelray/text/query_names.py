"""Names in a query that no shape gives away: quoted phrases, command lines, products among words of another script."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from babelray.text.anchors import Anchor, AnchorType
from babelray.text.query_words import Word
from babelray.text.scripts import COMMON, UNSPACED, count_scripts
from babelray.text.tables import read_rows, read_words

_QUOTES = {'"': '"', "“": "”", "„": "“”", "«": "»", "「": "」", "『": "』", "`": "`", "《": "》", "＂": "＂"}
_OPENING = re.compile("[" + "".join(_QUOTES) + "]")
_TITLE = "《"
_MAX_QUOTED = 200
_MAX_COMMAND_WORDS = 6
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_OTHER_SCRIPT_SHARE = 0.2
_CHARACTER_WEIGHT = 2.5
# German writes every noun with a capital, so a capital there says nothing of a name.
_CAPITAL_NOUNS = "de"
_SENTENCE_END = frozenset('.?!:;¿¡。？！：；"“„«`(')
_LATIN_WORD = re.compile(r"[A-Z][A-Za-z\u00c0-\u024f]+")


class Name(NamedTuple):
    """A span with its constraint type; `sure` where every rewriting must keep it as written."""

    kind: str
    start: int
    end: int
    sure: bool


@cache
def _closing(signs: str) -> re.Pattern[str]:
    return re.compile(f"[{signs}\n]")


def find_quoted(text: str) -> Iterator[Name]:
    """The insides of quotation marks, on one line and at most 200 characters; titles in 《》 may be translated."""
    position = 0
    while (opening := _OPENING.search(text, position)) is not None:
        position = opening.start()
        end = _closing(_QUOTES[text[position]]).search(text, position + 1, position + _MAX_QUOTED + 2)
        if end is not None and end.group() != "\n" and text[position + 1 : end.start()].strip():
            yield Name("quoted", position + 1, end.start(), text[position] != _TITLE)
            position = end.start()
        position += 1


@lru_cache(maxsize=1)
def _programs() -> Mapping[str, frozenset[str]]:
    """Program -> words that may follow it."""
    return {program: frozenset(words.split()) for program, words in read_rows("commands.tsv", 2)}


@lru_cache(maxsize=1)
def _longest_first() -> tuple[str, ...]:
    return tuple(sorted(_programs(), key=lambda name: (-len(name), name)))


@lru_cache(maxsize=1)
def _program_pattern() -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in _longest_first())
    return re.compile(rf"(?<![A-Za-z0-9_./-])(?:{names})(?=[ \t])")


_ARGUMENT = re.compile(r"[ \t]{1,3}(--?[A-Za-z][A-Za-z0-9-]*(?:=[^\s\"']{1,60})?|[a-z][a-z0-9-]*)(?![\w./])", re.ASCII)


def find_commands(text: str, anchors: Sequence[Anchor]) -> Iterator[Name]:
    """`kubectl rollout undo`, `docker run --rm`, `GET /v1/users`: a known program with its subcommands and flags."""
    for match in _program_pattern().finditer(text):
        follow, end, words = _programs()[match.group()], match.end(), 0
        while words < _MAX_COMMAND_WORDS:
            argument = _ARGUMENT.match(text, end)
            if argument is None or not (argument[1][0] == "-" or argument[1] in follow):
                break
            end, words = argument.end(), words + 1
        if words:
            yield Name("command", match.start(), end, sure=True)
    for anchor in anchors:
        if anchor.type in {AnchorType.ROUTE, AnchorType.PATH}:
            method = re.search(r"[A-Z]{3,7}[ \t]{1,3}\Z", text[max(0, anchor.start - 10) : anchor.start])
            if method is not None and method.group().strip() in _METHODS:
                yield Name("command", anchor.start - len(method.group()), anchor.end, sure=True)


@lru_cache(maxsize=1)
def _products() -> frozenset[str]:
    return frozenset(read_words("products.txt"))


def find_entities(text: str, words: Sequence[Word], languages: Sequence[str], constraints: set[int]) -> Iterator[Name]:
    """Capitalized Latin names.

    Among words of another script each is kept by any translation. Among Latin words only a known product is; other
    names may have a form of their own in every language (Warsaw, Warschau, Varsovia).

    Args:
        text: The query.
        words: Its words.
        languages: That it is read in.
        constraints: Positions of words that say something else (NOT, `May`).
    """
    foreign = _among_other_scripts(text)
    position = 0
    while position < len(words):
        last = position
        while last < len(words) and last not in constraints and _is_name(words[last]):
            if last > position and words[last].start - words[last - 1].end > 1:
                break
            last += 1
        if last == position:
            position += 1
            continue
        start, end = words[position].start, words[last - 1].end
        if last < len(words) and words[last].kind == "number" and words[last].start == end:
            end = words[last].end  # Internet2
        if foreign:
            yield Name("entity", start, end, sure=True)
        else:
            yield from _latin_names(words[position:last], words[position - 1] if position else None, languages)
        position = last


def _latin_names(run: Sequence[Word], before: Word | None, languages: Sequence[str]) -> Iterator[Name]:
    for word in run:
        if word.text in _products():
            yield Name("entity", word.start, word.end, sure=True)
    begins_sentence = before is None or before.text in _SENTENCE_END
    named = run[1:] if begins_sentence else run
    if named and (not languages or languages[0] != _CAPITAL_NOUNS) and not all(w.text in _products() for w in named):
        yield Name("entity", named[0].start, named[-1].end, sure=False)


def _is_name(word: Word) -> bool:
    return word.kind == "word" and len(word.raw) > 1 and _LATIN_WORD.fullmatch(word.raw) is not None


def _among_other_scripts(text: str) -> bool:
    counts = count_scripts(text)
    # A character of an unspaced script says as much as two or three letters.
    other = sum(
        number * (_CHARACTER_WEIGHT if script in UNSPACED else 1)
        for script, number in counts.items()
        if script not in {"Latn", COMMON}
    )
    return other > _OTHER_SCRIPT_SHARE * counts.get("Latn", 0)
