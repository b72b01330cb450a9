"""Least cosines between a question and a sentence that answers it, measured model by model.

Cosines of two models cannot be compared: a sentence without any relation to the question has 0.75 with one and 0.1 with
another. Across languages they are lower than within one. So a floor belongs to a model key and to whether query and
sentence share their language, and a model that nobody measured has none.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from babelray.keys import ModelKey


@dataclass(frozen=True, slots=True)
class Floor:
    """Least cosines of a seed.

    Attributes:
        same_language: Of a sentence in the query's language.
        other_language: Of any other sentence, and where a language is not known.
    """

    same_language: float
    other_language: float


NO_FLOOR = Floor(-1.0, -1.0)


def known_floor(key: ModelKey) -> Floor:
    """The floor that was measured for a model, `NO_FLOOR` for any other; `benchmarks/qasc_train.py` measures."""
    return _floors().get(model_name(key), NO_FLOOR)


def model_name(key: ModelKey) -> str:
    """The parts of a key that cosines depend on: the weights and how they are used, but not where they run."""
    return "|".join((key.provider, key.name, key.revision, key.pooling, key.query_template, key.passage_template))


@cache
def _floors() -> dict[str, Floor]:
    text = files("babelray.retrieval").joinpath("qasc_floors.json").read_text("utf-8")
    return {name: Floor(**values) for name, values in json.loads(text).items()}
