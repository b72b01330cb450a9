"""QASC against chunks that know nothing of the query, at equal token budgets, on real questions with known evidence.

Every method gets the same five documents, vectors of the same model and the same budget. What is evidence is whole
sentences: those that the answer touches (XQuAD articles), those that people marked (CLAPNQ). Sizes, radii and
numbers of chunks are chosen, and the `auto` rule was fitted, on one half of the documents; all figures are of the other
half, with 95 % intervals from 2,000 resamples of whole documents.

    python benchmarks/qasc_quality.py DATA      # the folder with qasc_xquad_long and qasc_clapnq
    python benchmarks/qasc_quality.py DATA --embedder bundled-minilm --no-chunks --sets "xquad en-en" clapnq

The first run encodes about 9,000 texts with the default model and keeps the vectors under benchmarks/out.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import OUT, write_results
from qasc_baselines import Cutting, Words, best_chunks, cuttings, top_sentences
from qasc_corpora import EMBEDDERS, KeptVectors, Question, StoredSet, load_stored

from babelray.config import PaperWindowSettings, QascSettings
from babelray.evaluation.evidence import Overlap, Span, character_overlap, sentence_overlap
from babelray.evaluation.intervals import mean_interval, ratio_interval
from babelray.retrieval.qasc import rechunk

BUDGETS = (64, 128, 256)
PROFILES = {
    "paper, fixed window": QascSettings(profile="paper"),
    "paper, adaptive window": QascSettings(profile="paper", paper=PaperWindowSettings(adaptive=True)),
    "balanced": QascSettings(profile="balanced"),
    "precise": QascSettings(profile="precise"),
    "auto": QascSettings(profile="auto"),
}
FAMILIES = ("fixed", "fixed, so many", "recursive", "semantic", "top sentences", "whole sentences", "sentence window")
"""Kinds of baselines; of each, the best on the tuning half stands for it. `so many`: it also stops after k chunks. QASC
never cuts a sentence, nor do `whole sentences`; every other one fills the budget to the last word."""
Returned = dict[str, list[Span]]
Method = Callable[[Question, int], Returned]


@dataclass(frozen=True, slots=True)
class Scores:
    """Of one method at one budget on one set, a value a question."""

    groups: list[str]
    characters: list[Overlap]
    sentences: list[Overlap]

    @property
    def f1(self) -> list[float]:
        """By characters."""
        return [one.f1 for one in self.characters]


def main() -> None:
    """Parse the command line, measure all sets, write and plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--embedder", choices=sorted(EMBEDDERS), default="bundled-e5")
    parser.add_argument("--sets", nargs="*", help="names of sets; all if not given")
    parser.add_argument("--no-chunks", action="store_true", help="leave out the chunkings, which have to be encoded")
    parser.add_argument("--threads", type=int, default=2, help="of the encoder")
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/babelray"))
    arguments = parser.parse_args()
    vectors = KeptVectors(arguments.cache.expanduser(), arguments.threads, arguments.embedder)
    metrics: dict[str, Any] = {}
    curves: dict[str, dict[str, list[float]]] = {}
    cut: dict[tuple[str, ...], dict[str, Cutting]] = {}
    for one in load_stored(arguments.data, vectors, only=arguments.sets):
        words = {name: Words.of(document.text) for name, document in one.documents.items()}
        names = tuple(one.documents)
        if names not in cut:
            cut[names] = {} if arguments.no_chunks else cuttings(one.documents, words, vectors)
        metrics |= measure(one, methods(cut[names], words), curves.setdefault(one.name, {}))
        metrics |= unanswered(one)
    name = f"qasc_quality_{arguments.embedder}"
    write_results(name, vars(arguments), metrics)
    plot(curves, OUT / name / "f1_by_budget.png")


def methods(cut: Mapping[str, Cutting], words: Mapping[str, Words]) -> dict[tuple[str, str], Method]:
    """All methods by family and name."""

    def chunks(cutting: Cutting, most: int | None) -> Method:
        return lambda question, budget: best_chunks(
            question.query, [one.doc_id for one in question.documents], cutting, words, budget, most
        )

    def sentences(around: int, whole: bool) -> Method:
        return lambda question, budget: top_sentences(
            question.query, question.documents, words, budget, around, whole=whole
        )

    made: dict[tuple[str, str], Method] = {}
    for name, cutting in cut.items():
        family = name.split()[0]
        made[family, name] = chunks(cutting, None)
        if family == "fixed":
            made |= {("fixed, so many", f"{name}, best {most}"): chunks(cutting, most) for most in (1, 2, 3)}
    made["top sentences", "top sentences"] = sentences(0, False)
    made["whole sentences", "top sentences, none cut"] = sentences(0, True)
    made |= {("sentence window", f"sentence window {around}"): sentences(around, False) for around in (1, 2)}
    return made | {("QASC", name): qasc(settings) for name, settings in PROFILES.items()}


def qasc(settings: QascSettings) -> Method:
    """A profile as a method."""

    def run(question: Question, budget: int) -> Returned:
        documents = question.documents
        passages = rechunk(
            question.query, documents, settings, budget,
            key=documents[0].key, query_language=question.case.language,
        )  # fmt: skip
        returned: Returned = {}
        for one in passages:
            returned.setdefault(documents[one.document].doc_id, []).append((one.start, one.end))
        assert sum(one.tokens for one in passages) <= budget
        return returned

    return run


def measure(one: StoredSet, made: Mapping[tuple[str, str], Method], curves: dict[str, list[float]]) -> dict[str, Any]:
    """Figures of one set; the best of each family is chosen on the tuning half, for each budget by itself."""
    answerable = [question for question in one.questions if question.case.answerable]
    tuning = [question for question in answerable if question.tuning]
    held_out = [question for question in answerable if not question.tuning]
    spans = {document.doc_id: document.sentences for document in one.collection.documents}
    metrics: dict[str, Any] = {f"{one.name}: questions tuned, reported": f"{len(tuning)}, {len(held_out)}"}
    for budget in BUDGETS:
        best: dict[str, Scores] = {}
        for family in FAMILIES:
            of_family = {name: method for (kind, name), method in made.items() if kind == family}
            if not of_family:
                continue
            chosen = max(of_family, key=lambda name: mean(scores(tuning, of_family[name], budget, spans).f1))
            best[family] = scores(held_out, of_family[chosen], budget, spans)
            metrics[f"{one.name}, {budget}: {family} ({chosen})"] = shown(best[family])
            curves.setdefault(family, []).append(mean(best[family].f1))
        for name in PROFILES:
            got = scores(held_out, made["QASC", name], budget, spans)
            ratios = {
                family: ratio_interval(got.f1, best[family].f1, got.groups) for family in FAMILIES if family in best
            }
            metrics[f"{one.name}, {budget}: QASC {name}"] = shown(got)
            metrics[f"{one.name}, {budget}: QASC {name} over"] = {key: str(value) for key, value in ratios.items()}
            curves.setdefault(f"QASC {name}", []).append(mean(got.f1))
    return metrics


def scores(
    questions: Sequence[Question], method: Method, budget: int, sentences: Mapping[str, Sequence[Span]]
) -> Scores:
    """Run a method on questions."""
    groups, by_characters, by_sentences = [], [], []
    for question in questions:
        returned = method(question, budget)
        evidence = {question.case.doc_id: list(question.case.evidence)}
        groups.append(question.case.doc_id)
        by_characters.append(character_overlap(returned, evidence))
        by_sentences.append(sentence_overlap(returned, evidence, sentences))
    return Scores(groups, by_characters, by_sentences)


def shown(got: Scores) -> dict[str, str]:
    """The figures of one row."""
    return {
        "character F1": str(mean_interval(got.f1, got.groups)),
        "precision": f"{mean([one.precision for one in got.characters]):.3f}",
        "recall": f"{mean([one.recall for one in got.characters]):.3f}",
        "sentence F1": str(mean_interval([one.f1 for one in got.sentences], got.groups)),
    }


def unanswered(one: StoredSet) -> dict[str, Any]:
    """What the floor does with questions that have no answer in the documents, and what it costs the others."""
    metrics = {}
    for answerable in (True, False):
        questions = [each for each in one.questions if each.case.answerable is answerable and not each.tuning]
        for name in ("balanced", "auto") if questions else ():
            for label, settings in (
                ("with the floor", PROFILES[name]),
                ("without", PROFILES[name].model_copy(update={"floor": -1.0})),
            ):
                counts = [sum(map(len, qasc(settings)(question, 256).values())) for question in questions]
                kind = "answerable" if answerable else "unanswerable"
                metrics[f"{one.name}: {kind}, {name}, {label}"] = (
                    f"nothing returned for {mean([count == 0 for count in counts]):.3f}, "
                    f"{mean(counts):.2f} passages on average"
                )
    return metrics


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean."""
    return sum(values) / len(values)


def plot(curves: Mapping[str, Mapping[str, Sequence[float]]], target: Path) -> None:
    """F1 by budget, one panel a set."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, len(curves), figsize=(5 * len(curves), 4.5), sharey=True, squeeze=False, layout="constrained"
    )
    panels = axes[0]
    for panel, (name, of_set) in zip(panels, curves.items(), strict=True):
        for method, values in of_set.items():
            style = "-o" if method.startswith("QASC") else "--x"
            panel.plot(range(len(BUDGETS)), values, style, label=method)
        panel.set_xticks(range(len(BUDGETS)), [str(budget) for budget in BUDGETS])
        panel.set(title=name, xlabel="token budget")
    panels[0].set_ylabel("character F1")
    panels[-1].legend(fontsize=7)
    figure.savefig(target, dpi=120)


if __name__ == "__main__":
    main()
