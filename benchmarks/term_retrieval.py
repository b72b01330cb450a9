"""Recall and precision of four ways to find glossary terms in real interface strings, by length of the string.

    python benchmarks/term_retrieval.py DATA [--models bundled-e5 bundled-minilm] [--limit N]

DATA holds `glossary/terms.jsonl`, `l10n_payloads/` and `docs/`. What is right is labelled by the slow method of
`glossary_matching.py` (words by a regular expression, lemmas by the dictionaries of simplemma), which shares no code
with the matcher: a term stands in a string if its words stand there in a row, exact or as other forms of the same
dictionary words; bases of gerunds are left out of both sides. Compared are

- whole strings: the 5 terms nearest to the vector of the string,
- plain n-grams: every term that some 1- to 3-gram reaches the model's threshold with,
- enforced: the matcher alone,
- enforced and hints: the matcher, and above the same threshold the windows that no match covers.

A second gold that no method of ours has made: the `glossary_tooltip` links that authors of the Kubernetes pages set by
hand. There a term is right if it is found anywhere in the words of its link.
"""

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from glossary_matching import Labeller, is_gerund, load_strings, load_terms
from measuring import write_results

from babelray.config import BundledE5Settings, BundledMiniLmSettings
from babelray.glossary.baselines import PlainRetrieval
from babelray.glossary.hints import HintFinder, LiveSearch, build_hint_index
from babelray.glossary.match import MatchScope, TermMatcher
from babelray.glossary.thresholds import starting_thresholds
from babelray.glossary.vector_cache import NGramVectors
from babelray.protocols import Embedder
from models.registry import build_embedder, ensure_on_node

MODELS = {
    "bundled-e5": BundledE5Settings(kind="bundled-e5"),
    "bundled-minilm": BundledMiniLmSettings(kind="bundled-minilm"),
}
CACHE = Path("~/.cache/babelray").expanduser()
SCOPE = MatchScope("es")
TOOLTIP = re.compile(r"""\{\{<\s*glossary_tooltip\s+([^>]*?)\s*>\}\}""")
OPTION = re.compile(r"""(\w+)\s*=\s*"([^"]*)"|"([^"]*)\"""")
BUCKETS = ("1-5", "6-20", "over 20")
BATCH = 500


class Gold:
    """Which terms stand in which string, by the slow method."""

    def __init__(self, sources: Sequence[str]) -> None:
        self._labeller = Labeller("en")
        self._by_word: dict[str, list[Any]] = defaultdict(list)
        for written in sorted(set(sources)):
            label = self._labeller.term(written)
            if label is not None:
                self._by_word[self._labeller.lemma(label.words[-1])].append(label)
                self._by_word[label.words[-1].casefold()].append(label)

    def of(self, text: str) -> tuple[str, set[str], set[str]]:
        """Bucket of the string, its terms, and those that are neither right nor wrong."""
        runs = self._labeller.words(text)
        words = {word for run in runs for word in run}
        keys = {word.casefold() for word in words} | {self._labeller.lemma(word) for word in words}
        right, open_ = set(), set()
        for label in {one.written: one for key in keys for one in self._by_word.get(key, ())}.values():
            kind = self._labeller.label(runs, label)
            if kind == "inflected" and is_gerund(label, "en"):
                open_.add(label.written)
            elif kind:
                right.add(label.written)
        size = sum(map(len, runs))
        return BUCKETS[0] if size <= 5 else BUCKETS[1] if size <= 20 else BUCKETS[2], right, open_


class Tally:
    """Hits, misses and false finds by bucket."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, bucket: str, found: set[str], right: set[str], open_: set[str]) -> None:
        """Count one string."""
        self._counts[bucket, "hit"] += len(found & right)
        self._counts[bucket, "miss"] += len(right - found)
        self._counts[bucket, "false"] += len(found - right - open_)

    def rates(self) -> dict[str, str]:
        """Bucket -> recall and precision."""
        shown = {}
        for bucket in (*BUCKETS, "all"):
            hit, miss, false = (
                sum(n for (b, k), n in self._counts.items() if k == kind and bucket in (b, "all"))
                for kind in ("hit", "miss", "false")
            )
            recall, precision = hit / max(hit + miss, 1), hit / max(hit + false, 1)
            shown[bucket] = f"recall {recall:.3f} of {hit + miss}, precision {precision:.3f} of {hit + false}"
        return shown


def main() -> None:
    """Measure all ways with all models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--models", nargs="+", choices=sorted(MODELS), default=sorted(MODELS))
    parser.add_argument("--limit", type=int, default=None, help="strings, spread evenly over the files")
    asked = parser.parse_args()
    terms = [term for term in load_terms(asked.data) if term.target_locale == "es"]
    matcher = TermMatcher(terms, "en")
    strings = sorted({text for _, _, text in load_strings(asked.data, "en")})
    if asked.limit:
        strings = strings[:: max(len(strings) // asked.limit, 1)]
    gold = Gold([term.source for term in terms])
    labelled = [gold.of(text) for text in strings]
    metrics: dict[str, Any] = {"terms": len(terms), "strings": len(strings)}
    enforced = [{m.term.source for m in matcher.match(text, SCOPE).enforced} for text in strings]
    metrics |= _shown("enforced", enforced, labelled)
    for name in asked.models:
        ensure_on_node(MODELS[name], CACHE)
        embedder = build_embedder(MODELS[name], CACHE)
        metrics |= _with_model(name, embedder, matcher, strings, enforced, labelled)
    metrics |= tooltips(asked.data)
    write_results("term_retrieval", vars(asked), metrics)


def _with_model(
    name: str, embedder: Embedder, matcher: TermMatcher, strings: Sequence[str], enforced: Sequence[set[str]],
    labelled: Sequence[tuple[str, set[str], set[str]]],
) -> dict[str, Any]:  # fmt: skip
    cache = NGramVectors(embedder.key, 1_000_000)
    index = build_hint_index(matcher, embedder, cache)
    plain = PlainRetrieval(matcher, index, embedder, cache)
    thresholds = starting_thresholds(embedder.key)
    finder = HintFinder(matcher, LiveSearch(index, embedder, cache), thresholds)
    whole, grams, hinted = [], [], []
    for at in range(0, len(strings), BATCH):
        part = strings[at : at + BATCH]
        whole += [{hint.term.source for hint in found} for found in plain.by_sentence(part, SCOPE, 5)]
        grams += [{h.term.source for h in found} for found in plain.by_ngrams(part, SCOPE, thresholds.default)]
        matches = [matcher.match(text, SCOPE, with_ngrams=True) for text in part]
        hinted += [{hint.term.source for hint in found} for found in finder.find(matches, SCOPE)]
    both = [first | second for first, second in zip(enforced, hinted, strict=True)]
    return {
        **_shown(f"{name}, whole strings, 5 nearest", whole, labelled),
        **_shown(f"{name}, plain n-grams at {thresholds.default}", grams, labelled),
        **_shown(f"{name}, enforced and hints at {thresholds.default}", both, labelled),
        f"{name}: hints": sum(map(len, hinted)),
        f"{name}: hints of labelled terms": sum(
            len(found & right) for found, (_, right, _) in zip(hinted, labelled, strict=True)
        ),
        f"{name}: different texts embedded": len(cache),
    }


def _shown(name: str, found: Sequence[set[str]], labelled: Sequence[tuple[str, set[str], set[str]]]) -> dict[str, str]:
    tally = Tally()
    for got, (bucket, right, open_) in zip(found, labelled, strict=True):
        tally.add(bucket, got, right, open_)
    return {f"{name}; {bucket} words": rates for bucket, rates in tally.rates().items()}


def links(data: Path) -> Iterator[tuple[str, str, str]]:
    """Page, term id and words of the tooltip links that authors set on English pages."""
    for page in sorted((data / "docs" / "kubernetes" / "en").rglob("*.md")):
        for match in TOOLTIP.finditer(page.read_text(encoding="utf-8")):
            options = {name: value for name, value, _ in OPTION.findall(match[1]) if name}
            if options.get("term_id"):
                yield page.name, options["term_id"], options.get("text", "")


def tooltips(data: Path) -> dict[str, Any]:
    """Whether the term of a human link is found in the link's own words, by the terms of any target."""
    by_id = {term.term_id: term for term in load_terms(data) if term.term_id.startswith("k8s:")}
    terms = [one.model_copy(update={"target_locale": "*"}) for one in by_id.values()]
    matcher = TermMatcher(terms, "en")
    counts: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for _, term_id, text in links(data):
        if f"k8s:{term_id}" not in by_id:
            counts["of a term that the glossary has not"] += 1
            continue
        if not text:
            counts["without words of their own"] += 1
            continue
        found = {match.term.term_id for match in matcher.match(text, SCOPE).enforced}
        counts["found" if f"k8s:{term_id}" in found else "missed"] += 1
        if f"k8s:{term_id}" not in found:
            missed[f"{text!r} for {by_id[f'k8s:{term_id}'].source!r}"] += 1
    total = counts["found"] + counts["missed"]
    return {
        "tooltip links": dict(counts),
        "tooltip links: recall": f"{counts['found'] / max(total, 1):.3f} of {total}",
        "tooltip links: most missed": dict(missed.most_common(12)),
    }


if __name__ == "__main__":
    main()
