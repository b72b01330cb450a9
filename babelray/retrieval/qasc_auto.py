"""The profile `auto`: a learned probability for each sentence, and the set of sentences with the best expected F1.

How much text a question needs is a property of the question, so no fixed margin fits all. Here a logistic model says
how probably each sentence is evidence, and sentences are taken, most probable first, as long as the F1 that is to be
expected of the set rises. The weights lie in `qasc_auto.json`; `benchmarks/qasc_train.py` makes them.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

import numpy as np

from babelray.config import AutoWindowSettings
from babelray.errors import IntegrityError
from babelray.retrieval.qasc_features import FEATURES, features
from babelray.retrieval.qasc_pool import Doubles, Flags, Longs, Pool, Run, best_first


@dataclass(frozen=True, slots=True, eq=False)
class SentenceModel:
    """Logistic regression over standardized features.

    Attributes:
        weights: float64 (features,), of the features as they are: standardization is worked in.
        bias: Added to the weighted sum.
    """

    weights: Doubles
    bias: float

    def probabilities(self, values: Doubles) -> Doubles:
        """float64 (n,), of n rows of features."""
        logits = np.clip(values @ self.weights + self.bias, -60.0, 60.0)
        return np.asarray(1.0 / (1.0 + np.exp(-logits)))


def auto_scores(pool: Pool) -> Doubles:
    """float64 (n,): the probability that each sentence is evidence; 0 where there is no vector."""
    return np.where(pool.present, sentence_model().probabilities(features(pool)), 0.0)


def auto_runs(
    pool: Pool, scores: Doubles, settings: AutoWindowSettings, eligible: Flags, whole: list[Run]
) -> list[Run]:
    """Passages of the pool, not yet in order.

    Args:
        pool: The candidates.
        scores: What `auto_scores` gave.
        settings: How wide the answer may be.
        eligible: bool (n,), sentences that may be taken.
        whole: Documents that are not cut; each is taken when one of its sentences is.
    """
    allowed = eligible.copy()
    for run in whole:
        allowed[list(run.seeds)] = True
    taken = expected_best(scores, pool.tokens, np.flatnonzero(allowed), settings.width)
    chosen = set(taken.tolist())
    wholes = [run for run in whole if not chosen.isdisjoint(run.seeds)]
    inside = {row for run in whole for row in range(run.first, run.last + 1)}
    spans = _neighbours_joined(pool, sorted(chosen - inside))
    runs = [Run(first, last, tuple(range(first, last + 1))) for first, last in spans] + wholes
    return [Run(run.first, run.last, run.seeds, auto_score(scores, run.first, run.last)) for run in runs]


def auto_score(scores: Doubles, first: int, last: int) -> float:
    """The probability that a passage holds evidence at all is at least that of its best sentence."""
    return float(scores[first : last + 1].max())


def expected_best(probabilities: Doubles, sizes: Longs, rows: Longs, width: float) -> Longs:
    """The most probable rows, as many as give the best expected F1 by size.

    With S the set that is taken, F1 is near 2 x (sum of p x size over S) / (size of S + sum of p x size over all).

    Args:
        probabilities: float64 (n,).
        sizes: int64 (n,), tokens.
        rows: Those that may be taken.
        width: The size of S counts divided by this.
    """
    if not len(rows):
        return rows
    order = best_first(probabilities, rows)
    gained = np.cumsum(probabilities[order] * sizes[order])
    total = float((probabilities * sizes).sum())
    expected = 2 * gained / np.maximum(np.cumsum(sizes[order]) / width + total, 1e-12)
    return order[: int(np.argmax(expected)) + 1]


@cache
def sentence_model() -> SentenceModel:
    """The weights that come with the package.

    Raises:
        IntegrityError: The file is of other features than this code.
    """
    stored = json.loads(files("babelray.retrieval").joinpath("qasc_auto.json").read_text("utf-8"))
    if tuple(stored["weights"]) != FEATURES:
        raise IntegrityError(
            "the weights of the auto profile belong to other features",
            where="babelray/retrieval/qasc_auto.json",
            got=list(stored["weights"]),
            allowed=list(FEATURES),
            fix="run benchmarks/qasc_train.py",
        )
    return SentenceModel(np.array(list(stored["weights"].values()), dtype=np.float64), float(stored["bias"]))


def _neighbours_joined(pool: Pool, rows: list[int]) -> list[tuple[int, int]]:
    """Rows as runs of those that follow each other without a border of code or a table between."""
    if not rows:
        return []
    breaks = [later for earlier, later in pairwise(rows) if later != earlier + 1 or not pool.joins[later]]
    firsts = [rows[0], *breaks]
    lasts = [rows[rows.index(first) - 1] for first in breaks] + [rows[-1]]
    return list(zip(firsts, lasts, strict=True))
