"""Recall, samples for precision, and speed of enforced glossary matching on real locale files.

    python benchmarks/glossary_matching.py DATA OUT [--embed] [--seed 7]

DATA holds `glossary/terms.jsonl` and `l10n_payloads/<project>/<locale>.json`. OUT gets params.json, metrics.json,
environment.json, misses.jsonl and sample.jsonl (100 matches to be judged by a person).

What is right is labelled by another, slow method that shares no code and no rule with the matcher: words by a regular
expression, lemmas by the dictionaries of `simplemma` (pip install simplemma; used by this script only). A term is
*exact* in a string if its words stand there in a row, case ignored (an initialism that is a dictionary word keeps its
case). It is *inflected* there if it is not exact and each word equals the term's or is another form of the same
dictionary word; in English only the last word may be another form, elsewhere any. The other direction of German and
Spanish is measured by turning the glossary around and reading the human translations.
"""

import argparse
import json
import platform
import random
import re
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babelray.glossary.match import MatchScope, StringMatches, TermMatcher
from babelray.glossary.ngrams import ngrams
from babelray.glossary.payload import parse_payload, read_payloads
from babelray.glossary.terms import Term, TermKind

SOFTWARE_SETS = ("kubernetes", "cncf", "glosario", "openstack", "fastapi")
BARRIER = re.compile(r"\$t\([^)]*\)|\{\{[^}]*\}\}|\{[^{}]*\}|<[^>]+>|`[^`]*`|https?://\S+|%[\d$]*[sd]|&[a-z]+;")
WORD = re.compile(r"\w+(?:[.@'’]\w+)*")
REMARK = re.compile(r"\s*[(（][^)）]*[)）]\s*$")
ARTICLES = {
    "en": {"the", "a", "an", "to"},
    "de": {"der", "die", "das", "ein", "eine"},
    "es": {"el", "la", "los", "las", "un", "una"},
}
PRONOUNS = {"you", "your", "sie", "ihr"}
"""The dictionaries give all forms of a pronoun one lemma: they are not labelled."""
KEYS_PER_PAYLOAD = 20


@dataclass(frozen=True)
class LabelledTerm:
    """A term as the slow labelling sees it."""

    written: str
    words: tuple[str, ...]
    cased: bool


def load_terms(data: Path, *, source: str = "en", software: bool = True) -> list[Term]:
    """Terms of the glossary data; for another source than English, turned around."""
    found: dict[tuple[str, str, str, str], Term] = {}
    for line in (data / "glossary" / "terms.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if software and row["source_set"] not in SOFTWARE_SETS:
            continue
        target = row.get("target_clean") or row["target"]
        left, right, origin, goal = row["source"], target, "en", row["target_locale"]
        if source != "en":
            if goal != source:
                continue
            left, right, origin, goal = target, row["source"], source, "en"
        kind = (
            TermKind.NON_TRANSLATABLE
            if left == right or row["kind"] == "non_translatable"
            else TermKind.CUSTOM_TRANSLATION
        )
        if kind is TermKind.NON_TRANSLATABLE and left != right:
            right = left
        term = Term(
            term_id=row["term_id"],
            source_locale=origin,
            target_locale=goal,
            source=left,
            target=right,
            kind=kind,
            domain=row["domain"],
        )
        found[term.term_id, left, goal, right] = term
    return list(found.values())


def load_strings(data: Path, locale: str) -> list[tuple[str, str, str]]:
    """(project, pointer, string) of every locale file of one locale."""
    files = sorted((data / "l10n_payloads").glob(f"*/{locale}.json"))
    return [(f.parent.name, s.pointer, s.value) for f in files for p in read_payloads(f) for s in p.strings]


def is_gerund(term: LabelledTerm, language: str) -> bool:
    """Whether a term is English in -ing or -ed.

    `testing` and `test`, `parsing` and `parse` share a dictionary word, but whether they are one term is the
    glossary's to say. Such finds are counted apart, and the matcher does not look for them.
    """
    return language == "en" and term.words[-1].casefold().endswith(("ing", "ed"))


class Labeller:
    """The slow, independent method."""

    def __init__(self, language: str) -> None:
        import simplemma

        self.language = language
        self._lemma: Callable[[str], str] = lambda word: simplemma.lemmatize(word, lang=language).casefold()
        self._known: Callable[[str], bool] = lambda word: simplemma.is_known(word, lang=language)
        self._cache: dict[str, str] = {}

    def lemma(self, word: str) -> str:
        """The dictionary word, folded."""
        if word not in self._cache:
            self._cache[word] = self._lemma(word)
        return self._cache[word]

    def term(self, written: str) -> LabelledTerm | None:
        """Words of a term without remark, quotes and article."""
        if re.search(r"[+`#&]", written):
            return None  # the sign is part of the term, and this method sees only words
        words = [w for w in WORD.findall(REMARK.sub("", written)) if w]
        if len(words) > 1 and words[0].casefold() in ARTICLES.get(self.language, ()):
            words = words[1:]
        if not words or (len(words) == 1 and words[0].casefold() in PRONOUNS):
            return None
        cased = len(words) == 1 and (len(words[0]) == 1 or (words[0].isupper() and self._known(words[0].lower())))
        return LabelledTerm(written, tuple(words), cased)

    def words(self, text: str) -> list[list[str]]:
        """Runs of words with nothing but spaces and hyphens between them."""
        runs: list[list[str]] = []
        for piece in BARRIER.split(text):
            end = -1
            for match in WORD.finditer(piece):
                gap = piece[end : match.start()] if end >= 0 else "|"
                if end < 0 or gap.strip(" \u00a0\n\t-\u2011"):
                    runs.append([])
                runs[-1].append(re.sub(r"['’]s$", "", match[0]))
                end = match.end()
        return runs

    def label(self, runs: list[list[str]], term: LabelledTerm) -> str | None:
        """`exact`, `inflected` or None."""
        size = len(term.words)
        best = None
        for run in runs:
            for at in range(len(run) - size + 1):
                window = run[at : at + size]
                if term.cased:
                    if tuple(window) == term.words:
                        return "exact"
                    continue
                if all(a.casefold() == b.casefold() for a, b in zip(window, term.words, strict=True)):
                    return "exact"
                if all(self._same(a, b, i) for i, (a, b) in enumerate(zip(window, term.words, strict=True), 1 - size)):
                    best = "inflected"
        return best

    def _same(self, got: str, wanted: str, place: int) -> bool:
        """`place` is 0 for the last word of a term."""
        if got.casefold() == wanted.casefold():
            return True
        if (place and self.language == "en") or not got.isalpha() or len(got) < 3 or len(wanted) < 3:
            return False
        lemma = self.lemma(got)
        return lemma == wanted.casefold() or (got.casefold() == self.lemma(wanted) == lemma)


def measure_recall(
    data: Path, source: str, target: str
) -> tuple[dict[str, Any], list[dict[str, str]], list[tuple[str, StringMatches]]]:
    """Recall of one direction by label and string length, its misses, and all results."""
    terms = [t for t in load_terms(data, source=source) if source != "en" or t.target_locale == target]
    matcher, scope, labeller = TermMatcher(terms, source), MatchScope(target), Labeller(source)
    wanted = [label for written in sorted({t.source for t in terms}) if (label := labeller.term(written))]
    by_word: dict[str, list[LabelledTerm]] = defaultdict(list)
    for label in wanted:
        by_word[labeller.lemma(label.words[-1])].append(label)
        by_word[label.words[-1].casefold()].append(label)
    counts: Counter[tuple[str, str, bool]] = Counter()
    misses: list[dict[str, str]] = []
    results: list[tuple[str, StringMatches]] = []
    for project, pointer, text in load_strings(data, source):
        found = matcher.match(text, scope, pointer=pointer)
        results.append((f"{project}{pointer}", found))
        got = {m.term.source for m in found.enforced}
        runs = labeller.words(text)
        words = {w for run in runs for w in run}
        keys = {w.casefold() for w in words} | {labeller.lemma(w) for w in words}
        near = {label.written: label for key in keys for label in by_word.get(key, ())}
        size = sum(map(len, runs))
        bucket = "1-5" if size <= 5 else "6-20" if size <= 20 else "over 20"
        for written, label in sorted(near.items()):
            kind = labeller.label(runs, label)
            if kind == "inflected" and is_gerund(label, source):
                kind = "base of a gerund"
            if kind:
                counts[kind, bucket, written in got] += 1
                if written not in got:
                    misses.append({"pair": f"{source}->{target}", "label": kind, "term": written, "text": text})
    recall: dict[str, Any] = {
        "terms": len(matcher.terms),
        "strings": len(results),
        "patterns": matcher.automaton.patterns,
    }
    recall["matches by kind"] = dict(Counter(m.kind.value for _, r in results for m in r.enforced))
    for kind in ("exact", "inflected", "base of a gerund"):
        for bucket in ("1-5", "6-20", "over 20", "all"):
            hit, missed = (
                sum(n for (k, b, g), n in counts.items() if k == kind and bucket in (b, "all") and g is good)
                for good in (True, False)
            )
            recall[f"{kind}, {bucket} words"] = {
                "labelled": hit + missed,
                "recall": round(hit / max(hit + missed, 1), 4),
            }
    return recall, misses, results


def make_payloads(data: Path) -> list[str]:
    """Payloads of 20 keys, cut from the English locale files in their order."""
    strings = load_strings(data, "en")
    return [
        json.dumps(
            {"payload": {f"key_{i}": s[2] for i, s in enumerate(strings[at : at + KEYS_PER_PAYLOAD])}},
            ensure_ascii=False,
        )
        for at in range(0, len(strings) - KEYS_PER_PAYLOAD + 1, KEYS_PER_PAYLOAD)
    ]


def grown_glossary(data: Path, size: int, seed: int) -> list[Term]:
    """`size` different terms for one pair: the real ones, then two- and three-word phrases drawn from their words."""
    real = {t.source: t for t in load_terms(data, software=False) if t.target_locale == "es"}
    words = sorted({w for source in real for w in WORD.findall(source) if len(w) > 2})
    draw = random.Random(seed)
    while len(real) < size:
        phrase = " ".join(draw.sample(words, draw.choice((2, 2, 3))))
        if phrase not in real:
            real[phrase] = Term(
                term_id=f"x{len(real)}",
                source_locale="en",
                target_locale="es",
                source=phrase,
                target=phrase[::-1],
                kind=TermKind.CUSTOM_TRANSLATION,
            )
    return list(real.values())[:size]


def measure_speed(data: Path, payloads: list[str], seed: int) -> dict[str, Any]:
    """Time from JSON text to matches, one thread, at two glossary sizes."""
    found: dict[str, Any] = {}
    for size in (2_000, 50_000):
        terms = grown_glossary(data, size, seed)
        start = time.perf_counter()
        matcher = TermMatcher(terms, "en")
        built = time.perf_counter() - start
        scope = MatchScope("es")
        matcher.count(scope)
        # The quickest of five passes: other work on the machine can only slow one down.
        times = min((list(_times(matcher, scope, payloads)) for _ in range(5)), key=sum)
        cuts = statistics.quantiles(times, n=100)
        found[f"{size} terms"] = {
            "build_s": round(built, 2),
            "patterns": matcher.automaton.patterns,
            "payloads_per_s": round(len(times) / sum(times), 1),
            "p50_ms": round(cuts[49] * 1e3, 2),
            "p95_ms": round(cuts[94] * 1e3, 2),
            "p99_ms": round(cuts[98] * 1e3, 2),
        }
    return found


def _times(matcher: TermMatcher, scope: MatchScope, payloads: list[str]) -> Iterator[float]:
    for raw in payloads:
        start = time.perf_counter()
        for string in parse_payload(raw).strings:
            matcher.match(string.value, scope, pointer=string.pointer)
        yield time.perf_counter() - start


def count_ngrams(data: Path, payloads: list[str]) -> dict[str, Any]:
    """Windows in all, different ones, and those left open for hints; the software terms for Spanish."""
    terms = [t for t in load_terms(data) if t.target_locale == "es"]
    matcher, scope = TermMatcher(terms, "en"), MatchScope("es")
    empty = TermMatcher([], "en")
    total, every, left = 0, set(), set()
    for raw in payloads:
        for string in parse_payload(raw).strings:
            view = empty.match(string.value, scope).normalized
            grams = [g.text for g in ngrams(view, "en", 3)]
            total += len(grams)
            every.update(grams)
            left.update(
                g.text for g in matcher.match(string.value, scope, with_ngrams=True).open_ngrams if g.words <= 3
            )
    return {
        "windows": total,
        "windows_per_payload": round(total / len(payloads), 1),
        "different": len(every),
        "open_for_hints": len(left),
        "sample": sorted(every)[:: max(len(every) // 512, 1)][:512],
    }


def measure_embedding(sample: list[str]) -> float:
    """Windows a second that the default embedder encodes here, one thread, one call, after a warm-up."""
    from babelray.config import Settings
    from babelray.keys import Role
    from models.registry import build_embedder, ensure_on_node

    settings = Settings()
    ensure_on_node(settings.embedder, settings.cache_dir)
    embedder = build_embedder(settings.embedder, settings.cache_dir, threads=1)
    embedder.encode(sample[:32], Role.QUERY)
    passes = []
    for _ in range(3):
        start = time.perf_counter()
        embedder.encode(sample, Role.QUERY)
        passes.append(time.perf_counter() - start)
    return len(sample) / min(passes)


def main() -> None:
    """Run all measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--embed", action="store_true", help="also time the default embedder on the n-grams")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    metrics: dict[str, Any] = {"recall": {}}
    misses: list[dict[str, str]] = []
    judged: list[dict[str, str]] = []
    for source, target in (("en", "es"), ("en", "de"), ("de", "en"), ("es", "en")):
        metrics["recall"][f"{source}->{target}"], missed, results = measure_recall(options.data, source, target)
        misses += missed
        if target != "de":
            every = [(place, r, m) for place, r in results for m in r.enforced]
            picked = random.Random(options.seed).sample(every, min(100, len(every)))
            judged += [
                {
                    "pair": f"{source}->{target}",
                    "kind": m.kind.value,
                    "rule": m.rule,
                    "term": m.term.source,
                    "surface": m.surface,
                    "text": r.text,
                    "place": place,
                }
                for place, r, m in picked
            ]
    payloads = make_payloads(options.data)
    metrics["speed"] = measure_speed(options.data, payloads, options.seed)
    grams = count_ngrams(options.data, payloads)
    sample = grams.pop("sample")
    metrics["ngrams"] = grams
    if options.embed:
        rate = measure_embedding(sample)
        per_payload = grams["windows_per_payload"] / rate
        metrics["embedding"] = {"ngrams_per_s": round(rate, 1), "s_per_payload": round(per_payload, 3)}
        metrics["enforced_only_over_embedding_every_ngram"] = round(
            metrics["speed"]["2000 terms"]["payloads_per_s"] * per_payload, 1
        )
    environment = {"python": sys.version, "machine": platform.platform(), "processor": platform.processor()}
    params = {
        "seed": options.seed,
        "software_sets": SOFTWARE_SETS,
        "keys_per_payload": KEYS_PER_PAYLOAD,
        "payloads": len(payloads),
    }
    for name, value in (("metrics", metrics), ("params", params), ("environment", environment)):
        (options.out / f"{name}.json").write_text(
            json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    for name, rows in (("misses", misses), ("sample", judged)):
        (options.out / f"{name}.jsonl").write_text(
            "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8"
        )
    print(json.dumps(metrics, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
