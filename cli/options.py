"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from babelray.config import Settings, load_settings

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="YAML settings file; BABELRAY_* variables override single values."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON instead of tables.")]


def settings_from(path: Path | None) -> Settings:
    """Settings of this command: the file, then the environment.

    Raises:
        ConfigError: The file or a variable is wrong.
    """
    return load_settings(path)
