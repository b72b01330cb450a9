"""Checks that a rewriting of a query still says the same: names, numbers, dates, comparisons, negation, obligation.

Deterministic, and by the rewriting alone: that the original keeps an anchor says nothing of a translation that lost it.
Names must be there letter by letter, and end where they end (`v2.1` is not in `v2.10`). Constraints are compared by
their normalized forms. What must be kept is demanded of the other side; what need not be kept only explains what stands
there. So a translation may turn `fails` into 不能, but not `supports` into 不支持.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from babelray.retrieval.drift_judge import (
    CalibrationCase,
    DriftVerdict,
    FieldAccuracy,
    SemanticDriftJudge,
    calibrate_judge,
    read_calibration,
)
from babelray.retrieval.drift_names import added_names, lost_names
from babelray.retrieval.plan import DriftProblem
from babelray.retrieval.query import AnchorRecord, QueryAnalysis
from babelray.text import language_evidence as evidence
from babelray.text.folding import language_of
from babelray.text.language import NO_LANGUAGE, UNDETERMINED, LanguagePolicy
from babelray.text.query_anchors import ConstraintType, QueryAnchor, find_query_anchors
from babelray.text.query_numbers import readings
from babelray.text.scripts import COMMON, count_scripts

__all__ = [
    "CalibrationCase",
    "DriftVerdict",
    "FieldAccuracy",
    "SemanticDriftJudge",
    "calibrate_judge",
    "check_drift",
    "check_placeholders",
    "read_calibration",
]

Found = AnchorRecord | QueryAnchor

_NUMERIC = {ConstraintType.NUMBER, ConstraintType.QUANTITY, ConstraintType.PERCENTAGE}
_YEAR_DIGITS = 4
_FOREIGN_SHARE = 0.5
# One Han character says as much as two or three Latin letters.
_LETTER_WEIGHTS = {"Hani": 2.5, "Hira": 1.5, "Kana": 1.5, "Hang": 2.0}


def check_drift(
    analysis: QueryAnalysis, text: str, language: str, *, check_language: LanguagePolicy | None, translated: bool
) -> tuple[DriftProblem, ...]:
    """Everything in which a rewriting says something else than the query; empty for a faithful one.

    Args:
        analysis: Of the query.
        text: The rewriting.
        language: BCP 47 tag that it is in, or should be.
        check_language: Tells its language; without one, languages are not checked.
        translated: Whether it is a translation. A rewriting in the same language must also keep every name and
            quotation as written, and as many negations; it is read with the query's own word tables, or it would drift
            from itself.
    """
    if not text.strip():
        return (DriftProblem(kind="empty", expected=analysis.text[:80]),)
    query = analysis.anchors
    variant = find_query_anchors(text, _read_with(analysis, language) if translated else analysis.languages)
    problems = [*lost_names(query, text, variant, translated=translated), *added_names(analysis.text, query, variant)]
    problems += _numbers(query, variant)
    problems += _dates(query, variant)
    problems += _comparisons(query, variant)
    problems += _negation(query, variant, translated=translated)
    problems += _modality(query, variant)
    problems += _order(query, variant)
    problems += _scope(query, variant)
    if translated:
        problems += _language(analysis, text, language, check_language)
    return tuple(dict.fromkeys(problems))


def check_placeholders(sent: Sequence[str], got: str) -> tuple[DriftProblem, ...]:
    """Whether each placeholder came back once, in the order in which it was sent.

    Args:
        sent: Placeholders in their order in the text that was sent; one may stand there several times.
        got: The text that came back, placeholders not yet replaced.
    """
    problems = []
    for placeholder in dict.fromkeys(sent):
        expected, count = sent.count(placeholder), got.count(placeholder)
        if count != expected:
            problems.append(
                DriftProblem(
                    kind="placeholder_damage", expected=f"{expected} {placeholder}", got=f"{count} {placeholder}"
                )
            )
    if not problems:
        position = 0
        for placeholder in sent:
            place = got.find(placeholder, position)
            if place < 0:
                problems.append(DriftProblem(kind="placeholder_damage", expected="order", got=placeholder))
                break
            position = place + len(placeholder)
    return tuple(problems)


def _read_with(analysis: QueryAnalysis, language: str) -> tuple[str, ...]:
    """Languages of a translation's words: its own, and those of the query in another script, left as they were."""
    if language == UNDETERMINED:
        return ()
    scripts = _scripts(language)
    return (language, *(tag for tag in analysis.languages if not _scripts(tag) & scripts))


def _scripts(tag: str) -> frozenset[str]:
    row = evidence.languages().get(language_of(tag))
    return row.scripts if row is not None else frozenset()


def _of(anchors: Sequence[Found], *kinds: str) -> list[Found]:
    return [one for one in anchors if one.type in kinds]


@dataclass(frozen=True, slots=True)
class _Sides:
    """Normalized values of one type: all that were found, and those that must be kept."""

    query: frozenset[str]
    query_sure: frozenset[str]
    variant: frozenset[str]
    variant_sure: frozenset[str]

    @property
    def lost(self) -> list[str]:
        """What the query demands and the variant does not even hint at."""
        return sorted(self.query_sure - self.variant)

    @property
    def added(self) -> list[str]:
        """What the variant demands and the query does not even hint at."""
        return sorted(self.variant_sure - self.query)


def _sides(query: Sequence[Found], variant: Sequence[Found], kind: str) -> _Sides:
    old, new = _of(query, kind), _of(variant, kind)
    return _Sides(
        frozenset(one.normalized for one in old),
        frozenset(one.normalized for one in old if one.must_preserve),
        frozenset(one.normalized for one in new),
        frozenset(one.normalized for one in new if one.must_preserve),
    )


def _numbers(query: Sequence[Found], variant: Sequence[Found]) -> Iterator[DriftProblem]:
    """Each number with its unit must be on the other side, in both directions."""
    for expected in _unmatched(query, variant):
        yield DriftProblem(kind="numeric_drift", expected=expected, got=_listed(variant))
    for got in _unmatched(variant, query):
        yield DriftProblem(kind="numeric_drift", expected=_listed(query), got=got)


def _listed(anchors: Sequence[Found]) -> str:
    return ", ".join(dict.fromkeys(one.normalized for one in _of(anchors, *_NUMERIC) if one.must_preserve))


def _unmatched(demanding: Sequence[Found], giving: Sequence[Found]) -> list[str]:
    """Numbers of one side that the other does not have."""
    given: dict[str, set[str]] = {}
    for one in _of(giving, *_NUMERIC):
        value, _, unit = one.normalized.partition(" ")
        for reading in {value, *readings(one.value)}:
            given.setdefault(reading, set()).add(unit)
    for value in _date_numbers(giving):
        given.setdefault(value, set()).add("")
    missing = []
    for one in _of(demanding, *_NUMERIC):
        if not one.must_preserve:
            continue
        value, _, unit = one.normalized.partition(" ")
        units = set().union(*(given.get(reading, set()) for reading in {value, *readings(one.value)}))
        # Beside a number the unit may be written as a word that no table knows; another known unit is drift.
        if not (units and (not unit or unit in units or "" in units)):
            missing.append(one.normalized)
    return missing


def _date_numbers(anchors: Sequence[Found]) -> set[str]:
    """Numbers that dates hold: a year may be written `1981` or 1981年."""
    found: set[str] = set()
    for one in _of(anchors, ConstraintType.DATE):
        parts = one.normalized.removeprefix("--").removesuffix("s").partition("T")[0].split("-")
        found.update(part.lstrip("0") for part in parts if part.isdigit())
        if one.normalized.startswith("last "):
            found.add(one.normalized.split(" ")[1])
    return found


def _dates(query: Sequence[Found], variant: Sequence[Found]) -> Iterator[DriftProblem]:
    """The same dates on both sides; a year alone may be a number on the other."""
    sides = _sides(query, variant, ConstraintType.DATE)
    for expected in sides.lost:
        if not _is_year_of(expected, variant):
            yield DriftProblem(kind="temporal_drift", expected=expected, got=", ".join(sorted(sides.variant)))
    for got in sides.added:
        if not _is_year_of(got, query):
            yield DriftProblem(kind="temporal_drift", expected=", ".join(sorted(sides.query)), got=got)


def _is_year_of(date: str, anchors: Sequence[Found]) -> bool:
    """Whether the other side has a year or decade in another form: `1981` for 1981年, `70s` for `1970s`."""
    year = date.removesuffix("s")
    if not year.isdigit():
        return False
    others = {one.normalized.split(" ")[0].removesuffix("s") for one in _of(anchors, *_NUMERIC, ConstraintType.DATE)}
    if date.endswith("s"):
        return any(other[-2:] == year[-2:] for other in others if other.isdigit())
    return len(year) == _YEAR_DIGITS and year in others


def _comparisons(query: Sequence[Found], variant: Sequence[Found]) -> Iterator[DriftProblem]:
    sides = _sides(query, variant, ConstraintType.COMPARATOR)
    for expected in sides.lost:
        yield DriftProblem(kind="comparator_drift", expected=expected, got=", ".join(sorted(sides.variant)))
    for got in sides.added:
        yield DriftProblem(kind="comparator_drift", expected=", ".join(sorted(sides.query)), got=got)


def _negation(query: Sequence[Found], variant: Sequence[Found], *, translated: bool) -> Iterator[DriftProblem]:
    """A negation may only come or go where a word that holds one inside goes or comes (`fails`: does not work)."""
    kind = ConstraintType.NEGATION
    said, says = (sum(one.must_preserve for one in _of(side, kind)) for side in (query, variant))
    if not translated and said != says:
        yield DriftProblem(kind="negation_flip", expected=f"{said} negations", got=f"{says} negations")
        return
    if bool(said) == bool(says):
        return
    with_not, without = (query, variant) if said else (variant, query)
    hidden = {one.normalized for one in _of(without, kind) if not one.must_preserve}
    beside = {one.normalized for one in _of(with_not, kind) if not one.must_preserve}
    if not hidden - beside:
        yield DriftProblem(kind="negation_flip", expected="not" if said else "", got="not" if says else "")


def _modality(query: Sequence[Found], variant: Sequence[Found]) -> Iterator[DriftProblem]:
    """Obligation may neither weaken nor appear; advice and permission may be left out, but not become another."""
    sides = _sides(query, variant, ConstraintType.MODALITY)
    got = ", ".join(sorted(sides.variant))
    if "must" in sides.lost:
        yield DriftProblem(kind="modality_drift", expected="must", got=got)
    elif "must" in sides.added:
        yield DriftProblem(kind="modality_drift", expected=", ".join(sorted(sides.query)), got="must")
    else:
        for level in ("should", "may"):
            if level in sides.lost and sides.variant_sure - sides.query:
                yield DriftProblem(kind="modality_drift", expected=level, got=got)


def _order(query: Sequence[Found], variant: Sequence[Found]) -> Iterator[DriftProblem]:
    sides = _sides(query, variant, ConstraintType.ORDER)
    for expected in sides.lost:
        yield DriftProblem(kind="temporal_drift", expected=expected, got=", ".join(sorted(sides.variant)))
    for got in sides.added:
        yield DriftProblem(kind="temporal_drift", expected=", ".join(sorted(sides.query)), got=got)


def _scope(query: Sequence[Found], variant: Sequence[Found]) -> Iterator[DriftProblem]:
    sides = _sides(query, variant, ConstraintType.SCOPE)
    for expected in sides.lost:
        yield DriftProblem(kind="scope_drift", expected=expected)
    for got in sides.added:
        yield DriftProblem(kind="scope_drift", got=got)


def _language(
    analysis: QueryAnalysis, text: str, language: str, policy: LanguagePolicy | None
) -> Iterator[DriftProblem]:
    """A translation that came back as it was, in the language it came from, or in a script its language lacks."""
    target, source = language_of(language), language_of(analysis.language)
    if target == source or target in {UNDETERMINED, NO_LANGUAGE}:
        return
    natural = evidence.natural_text(text)
    if not any(char.isalpha() for char in natural):
        return
    if " ".join(text.split()) == " ".join(analysis.text.split()):
        if _has_prose(analysis):
            yield DriftProblem(kind="language", expected=language, got="unchanged")
        return
    weights = _script_weights(natural, analysis.text)
    written = _scripts(target) or frozenset(weights)
    inside = sum(weight for script, weight in weights.items() if script in written)
    if inside < _FOREIGN_SHARE * sum(weights.values()) and _has_prose(analysis):
        yield DriftProblem(kind="language", expected=language, got=max(weights, key=lambda one: (weights[one], one)))
        return
    if policy is None:
        return
    verdict = policy.judge_query(text)
    found = language_of(verdict.language)
    if not verdict.low_confidence and found == source and found != target:
        yield DriftProblem(kind="language", expected=language, got=verdict.language)


def _script_weights(text: str, source: str) -> dict[str, float]:
    """How much of a text is in each script, words that it took over from its source left out."""
    taken = set(evidence.words_of(source))
    words = "".join(f" {word}" for word in evidence.words_of(text) if word not in taken)
    return {
        script: number * _LETTER_WEIGHTS.get(script, 1.0)
        for script, number in count_scripts(words).items()
        if script != COMMON
    }


def _has_prose(analysis: QueryAnalysis) -> bool:
    """Whether the query has words besides what a translation keeps as it is."""
    rest = list(analysis.text)
    for one in analysis.anchors:
        if one.must_preserve:
            rest[one.start : one.end] = " " * (one.end - one.start)
    return any(char.isalpha() for char in "".join(rest))
