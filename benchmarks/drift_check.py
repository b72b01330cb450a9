"""How often the drift check refuses translations by people, and how often it sees a digit or a negation that changed.

Usage: python benchmarks/drift_check.py QUERIES_JSONL [--half test] [--out FOLDER]

QUERIES_JSONL has one question an object a line: `group_id`, `lang`, `question`; the questions of a group are
translations of each other. Groups are divided in halves by a digest of their id: words were chosen while looking at
`dev`, so `test` is what to report. Human translations also differ in what they say, and keep no placeholder: every
abbreviation, quotation and date that a translator rewrote counts as refused here.
"""

import argparse
import hashlib
import json
import platform
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path

from babelray.retrieval.analysis import analyze_query
from babelray.retrieval.drift import check_drift
from babelray.retrieval.query import QueryAnalysis
from babelray.text.language import LanguagePolicy
from models.identifier import FastTextIdentifier

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NEGATIONS = {
    "en": r"\b(?:not|never|without)\b ?",
    "de": r"\b(?:nicht|kein\w*|ohne)\b ?",
    "es": r"\b(?:no|sin|nunca)\b ?",
    "zh": r"不是|不能|没有|无法|未|不(?=[会被再])",
}
DIGITS = re.compile(r"(?<![\w.])\d+(?![\w.]*\d)")


def main() -> None:
    """Parse the command line, measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries", type=Path)
    parser.add_argument("--half", choices=("dev", "test"), default="test")
    parser.add_argument("--out", type=Path, default=None, help="folder for params.json and metrics.json")
    args = parser.parse_args()
    policy = LanguagePolicy(FastTextIdentifier())
    groups = read_groups(args.queries, args.half)
    metrics = measure(groups, policy)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        params = {"half": args.half, "policy": policy.version, "python": platform.python_version()}
        (args.out / "params.json").write_text(json.dumps(params, indent=2) + "\n")
        (args.out / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
    print(json.dumps(metrics, indent=2))


def read_groups(path: Path, half: str) -> list[dict[str, str]]:
    """Language -> question, for each group of one half, in order of their ids."""
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        groups[row["group_id"]][row["lang"]] = row["question"]
    odd = half == "dev"
    return [groups[name] for name in sorted(groups) if int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == odd]


def measure(groups: list[dict[str, str]], policy: LanguagePolicy) -> dict[str, dict[str, float | int | str]]:
    """Shares of refused pairs by language pair, of kinds, and of changes seen by language."""
    asked: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    random_choice = random.Random(5)
    changes: dict[str, Callable[[str, str], str]] = {
        "digit": lambda text, _: with_other_digits(text, random_choice),
        "negation dropped": lambda text, language: re.sub(NEGATIONS.get(language, r"(?!)"), "", text),
    }
    for group in groups:
        analyses = {
            language: analyze_query(text, policy, max_characters=10_000, now=NOW) for language, text in group.items()
        }
        for source, target in permutations(sorted(group), 2):
            pair, text = f"{source}-{target}", group[target]
            problems = check_drift(analyses[source], text, target, check_language=policy, translated=True)
            asked[pair] += 1
            refused[pair] += bool(problems)
            kinds.update({one.kind for one in problems})
            for name, change in changes.items():
                changed = change(text, target)
                if problems or changed == text:
                    continue
                tried[f"{name}, {target}"] += 1
                seen[f"{name}, {target}"] += is_refused(analyses[source], changed, target)
    return {
        "refused": {pair: round(refused[pair] / asked[pair], 4) for pair in sorted(asked)},
        "refused of all": {"share": round(refused.total() / asked.total(), 4), "pairs": asked.total()},
        "pairs with a problem of": dict(kinds.most_common()),
        "changes seen": {name: f"{seen[name]} of {tried[name]}" for name in sorted(tried)},
    }


def with_other_digits(text: str, choice: random.Random) -> str:
    """The text with one of its numbers made larger by 1, 7 or 10."""
    numbers = list(DIGITS.finditer(text))
    if not numbers:
        return text
    number = choice.choice(numbers)
    return text[: number.start()] + str(int(number.group()) + choice.choice([1, 7, 10])) + text[number.end() :]


def is_refused(analysis: QueryAnalysis, text: str, language: str) -> bool:
    """Whether a changed translation is seen to drift."""
    return bool(check_drift(analysis, text, language, check_language=None, translated=True))


if __name__ == "__main__":
    main()
