"""Queries of any kind: exact spans, the same answer twice, linear time on hostile text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.text.query_anchors import find_query_anchors

_WORDS = st.lists(
    st.sampled_from(
        [
            "不",
            "没有",
            "not",
            "kein",
            "ne",
            "pas",
            "darf",
            "nicht",
            "30",
            "1,5",
            "天",
            "days",
            "三十",
            "2026",
            "年",
            "8",
            "月",
            "May",
            "at least",
            ">=",
            "<",
            "-",
            "5%",
            "百分之",
            "“",
            "”",
            '"',
            "kubectl",
            "rollout",
            "GET /v1/x",
            "v2.1",
            "XIV",
            "Kafka",
            "\u200b",
            "\ud800",
            "１",
            "1620-21",
            "the 70's",
            "from",
            "3",
            "to",
            "$",
            "…",
            "、",
            "\n",
            "last",
            "最近",
            "un",
            "İ",
        ]
    ),
    max_size=12,
)


@given(
    st.one_of(st.text(max_size=60), _WORDS.map(" ".join), _WORDS.map("".join)), st.sampled_from(["", "en", "zh", "fr"])
)
def test_spans_are_exact_and_sorted(text, language):
    anchors = find_query_anchors(text, (language,) if language else ())
    assert [(one.start, -one.end) for one in anchors] == sorted((one.start, -one.end) for one in anchors)
    for one in anchors:
        assert 0 <= one.start < one.end <= len(text)
        assert text[one.start : one.end] == one.value
        assert one.normalized
    assert anchors == find_query_anchors(text, (language,) if language else ())


_HOSTILE = [
    "not ",
    "不",
    "一",
    "十",
    "9",
    "9,",
    "9 ",
    "9.9 ",
    "ne ",
    "darf ",
    "un",
    '"',
    "“",
    "「",
    "kubectl ",
    "kubectl get ",
    ">= ",
    "at least ",
    "at least 3 ",
    "3-",
    "2026年",
    "最近",
    "from 3 to ",
    "GET /",
    "A",
    "Aa ",
    "Aa为",
    "$",
    "one hundred ",
    "...",
    "-",
    "May ",
    "3 de ",
    "1'",
    "`",
    "é",
    "\u0301",
    "9年9月",
    "百分之",
]


@pytest.mark.parametrize("piece", _HOSTILE)
def test_time_is_linear_on_hostile_text(piece):
    def seconds(length):
        text = (piece * (length // len(piece) + 1))[:length]
        started = time.process_time()
        find_query_anchors(text, ("en", "zh", "fr", "de"))
        return time.process_time() - started

    seconds(100)
    # Sixteen times the text; a quadratic scan would take 256 times as long. A busy machine gets three tries.
    tries = ((seconds(1_000), seconds(16_000)) for _ in range(3))
    assert any(large < 100 * small + 0.3 for small, large in tries)


def test_a_mix_of_hostile_pieces_is_read_to_its_end():
    text = "".join(piece * 600 for piece in _HOSTILE)[:200_000] + " ERR_1205"
    assert find_query_anchors(text)[-1].normalized == "ERR_1205"
