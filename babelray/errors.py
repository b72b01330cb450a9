"""The error hierarchy and its exit codes. Imports nothing of ours.

Every error that a user can meet says what happened, where, what was got, what is allowed and what to do next. The
number of a class is the exit code of the command that ends with it.
"""

from typing import Any, ClassVar


class BabelrayWarning(UserWarning):
    """A condition that does not stop the work but that its owner should know."""


class BabelrayError(Exception):
    """Base of all errors that Babelray raises on purpose.

    Args:
        what: One sentence saying what went wrong.
        where: File, setting, unit or field concerned.
        got: The offending value, already safe to print.
        allowed: What would have been accepted.
        fix: The next step for the reader.
    """

    exit_code: ClassVar[int] = 1
    title: ClassVar[str] = "error"

    def __init__(
        self,
        what: str,
        *,
        where: object = None,
        got: object = None,
        allowed: object = None,
        fix: str | None = None,
    ) -> None:
        self.what = what
        self.where = where
        self.got = got
        self.allowed = allowed
        self.fix = fix
        super().__init__(self._message())

    def _message(self) -> str:
        parts = [self.what]
        for label, value in (
            ("where", self.where),
            ("got", self.got),
            ("allowed", self.allowed),
            ("fix", self.fix),
        ):
            if value is not None:
                parts.append(f"  {label}: {value}")
        return "\n".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the fields when an error crosses a process border (Ray pickles exceptions)."""
        state = {"where": self.where, "got": self.got, "allowed": self.allowed, "fix": self.fix}
        return (_rebuild, (type(self), self.what, state))


def _rebuild(cls: type[BabelrayError], what: str, state: dict[str, Any]) -> BabelrayError:
    return cls(what, **state)


class InputError(BabelrayError):
    """A file, record or argument cannot be used as it is."""

    exit_code = 2
    title = "bad input"


class ConfigError(BabelrayError):
    """A setting is unknown, missing, out of bounds, or asks for what cannot fit."""

    exit_code = 2
    title = "bad configuration"


class ModelKeyMismatch(BabelrayError):
    """Vectors of two model keys met; they are never compared."""

    exit_code = 3
    title = "model key mismatch"


class IntegrityError(BabelrayError):
    """Stored bytes do not match their checksum, or parts of a generation disagree."""

    exit_code = 4
    title = "integrity failure"


class PublishConflict(BabelrayError):
    """Another writer moved the pointer first; nothing was changed."""

    exit_code = 5
    title = "publish conflict"


class GateFailed(BabelrayError):
    """A generation did not reach a required number and was not published."""

    exit_code = 6
    title = "gate failed"


class IncompleteRun(BabelrayError):
    """Units of a job are unfinished or failed; running it again resumes."""

    exit_code = 7
    title = "incomplete run"


class AccessDenied(BabelrayError):
    """A scope is missing or would be widened, or a row outside the scope was met."""

    exit_code = 8
    title = "access denied"


class ScopeViolation(AccessDenied):
    """A row outside a scope came up and was withheld: a fault of an index or a column, not the caller's."""


class UpstreamError(BabelrayError):
    """A service that Babelray calls failed, timed out or answered nonsense."""

    exit_code = 9
    title = "upstream failure"
