"""Ranking metrics by the package `ir-measures`, and what each channel of a search contributes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from babelray.errors import ConfigError, InputError

try:
    import ir_measures as _ir_measures
except ModuleNotFoundError as error:
    raise ConfigError(
        "ranking metrics need the package ir-measures, which only evaluation uses", fix="pip install 'babelray[dev]'"
    ) from error

ir_measures: Any = _ir_measures

Judgements = Mapping[str, Mapping[str, int]]
"""Case -> document -> grade; over 0 is relevant."""

Ranking = Mapping[str, Sequence[str]]
"""Case -> documents, best first, each once."""


def per_case(rankings: Ranking, judgements: Judgements, measures: Sequence[str]) -> dict[str, dict[str, float]]:
    """Each measure for each judged case; a case that was not ranked, or came back empty, has 0.

    Args:
        rankings: What was found.
        judgements: What is relevant.
        measures: Names as ir-measures writes them: `nDCG@10`, `R@50`, `RR@10`, `Success@1`.

    Raises:
        InputError: A measure is unknown, a case has no relevant document, or a ranking holds a document twice.
    """
    parsed = [_measure(name) for name in measures]
    _check(rankings, judgements)
    values = {name: dict.fromkeys(judgements, 0.0) for name in measures}
    names = {str(measure): name for measure, name in zip(parsed, measures, strict=True)}
    # Scores that fall by one a rank: no ties, so that the order is ours and not the library's.
    run = {
        case: {document: float(-rank) for rank, document in enumerate(rankings[case])}
        for case in judgements
        if rankings.get(case)
    }
    if not run:
        return values
    for result in ir_measures.iter_calc(parsed, {case: dict(grades) for case, grades in judgements.items()}, run):
        values[names[str(result.measure)]][result.query_id] = float(result.value)
    return values


def averages(rankings: Ranking, judgements: Judgements, measures: Sequence[str]) -> dict[str, float]:
    """Mean of each measure over all judged cases.

    Raises:
        InputError: As `per_case`, or there is no case at all.
    """
    if not judgements:
        raise InputError("nothing is judged, so there is nothing to average")
    values = per_case(rankings, judgements, measures)
    return {name: sum(of_case.values()) / len(judgements) for name, of_case in values.items()}


@dataclass(frozen=True, slots=True)
class ChannelGain:
    """What one channel brings.

    Attributes:
        recall: Mean share of the relevant documents among its first k.
        unique: Mean share that it finds and no other channel does: what the union would lose without it.
        only: Cases in which it alone finds anything relevant.
    """

    recall: float
    unique: float
    only: int


@dataclass(frozen=True, slots=True)
class ChannelReport:
    """Channels beside their union, over the same cases.

    Attributes:
        union: Mean share of the relevant documents among the first k of any channel.
    """

    cases: int
    union: float
    channels: dict[str, ChannelGain]


def channel_report(channels: Mapping[str, Ranking], judgements: Judgements, k: int) -> ChannelReport:
    """Recall of each channel and of all together, and the unique gain of each.

    Args:
        channels: Channel -> what it found for each case; a case that a channel lacks counts as nothing found.
        judgements: What is relevant.
        k: Ranks of each channel that count.

    Raises:
        InputError: There is no case, or a case has no relevant document.
    """
    if not judgements:
        raise InputError("nothing is judged, so there is nothing to report")
    for ranking in channels.values():
        _check(ranking, judgements)
    recall, unique, only = (dict.fromkeys(channels, 0.0) for _ in range(3))
    union = 0.0
    for case, grades in judgements.items():
        relevant = {document for document, grade in grades.items() if grade > 0}
        found = {name: relevant & set(ranking.get(case, ())[:k]) for name, ranking in channels.items()}
        union += len(set().union(*found.values())) / len(relevant)
        for name, own in found.items():
            others = set().union(*(theirs for other, theirs in found.items() if other != name))
            recall[name] += len(own) / len(relevant)
            unique[name] += len(own - others) / len(relevant)
            only[name] += bool(own) and not others
    count = len(judgements)
    return ChannelReport(
        count,
        union / count,
        {name: ChannelGain(recall[name] / count, unique[name] / count, int(only[name])) for name in channels},
    )


def _measure(name: str) -> Any:
    try:
        return ir_measures.parse_measure(name)
    except (NameError, ValueError) as error:
        raise InputError("not a ranking measure", got=name, allowed="nDCG@10, R@50, RR@10, Success@1, ...") from error


def _check(rankings: Ranking, judgements: Judgements) -> None:
    for case, grades in judgements.items():
        if not any(grade > 0 for grade in grades.values()):
            raise InputError("a case has no relevant document, so that no recall exists for it", where=case)
        documents = rankings.get(case, ())
        if len(set(documents)) != len(documents):
            raise InputError("a ranking holds a document twice", where=case)
