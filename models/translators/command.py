"""Any program that reads texts and writes as many translations."""

import shutil
import threading
from collections.abc import Callable, Sequence

from babelray.config import CommandTranslatorSettings
from babelray.errors import ConfigError, UpstreamError
from babelray.keys import digest_of
from models.retries import PassingError, retried
from models.translators.apertium import from_stream, to_stream, without_unknown_marks
from models.translators.language_pairs import covers, parse_pairs
from models.translators.programs import OpenProgram, run_program

_VERSION_SECONDS = 20.0


class CommandTranslator:
    """A `Translator` that is a program on this machine.

    Args:
        settings: Command, pairs, limits.
        pause: Waits between two attempts.

    Raises:
        ConfigError: There is no such program, or it does not say its version.
    """

    glossary_version: str | None = None

    def __init__(self, settings: CommandTranslatorSettings, *, pause: Callable[[float], object] | None = None) -> None:
        self._settings = settings
        self._pairs = parse_pairs(settings.pairs)
        self._pause = pause or threading.Event().wait
        self.name = settings.name
        self.model = " ".join(settings.command)
        self.external = settings.data_boundary == "external"
        if shutil.which(settings.command[0]) is None:
            raise ConfigError(
                "there is no such program",
                where=f"translator {settings.name}, `command`",
                got=settings.command[0],
                fix="install it (Debian has apertium and one package for each language pair) or drop the translator",
            )
        self.version = _version(settings)
        self._open = (
            OpenProgram(settings.command, settings.timeout_seconds) if settings.exchange == "apertium-stream" else None
        )

    def pairs(self) -> frozenset[tuple[str, str]]:
        """As the settings say."""
        return self._pairs

    def knows(self, source: str, target: str) -> bool:
        """Whether one of the pairs serves the languages."""
        return covers(self._pairs, source, target)

    def close(self) -> None:
        """End a program that was kept open."""
        if self._open is not None:
            self._open.close()

    def translate(
        self, texts: Sequence[str], source: str, target: str, *, tenant_id: str, domain: str = ""
    ) -> list[str | None]:
        """One translation a text; blank texts are not sent.

        Raises:
            UpstreamError: The program failed, was late, or wrote another number of lines than it read.
        """
        lines = [" ".join(text.replace("\0", " ").split()) for text in texts]
        asked = [line for line in lines if line]
        if not asked:
            return [""] * len(lines)
        try:
            answers = retried(
                lambda _: self._answers(asked),
                self._settings.retries,
                self._pause,
                longest_delay=self._settings.timeout_seconds,
            )
        except PassingError as error:
            raise UpstreamError(
                "the translation program failed",
                where=f"translator {self.name}",
                got=str(error),
                fix=f"try it by hand: {self.model}",
            ) from error
        rest = iter(zip(asked, answers, strict=True))
        return [self._cleaned(*next(rest)) if line else "" for line in lines]

    def _cleaned(self, asked: str, answer: str) -> str:
        return without_unknown_marks(answer, asked, self._settings.unknown_marks)

    def _answers(self, asked: list[str]) -> list[str]:
        if self._open is not None:
            raw = self._open.ask([to_stream(line) for line in asked])
            decode = from_stream
        else:
            written = run_program(
                self._settings.command, "".join(f"{line}\n" for line in asked).encode(), self._settings.timeout_seconds
            )
            raw = written.removesuffix(b"\n").split(b"\n")
            decode = _line
        if len(raw) != len(asked):
            raise self._nonsense(f"{len(raw)} lines for {len(asked)}", "one line for each")
        try:
            return [decode(answer) for answer in raw]
        except UnicodeDecodeError as error:
            raise self._nonsense(str(error), "UTF-8") from error

    def _nonsense(self, got: str, allowed: str) -> UpstreamError:
        return UpstreamError(
            "the translation program wrote something else than was asked for",
            where=f"translator {self.name}",
            got=got,
            allowed=allowed,
            fix=f"try it by hand: {self.model}",
        )


def _line(answer: bytes) -> str:
    return answer.decode().strip()


def _version(settings: CommandTranslatorSettings) -> str:
    """What the settings or the program say, with a digest of the command: its arguments may change what it gives."""
    said = settings.version
    if not said:
        asked = settings.version_command or (settings.command[0], "--version")
        try:
            said = " ".join(run_program(asked, b"", _VERSION_SECONDS).decode("utf-8", "replace").split())
        except PassingError as error:
            raise ConfigError(
                "the program does not say its version",
                where=f"translator {settings.name}",
                got=str(error),
                fix="set `version`, or `version_command`, as in [dpkg-query, -W, apertium, apertium-eng-spa]",
            ) from error
    return f"{said[:200]} {digest_of([settings.command, settings.exchange, settings.unknown_marks], length=8)}"
