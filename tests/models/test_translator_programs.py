import os
import sys
import threading
import time

import psutil
import pytest

from models.retries import PassingError
from models.translators.programs import OpenProgram, run_program

# Answers each text that ends with NUL by itself in capitals; does as it is told by some texts.
ECHO = """
import os, sys, time
data = b""
while True:
    part = os.read(0, 65536)
    if not part:
        sys.exit(0)
    data += part
    while b"\\0" in data:
        text, data = data.split(b"\\0", 1)
        if text == b"die":
            sys.exit(3)
        if text == b"sleep":
            time.sleep(600)
        if text == b"pid":
            text = str(os.getpid()).encode()
        if text == b"twice":
            text = b"a\\0b"
        sys.stdout.buffer.write(text.upper() + b"\\0")
        sys.stdout.buffer.flush()
"""


def python(code, *arguments):
    return (sys.executable, "-c", code, *arguments)


@pytest.fixture
def echo():
    program = OpenProgram(python(ECHO), 10.0)
    yield program
    program.close()


def gone(pid):
    for _ in range(200):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


def test_a_program_reads_and_writes_and_no_shell_reads_its_arguments(tmp_path):
    copy = "import sys; sys.stdout.write(sys.stdin.read() + sys.argv[1])"
    odd = f"$(touch {tmp_path}/made); `id` | *"
    assert run_program(python(copy, odd), b"in ", 10.0) == f"in {odd}".encode()
    assert not (tmp_path / "made").exists()


def test_a_program_that_is_late_is_killed_with_all_that_it_started(tmp_path):
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        "open(sys.argv[1], 'w').write(f'{os.getpid()} {child.pid}')\n"
        "time.sleep(600)\n"
    )
    place = tmp_path / "pids"
    with pytest.raises(PassingError, match="more than 2"):
        run_program(python(code, str(place)), b"", 2.0)
    assert all(gone(int(pid)) for pid in place.read_text().split())


def test_failures_say_what_happened():
    with pytest.raises(PassingError, match="status 4: bad pair"):
        run_program(python("import sys; sys.stderr.write('bad  pair'); sys.exit(4)"), b"", 10.0)
    with pytest.raises(PassingError, match="cannot be started"):
        run_program(("/nowhere/program",), b"", 10.0)


def test_an_open_program_is_started_once_and_answers_in_order(echo):
    assert echo.ask([b"a", b"", b"b"]) == [b"A", b"", b"B"]
    assert echo.ask([b"pid"]) == echo.ask([b"pid"])
    assert echo.ask([]) == []


def test_it_starts_again_after_it_ended_or_was_closed(echo):
    (first,) = echo.ask([b"pid"])
    with pytest.raises(PassingError, match="ended"):
        echo.ask([b"die"])
    (second,) = echo.ask([b"pid"])
    echo.close()
    (third,) = echo.ask([b"pid"])
    assert len({first, second, third}) == 3
    assert gone(int(first)) and gone(int(second))


def test_late_answers_are_never_taken_for_those_of_the_next_call():
    program = OpenProgram(python(ECHO), 1.0)
    (pid,) = program.ask([b"pid"])
    with pytest.raises(PassingError, match="more than 1"):
        program.ask([b"late", b"sleep"])
    assert gone(int(pid))
    assert program.ask([b"next"]) == [b"NEXT"]
    program.close()


def test_more_answers_than_texts_are_refused(echo):
    with pytest.raises(PassingError, match="more than was asked"):
        echo.ask([b"twice"])
    assert echo.ask([b"one"]) == [b"ONE"]


def test_more_than_both_pipes_hold(echo):
    texts = [bytes([97 + number % 26]) * 50_000 for number in range(40)]
    assert echo.ask(texts) == [text.upper() for text in texts]


def test_callers_of_many_threads_get_their_own_answers(echo):
    wrong = []

    def ask(number):
        for turn in range(20):
            text = f"t{number}-{turn}".encode()
            if echo.ask([text]) != [text.upper()]:
                wrong.append(text)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_program_that_nobody_holds_ends():
    program = OpenProgram(python(ECHO), 10.0)
    (pid,) = program.ask([b"pid"])
    assert psutil.pid_exists(int(pid)) and int(pid) != os.getpid()
    del program
    assert gone(int(pid))
