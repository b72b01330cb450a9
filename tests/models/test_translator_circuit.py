import threading

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from models.retries import FIRST_DELAY, PassingError, StoppedError, retried
from models.translators.circuit import CircuitBreaker


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_it_opens_after_failures_in_a_row_and_lets_one_try_after_a_while():
    clock = Clock()
    breaker = CircuitBreaker(3, 30.0, clock)
    for _ in range(2):
        assert breaker.allows()
        breaker.failed()
    assert breaker.allows()
    breaker.succeeded()  # not in a row
    for _ in range(3):
        assert breaker.allows()
        breaker.failed()
    assert not breaker.allows()
    clock.now += 29.9
    assert not breaker.allows()
    clock.now += 0.2
    assert breaker.allows()
    assert not breaker.allows()  # one try at a time
    breaker.failed()
    assert not breaker.allows()
    clock.now += 30.1
    assert breaker.allows()
    breaker.succeeded()
    assert breaker.allows() and breaker.allows()


def test_a_try_that_says_nothing_of_the_service_leaves_the_next_one_free():
    clock = Clock()
    breaker = CircuitBreaker(1, 10.0, clock)
    breaker.failed()
    clock.now += 11
    assert breaker.allows()
    breaker.abandoned()
    assert breaker.allows()


def test_of_many_threads_one_tries():
    clock = Clock()
    breaker = CircuitBreaker(1, 10.0, clock)
    breaker.failed()
    clock.now += 11
    together, allowed = threading.Barrier(8), []

    def ask():
        together.wait()
        if breaker.allows():
            allowed.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert allowed == [1]


class Circuit(RuleBasedStateMachine):
    """Against a plain model: no call passes while the circuit is open, and it opens when it should."""

    def __init__(self):
        super().__init__()
        self.clock = Clock()
        self.breaker = CircuitBreaker(2, 10.0, self.clock)
        self.row, self.opened, self.calls = 0, None, 0

    @rule(seconds=st.floats(0.1, 20))
    def wait(self, seconds):
        self.clock.now += seconds

    @precondition(lambda self: self.calls == 0)
    @rule()
    def call(self):
        closed = self.opened is None or self.clock.now - self.opened >= 10.0
        assert self.breaker.allows() is closed
        self.calls = int(closed)

    @precondition(lambda self: self.calls == 1)
    @rule(good=st.booleans())
    def end(self, good):
        self.calls = 0
        if good:
            self.breaker.succeeded()
            self.row, self.opened = 0, None
        else:
            self.breaker.failed()
            self.row += 1
            if self.row >= 2:
                self.opened = self.clock.now

    @invariant()
    def shut_while_open(self):
        if self.calls == 0 and self.opened is not None and self.clock.now - self.opened < 10.0:
            assert not self.breaker.allows()


TestCircuit = Circuit.TestCase


def failing(times, asked=None):
    numbers = []

    def attempt(number):
        numbers.append(number)
        if number < times:
            raise PassingError(f"failure {number}", asked)
        return "done"

    return attempt, numbers


def test_delays_grow_until_it_succeeds():
    attempt, numbers = failing(3)
    waits = []
    assert retried(attempt, 5, waits.append) == "done"
    assert numbers == [0, 1, 2, 3]
    for step, wait in enumerate(waits):
        assert FIRST_DELAY * 2**step / 2 <= wait <= FIRST_DELAY * 2**step
    assert len(waits) == 3


def test_a_delay_that_is_asked_for_is_cut_to_the_longest():
    attempt, _ = failing(1, asked=50.0)
    waits = []
    retried(attempt, 1, waits.append, longest_delay=2.0)
    assert waits == [2.0]


def test_the_last_failure_is_raised_and_a_caller_may_give_up():
    attempt, numbers = failing(9)
    with pytest.raises(PassingError, match="failure 2"):
        retried(attempt, 2, lambda _: None)
    assert numbers == [0, 1, 2]
    attempt, numbers = failing(9)
    with pytest.raises(StoppedError):
        retried(attempt, 5, lambda _: True)
    assert numbers == [0]
