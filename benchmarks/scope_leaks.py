"""Counts rows outside a scope that come out, and rows inside it that an exact search misses. Both must be 0.

Two runs. Random scopes on random access tables: the bitmap for FAISS, the filter for the word index and the check on
the way out, against the rules written out row by row. And random questions under random scopes through the whole
retriever on random corpora: all channels, flat and inverted vector indexes, caches, replayed plans, overrides, deleted
documents, lost classes, validity to the microsecond, unknown tenants, narrowed and widened requests.

    python benchmarks/scope_leaks.py --scopes 1000000 --questions 10000
"""

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measuring import write_results

from babelray.errors import AccessDenied
from babelray.index import open_segment
from babelray.index.access import CompiledScope, compile_scope, is_valid_at
from babelray.index.row_access import LexicalFilter, RowAccess

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.index.access_worlds import World, random_scope, random_world
from tests.retrieval.scope_worlds import ScopeWorld, Tally

SCOPES_A_WORLD = 50
QUESTIONS_A_WORLD = 100
QUESTIONS_A_TABLE = 20
SOME_ROWS = 0.05
"""Share of the scopes whose rows are also put through the check on the way out; it raises for each row outside."""


def main() -> None:
    """Run both and write the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scopes", type=int, default=1_000_000, help="random scopes on tables and bitmaps")
    parser.add_argument("--questions", type=int, default=10_000, help="random questions through the whole retriever")
    parser.add_argument("--rows", type=int, default=40, help="rows of a random segment, at most, in the first run")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    # A request that asks for more than its scope is refused and logged, here thousands of times.
    logging.getLogger("babelray").setLevel(logging.ERROR)
    metrics = run_bitmaps(asked.scopes, asked.rows, asked.seed) | run_questions(asked.questions, asked.seed)
    write_results("scope_leaks", vars(asked), metrics)
    if any(value for name, value in metrics.items() if name.endswith(("outside", "missed"))):
        sys.exit("rows outside a scope came out, or rows inside one were missed")


def run_bitmaps(scopes: int, rows: int, seed: int) -> dict[str, float]:
    """Random scopes on random tables, row by row."""
    rng = np.random.default_rng(seed)
    began = time.perf_counter()
    done = looked_at = inside = outside = missed = 0
    while done < scopes:
        world = random_world(rng, rows=int(rng.integers(1, rows)))
        access = world.row_access()
        for _ in range(min(SCOPES_A_WORLD, scopes - done)):
            scope = random_scope(rng)
            expected = np.array([world.visible(scope, row) for row in range(world.rows)])
            compiled = compile_scope(world.table, scope)
            for found, wanted in _readings(world, access, compiled, expected):
                outside += int((found & ~wanted).sum())
                missed += int((wanted & ~found).sum())
            if rng.random() < SOME_ROWS:
                let_out = np.array([_let_out(access, row, compiled) for row in range(world.rows)])
                outside += int((let_out & ~expected).sum())
                missed += int((expected & ~let_out).sum())
            looked_at += world.rows
            inside += int(expected.sum())
            done += 1
    return {
        "bitmaps: scopes": done,
        "bitmaps: rows looked at": looked_at,
        "bitmaps: rows inside": inside,
        "bitmaps: rows outside": outside,
        "bitmaps: rows missed": missed,
        "bitmaps: seconds": round(time.perf_counter() - began, 1),
    }


def _readings(
    world: World, access: RowAccess, compiled: CompiledScope, expected: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """What each use of the columns lets through, with what it should."""
    bitmap, allowed = access.bitmap(compiled)
    with_vector = np.unpackbits(bitmap, bitorder="little")[: world.rows].astype(bool)
    permitted = np.unpackbits(access.permitted(compiled), bitorder="little")[: world.rows].astype(bool)
    words = _through_filter(access.lexical_filter(compiled), world)
    counted = np.array([allowed]), np.array([int((expected & np.array(world.has_vector)).sum())])
    return [
        (with_vector, expected & np.array(world.has_vector)),
        (permitted, expected),
        (words, expected),
        (counted[0] != counted[1], np.array([False])),
    ]


def _through_filter(scope: LexicalFilter, world: World) -> np.ndarray:
    """Which rows the clauses of a filter let through, by plain look-up."""
    let_through = []
    for row in range(world.rows):
        document, number = world.documents[row], world.doc_class[world.documents[row]]
        ordinary = (scope.classes is None or number in scope.classes) and document not in scope.blocked
        timely = scope.as_of is None or is_valid_at(scope.as_of, world.valid_from[row], world.valid_to[row])
        let_through.append((ordinary or document in scope.admitted) and timely)
    return np.array(let_through)


def _let_out(access: RowAccess, row: int, compiled: CompiledScope) -> bool:
    try:
        access.check(np.array([row]), compiled)
    except AccessDenied:
        return False
    return True


def run_questions(questions: int, seed: int) -> dict[str, float]:
    """Random questions through the whole retriever, on worlds with flat and with inverted indexes in turn."""
    began = time.perf_counter()
    total = Tally()
    world_number = 0
    wide_share = open_segment.WIDE_SHARE
    while total.asked < questions:
        kind = "ivf_sq8" if world_number % 2 else "flat"
        # Half of the worlds ask the word index without the filter clause wherever they can.
        open_segment.WIDE_SHARE = 0.02 if world_number % 4 < 2 else wide_share
        with tempfile.TemporaryDirectory(prefix="scope-leaks-") as folder:
            world = ScopeWorld(Path(folder), seed * 1_000_003 + world_number, kind)
            for number in range(min(QUESTIONS_A_WORLD, questions - total.asked)):
                if number % QUESTIONS_A_TABLE == QUESTIONS_A_TABLE - 1:
                    world.change_rights()
                world.ask()
            world.close()
            total.add(world.tally)
        world_number += 1
    open_segment.WIDE_SHARE = wide_share
    return {
        "questions: asked": total.asked,
        "questions: corpora": world_number,
        "questions: refused for asking more than the scope": total.refused,
        "questions: rows inside": total.shown,
        "questions: passages": total.passages,
        "questions: answers from memory": total.cached,
        **{f"questions: rows found, {name}": number for name, number in sorted(total.channels.items())},
        "questions: rows outside": total.leaked,
        "questions: rows missed": total.missed,
        "questions: seconds": round(time.perf_counter() - began, 1),
    }


if __name__ == "__main__":
    main()
