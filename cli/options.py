"""Options that several commands share."""

import logging
import sys
from pathlib import Path
from typing import Annotated, TextIO

import typer

from babelray.config import Settings, load_settings

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="YAML settings file; BABELRAY_* variables override single values."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON instead of tables.")]

_OURS = ("babelray", "models", "jobs")
"""Packages whose messages `log_level` speaks of; those of libraries keep their own levels."""


def settings_from(path: Path | None) -> Settings:
    """Settings of this command: the file, then the environment; messages go to stderr from their `log_level` on.

    Raises:
        ConfigError: The file or a variable is wrong.
    """
    settings = load_settings(path)
    logging.basicConfig(handlers=[_Stderr()], format="%(levelname)s %(name)s: %(message)s")
    for package in _OURS:
        logging.getLogger(package).setLevel(settings.log_level)
    return settings


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to what `sys.stderr` is at the time: progress bars put themselves in its place."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one message."""
        self.setStream(sys.stderr)
        super().emit(record)
