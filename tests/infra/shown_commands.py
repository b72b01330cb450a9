"""Finds the `babelray` commands that files show, and parses them by the real command line without running them."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import typer

from cli.main import app
from tests.infra.infra_files import ROOT, documents, found

APP = typer.main.get_command(app)
SKIPPED = {".venv", ".babelray", ".git", "build", "dist", "node_modules", "babelray.egg-info", "out", "secrets"}
FENCE = re.compile(r"^\s*(```|~~~)")
INLINE = re.compile(r"`([^`\n]+)`")
START = re.compile(r"(?:^|[\s;&|(])(?<!-n )babelray(?=\s+[a-z-])")
AFTERTHOUGHT = re.compile(r"\s{3,}(?=[a-z])")
"""What follows a command in a comment is set off by spaces."""
END = {"|", "||", "&&", ";", "&", ">", "2>&1", ")"}


@dataclass(frozen=True)
class Shown:
    """One command as a file shows it.

    Args:
        place: File and line.
        words: After the word `babelray`.
        whole: It can be run as it stands; false for a mention in prose, which may leave out arguments.
    """

    place: str
    words: tuple[str, ...]
    whole: bool


def documents_of_the_repository() -> list[Path]:
    """Every file that may show a command to a reader or give one to a machine."""
    kinds = {".md", ".yaml", ".yml", ".sh"}
    files = (path for path in ROOT.rglob("*") if not SKIPPED & set(path.relative_to(ROOT).parts))
    named = (path for path in files if path.suffix in kinds or path.name.startswith(("Dockerfile", "Makefile")))
    return sorted(path for path in named if path.is_file() and not path.is_relative_to(ROOT / "demo" / "corpus"))


def commands_in_text(text: str, place: str, markdown: bool) -> Iterator[Shown]:
    """The commands of a text: of code blocks and code words in Markdown, of every line elsewhere."""
    fenced = False
    lines = text.replace("\\\n", "  ").splitlines()
    for number, line in enumerate(lines, start=1):
        if markdown and FENCE.match(line):
            fenced = not fenced
            continue
        where = f"{place}:{number}"
        if not markdown or fenced:
            yield from _of_line(line if fenced else line.lstrip("# "), where, comment=not fenced)
            continue
        for code in INLINE.findall(line):
            if code.startswith("babelray "):
                yield from (Shown(where, _words(one), whole=False) for one in _alternatives(code[len("babelray ") :]))


def _alternatives(text: str) -> Iterator[str]:
    """`list|show` is how prose names two commands at once."""
    match = re.search(r"[\w-]+(?:\|[\w-]+)+", text)
    for word in match.group().split("|") if match else [""]:
        yield text.replace(match.group(), word) if match else text


def _of_line(line: str, where: str, comment: bool) -> Iterator[Shown]:
    # Elsewhere than in a code block a command begins its line: other lines are prose about them.
    match = START.search(line)
    if match is None or (comment and not re.match(r"(\S+=\S+ |CMD |- )*babelray ", line)):
        return
    rest = line[match.end() :]
    yield Shown(where, _words(AFTERTHOUGHT.split(rest)[0] if comment else rest), whole=True)


def _words(text: str) -> tuple[str, ...]:
    words = []
    for word in shlex.split(text.strip().rstrip(",:"), comments=True):
        if word in END:
            break
        words.append(word)
    return tuple(words)


def commands_in_manifest(path: Path) -> Iterator[Shown]:
    """The commands that a manifest or a compose file gives to containers, as lists or as strings."""
    for one in documents(path):
        for key in ("command", "entrypoint", "args"):
            for value in found(one, key):
                words = [str(word) for word in value] if isinstance(value, list) else _split(value)
                for index, word in enumerate(words):
                    if word == "babelray":
                        yield Shown(f"{path.name} {key}", tuple(words[index + 1 :]), whole=True)
                    elif START.search(word) and word != value:
                        yield from commands_in_text(word, f"{path.name} {key}", markdown=False)


def _split(value: Any) -> list[str]:
    return shlex.split(value) if isinstance(value, str) else []


def problem_with(shown: Shown, root: click.Command = APP, name: str = "babelray") -> str | None:
    """Why the command line would refuse a command, or None."""
    command, words = root, list(shown.words)
    try:
        while True:
            context = command.make_context(name, words, allow_interspersed_args=not hasattr(command, "commands"))
            below = getattr(command, "commands", None)
            if below is None:
                return None
            rest = [*getattr(context, "_protected_args", []), *context.args]
            if not rest:
                return "the command stops at a group" if shown.whole else None
            if rest[0] not in below:
                return f"no command {rest[0]!r} in {name!r}"
            name, command, words = f"{name} {rest[0]}", below[rest[0]], rest[1:]
    except click.exceptions.Exit:
        return None  # --help
    except Exception as error:  # noqa: BLE001 - Typer may bring its own copy of click's exceptions
        return _refusal(error, shown)


def _refusal(error: Exception, shown: Shown) -> str | None:
    kinds = {one.__name__ for one in type(error).__mro__}
    if "Exit" in kinds or ("NoArgsIsHelpError" in kinds and not shown.whole):
        return None
    if "MissingParameter" in kinds and not shown.whole:
        return None
    if "ClickException" not in kinds:
        raise error
    return f"{type(error).__name__}: {getattr(error, 'message', error)}"
