"""The demo: build a small multilingual index, search it, upgrade the model, roll back. Run by `make demo`.

Every step is a `babelray` command, printed before it runs, so that it can be repeated by hand.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CONFIG = "configs/reindex-demo.yaml"
STORE = ROOT / ".babelray" / "demo"
UPGRADE = {"BABELRAY_EMBEDDER__KIND": "bundled-minilm"}

SEARCHES = [
    ("English question, English page", "how does a consumer hide a message while it works on it"),
    ("English question; only a German page answers", "how are backups encrypted?"),
    ("Japanese question; only a Portuguese page answers", "請求データをCSVで書き出す"),
    ("Chinese and English in one question", "为什么ERR_1205会让consumer重试？"),
    ("an exact identifier, whatever the language of the page", "queue.visibility.timeout_ms"),
]
ACROSS_LANGUAGES = SEARCHES[2][1]


def say(text: str) -> None:
    """Print a step's heading."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n## {text}", flush=True)


def babelray(*arguments: str, environment: dict[str, str] | None = None, expect: int = 0) -> None:
    """Show a command and run it; the demo stops if the exit code is not the expected one."""
    prefix = "".join(f"{name}={value} " for name, value in (environment or {}).items())
    print(f"$ {prefix}babelray {shlex.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "cli.main", *arguments]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **(environment or {})}, check=False)
    if done.returncode != expect:
        sys.exit(f"demo stopped: exit code {done.returncode}, expected {expect}")


def generations() -> list[dict[str, Any]]:
    """All generations of the demo's index, newest first."""
    command = [sys.executable, "-m", "cli.main", "generations", "list", "--config", CONFIG, "--json"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found: list[dict[str, Any]] = json.loads(listed)
    return found


def main() -> None:
    """Run all steps."""
    began = time.monotonic()
    shutil.rmtree(STORE, ignore_errors=True)
    say("1. Build an index of two companies' pages in six languages, with a model that is already installed")
    babelray("reindex", "run", "--config", CONFIG)

    say("2. Search it")
    for what, query in SEARCHES:
        print(f"\n- {what}")
        babelray("search", query, "--config", CONFIG, "--tenant", "orchard", "-k", "2")

    say(
        "3. One filter guards every channel: the same question by another company, then without and with on-call rights"
    )
    question = "what to do when lanternd does not answer"
    babelray("search", question, "--config", CONFIG, "--tenant", "orchard", "-k", "2")
    babelray("search", question, "--config", CONFIG, "--tenant", "lantern", "-k", "2")
    babelray("search", question, "--config", CONFIG, "--tenant", "lantern", "--group", "oncall", "-k", "2")

    say("4. Upgrade the model: the pages are not read again, only embedded again, and the old generation keeps serving")
    babelray("reindex", "run", "--config", CONFIG, "--no-publish", environment=UPGRADE)
    babelray("generations", "list", "--config", CONFIG)
    print("\n- the new model may not search the old generation: vectors of two models are never compared (exit code 3)")
    babelray("search", "retry policy", "--config", CONFIG, "--tenant", "orchard", environment=UPGRADE, expect=3)

    say("5. Publish the new generation: one pointer moves")
    new = next(row["generation"] for row in generations() if not row["current"])
    babelray("generations", "publish", new, "--config", CONFIG)
    babelray("search", ACROSS_LANGUAGES, "--config", CONFIG, "--tenant", "orchard", "-k", "2", environment=UPGRADE)

    say("6. The new model knows English only, and the Portuguese page is no longer found: roll back, one command")
    babelray("generations", "rollback", "--config", CONFIG)
    babelray("search", ACROSS_LANGUAGES, "--config", CONFIG, "--tenant", "orchard", "-k", "2")

    say(
        f"Done in {time.monotonic() - began:.0f} s. The store is in {STORE.relative_to(ROOT)}; `make clean` removes it."
    )


if __name__ == "__main__":
    main()
