"""Accuracy of block languages on a folder of localized documentation, by language and block length.

Usage: python benchmarks/language_accuracy.py DOCS_FOLDER [--out FOLDER] [--limit PAGES]

DOCS_FOLDER holds <source>/<language>/<path>.md; the folder's language is the truth. Only prose blocks count. A block
that also stands in the English page of the same path is untranslated and counted apart, as is one without any word.
Writes params.json, metrics.json and prints a Markdown table.
"""

import argparse
import json
import platform
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from babelray.protocols import LanguageCandidate
from babelray.text.blocks import split_blocks
from babelray.text.language import UNDETERMINED, LanguagePolicy, LanguageVerdict, canonical_language
from babelray.text.language_evidence import natural_text
from babelray.text.projection import project
from babelray.text.types import BlockKind, Document
from models.identifier import FastTextIdentifier

PROSE = {BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.LIST, BlockKind.QUOTE, BlockKind.TABLE}
LENGTHS = ((10, "<10"), (30, "10-29"), (100, "30-99"), (10**9, "100+"))
SYSTEMS = ("identifier alone", "policy, lone block", "policy, document", "policy, document + declared")


def main() -> None:
    """Parse the command line, measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", type=Path)
    parser.add_argument("--out", type=Path, default=None, help="folder for params.json and metrics.json")
    parser.add_argument("--limit", type=int, default=0, help="pages a language folder, 0 for all")
    parser.add_argument("--errors", type=int, default=0, help="print so many random confident errors a system")
    args = parser.parse_args()
    identifier = FastTextIdentifier()
    policy = LanguagePolicy(identifier)
    started = time.perf_counter()
    cells: dict[tuple[str, str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    errors: dict[str, list[str]] = defaultdict(list)
    counted: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for source, folder, pages in language_folders(args.docs, args.limit):
        truth = canonical_language(folder)
        if truth is None:
            continue
        for page in pages:
            measure_page(args.docs / source, folder, truth, page, policy, identifier, (cells, counted, errors))
    metrics = summarize(cells, counted)
    metrics["seconds"] = round(time.perf_counter() - started, 1)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        params = {
            "docs": args.docs.name,
            "limit": args.limit,
            "policy": policy.version,
            "python": platform.python_version(),
        }
        (args.out / "params.json").write_text(json.dumps(params, indent=2) + "\n")
        (args.out / "metrics.json").write_text(json.dumps(metrics, indent=2, ensure_ascii=False) + "\n")
    print_tables(metrics)
    for system, items in errors.items():
        random.Random(0).shuffle(items)
        for item in items[: args.errors]:
            print(system, item)


def language_folders(docs: Path, limit: int) -> Iterator[tuple[str, str, list[str]]]:
    """Sources, their language folders and the pages' paths inside, sorted."""
    for source in sorted(path for path in docs.iterdir() if path.is_dir()):
        for folder in sorted(path for path in source.iterdir() if path.is_dir()):
            pages = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.md"))
            yield source.name, folder.name, pages[:limit] if limit else pages


def prose_blocks(path: Path) -> list[tuple[str, BlockKind]]:
    """Projected text and kind of all blocks of a page; none where the page does not exist."""
    if not path.is_file():
        return []
    text = path.read_text("utf-8")
    document = Document(
        doc_id=path.name, source_uri=path.name, source_revision="", text=text, media_type="text/markdown"
    )
    blocks = split_blocks(document)
    return [(project(text, block.start, block.end, block.cuts).text, block.kind) for block in blocks]


def measure_page(source, folder, truth, page, policy, identifier, tallies) -> None:  # noqa: ANN001
    """Add one page's blocks to the tallies."""
    cells, counted, errors = tallies
    blocks = prose_blocks(source / folder / page)
    english = set()
    if truth != "en":
        english = {squeezed(text) for text, kind in prose_blocks(source / "en" / page) if kind in PROSE}
    texts, kinds = [text for text, _ in blocks], [kind for _, kind in blocks]
    verdicts = {
        SYSTEMS[1]: [policy.judge([text], [kind])[0] for text, kind in blocks],
        SYSTEMS[2]: policy.judge(texts, kinds),
        SYSTEMS[3]: policy.judge(texts, kinds, truth),
    }
    raw = identifier.identify(texts, 1)
    for index, (text, kind) in enumerate(blocks):
        if kind not in PROSE:
            continue
        if not any(char.isalpha() for char in natural_text(text)):
            counted[truth]["no words"] += 1
            continue
        expected, row = truth, truth
        if squeezed(text) in english:
            expected, row = "en", f"{truth}: untranslated"
        counted[row]["blocks"] += 1
        length = next(name for bound, name in LENGTHS if len(squeezed(text)) < bound)
        answers = {name: found[index] for name, found in verdicts.items()}
        answers[SYSTEMS[0]] = raw_verdict(raw[index], expected)
        for system, verdict in answers.items():
            tally(cells[system, row, length], verdict, expected)
            if verdict.language != expected and not verdict.low_confidence:
                errors[system].append(f"{expected} -> {verdict.language}: {squeezed(text)[:90]!r}")


def squeezed(text: str) -> str:
    """White space as single spaces."""
    return " ".join(text.split())


def raw_verdict(candidates: list[LanguageCandidate], expected: str) -> LanguageVerdict:
    """The identifier's first answer as a verdict; it cannot tell zh-Hans from zh-Hant, so `zh` counts as either."""
    language = candidates[0].language if candidates else UNDETERMINED
    language = expected if language == "zh" and expected.startswith("zh") else language
    unsure = not candidates or candidates[0].probability < 0.8
    return LanguageVerdict(language, tuple(candidates), {}, low_confidence=unsure, code_switching=False)


def tally(cell: dict[str, int], verdict: LanguageVerdict, expected: str) -> None:
    """Count one verdict."""
    right = verdict.language == expected
    cell["n"] += 1
    cell["right"] += right
    cell["low"] += verdict.low_confidence
    cell["confident_right"] += right and not verdict.low_confidence


def summarize(cells, counted) -> dict[str, object]:  # noqa: ANN001
    """Shares by system, language and length; `all` sums the lengths."""
    sums = {key: dict(cell) for key, cell in cells.items()}
    for (system, row, _), cell in cells.items():
        total = sums.setdefault((system, row, "all"), defaultdict(int))
        for name, number in cell.items():
            total[name] += number
    table: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for (system, row, length), cell in sorted(sums.items()):
        confident = cell["n"] - cell.get("low", 0)
        table.setdefault(row, {}).setdefault(length, {})[system] = {
            "n": cell["n"],
            "accuracy": round(cell.get("right", 0) / cell["n"], 4),
            "low_confidence": round(cell.get("low", 0) / cell["n"], 4),
            "accuracy_confident": round(cell.get("confident_right", 0) / confident, 4) if confident else 0.0,
        }
    return {"table": table, "counted": {row: dict(numbers) for row, numbers in counted.items()}}


def print_tables(metrics: dict[str, object]) -> None:
    """One Markdown row a language and length: accuracy / share low confidence / accuracy among the confident."""
    print("| blocks | length | n | " + " | ".join(SYSTEMS) + " |")
    print("|---|---|---|" + "---|" * len(SYSTEMS))
    for row, lengths in metrics["table"].items():
        for length in [name for _, name in LENGTHS] + ["all"]:
            if length not in lengths:
                continue
            numbers = [lengths[length][system] for system in SYSTEMS]
            shown = [
                f"{x['accuracy']:.3f} / {x['low_confidence']:.2f} / {x['accuracy_confident']:.3f}" for x in numbers
            ]
            print(f"| {row} | {length} | {numbers[0]['n']} | " + " | ".join(shown) + " |")
    print(json.dumps(metrics["counted"], ensure_ascii=False))


if __name__ == "__main__":
    main()
