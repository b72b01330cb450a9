"""Least cosines between a question and a sentence that answers it, measured model by model.

Cosines of two models cannot be compared: a sentence without any relation to the question has 0.75 with one and 0.1 with
another. So a floor belongs to a model key, and a model that nobody measured has none.
"""

import json
from functools import cache
from importlib.resources import files

from babelray.keys import ModelKey

NO_FLOOR = -1.0


def known_floor(key: ModelKey) -> float:
    """The floor that was measured for a model, `NO_FLOOR` for any other; `benchmarks/qasc_train.py` measures."""
    return _floors().get(model_name(key), NO_FLOOR)


def model_name(key: ModelKey) -> str:
    """The part of a key that cosines depend on: the weights and how they are used, but not where they run."""
    return "|".join((key.provider, key.name, key.revision, key.pooling, key.query_template, key.passage_template))


@cache
def _floors() -> dict[str, float]:
    text = files("babelray.retrieval").joinpath("qasc_floors.json").read_text("utf-8")
    return {name: float(value) for name, value in json.loads(text).items()}
