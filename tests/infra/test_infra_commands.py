"""Every `babelray` command that a file of the repository shows is one that the command line takes."""

import re
import shlex
from pathlib import Path

import pytest
from ray.scripts.scripts import cli as ray_cli

from tests.infra.infra_files import INFRA, ROOT, YAML, objects, strings
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


def ray_commands() -> list[str]:
    """Calls of Ray's own command line in manifests and in the READMEs."""
    texts = [text for _, one in objects() for text in strings(one) if text.startswith("ray ")]
    texts += [
        text
        for path in YAML
        if path.name == "compose.yaml"
        for text in re.findall(r"ray start [^;&\n]*", path.read_text())
    ]
    readmes = (path.read_text(encoding="utf-8") for path in INFRA.rglob("README.md"))
    return texts + [line.strip() for text in readmes for line in text.splitlines() if line.startswith("ray ")]


def test_calls_of_ray_are_taken_by_ray():
    seen = 0
    for text in ray_commands():
        for part in re.split(r";|&&", text):
            words = shlex.split(part)
            if words[0] == "ray":
                ray_cli.commands[words[1]].make_context(words[1], words[2:])
                seen += 1
    assert seen
