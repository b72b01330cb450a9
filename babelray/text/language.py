"""Decides the language of each block of a document, and of a query, without ever trusting one source alone.

A text is first divided by script. For each script the languages that can be written in it compete:

    posterior  ~  prior  x  identifier ^ trust(length)  x  letters  x  small words      (Latin, Cyrillic, Arabic ...)
    posterior  ~  prior  x  identifier ^ trust(length)  x  national character sets, kana      (Han and kana)

The prior is general for a lone query; in a document it holds the declared language and what the document's own long
blocks turned out to be. The result is a distribution; `low_confidence` says that its first entry should not be relied
on (take the general field, skip translation), `code_switching` that two scripts carry words of two languages.

Known limits, reported as low confidence rather than hidden: Croatian, Bosnian and Serbian in Latin letters differ in a
few words; English and a Latin-script language inside one block are not told apart (the block's majority wins).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import langcodes
from langcodes.tag_parser import LanguageTagError

from babelray.keys import LANGUAGE_POLICY_VERSION
from babelray.protocols import LanguageCandidate, LanguageIdentifier
from babelray.text import language_evidence as evidence
from babelray.text.language_parts import Part, divide, is_names
from babelray.text.language_reading import Distribution, Opinion, Reading, background
from babelray.text.scripts import count_scripts
from babelray.text.types import BlockKind

UNDETERMINED = "und"
NO_LANGUAGE = "zxx"

# Latin words without any small word, inside a text of another script, are names: they count little for its language.
# And however many they are, they never outweigh the words around them (`CapacityとAllocatable` is Japanese).
_NAMES_WEIGHT = 0.3
_NAMES_LIMIT = 0.45
_CANDIDATES_ASKED = 12
_CANDIDATES_KEPT = 5
_CONFIDENT = 0.8
# How much of a part's weight does not depend on the document: a long English quotation stays English.
_FREE_WEIGHT = 0.25
_MIN_LETTERS = 4
_SWITCHED_SHARE = 0.1
# Parts of a document's prior. English is likely in a page of any language (untranslated headings), nothing else is.
_DECLARED_PART, _DECLARED_SHARE = 6.0, 0.85
_OWN_PART, _OWN_FULL = 10.0, 400.0
_LONG_BLOCK = 60
_NOTICED = 0.01


@dataclass(frozen=True, slots=True)
class LanguageVerdict:
    """The language of one text.

    Attributes:
        language: Most probable BCP 47 tag (zh-Hans, zh-Hant, sr-Latn, sr-Cyrl with script); `zxx` for code, `und`
            where there are no words.
        candidates: Distribution, most probable first, at most five.
        scripts: ISO 15924 code -> share of letters and numbers.
        low_confidence: The first candidate is not to be relied on.
        code_switching: Two scripts each carry at least a tenth of the text's words.
    """

    language: str
    candidates: tuple[LanguageCandidate, ...]
    scripts: dict[str, float]
    low_confidence: bool
    code_switching: bool


class LanguagePolicy:
    """Joins an identifier's distribution with scripts, letters, small words and priors.

    Args:
        identifier: Gives the raw distribution; asked once a document for all its blocks.
    """

    def __init__(self, identifier: LanguageIdentifier) -> None:
        self._identifier = identifier

    @property
    def version(self) -> str:
        """Changes whenever the same text may get another verdict."""
        return f"{LANGUAGE_POLICY_VERSION}/{self._identifier.version}"

    def judge(
        self, texts: Sequence[str], kinds: Sequence[BlockKind], declared: str | None = None
    ) -> list[LanguageVerdict]:
        """Verdicts for the blocks of one document.

        Args:
            texts: Projected texts of the blocks, in order.
            kinds: Their kinds; code is `zxx` whatever it says.
            declared: BCP 47 tag that the source states; a tag that cannot be read counts as none.
        """
        prose = [index for index, kind in enumerate(kinds) if kind is not BlockKind.CODE]
        counts = [count_scripts(text) for text in texts]
        parts = {index: divide(texts[index], counts[index]) for index in prose}
        readings = self._read(parts)
        stated = _declared_prior(declared)
        prior = _document_prior(stated, readings)
        verdicts = []
        for index in range(len(texts)):
            if index in readings:
                verdicts.append(_verdict(readings[index], counts[index], prior))
            else:
                verdicts.append(_code_verdict(counts[index]))
        return verdicts

    def judge_query(self, text: str) -> LanguageVerdict:
        """Verdict for a lone short text, without any prior but the general one."""
        return self.judge([text], [BlockKind.PARAGRAPH])[0]

    def _read(self, parts: Mapping[int, list[Part]]) -> dict[int, list[Reading]]:
        texts = [_for_identifier(part) for items in parts.values() for part in items]
        answers = iter(self._identifier.identify(texts, _CANDIDATES_ASKED))
        return {index: [Reading(part, next(answers)) for part in items] for index, items in parts.items()}


@lru_cache(maxsize=256)
def canonical_language(tag: str | None) -> str | None:
    """A source's tag in the form that verdicts use (`zh-cn` -> `zh-Hans`, `pt-BR` -> `pt`), `None` if unreadable."""
    if not tag:
        return None
    try:
        language = langcodes.get(tag.replace("_", "-"))
    except LanguageTagError:
        return None
    if not language.language or language.language == UNDETERMINED:
        return None
    if language.language == "zh":
        return f"zh-{language.maximize().script or 'Hans'}"
    if language.language == "sh":
        return "sr"
    return {"nb": "no"}.get(language.language, language.language)


def _declared_prior(declared: str | None) -> Distribution:
    """Extra prior mass by language; empty without a declared one."""
    tag = canonical_language(declared)
    if tag is None:
        return {}
    prior = {tag: _DECLARED_PART * _DECLARED_SHARE}
    prior["en"] = prior.get("en", 0.0) + _DECLARED_PART * (1 - _DECLARED_SHARE)
    return prior


def _document_prior(stated: Distribution, readings: Mapping[int, list[Reading]]) -> Distribution:
    """The declared prior and the languages of the document's long blocks, each by its letters."""
    own: Distribution = {}
    letters = 0.0
    for reading in (reading for items in readings.values() for reading in items):
        if reading.part.weight < _LONG_BLOCK:
            continue
        weight = min(reading.part.weight, _OWN_FULL)
        letters += weight
        for tag, probability in reading.weigh(stated).posterior.items():
            own[tag] = own.get(tag, 0.0) + weight * probability
    prior = dict(stated)
    if letters:
        scale = _OWN_PART * min(1.0, letters / _OWN_FULL) / letters
        for tag, mass in own.items():
            if mass * scale >= _NOTICED:
                prior[tag] = prior.get(tag, 0.0) + scale * mass
    return prior


def _for_identifier(part: Part) -> str:
    return evidence.without_acronyms(part.text) if part.script == "Latn" else part.text


def _tag(language: str, script: str) -> str:
    return f"sr-{script}" if language == "sr" else language


def _verdict(readings: Sequence[Reading], scripts: Mapping[str, int], prior: Distribution) -> LanguageVerdict:
    shares = _shares(scripts)
    if not readings:
        return LanguageVerdict(UNDETERMINED, (), shares, low_confidence=True, code_switching=False)
    parts = [reading.part for reading in readings]
    opinions = [reading.weigh(prior) for reading in readings]
    mixture: Distribution = {}
    sure: dict[str, float] = {}
    for part, opinion, weight in zip(parts, opinions, _part_weights(parts, opinions, prior), strict=True):
        relied_on = not opinion.overruled and _enough(part, alone=not prior)
        for language, probability in opinion.posterior.items():
            tag = _tag(language, part.script)
            mixture[tag] = mixture.get(tag, 0.0) + probability * weight
            sure[tag] = max(sure.get(tag, 0.0), probability if relied_on else 0.0)
    ranked = sorted(((round(p, 4), tag) for tag, p in mixture.items()), key=lambda item: (-item[0], item[1]))
    language = ranked[0][1]
    candidates = tuple(LanguageCandidate(tag, p) for p, tag in ranked[:_CANDIDATES_KEPT] if p >= 0.01)
    letters = sum(part.weight for part in parts)
    switched = len(parts) > 1 and parts[1].weight >= _SWITCHED_SHARE * letters and parts[1].letters > 1
    unsure = sure[language] < _CONFIDENT or ranked[0][0] < 0.5
    return LanguageVerdict(language, candidates, shares, low_confidence=unsure, code_switching=switched)


def _part_weights(parts: Sequence[Part], opinions: Sequence[Opinion], prior: Distribution) -> list[float]:
    """Share of each part in the verdict, summing to 1: by letters, by the document's languages, names held down."""
    known = sum(prior.values())
    weights = []
    for part, opinion in zip(parts, opinions, strict=True):
        expected = sum(prior.get(tag, 0.0) for tag in opinion.posterior) / known if known else 1.0
        weights.append(part.weight * (_FREE_WEIGHT + expected))
    names = [is_names(part) for part in parts]
    words = sum(weight for weight, is_name in zip(weights, names, strict=True) if not is_name)
    if words:
        limit = words * _NAMES_LIMIT / (1 - _NAMES_LIMIT)
        weights = [
            min(weight * _NAMES_WEIGHT, limit) if name else weight for weight, name in zip(weights, names, strict=True)
        ]
    total = sum(weights)
    return [weight / total for weight in weights]


def _enough(part: Part, *, alone: bool) -> bool:
    """Whether a part is long enough to be sure of at all; a script of one language needs no length.

    A single word without a letter beyond a-z may be of several languages: alone, with no document around it, it is not.
    """
    if len(background(part.script)) == 1:
        return True
    if part.technical or part.weight < _MIN_LETTERS:
        return False
    return not (alone and part.script == "Latn" and part.text.isascii() and len(part.text.split()) < 2)


def _code_verdict(scripts: Mapping[str, int]) -> LanguageVerdict:
    candidate = LanguageCandidate(NO_LANGUAGE, 1.0)
    return LanguageVerdict(NO_LANGUAGE, (candidate,), _shares(scripts), low_confidence=False, code_switching=False)


def _shares(scripts: Mapping[str, int]) -> dict[str, float]:
    total = sum(scripts.values())
    return {script: number / total for script, number in scripts.items()}
