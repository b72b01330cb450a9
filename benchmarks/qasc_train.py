"""Fits the rule of QASC's `auto` profile and measures the floors, on the tuning half of the documents only.

A sentence is evidence when half of it or more is. Every set weighs the same, and pools of several sizes are learned
from, so that the rule does not depend on how many documents a search hands over. Floors keep all but 2 % of the
questions that have an answer.

    python benchmarks/qasc_train.py DATA            # prints what it would write
    python benchmarks/qasc_train.py DATA --write    # into babelray/retrieval
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qasc_corpora import KeptVectors, Question, StoredSet, load_stored
from sklearn.linear_model import LogisticRegression

from babelray.retrieval.qasc_features import FEATURES, features
from babelray.retrieval.qasc_floor import model_name
from babelray.retrieval.qasc_pool import Pool, build_pool

TARGET = Path(__file__).parents[1] / "babelray" / "retrieval"
POOLS = (1, 2, 3, 5)
KEPT = 0.98
SIZE = 1000.0
"""Weight of one set in the fit, against a regularization of 1."""


def main() -> None:
    """Parse the command line, fit, measure, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/babelray"))
    arguments = parser.parse_args()
    vectors = KeptVectors(arguments.cache.expanduser(), 1)
    sets = load_stored(arguments.data, vectors, max(POOLS))
    rule = fit(sets)
    floors = {model_name(vectors.key): floor(sets)}
    for name, content in (("qasc_auto.json", rule), ("qasc_floors.json", floors)):
        text = json.dumps(content, indent=1) + "\n"
        print(name, text)
        if arguments.write:
            (TARGET / name).write_text(text, encoding="utf-8")


def fit(sets: list[StoredSet]) -> dict[str, Any]:
    """Weights of the features as they are; the standardization of the fit is worked in."""
    rows, labels, sizes = [], [], []
    for one in sets:
        questions = answerable(one)
        for question in questions:
            for most in POOLS:
                pool = pool_of(question, most)
                rows.append(features(pool))
                labels.append(evidence_share(pool, question) >= 0.5)
                sizes.append(np.full(len(pool), SIZE / len(questions) / len(POOLS)))
    values, weights = np.concatenate(rows), np.concatenate(sizes)
    mean, scale = values.mean(axis=0), values.std(axis=0)
    model = LogisticRegression(max_iter=5000).fit((values - mean) / scale, np.concatenate(labels), weights)
    real = model.coef_[0] / scale
    return {
        "trained_on": {one.name: len(answerable(one)) for one in sets} | {"pools": list(POOLS)},
        "bias": round(float(model.intercept_[0] - (real * mean).sum()), 6),
        "weights": {name: round(float(weight), 6) for name, weight in zip(FEATURES, real, strict=True)},
    }


def floor(sets: list[StoredSet]) -> dict[str, float]:
    """Cosine that the best sentence reaches for nearly all questions that have an answer; the worst set decides."""
    found: dict[bool, list[float]] = {True: [], False: []}
    for one in sets:
        questions = answerable(one)
        best = [float(pool_of(question, 5).cosines.max()) for question in questions]
        same = questions[0].case.language == "en"
        found[same].append(float(np.quantile(best, 1 - KEPT)))
    return {"same_language": round(min(found[True]), 3), "other_language": round(min(found[False]), 3)}


def answerable(one: StoredSet) -> list[Question]:
    """Questions of the tuning half that have an answer."""
    return [question for question in one.questions if question.tuning and question.case.answerable]


def pool_of(question: Question, most: int) -> Pool:
    """Candidates of the first documents."""
    documents = question.documents[:most]
    return build_pool(question.query, documents, documents[0].key)


def evidence_share(pool: Pool, question: Question) -> NDArray[np.float64]:
    """Share of each sentence that is evidence, float64 (n,)."""
    share = np.zeros(len(pool))
    for row, document in enumerate(pool.owner.tolist()):
        if pool.doc_ids[document] == question.case.doc_id:
            start, end = int(pool.starts[row]), int(pool.ends[row])
            inside = sum(max(0, min(end, one[1]) - max(start, one[0])) for one in question.case.evidence)
            share[row] = inside / (end - start)
    return share


if __name__ == "__main__":
    main()
