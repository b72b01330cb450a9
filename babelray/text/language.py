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

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import langcodes
import regex
from langcodes.tag_parser import LanguageTagError

from babelray.keys import LANGUAGE_POLICY_VERSION
from babelray.protocols import LanguageCandidate, LanguageIdentifier
from babelray.text import language_evidence as evidence
from babelray.text.scripts import COMMON, count_scripts
from babelray.text.types import BlockKind

UNDETERMINED = "und"
NO_LANGUAGE = "zxx"

_HAN_GROUP = frozenset({"Hani", "Hira", "Kana", "Bopo"})
_HAN_BACKGROUND = {"zh-Hans": 0.55, "zh-Hant": 0.2, "ja": 0.25}
# One Han character is about a word's half, a Latin letter a fifth: shares are compared in this weight.
_LETTER_WEIGHT = {"Hani": 2.5, "Hira": 1.5, "Kana": 1.5, "Hang": 2.0}
# Latin words without any small word, inside a text of another script, are names: they count little for its language.
# And however many they are, they never outweigh the words around them (`CapacityとAllocatable` is Japanese).
_NAMES_WEIGHT = 0.3
_NAMES_LIMIT = 0.45
_PROSE_LETTERS = 40
# trust = letters / (letters + half): 0.3 for three letters, 0.8 for thirty. Han says more per character.
_HALF_TRUST = 8.0
_FLOOR = 1e-4
_CANDIDATES_ASKED = 12
_CANDIDATES_KEPT = 5
_CONFIDENT = 0.8
# A prior may decide between readings that the text leaves open; when it overrules evidence this strong (log odds), the
# verdict stands as a guess.
_OVERRULED = 1.5
# How much of a part's weight does not depend on the document: a long English quotation stays English.
_FREE_WEIGHT = 0.25
_MIN_LETTERS = 4
_SWITCHED_SHARE = 0.1
# Parts of a document's prior. English is likely in a page of any language (untranslated headings), nothing else is.
_DECLARED_PART, _DECLARED_SHARE = 6.0, 0.85
_OWN_PART, _OWN_FULL = 10.0, 400.0
_LONG_BLOCK = 60
_MAX_READ = 4000

Distribution = dict[str, float]


@dataclass(frozen=True, slots=True)
class _Opinion:
    """The languages of one part of a text.

    Attributes:
        posterior: Distribution over tags.
        overruled: The prior decided against strong evidence.
    """

    posterior: Distribution
    overruled: bool = False


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


@dataclass(frozen=True, slots=True)
class _Part:
    """The words of one text that are in one script.

    Attributes:
        script: `Hani` stands for Han and kana together.
        weight: Letters in the unit of `_LETTER_WEIGHT`.
        mixed: Whether the text has words in other scripts too.
        technical: Whether the text has no words but those of identifiers.
    """

    text: str
    script: str
    letters: int
    weight: float
    mixed: bool
    technical: bool


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
        parts = {index: _divide(texts[index], counts[index]) for index in prose}
        raw = self._identify(parts)
        stated = _declared_prior(declared)
        first = {index: _opinions(parts[index], raw[index], stated) for index in prose}
        prior = _document_prior(stated, parts, first)
        verdicts = []
        for index in range(len(texts)):
            if index not in parts:
                verdicts.append(_code_verdict(counts[index]))
                continue
            opinions = _opinions(parts[index], raw[index], prior)
            verdicts.append(_verdict(parts[index], opinions, counts[index], prior))
        return verdicts

    def judge_query(self, text: str) -> LanguageVerdict:
        """Verdict for a lone short text, without any prior but the general one."""
        return self.judge([text], [BlockKind.PARAGRAPH])[0]

    def _identify(self, parts: Mapping[int, list[_Part]]) -> dict[int, list[list[LanguageCandidate]]]:
        texts = [_for_identifier(part) for items in parts.values() for part in items]
        answers = iter(self._identifier.identify(texts, _CANDIDATES_ASKED))
        return {index: [next(answers) for _ in items] for index, items in parts.items()}


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


def _document_prior(
    stated: Distribution, parts: Mapping[int, list[_Part]], first: Mapping[int, list[_Opinion]]
) -> Distribution:
    """The declared prior and the languages of the document's long blocks, each by its letters."""
    own: Distribution = {}
    letters = 0.0
    for index, items in parts.items():
        for part, opinion in zip(items, first[index], strict=True):
            if part.weight < _LONG_BLOCK:
                continue
            weight = min(part.weight, _OWN_FULL)
            letters += weight
            for tag, probability in opinion.posterior.items():
                own[tag] = own.get(tag, 0.0) + weight * probability
    prior = dict(stated)
    if letters:
        scale = _OWN_PART * min(1.0, letters / _OWN_FULL) / letters
        for tag, mass in own.items():
            prior[tag] = prior.get(tag, 0.0) + scale * mass
    return prior


@lru_cache(maxsize=256)
def _outside(script: str) -> regex.Pattern[str]:
    """Letters of other scripts."""
    inside = "Hani}\\p{Script=Hira}\\p{Script=Kana}\\p{Script=Bopo" if script == "Hani" else script
    return regex.compile(rf"[\p{{L}}\p{{M}}--[\p{{Script={inside}}}\p{{Script=Zinh}}ーｰ]]+", regex.V1)


def _divide(text: str, scripts: Mapping[str, int]) -> list[_Part]:
    """The words of a text by script, largest weight first; technical tokens left out unless there is nothing else."""
    if not any(script != COMMON for script in scripts):
        return []
    natural = evidence.natural_text(text[:_MAX_READ])
    counts = count_scripts(natural)
    technical = not any(script != COMMON for script in counts)
    if technical:
        natural, counts = text[:_MAX_READ], count_scripts(text[:_MAX_READ])
    groups: dict[str, tuple[int, float]] = {}
    for script, number in counts.items():
        if script == COMMON:
            continue
        group = "Hani" if script in _HAN_GROUP else script
        letters, weight = groups.get(group, (0, 0.0))
        groups[group] = letters + number, weight + number * _LETTER_WEIGHT.get(script, 1.0)
    if "Hang" in groups and "Hani" in groups and groups["Hang"][0] >= groups["Hani"][0] * 0.3 and "Hira" not in counts:
        letters, weight = groups.pop("Hani")
        groups["Hang"] = groups["Hang"][0] + letters, groups["Hang"][1] + weight
    mixed = len(groups) > 1
    parts = [
        _Part(_outside(script).sub(" ", natural) if mixed else natural, script, letters, weight, mixed, technical)
        for script, (letters, weight) in groups.items()
    ]
    return sorted(parts, key=lambda part: (-part.weight, part.script))


def _for_identifier(part: _Part) -> str:
    return evidence.without_acronyms(part.text) if part.script == "Latn" else part.text


def _opinions(
    parts: Sequence[_Part], raw: Sequence[Sequence[LanguageCandidate]], prior: Distribution
) -> list[_Opinion]:
    return [_opinion(part, candidates, prior) for part, candidates in zip(parts, raw, strict=True)]


def _opinion(part: _Part, candidates: Sequence[LanguageCandidate], prior: Distribution) -> _Opinion:
    """Distribution over the languages of one part."""
    if part.script == "Hani":
        return _han_opinion(part, candidates, prior)
    if _is_names(part):
        return _Opinion({"en": 1.0})
    likelihood = _spread(candidates, part.script)
    background = _background(part.script)
    tags = {tag for tag in {*likelihood, *prior, *background} if _writes(tag, part.script)}
    if not tags:
        return _Opinion({UNDETERMINED: 1.0})
    if len(tags) == 1:
        return _Opinion(dict.fromkeys(tags, 1.0))
    words = evidence.words_of(part.text)
    letters = frozenset("".join(words)) - frozenset("abcdefghijklmnopqrstuvwxyz")
    by_letter = evidence.letter_evidence(letters, tags)
    by_word = evidence.word_evidence(evidence.known_words(words), tags)
    trust = part.letters / (part.letters + _HALF_TRUST)
    total = sum(background.values())
    priors = {tag: background.get(tag, 0.0) / total + prior.get(tag, 0.0) for tag in tags}
    text_says = {
        tag: trust * math.log(max(likelihood.get(tag, 0.0), _FLOOR)) + by_letter[tag] + by_word[tag] for tag in tags
    }
    return _weigh(priors, text_says)


def _weigh(priors: Distribution, text_says: Mapping[str, float]) -> _Opinion:
    """Join prior mass and the text's log-likelihood."""
    scores = {tag: math.log(max(priors[tag], _FLOOR)) + says for tag, says in text_says.items()}
    best = max(scores, key=lambda tag: (scores[tag], tag))
    return _Opinion(_normalized(scores), overruled=max(text_says.values()) - text_says[best] > _OVERRULED)


def _han_opinion(part: _Part, candidates: Sequence[LanguageCandidate], prior: Distribution) -> _Opinion:
    raw = {candidate.language: candidate.probability for candidate in candidates}
    chinese = raw.get("zh", 0.0) + raw.get("yue", 0.0) + raw.get("wuu", 0.0)
    likelihood = {"zh-Hans": chinese, "zh-Hant": chinese, "ja": raw.get("ja", 0.0)}
    trust = part.weight / (part.weight + 4 * _HALF_TRUST)
    by_character = evidence.han_evidence(part.text)
    priors = {tag: weight + prior.get(tag, 0.0) for tag, weight in _HAN_BACKGROUND.items()}
    text_says = {tag: trust * math.log(max(likelihood[tag], _FLOOR)) + by_character[tag] for tag in priors}
    return _weigh(priors, text_says)


def _is_names(part: _Part) -> bool:
    """Whether a Latin part of a mixed text is only names and loanwords."""
    if not part.mixed or part.script != "Latn" or part.letters >= _PROSE_LETTERS:
        return False
    return len(evidence.known_words([word for word in evidence.words_of(part.text) if len(word) > 1])) < 2


def _spread(candidates: Sequence[LanguageCandidate], script: str) -> Distribution:
    """The identifier's distribution over the languages that can be written in a script."""
    found: Distribution = {}
    for candidate in candidates:
        # Serbo-Croatian in Wikipedia's sense is any of the three.
        shared = candidate.language == "sr-Latn"
        for tag in ("hr", "bs", "sr") if shared else (candidate.language,):
            if _writes(tag, script):
                found[tag] = found.get(tag, 0.0) + candidate.probability / (3 if shared else 1)
    return found


def _writes(tag: str, script: str) -> bool:
    language = evidence.languages().get(tag)
    return language is not None and script in language.scripts


@lru_cache(maxsize=256)
def _background(script: str) -> Distribution:
    """Weights of the languages of a script that matter without further knowledge."""
    written = {tag: row.weight for tag, row in evidence.languages().items() if script in row.scripts}
    common = {tag: weight for tag, weight in written.items() if weight >= 1}
    return common or written


def _normalized(scores: Mapping[str, float]) -> Distribution:
    top = max(scores.values())
    weights = {tag: math.exp(score - top) for tag, score in scores.items()}
    total = sum(weights.values())
    return {tag: weight / total for tag, weight in weights.items()}


def _tag(language: str, script: str) -> str:
    return f"sr-{script}" if language == "sr" else language


def _verdict(
    parts: Sequence[_Part], opinions: Sequence[_Opinion], scripts: Mapping[str, int], prior: Distribution
) -> LanguageVerdict:
    shares = _shares(scripts)
    if not parts:
        return LanguageVerdict(UNDETERMINED, (), shares, low_confidence=True, code_switching=False)
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


def _part_weights(parts: Sequence[_Part], opinions: Sequence[_Opinion], prior: Distribution) -> list[float]:
    """Share of each part in the verdict, summing to 1: by letters, by the document's languages, names held down."""
    known = sum(prior.values())
    weights = []
    for part, opinion in zip(parts, opinions, strict=True):
        expected = sum(prior.get(tag, 0.0) for tag in opinion.posterior) / known if known else 1.0
        weights.append(part.weight * (_FREE_WEIGHT + expected))
    names = [_is_names(part) for part in parts]
    words = sum(weight for weight, is_name in zip(weights, names, strict=True) if not is_name)
    if words:
        limit = words * _NAMES_LIMIT / (1 - _NAMES_LIMIT)
        weights = [
            min(weight * _NAMES_WEIGHT, limit) if name else weight for weight, name in zip(weights, names, strict=True)
        ]
    total = sum(weights)
    return [weight / total for weight in weights]


def _enough(part: _Part, *, alone: bool) -> bool:
    """Whether a part is long enough to be sure of at all; a script of one language needs no length.

    A single word without a letter beyond a-z may be of several languages: alone, with no document around it, it is not.
    """
    if len(_background(part.script)) == 1:
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
