"""Every `babelray` command that a file of the repository shows is one that the command line takes."""

import re
import shlex
from pathlib import Path

import pytest
from ray.scripts.scripts import cli as ray_cli
from ray.serve.scripts import cli as serve_cli

from tests.infra.infra_files import INFRA, ROOT, YAML, documents, strings
from tests.infra.shown_commands import (
    Shown,
    commands_in_manifest,
    commands_in_text,
    documents_of_the_repository,
    problem_with,
)

FILES = documents_of_the_repository()


def shown_in(path: Path) -> list[Shown]:
    place = str(path.relative_to(ROOT))
    text = path.read_text(encoding="utf-8")
    shown = list(commands_in_text(text, place, markdown=path.suffix == ".md"))
    return shown + (list(commands_in_manifest(path)) if path in YAML else [])


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_shown_is_taken(path):
    problems = {f"{one.place}: babelray {' '.join(one.words)}": problem_with(one) for one in shown_in(path)}
    assert {place: problem for place, problem in problems.items() if problem} == {}


@pytest.mark.parametrize(
    ("path", "at_least"),
    [
        ("README.md", 12),
        ("infra/docker/README.md", 4),
        ("infra/kuberay/README.md", 4),
        ("infra/docker/compose.yaml", 2),
        ("infra/kuberay/reindex-job.yaml", 1),
        ("infra/kuberay/weekly.yaml", 2),
        ("configs/reindex-gpu.yaml", 1),
    ],
)
def test_commands_are_found_where_they_are(path, at_least):
    assert len(shown_in(ROOT / path)) >= at_least


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("babelray reindex run --confg x.yaml", "NoSuchOption"),
        ("babelray reindx run", "no command 'reindx'"),
        ("babelray reindex start", "no command 'start'"),
        ("babelray reindex run --limit zero", "BadParameter"),
        ("babelray generations publish", "MissingParameter"),
        ("babelray reindex run extra -c x.yaml", "UsageError"),
        ("babelray reindex", "stops at a group|NoArgsIsHelpError"),
    ],
)
def test_a_wrong_command_is_found_out(text, problem):
    (shown,) = commands_in_text(f"```\n{text}\n```\n", "here", markdown=True)
    assert re.search(problem, problem_with(shown) or "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```\nA=1 babelray reindex run -c x.yaml | tee log  # why\n```", ("reindex", "run", "-c", "x.yaml")),
        ("```\nkubectl exec -it head -- babelray models show\n```", ("models", "show")),
        ("```\nbabelray search 'two words' \\\n  -c x.yaml\n```", ("search", "two words", "-c", "x.yaml")),
        ("say `babelray config show` there", ("config", "show")),
    ],
)
def test_words_of_a_command_are_read_as_a_shell_reads_them(text, words):
    (shown,) = commands_in_text(text, "here", markdown=True)
    assert shown.words == words
    assert problem_with(shown) is None


def test_settings_files_that_manifests_name_are_there():
    for path in YAML:
        for shown in commands_in_manifest(path):
            named = [word for word in shown.words if word.startswith(("configs/", "demo/"))]
            assert all((ROOT / one).exists() for one in named), shown


def calls_of_ray() -> list[str]:
    """Calls of Ray's own command lines in manifests, the compose file, READMEs and configurations."""
    texts = [text for path in YAML for one in documents(path) for text in strings(one)]
    readmes = [*INFRA.rglob("README.md"), *(ROOT / "configs").glob("*.yaml")]
    texts += [line.lstrip("# ") for path in readmes for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        part.strip().removeprefix("exec ")
        for text in texts
        for part in re.split(r";|&&", text)
        if re.match(
            r"(exec )?(ray (start|stop|drain-node|job|status)|serve (run|deploy|status|shutdown)) ", part.strip()
        )
    ]


def test_calls_of_ray_are_taken_by_ray():
    calls = calls_of_ray()
    assert {call.split()[1] for call in calls} >= {"start", "drain-node", "run", "deploy"}
    for call in calls:
        program, command, *words = shlex.split(call)
        {"ray": ray_cli, "serve": serve_cli}[program].commands[command].make_context(command, words)
