import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.glossary.codes import find_codes
from babelray.glossary.protect import find_protected
from babelray.glossary.segments import has_words, segments


def pieces(text):
    return [text[a:b] for a, b in segments(text, find_protected(text))]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        ("  \n ", []),
        ("One line.", ["One line."]),
        (" Two\n\nlines \r\n here ", ["Two", "lines", "here"]),
        (r"Escaped\nbreak", ["Escaped", "break"]),
        ("Keep {name} and <b>bold</b> inside.", ["Keep {name} and <b>bold</b> inside."]),
        ("`code\nwith a break`", ["`code", "with a break`"]),
        ("{n, plural, one {# file} other {# files}}", ["file", "files"]),
        ("Delete {n, plural, one {it} other {them}} now?", ["Delete", "it", "them", "now?"]),
        ("<a\n href='x'>go</a>", ["<a\n href='x'>go</a>"]),
    ],
)
def test_pieces_are_lines_and_branches(text, wanted):
    assert pieces(text) == wanted


def test_a_path_is_not_cut_at_what_looks_like_a_line_break():
    text = r"Open C:\new\nodes and go\nBack"
    codes = find_codes(text, (), ())
    assert [text[a:b] for a, b in codes] == [r"C:\new\nodes"]
    assert [text[a:b] for a, b in segments(text, (), codes)] == [r"Open C:\new\nodes and go", "Back"]


@given(st.text(alphabet="ab {}<>/\n,#\\n%s", max_size=40))
def test_pieces_are_disjoint_rising_and_trimmed(text):
    protected = find_protected(text)
    spans = segments(text, protected)
    assert all(a < b for a, b in spans) and all(x[1] <= y[0] for x, y in itertools.pairwise(spans))
    assert all(text[a:b] == text[a:b].strip() for a, b in spans)
    outside = {i for i in range(len(text)) if not any(a <= i < b for a, b in spans)}
    icu = {i for p in protected if p.kind == "icu" for i in range(p.start, p.end)}
    assert all(text[i].isspace() or i in icu or text[i] in "\\n" for i in outside), "no text is lost between pieces"
    assert not has_words(text, protected) or spans


@pytest.mark.parametrize(
    ("text", "worded"),
    [
        ("", False),
        ("42 %", False),
        ("{name}", False),
        ("<b>{x}</b> – 3", False),
        ("{name}!a", True),
        ("保存", True),
        (r"\n", False),
        (r"{a}\n\r\n", False),
    ],
)
def test_a_string_of_placeholders_alone_has_no_words(text, worded):
    assert has_words(text, find_protected(text)) is worded
