import logging

import pytest

from cli.options import settings_from


@pytest.fixture(autouse=True)
def restored():
    ours = [logging.getLogger(name) for name in ("babelray", "models", "jobs")]
    levels = [one.level for one in ours]
    yield
    for one, level in zip(ours, levels, strict=True):
        one.setLevel(level)


def started(monkeypatch, level):
    """A process that no one has set up logging in; pytest puts handlers of its own around each test."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setenv("BABELRAY_LOG_LEVEL", level)
    return settings_from(None)


@pytest.mark.parametrize(("level", "shown"), [("DEBUG", "DIWE"), ("INFO", "IWE"), ("WARNING", "WE"), ("ERROR", "E")])
def test_the_log_level_decides_which_messages_reach_stderr(level, shown, monkeypatch, capsys):
    started(monkeypatch, level)
    logger = logging.getLogger("models.anything")
    for say in (logger.debug, logger.info, logger.warning, logger.error):
        say("here")
    captured = capsys.readouterr()
    assert "".join(line[0] for line in captured.err.splitlines()) == shown
    assert captured.out == ""


def test_the_messages_of_libraries_keep_their_own_level(monkeypatch, capsys):
    started(monkeypatch, "DEBUG")
    logging.getLogger("httpx").info("a request")
    assert capsys.readouterr().err == ""
