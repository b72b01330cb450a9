"""From how many terms on a glossary is better searched than handed over whole.

    python benchmarks/mode_crossover.py DATA [--rounds 5]

For glossaries of growing size, made of real terms: the time to find the terms of a 20-key payload and to write the
prompt of those (`search`), against writing the prompt of all (`preload`), and the characters of both prompts. What a
model then takes to read a prompt is its own affair: `--milliseconds-per-1000` puts it in. 0 counts this machine alone.
"""

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

from glossary_matching import grown_glossary, make_payloads
from measuring import write_results

from babelray.glossary.constraints import constraints_from_matches, constraints_from_terms, render_prompt
from babelray.glossary.match import MatchScope, TermMatcher
from babelray.glossary.payload import parse_payload

SCOPE = MatchScope("es")
SIZES = (5, 10, 20, 40, 80, 160, 320, 640, 2000)


def main() -> None:
    """Measure both ways at every size, and say where they cross."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--milliseconds-per-1000", type=float, default=40.0, help="a model's time for 1,000 characters of prompt"
    )
    asked = parser.parse_args()
    payloads = [[s.value for s in parse_payload(raw).strings] for raw in make_payloads(asked.data)[::5]]
    metrics: dict[str, Any] = {"payloads": len(payloads), "keys a payload": 20}
    crossed: dict[str, int] = {}
    for size in SIZES:
        matcher = TermMatcher(grown_glossary(asked.data, size, 7), "en")
        search, preload, searched, whole = _measure(matcher, payloads, asked.rounds)
        metrics[f"{size} terms"] = (
            f"search {search:.2f} ms and {searched:,.0f} characters, "
            f"preload {preload:.2f} ms and {whole:,.0f} characters"
        )
        cost = asked.milliseconds_per_1000 / 1000
        for name, factor in (("on this machine", 0.0), ("with the model's reading", cost)):
            if preload + factor * whole > search + factor * searched:
                crossed.setdefault(name, size)
    metrics |= {f"search is quicker from, {name}": crossed.get(name, "beyond these sizes") for name in
                ("on this machine", "with the model's reading")}  # fmt: skip
    write_results("mode_crossover", vars(asked), metrics)


def _measure(matcher: TermMatcher, payloads: list[list[str]], rounds: int) -> tuple[float, float, float, float]:
    """Milliseconds of both ways, median over payloads of the quickest round, and characters of both prompts."""
    matcher.count(SCOPE)
    search_times, characters = [], []
    for texts in payloads:
        best = float("inf")
        prompt = ""
        for _ in range(rounds):
            began = time.perf_counter()
            matches = [match for text in texts for match in matcher.match(text, SCOPE).selected]
            prompt = render_prompt(constraints_from_matches(matches, "en", "es"))
            best = min(best, time.perf_counter() - began)
        search_times.append(best * 1000)
        characters.append(len(prompt))
    best, whole = float("inf"), ""
    for _ in range(rounds * 5):
        began = time.perf_counter()
        whole = render_prompt(constraints_from_terms(matcher.allowed(SCOPE), "en", "es"))
        best = min(best, time.perf_counter() - began)
    return statistics.median(search_times), best * 1000, statistics.mean(characters), float(len(whole))


if __name__ == "__main__":
    main()
