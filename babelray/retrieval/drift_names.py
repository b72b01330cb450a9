"""Whether a rewriting keeps the names of a query as written, and brings none of its own."""

import unicodedata
from collections.abc import Iterator, Sequence

from babelray.retrieval.plan import DriftProblem
from babelray.retrieval.query import AnchorRecord
from babelray.text.anchors import AnchorType
from babelray.text.query_anchors import ConstraintType, QueryAnchor
from babelray.text.scripts import UNSPACED, script_of

_KEPT_TYPES = frozenset(AnchorType) - {AnchorType.DATE} | {
    ConstraintType.COMMAND,
    ConstraintType.QUOTED,
    ConstraintType.ENTITY,
}
# Names that prose inflects and compounds (`Kubernetes-Cluster`, `APIs`); identifiers end at every sign.
_WORDLIKE = frozenset({AnchorType.ACRONYM, AnchorType.NAME, ConstraintType.ENTITY, ConstraintType.QUOTED})
_PLURAL = frozenset({AnchorType.CAMEL, AnchorType.ACRONYM, AnchorType.NAME})
# Types that a translation does not make up by itself: one that the query lacks narrows the search to something else.
_NEVER_ADDED = frozenset(
    {
        AnchorType.URL, AnchorType.EMAIL, AnchorType.UUID, AnchorType.IP, AnchorType.HASH, AnchorType.PATH,
        AnchorType.ROUTE, AnchorType.FLAG, AnchorType.ERROR_CODE, AnchorType.TICKET, AnchorType.RFC,
        AnchorType.VERSION, AnchorType.SNAKE, AnchorType.CODE, ConstraintType.COMMAND,
    }
)  # fmt: skip


def lost_names(
    query: Sequence[AnchorRecord], text: str, variant: Sequence[QueryAnchor], *, translated: bool
) -> Iterator[DriftProblem]:
    """Names of the query that the rewriting does not have as written, or in an equal spelling (RFC2119, `RFC 2119`).

    Args:
        query: Anchors of the query.
        text: The rewriting.
        variant: Its anchors.
        translated: Without, names that may have a form of their own in each language must be kept too.
    """
    plain = unicodedata.normalize("NFKC", text)
    spelled = {(one.type, one.normalized) for one in variant}
    meanings = {one.normalized for one in variant if one.type in {AnchorType.ACRONYM, ConstraintType.ENTITY}}
    for one in query:
        if one.type not in _KEPT_TYPES:
            continue
        named = one.type in {ConstraintType.ENTITY, ConstraintType.QUOTED}
        if not (one.must_preserve or (named and not translated)):
            continue
        if (one.type, one.normalized) in spelled or holds(plain, one.value, one.type):
            continue
        if _has_name(plain, one):
            continue
        if one.type == AnchorType.ACRONYM and one.normalized in meanings:
            continue
        kind = "entity_drift" if one.type == ConstraintType.ENTITY else "anchor_loss"
        yield DriftProblem(kind=kind, expected=one.normalized)


def _has_name(text: str, name: AnchorRecord) -> bool:
    """Whether a name that prose inflects is there with its plural or, for a product, in small letters.

    A name of several words is there when all of them are: Han text sets side by side what is apart elsewhere.
    """
    if name.type == ConstraintType.ENTITY:
        folded = text.casefold()
        return all(
            holds(folded, word, name.type) or holds(folded, f"{word}s", name.type)
            for word in name.value.casefold().split()
        )
    return name.type in _PLURAL and holds(text, f"{name.value}s", name.type)


def added_names(source: str, query: Sequence[AnchorRecord], variant: Sequence[QueryAnchor]) -> Iterator[DriftProblem]:
    """Identifiers of the rewriting that the query does not have."""
    known = {one.normalized for one in query}
    plain = unicodedata.normalize("NFKC", source)
    for one in variant:
        if one.type in _NEVER_ADDED and one.normalized not in known and not holds(plain, one.value, one.type):
            yield DriftProblem(kind="entity_drift", got=one.normalized)


def holds(text: str, value: str, kind: str) -> bool:
    """Whether a text has a value with its borders, case-sensitively.

    Args:
        text: NFKC text.
        value: As written in the other text.
        kind: Anchor or constraint type; decides what may touch the value.
    """
    value = unicodedata.normalize("NFKC", value)
    wordlike = kind in _WORDLIKE
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        if _ends(text, end, wordlike=wordlike) and _begins(text, start, wordlike=wordlike):
            return True
        start = text.find(value, start + 1)
    return False


def _begins(text: str, start: int, *, wordlike: bool) -> bool:
    if start == 0 or not text[start].isalnum():
        return True
    before = text[start - 1]
    if _in_word(before):
        return False
    joined = before in ("\\@" if wordlike else ".-/\\@+") and start > 1
    return not (joined and _in_word(text[start - 2]))


def _ends(text: str, end: int, *, wordlike: bool) -> bool:
    if end == len(text):
        return True
    after, rest = text[end], text[end + 1 : end + 3]
    if _in_word(after):
        return False
    if wordlike:
        return not (after in "\\@" and _in_word(rest[:1]))
    if after == "-" and rest[:1].isupper() and rest[1:].islower():
        return True  # a compound of prose: `ERR_1205-Fehler`
    return not (after in ".-/\\@:+" and _in_word(rest[:1]))


def _in_word(char: str) -> bool:
    """Whether a character goes on with the word that it touches; those of unspaced scripts do not."""
    return bool(char) and (char == "_" or (char.isalnum() and script_of(char) not in UNSPACED))
