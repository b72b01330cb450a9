"""Han characters: simplification keeps places, and character sets tell writings apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opencc import OpenCC

from babelray.text.han import han_use, simplify


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("繁體中文", "繁体中文"),
        ("設定", "设定"),
        ("简体", "简体"),
        ("カナと漢字", "カナと汉字"),
        ("abc", "abc"),
        ("", ""),
    ],
)
def test_simplify(text, simple):
    assert simplify(text) == simple


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=30))
def test_simplify_keeps_length_and_is_settled_after_once(text):
    once = simplify(text)
    assert len(once) == len(text)
    assert simplify(once) == once


def test_simplify_agrees_with_opencc_on_single_characters():
    converter = OpenCC("t2s")
    for char in "體國學會來點設發後裡門車馬鳥龍東書長":
        assert simplify(char) == converter.convert(char)


@pytest.mark.parametrize(
    ("text", "foreign_to"),
    [
        ("这说为响", "traditional"),
        ("這說裡龜", "simplified"),
        ("対図込畑", "chinese"),
        ("文件大小", None),
    ],
)
def test_use(text, foreign_to):
    use = han_use(text)
    assert use.total == 4
    assert (use.not_simplified == 0) == (foreign_to in {"traditional", None})
    assert (use.not_traditional == 0) == (foreign_to in {"simplified", None})
