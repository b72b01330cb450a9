"""Encodes of several requests joined into one: the same vectors, fewer calls, each caller's own errors."""

import threading

import numpy as np
import pytest

from babelray.config import HashSettings
from babelray.errors import UpstreamError
from babelray.keys import Role
from babelray.text.tokens import count_tokens
from models.embedders.hashed import HashEmbedder
from serve.encoding import TOKENS, JoinedEmbedder, _parts

EMBEDDER = HashEmbedder(HashSettings(kind="hash", dimension=32))


class Slow:
    """Counts calls and holds the first one until others have come."""

    key = EMBEDDER.key

    def __init__(self):
        self.calls = []
        self.gate = threading.Event()
        self.begun = threading.Event()

    def encode(self, texts, role):
        self.calls.append((list(texts), role))
        self.begun.set()
        self.gate.wait(20)
        if any("poison" in text for text in texts):
            raise UpstreamError("the model choked")
        return EMBEDDER.encode(texts, role)


def together(joined, slow, asked):
    """Ask all at once while a first call is held; results by place."""
    results = {}

    def ask(place, texts, role):
        try:
            results[place] = joined.encode(texts, role)
        except UpstreamError as error:
            results[place] = error

    first = threading.Thread(target=ask, args=("first", ["first"], Role.QUERY))
    first.start()
    assert slow.begun.wait(20)
    threads = [threading.Thread(target=ask, args=(place, *one)) for place, one in enumerate(asked)]
    for one in threads:
        one.start()
    while len(joined._asked) < len(asked):
        threading.Event().wait(0.001)
    slow.gate.set()
    for one in (first, *threads):
        one.join(20)
    return results


@pytest.fixture
def slow():
    return Slow()


@pytest.fixture
def joined(slow):
    made = JoinedEmbedder(slow)
    yield made
    slow.gate.set()
    made.close()


def test_what_comes_together_is_one_call_with_the_vectors_of_each_alone(joined, slow):
    asked = [([f"query {n}", f"other {n}"], Role.QUERY) for n in range(5)]
    results = together(joined, slow, asked)
    assert len(slow.calls) == 2 and len(slow.calls[1][0]) == 10
    for place, (texts, role) in enumerate(asked):
        alone = EMBEDDER.encode(texts, role)
        assert np.array_equal(results[place].vectors, alone.vectors)
        assert np.array_equal(results[place].tokens, alone.tokens)


def test_roles_are_never_mixed(joined, slow):
    together(joined, slow, [(["a"], Role.QUERY), (["b"], Role.PASSAGE), (["c"], Role.QUERY)])
    assert [role for _, role in slow.calls[1:]] == [Role.QUERY, Role.PASSAGE]
    assert sorted(slow.calls[1][0]) == ["a", "c"] or slow.calls[1][0] == ["a"]


def test_a_call_holds_no_more_than_its_tokens(joined, slow):
    long = "word " * (TOKENS // 2)
    together(joined, slow, [([long], Role.QUERY) for _ in range(4)])
    assert all(len(texts) <= 2 for texts, _ in slow.calls)


def test_an_error_reaches_those_who_asked_and_the_next_are_served(joined, slow):
    results = together(joined, slow, [(["poison"], Role.QUERY)])
    assert isinstance(results[0], UpstreamError)
    assert joined.encode(["fine"], Role.QUERY).vectors.shape == (1, 32)


def test_after_closing_it_says_so(slow):
    slow.gate.set()
    made = JoinedEmbedder(slow)
    made.close()
    with pytest.raises(UpstreamError, match="closed"):
        made.encode(["a"], Role.QUERY)


def test_a_long_request_is_cut_into_parts_and_comes_back_whole():
    texts = [f"text {n} " + "word " * 300 for n in range(12)]
    parts = _parts(texts)
    assert len(parts) > 2 and [text for part in parts for text in part] == texts
    assert all(len(part) == 1 or sum(map(count_tokens, part)) <= TOKENS for part in parts)
    joined = JoinedEmbedder(EMBEDDER)
    try:
        whole, plain = joined.encode(texts, Role.PASSAGE), EMBEDDER.encode(texts, Role.PASSAGE)
        np.testing.assert_array_equal(whole.vectors, plain.vectors)
        np.testing.assert_array_equal(whole.tokens, plain.tokens)
        assert len(joined.encode([], Role.PASSAGE).vectors) == 0
    finally:
        joined.close()
