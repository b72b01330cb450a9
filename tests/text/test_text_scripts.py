"""Scripts of mixed texts, against Python's own character names as the slow oracle."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.text.scripts import count_scripts, script_distribution, script_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Auto 为什么慢？", {"Hani": 0.5, "Latn": 0.5}),
        ("v3.2 err", {"Latn": 4 / 6, "Zyyy": 2 / 6}),
        ("カタカナー漢字", {"Kana": 5 / 7, "Hani": 2 / 7}),
        ("ひらがな", {"Hira": 1.0}),
        ("서버 설정", {"Hang": 1.0}),
        ("ђ ћ", {"Cyrl": 1.0}),
        ("ＡＢＣ１", {"Latn": 0.75, "Zyyy": 0.25}),
        ("ｶﾞ", {"Kana": 1.0}),
        ("〇", {"Hani": 1.0}),
        ("ไทยง่าย", {"Thai": 1.0}),
        ("٣", {"Zyyy": 1.0}),
        ("?! — 😀", {}),
        ("", {}),
        ("\ud800\x00\u200f", {}),
    ],
)
def test_distribution(text, expected):
    assert script_distribution(text) == pytest.approx(expected)


def test_distribution_is_ordered_by_share_then_code():
    assert list(script_distribution("ab漢字か")) == ["Hani", "Latn", "Hira"]


@given(st.text())
def test_shares_cover_letters_and_numbers_and_sum_to_one(text):
    counted = sum(unicodedata.category(char)[0] in "LN" for char in text)
    assert sum(count_scripts(text).values()) == counted
    if counted:
        assert sum(script_distribution(text).values()) == pytest.approx(1.0)


_NAMED = {
    "LATIN ": "Latn",
    "GREEK ": "Grek",
    "CYRILLIC ": "Cyrl",
    "THAI ": "Thai",
    "HEBREW ": "Hebr",
    "HIRAGANA ": "Hira",
}


@given(st.characters(codec="utf-8", categories=["Lu", "Ll", "Lo"]))
def test_script_agrees_with_the_character_name(char):
    name = unicodedata.name(char, "")
    for prefix, code in _NAMED.items():
        # Names of ligatures and half-width forms begin otherwise, so the check is one-sided.
        if name.startswith((f"{prefix} SMALL LETTER ", f"{prefix} CAPITAL LETTER ", f"{prefix} LETTER ")):
            assert script_of(char) in {code, "Zyyy"}
