"""Programs that translate: run once for some lines, or kept open and asked again and again. No shell is involved."""

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Sequence

from models.retries import PassingError

_CHUNK = 65_536
# An answer that grows beyond this is not a translation of what was asked.
_MOST_GROWTH, _MOST_BESIDES = 32, 1_000_000


def run_program(command: Sequence[str], given: bytes, timeout_seconds: float) -> bytes:
    """Run a program in a process group of its own and return what it writes.

    Args:
        command: Program and arguments.
        given: For its standard input.
        timeout_seconds: After which the whole group is killed.

    Raises:
        PassingError: It cannot be started, is late, or ends with a status other than 0.
    """
    process = _start(command, stderr=subprocess.PIPE)
    try:
        written, complaint = process.communicate(given, timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        _end_process(process)
        raise PassingError(f"{command[0]} took more than {timeout_seconds} seconds") from None
    except BaseException:
        _end_process(process)
        raise
    if process.returncode:
        said = " ".join(complaint.decode("utf-8", "replace").split())[-200:]
        raise PassingError(f"{command[0]} ended with status {process.returncode}: {said}")
    return written


class OpenProgram:
    """A program that stays: each text it reads ends with NUL, and so does each of its answers.

    It is started by the first call, and again after it failed, was late or ended. Calls wait for one another.

    Args:
        command: Program and arguments.
        timeout_seconds: Of one call, all its texts together, the start included.
    """

    def __init__(self, command: Sequence[str], timeout_seconds: float) -> None:
        self._command = tuple(command)
        self._timeout = timeout_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._finalizer: weakref.finalize[..., object] | None = None
        self._lock = threading.Lock()

    def ask(self, texts: Sequence[bytes]) -> list[bytes]:
        """The answers to texts without NUL, in order.

        Raises:
            PassingError: It cannot be started, is late, ends, or answers more than was asked.
        """
        deadline = time.monotonic() + self._timeout
        if not self._lock.acquire(timeout=self._timeout):
            raise PassingError(f"{self._command[0]} is busy for more than {self._timeout} seconds")
        try:
            return self._exchange(self._running(), texts, deadline)
        except PassingError:
            self._end()
            raise
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the program; the next call starts it again."""
        with self._lock:
            self._end()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = _start(self._command, stderr=subprocess.DEVNULL)
            assert self._process.stdin is not None and self._process.stdout is not None
            os.set_blocking(self._process.stdin.fileno(), False)
            os.set_blocking(self._process.stdout.fileno(), False)
            self._finalizer = weakref.finalize(self, _end_process, self._process)
        return self._process

    def _end(self) -> None:
        if self._finalizer is not None:
            self._finalizer()
        self._process = self._finalizer = None

    def _exchange(self, process: "subprocess.Popen[bytes]", texts: Sequence[bytes], deadline: float) -> list[bytes]:
        """Write and read at the same time: with both pipes full, a program and its caller would wait for each other."""
        assert process.stdin is not None and process.stdout is not None
        waiting = memoryview(b"".join(text + b"\0" for text in texts))
        most = len(waiting) * _MOST_GROWTH + _MOST_BESIDES
        answers = bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            if waiting:
                ready.register(process.stdin, selectors.EVENT_WRITE)
            while answers.count(0) < len(texts):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise PassingError(f"{self._command[0]} took more than {self._timeout} seconds")
                for key, _ in ready.select(left):
                    if key.fileobj is process.stdin:
                        waiting = waiting[self._write(process.stdin.fileno(), waiting) :]
                        if not waiting:
                            ready.unregister(process.stdin)
                    else:
                        answers += self._read(process)
                if len(answers) > most:
                    raise PassingError(f"{self._command[0]} answered more than {most} bytes")
        parts = bytes(answers).split(b"\0")
        if parts.pop() or len(parts) != len(texts):
            raise PassingError(f"{self._command[0]} answered more than was asked")
        return parts

    def _write(self, descriptor: int, waiting: memoryview) -> int:
        try:
            return os.write(descriptor, waiting[:_CHUNK])
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise PassingError(f"{self._command[0]} has ended") from None

    def _read(self, process: "subprocess.Popen[bytes]") -> bytes:
        assert process.stdout is not None
        part = os.read(process.stdout.fileno(), _CHUNK)
        if not part:
            raise PassingError(f"{self._command[0]} has ended with status {process.poll()}")
        return part


def _start(command: Sequence[str], *, stderr: int) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True
        )
    except OSError as error:
        raise PassingError(f"{command[0]} cannot be started: {error.strerror}") from error


def _end_process(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process and all that it started, which are a group of their own; what is left reads an end of file."""
    # A process that was waited for has given its number back: it may be another's by now.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    process.wait()
