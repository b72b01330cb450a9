"""How calibration behaves over weeks: cosines that drift, a glossary that grows, a translator that ignores terms.

    python benchmarks/calibration_simulation.py [--weeks 40] [--seeds 5]

Each world is simulated with several seeds (`babelray.evaluation.simulated_hints`); the plot shows threshold, recall,
precision and adherence week by week. Writes benchmarks/out/calibration_simulation/weeks.png.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from measuring import OUT, write_results

from babelray.config import CalibrationSettings, HashSettings
from babelray.evaluation.simulated_hints import Week, World, simulate
from models.embedders.hashed import HashEmbedder

KEY = HashEmbedder(HashSettings(kind="hash")).key
Change = Callable[[World, int], World]


def drift(world: World, week: int) -> World:
    """All cosines fall by 0.003 a week for 20 weeks, as with another model or another kind of text."""
    shift = min(week, 20) * 0.003
    return World(world.meant_at - shift, world.other_at - shift, world.spread, world.meant, world.other)


def growth(world: World, week: int) -> World:
    """Every week a hundred more windows that mean nothing come near some term."""
    return World(world.meant_at, world.other_at, world.spread, world.meant, 200 + 100 * week)


WORLDS: dict[str, tuple[World, float, Change | None]] = {
    "too strict at first": (World(), 0.985, None),
    "too loose at first": (World(), 0.90, None),
    "cosines drift": (World(), 0.94, drift),
    "the glossary grows": (World(), 0.92, growth),
    "the translator ignores 60 %": (World(faults=0.6), 0.94, None),
}


def main() -> None:
    """Simulate, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weeks", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    runs = {
        name: [
            simulate(world, asked.weeks, CalibrationSettings(), KEY, threshold=start, change=change, seed=seed)
            for seed in range(asked.seeds)
        ]
        for name, (world, start, change) in WORLDS.items()
    }
    metrics: dict[str, Any] = {}
    for name, weeks in runs.items():
        tail = [week for run in weeks for week in run[-8:]]
        metrics[f"{name}: threshold, first and last"] = (
            f"{weeks[0][0].threshold:.3f}, {np.mean([run[-1].threshold for run in weeks]):.3f}"
        )
        metrics[f"{name}: last 8 weeks"] = (
            f"recall {np.mean([w.recall for w in tail]):.2f}, "
            f"precision {np.mean([w.precision or 0 for w in tail]):.2f}, "
            f"threshold wanders {np.max([np.ptp([w.threshold for w in run[-8:]]) for run in weeks]):.3f}"
        )
        metrics[f"{name}: weeks that moved"] = round(
            float(np.mean([sum(week.direction != "kept" for week in run) for run in weeks])), 1
        )
    write_results("calibration_simulation", vars(asked), metrics)
    draw(runs)


def draw(runs: dict[str, list[list[Week]]]) -> None:
    """One column a world: thresholds of all seeds above, rates of the first seed below."""
    figure = Figure(figsize=(3.2 * len(runs), 5.2), layout="constrained")
    axes = figure.subplots(2, len(runs), sharex=True, sharey="row", squeeze=False)
    for column, (name, weeks) in enumerate(runs.items()):
        above, below = axes[0][column], axes[1][column]
        for run in weeks:
            above.plot([week.threshold for week in run], color="#3366aa", alpha=0.5, linewidth=1.2)
        above.set_title(name, fontsize="medium")
        for field, colour in (("recall", "#228844"), ("precision", "#bb5522"), ("adherence", "#888888")):
            below.plot([getattr(week, field) for week in weeks[0]], color=colour, label=field, linewidth=1.2)
        below.set(ylim=(0, 1.03), xlabel="week")
        for one in (above, below):
            one.grid(alpha=0.25)
    axes[0][0].set_ylabel("threshold, every seed")
    axes[1][0].set_ylabel("first seed")
    axes[1][0].legend(fontsize="small", loc="lower right")
    path = OUT / "calibration_simulation" / "weeks.png"
    figure.savefig(path, dpi=90)
    print(f"drawn to {path}")


if __name__ == "__main__":
    main()
