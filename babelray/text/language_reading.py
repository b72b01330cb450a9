"""Reads one part of a text: what the text itself says about its language, then a prior joined to it.

The text's side is computed once and kept, since a document's blocks are weighed twice: first by the declared language,
then with what the long blocks turned out to be.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from babelray.protocols import LanguageCandidate
from babelray.text import language_evidence as evidence
from babelray.text.language_parts import Part, is_names

Distribution = dict[str, float]

_HAN_BACKGROUND = {"zh-Hans": 0.55, "zh-Hant": 0.2, "ja": 0.25}
# trust = letters / (letters + half): 0.3 for three letters, 0.8 for thirty. A Han character counts as 2.5 letters but
# the identifier knows few of them, so their half lies higher.
_HALF_TRUST = 8.0
_HALF_TRUST_HAN = 32.0
_FLOOR = 1e-4
_LOG_FLOOR = math.log(_FLOOR)
# A prior may decide between readings that the text leaves open; when it overrules evidence this strong (log odds), the
# verdict stands as a guess.
_OVERRULED = 1.5
# Languages this common are considered even where nothing in the text names them.
_COMMON_WEIGHT = 10.0
_A_TO_Z = frozenset("abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True, slots=True)
class Opinion:
    """The languages of one part of a text.

    Attributes:
        posterior: Distribution over tags.
        overruled: The prior decided against strong evidence.
    """

    posterior: Distribution
    overruled: bool = False


class Reading:
    """The evidence of one part.

    Args:
        part: Words of one script.
        candidates: The identifier's distribution for them.
    """

    def __init__(self, part: Part, candidates: Sequence[LanguageCandidate]) -> None:
        self.part = part
        self._fixed: Opinion | None = None
        self._background: Mapping[str, float] = {}
        self._text_says: dict[str, float] = {}
        self._likelihood: Distribution = {}
        self._trust = 0.0
        if part.script == "Hani":
            self._read_han(candidates)
        elif is_names(part):
            self._fixed = Opinion({"en": 1.0})
        elif len(written := writers(part.script)) < 2:
            self._fixed = Opinion(dict.fromkeys(written or ("und",), 1.0))
        else:
            self._read_letters(candidates)

    def weigh(self, prior: Mapping[str, float]) -> Opinion:
        """Join the evidence with prior mass by tag; the mass of the general prior is 1 in all."""
        if self._fixed is not None:
            return self._fixed
        says = self._text_says
        for tag in prior:
            if tag not in says and tag in writers(self.part.script) and self.part.script != "Hani":
                says[tag] = self._letters_say(tag)
        scores = {}
        for tag, said in says.items():
            mass = self._background.get(tag, 0.0) + prior.get(tag, 0.0)
            scores[tag] = said + (math.log(mass) if mass > _FLOOR else _LOG_FLOOR)
        top = max(scores.values())
        weights = {tag: math.exp(score - top) for tag, score in scores.items()}
        total = sum(weights.values())
        best = max(scores, key=lambda tag: (scores[tag], tag))
        overruled = max(says.values()) - says[best] > _OVERRULED
        return Opinion({tag: weight / total for tag, weight in weights.items()}, overruled)

    def _read_han(self, candidates: Sequence[LanguageCandidate]) -> None:
        raw = {candidate.language: candidate.probability for candidate in candidates}
        chinese = raw.get("zh", 0.0) + raw.get("yue", 0.0) + raw.get("wuu", 0.0)
        likelihood = {"zh-Hans": chinese, "zh-Hant": chinese, "ja": raw.get("ja", 0.0)}
        trust = self.part.weight / (self.part.weight + _HALF_TRUST_HAN)
        by_character = evidence.han_evidence(self.part.text)
        self._background = _HAN_BACKGROUND
        self._text_says = {
            tag: trust * math.log(max(likelihood[tag], _FLOOR)) + by_character[tag] for tag in _HAN_BACKGROUND
        }

    def _read_letters(self, candidates: Sequence[LanguageCandidate]) -> None:
        script = self.part.script
        words = evidence.words_of(self.part.text)
        self._letters = frozenset("".join(words)) - _A_TO_Z
        self._known = evidence.known_words(words)
        self._likelihood = _spread(candidates, script)
        self._trust = self.part.letters / (self.part.letters + _HALF_TRUST)
        self._background = background(script)
        tags = set(self._likelihood).union(*self._known) & writers(script)
        tags.update(tag for tag in self._background if evidence.languages()[tag].weight >= _COMMON_WEIGHT)
        if len(tags) < 2:
            tags.update(self._background)
        self._text_says = {tag: self._letters_say(tag) for tag in sorted(tags)}

    def _letters_say(self, tag: str) -> float:
        likelihood = self._likelihood.get(tag, 0.0)
        identified = self._trust * (math.log(likelihood) if likelihood > _FLOOR else _LOG_FLOOR)
        return identified + evidence.letter_evidence(self._letters, tag) + evidence.word_evidence(self._known, tag)


@lru_cache(maxsize=256)
def writers(script: str) -> frozenset[str]:
    """Languages that are written in a script."""
    return frozenset(tag for tag, row in evidence.languages().items() if script in row.scripts)


@lru_cache(maxsize=256)
def background(script: str) -> Mapping[str, float]:
    """Probability of the languages of a script that matter without further knowledge, summing to 1."""
    written = {tag: evidence.languages()[tag].weight for tag in writers(script)}
    common = {tag: weight for tag, weight in written.items() if weight >= 1} or written
    total = sum(common.values())
    return {tag: common[tag] / total for tag in sorted(common)}


def _spread(candidates: Sequence[LanguageCandidate], script: str) -> Distribution:
    """The identifier's distribution over the languages that can be written in a script."""
    found: Distribution = {}
    for candidate in candidates:
        # Serbo-Croatian in Wikipedia's sense is any of the three.
        shared = candidate.language == "sr-Latn"
        for tag in ("hr", "bs", "sr") if shared else (candidate.language,):
            if tag in writers(script):
                found[tag] = found.get(tag, 0.0) + candidate.probability / (3 if shared else 1)
    return found
