"""Looks at a query alone: languages, names and constraints, type, period, sides of a comparison, what is suspicious.

Deterministic: the same text, policy and now give the same analysis.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from babelray.errors import InputError
from babelray.retrieval.freshness import find_freshness
from babelray.retrieval.query import AnchorRecord, Freshness, LanguageShare, QueryAnalysis, QueryType, Suspicion
from babelray.retrieval.question_shape import QuestionShape
from babelray.text import language_evidence as evidence
from babelray.text.anchors import AnchorType
from babelray.text.folding import language_of
from babelray.text.language import NO_LANGUAGE, UNDETERMINED, LanguagePolicy, LanguageVerdict
from babelray.text.query_anchors import ConstraintType, find_query_anchors
from babelray.text.suspicion import find_suspicions, normalize_visible

_SURROGATE = re.compile("[\ud800-\udfff]")
_LIKELY = 0.15
"""Languages under this probability lend no word tables."""
_EXACT_SHARE = 0.5
"""Of the letters and digits of a query, small words left out, that exact names must hold to make it a lookup."""
# What someone types to find just this; a name or a number also stands in ordinary questions.
_EXACT_TYPES = frozenset(AnchorType) - {AnchorType.ACRONYM, AnchorType.DATE} | {
    ConstraintType.COMMAND,
    ConstraintType.QUOTED,
}
_SHOWN = 80


def analyze_query(
    text: str, policy: LanguagePolicy, *, domain: str = "", max_characters: int, now: datetime
) -> QueryAnalysis:
    """All that is known of a query without an index.

    Args:
        text: As typed. Lone surrogates are no characters: each is read, and kept, as U+FFFD.
        policy: Judges the language.
        domain: Of the caller or the knowledge base, handed on.
        max_characters: Longest query that is accepted.
        now: Relative periods are counted from it; one without a zone is taken as UTC.

    Raises:
        InputError: The query has nothing that can be seen, or is too long.
    """
    text = _SURROGATE.sub("\ufffd", text)
    _check(text, max_characters)
    normalized = normalize_visible(text)
    verdict = policy.judge_query(text)
    languages = _languages(verdict)
    anchors = tuple(
        AnchorRecord(
            type=one.type,
            start=one.start,
            end=one.end,
            value=one.value,
            normalized=one.normalized,
            must_preserve=one.must_preserve,
        )
        for one in find_query_anchors(text, languages)
    )
    shape = QuestionShape(text, languages, _exact_spans(anchors))
    groups = shape.sides()
    freshness = find_freshness(text, languages, anchors, now if now.tzinfo else now.replace(tzinfo=UTC))
    return QueryAnalysis(
        text=text,
        normalized=normalized,
        language=verdict.language,
        candidates=tuple(
            LanguageShare(language=one.language, probability=one.probability) for one in verdict.candidates
        ),
        languages=languages,
        scripts=verdict.scripts,
        low_confidence=verdict.low_confidence,
        code_switching=verdict.code_switching,
        types=_types(text, verdict, anchors, groups, freshness, hops=shape.hops()),
        anchors=anchors,
        freshness=freshness,
        groups=groups,
        suspicions=tuple(
            Suspicion(kind=one.kind, start=one.start, end=one.end, detail=one.detail) for one in find_suspicions(text)
        ),
        domain=domain,
        policy_version=policy.version,
    )


def with_evidence_languages(analysis: QueryAnalysis, languages: Sequence[str]) -> QueryAnalysis:
    """The analysis with what the languages of an index make of the query: same language, cross language, or both.

    Args:
        analysis: Of the query.
        languages: BCP 47 tags of the index's documents; writings of one language count as one.
    """
    spoken = {language_of(one) for one in languages} - {NO_LANGUAGE, UNDETERMINED}
    asked = language_of(analysis.language)
    added = []
    if asked in spoken:
        added.append(QueryType.SAME_LANGUAGE)
    if spoken - {asked}:
        added.append(QueryType.CROSS_LANGUAGE)
    rest = [one for one in analysis.types if one not in {QueryType.SAME_LANGUAGE, QueryType.CROSS_LANGUAGE}]
    return analysis.model_copy(update={"types": (*added, *rest)})


def _check(text: str, max_characters: int) -> None:
    if len(text) > max_characters:
        raise InputError(
            "the query is too long",
            where="query",
            got=f"{len(text)} characters",
            allowed=f"at most {max_characters}",
            fix="shorten it, or raise retrieval.max_query_characters",
        )
    if not normalize_visible(text).strip():
        raise InputError(
            "the query is empty",
            where="query",
            got=ascii(text[:_SHOWN]),
            allowed="text with at least one character that can be seen",
            fix="type what you are looking for",
        )


def _languages(verdict: LanguageVerdict) -> tuple[str, ...]:
    """Languages whose words are looked for; none where nothing is known, so that the scripts decide.

    Of languages in one script only the first counts where it is relied on: `no` says `in the` in Portuguese.
    """
    likely = [one.language for one in verdict.candidates if one.probability >= _LIKELY]
    found: list[str] = []
    for tag in dict.fromkeys([verdict.language, *likely]):
        if tag in {UNDETERMINED, NO_LANGUAGE}:
            continue
        rivals = any(_scripts(tag) & _scripts(other) for other in found)
        if verdict.low_confidence or not rivals:
            found.append(tag)
    return tuple(found)


def _scripts(tag: str) -> frozenset[str]:
    row = evidence.languages().get(language_of(tag))
    return row.scripts if row is not None else frozenset()


def _exact_spans(anchors: Sequence[AnchorRecord]) -> list[tuple[int, int]]:
    """Spans of exact names, disjoint and sorted; of those inside each other the longest."""
    spans: list[tuple[int, int]] = []
    for one in anchors:
        if one.must_preserve and one.type in _EXACT_TYPES and (not spans or one.start >= spans[-1][1]):
            spans.append((one.start, one.end))
    return spans


def _types(
    text: str,
    verdict: LanguageVerdict,
    anchors: Sequence[AnchorRecord],
    groups: Sequence[str],
    freshness: Freshness | None,
    *,
    hops: bool,
) -> tuple[QueryType, ...]:
    named = (
        (QueryType.CODE_SWITCH, verdict.code_switching),
        (QueryType.EXACT_IDENTIFIER, not groups and _exact_share(text, anchors) >= _EXACT_SHARE),
        (QueryType.COMPARISON, bool(groups)),
        (QueryType.TIME_SENSITIVE, freshness is not None),
        (QueryType.MULTI_HOP, hops),
    )
    return tuple(kind for kind, holds in named if holds)


def _exact_share(text: str, anchors: Sequence[AnchorRecord]) -> float:
    """Share of exact names in the letters and digits of a query, words that hold its sentence together left out."""
    exact, rest, position = 0, [], 0
    for start, end in _exact_spans(anchors):
        exact += sum(char.isalnum() for char in text[start:end])
        rest.append(text[position:start])
        position = end
    words = evidence.words_of(" ".join([*rest, text[position:]]))
    others = sum(len(word) for word in words if not evidence.known_words([word]))
    return exact / (exact + others) if exact else 0.0
