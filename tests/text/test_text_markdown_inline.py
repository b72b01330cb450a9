import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from babelray.text.markdown_inline import inline_cuts
from babelray.text.projection import project


def shown(content, references=()):
    return project(content, 0, len(content), inline_cuts(content, references)).text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("plain", "plain"),
        ("**bold** and *thin*", "bold and thin"),
        ("***both***", "both"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("_under_ __double__", "under double"),
        ("~~gone~~ stays readable", "gone stays readable"),
        ("`a * b` and ``x ` y``", "a * b and x ` y"),
        ("`not closed", "`not closed"),
        ('[text](/url "title") end', "text end"),
        ("[text](</a b>) [x](/a(b)c)", "text x"),
        ("![alt *text*](i.png)", "alt text"),
        ("[![badge](b.svg)](/u)", "badge"),
        ("[ref][key] [key] [key][] [other]", "ref key key [other]"),
        ("<https://a.example/x> <me@a.example>", "https://a.example/x me@a.example"),
        ('a<br/>b <kbd class="x">c</kbd>', "a b c"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("&lt;tag&gt; &amp; &copy; &nothing;", "<tag> & © &nothing;"),
        (r"\*literal\* \d", r"*literal* \d"),
        ("wrapped\n  line", "wrapped line"),
        ("中文\n中文", "中文中文"),
        ("**中文**\n[中文](/u)", "中文中文"),
        ("中文 a\nb 中文", "中文 a b 中文"),
        ("한국어\n문장", "한국어 문장"),
        ("hard  \nbreak\\\nhere", "hard\nbreak\nhere"),
        ("Title {#anchor}", "Title"),
        ("[!NOTE] careful", "NOTE careful"),
    ],
)
def test_what_is_shown(content, expected):
    assert shown(content, {"KEY": None}) == expected


PARTS = st.sampled_from(
    ["a", "b ", " ", "*", "**", "_", "`", "``", "[", "]", "](u)", "(", ")", "!", "<b>", "</b>", "&amp;", "\\", "\n",
     "中", ".", "~~", "<", "\""]
)  # fmt: skip


@given(st.lists(PARTS, max_size=14).map("".join))
def test_cuts_are_sorted_disjoint_and_inside(content):
    cuts = inline_cuts(content)
    position = 0
    for cut in cuts:
        assert position <= cut.start < cut.end <= len(content)
        position = cut.end


PARSER = MarkdownIt("commonmark")
SIMPLE = st.sampled_from(
    ["a", "b", " ", " ", "*", "**", "`", "[a](u)", "![x](u)", "&lt;", r"\*", "<b>", "</b>", ".", "7"]
)


@given(st.lists(SIMPLE, min_size=1, max_size=10).map(lambda parts: "x" + "".join(parts) + "x"))
def test_the_words_are_those_that_the_full_parser_renders(content):
    rendered = PARSER.renderInline(content)
    visible = re.sub(r'<img [^>]*alt="([^"]*)"[^>]*>', r"\1", rendered)
    visible = html.unescape(re.sub(r"</?\w+[^>]*>", "", visible))
    # Marks that pair up differently are no loss; letters, digits and entities must agree exactly.
    assert re.findall(r"[\w<.]", shown(content)) == re.findall(r"[\w<.]", visible)
