"""Weighted reciprocal rank fusion: `score = sum of weight / (k + rank)` over the channels that found a chunk.

Cormack, Clarke and Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
SIGIR 2009, with a weight for each channel, by the languages of query and passage.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from babelray.config import ChannelsSettings, FusionSettings
from babelray.retrieval.channels import Channel, Found, Place, settings_of
from babelray.text.language import NO_LANGUAGE, UNDETERMINED

ANY = "*"


@dataclass(frozen=True, slots=True)
class Fused:
    """One chunk of the union of the channels.

    Attributes:
        score: Comparable within one search only.
        found: Where each channel put it.
    """

    place: Place
    score: float
    found: Mapping[Channel, Found]


def fuse(
    found: Mapping[Channel, Sequence[Found]],
    weights: Callable[[Place], Mapping[Channel, float]],
    rank_constant: float,
) -> list[Fused]:
    """The union of the channels, best first; ties by best rank, then segment and row.

    Args:
        found: Channel -> its chunks by rank.
        weights: Weights of the channels for a chunk; a channel of weight 0 counts for nothing.
        rank_constant: The k of the formula.
    """
    by_place: dict[Place, dict[Channel, Found]] = {}
    scores: dict[Place, float] = {}
    best: dict[Place, int] = {}
    # In the order of the enumeration, so that equal ranks give equal floats whatever answered first.
    for channel in Channel:
        for hit in found.get(channel, ()):
            place = hit.place
            by_place.setdefault(place, {})[channel] = hit
            part = weights(place).get(channel, 0.0) / (rank_constant + hit.rank)
            scores[place] = scores.get(place, 0.0) + part
            best[place] = min(best.get(place, hit.rank), hit.rank)
    order = sorted(by_place, key=lambda place: (-scores[place], best[place], place))
    return [Fused(place, scores[place], by_place[place]) for place in order]


class CohortTable:
    """Channel weights by language pair: a channel's own, less where two languages meet, or those of a cohort.

    Args:
        channels: Weights of all pairs.
        fusion: Factors across languages, and cohorts that have their own weights.
    """

    def __init__(self, channels: ChannelsSettings, fusion: FusionSettings) -> None:
        self._base = {channel: one.weight for channel, one in settings_of(channels).items()}
        self._across = {Channel(name): factor for name, factor in fusion.cross_language.items()}
        self._cohorts = fusion.cohorts
        self._known: dict[tuple[str, str], dict[Channel, float]] = {}

    def weights(self, query: str, passage: str) -> Mapping[Channel, float]:
        """Weights for a query of one language and a passage of another (BCP 47)."""
        pair = (query, passage)
        if pair not in self._known:
            self._known[pair] = self._work_out(query, passage)
        return self._known[pair]

    def _work_out(self, query: str, passage: str) -> dict[Channel, float]:
        weights = dict(self._base)
        if _differ(query, passage):
            weights |= {channel: weights[channel] * factor for channel, factor in self._across.items()}
        matching = [
            (_exactness(one.query, query) + _exactness(one.passage, passage), number, one)
            for number, one in enumerate(self._cohorts)
            if _exactness(one.query, query) >= 0 and _exactness(one.passage, passage) >= 0
        ]
        for _, _, cohort in sorted(matching, key=lambda item: item[:2]):
            weights.update({Channel(name): weight for name, weight in cohort.weights.items()})
        return weights


def _differ(query: str, passage: str) -> bool:
    """Whether both languages are known and are two; scripts and regions of one language are one."""
    first, second = (tag.partition("-")[0].casefold() for tag in (query, passage))
    unknown = {UNDETERMINED, NO_LANGUAGE}
    return first != second and first not in unknown and second not in unknown


def _exactness(pattern: str, language: str) -> int:
    """-1 where the pattern does not cover the language, else how exactly it names it: `*` 0, `zh` 1, `zh-Hans` 2."""
    if pattern == ANY:
        return 0
    if language.casefold() == pattern.casefold():
        return 2
    return 1 if language.casefold().startswith(pattern.casefold() + "-") else -1
