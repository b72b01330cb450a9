"""Numbers of queries: either decimal mark, Han numerals, number words; the plain way of saying them as the oracle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.text.query_anchors import find_query_anchors
from babelray.text.query_numbers import read_digits


def quantities(text, language):
    return {one.normalized for one in find_query_anchors(text, (language,)) if one.type == "quantity"}


@pytest.mark.parametrize(
    ("literal", "point", "comma"),
    [
        ("1.5", "1.5", "1.5"),
        ("1,5", "1.5", "1.5"),
        ("1,500", "1500", "1.5"),
        ("1.500", "1.5", "1500"),
        ("1,234.5", "1234.5", "1234.5"),
        ("1.234,5", "1234.5", "1234.5"),
        ("1'000'000", "1000000", "1000000"),
        ("12,34,56", None, None),
        ("1.2.3", None, None),
        ("٣٫٥", "3.5", "3.5"),
        ("0,500", "0.5", "0.5"),
        ("1" * 41, None, None),
        ("007", "7", "7"),
    ],
)
def test_digits_with_either_mark(literal, point, comma):
    assert read_digits(literal, decimal_comma=False) == point
    assert read_digits(literal, decimal_comma=True) == comma


@given(st.integers(0, 10**9))
def test_numbers_written_with_groups_are_read_back(number):
    assert read_digits(f"{number:,}", decimal_comma=False) == str(number)
    assert read_digits(f"{number:,}".replace(",", "."), decimal_comma=True) == str(number)


_HAN_DIGITS = "零一二三四五六七八九"


def _in_han(number):
    """The plain way: each place with its name, zeros between said once."""
    if number >= 10000:
        rest = number % 10000
        gap = "零" if 0 < rest < 1000 else ""
        return _in_han(number // 10000) + "万" + (gap + _in_han(rest) if rest else "")
    said, zero = "", False
    for place, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // place % 10
        if digit:
            said += ("零" if zero and said else "") + _HAN_DIGITS[digit] + name
            zero = False
        else:
            zero = True
    return said


@given(st.integers(2, 99_999_999))
def test_han_numerals_are_read_as_they_are_said(number):
    assert quantities(_in_han(number) + "天", "zh") == {f"{number} day"}


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("two hundred and five days", "en", "205 day"),
        ("twenty-five days", "en", "25 day"),
        ("three thousand days", "en", "3000 day"),
        ("treinta y cinco días", "es", "35 day"),
        ("zwölf Stunden", "de", "12 hour"),
        ("二十四小时", "zh", "24 hour"),
        ("两千五百米", "zh", "2500 m"),
        ("三分钟", "zh", "3 minute"),
        ("2.5 hundred days", "en", "250 day"),
    ],
)
def test_number_words(text, language, expected):
    assert quantities(text, language) == {expected}


def test_two_numbers_in_a_row_are_two():
    values = [one.normalized for one in find_query_anchors("two and three and one", ("en",)) if one.type == "number"]
    assert values == ["2", "3", "1"]
