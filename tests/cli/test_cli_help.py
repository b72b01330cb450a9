import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer
import yaml
from ray.serve.schema import ServeDeploySchema

from babelray.config import load_settings
from cli.main import app

ROOT = Path(__file__).parents[2]
HELPED_ELSEWHERE = "glossary"


def commands(group: click.Command, name: str = "babelray") -> Iterator[tuple[str, str]]:
    """Full name and help text of every command that does something."""
    below = getattr(group, "commands", None)
    if below is None:
        yield name, group.help or ""
        return
    for word, command in below.items():
        yield from commands(command, f"{name} {word}")


COMMANDS = dict(commands(typer.main.get_command(app)))


def test_the_commands_of_the_readme_exist():
    shown = re.findall(
        r"babelray (?:reindex|generations|access|config|models|backfill|score|calibrate|glossary|serve) [a-z]+",
        (ROOT / "README.md").read_text(),
    )
    assert len(shown) >= 8
    assert set(shown) <= set(COMMANDS)


@pytest.mark.parametrize("name", [name for name in COMMANDS if HELPED_ELSEWHERE not in name])
def test_help_holds_an_example_whose_settings_exist(name):
    text = COMMANDS[name]
    assert re.search(rf"Examples?:\s[\s\S]*{name}", text), f"{name} --help shows no example"
    for path in re.findall(r"configs/[a-z-]+\.yaml", text):
        if path.startswith("configs/serve-"):
            assert ServeDeploySchema.model_validate(yaml.safe_load((ROOT / path).read_text())).applications
            continue
        settings = load_settings(ROOT / path, environ={})
        assert settings.sources or settings.localization.backlog
