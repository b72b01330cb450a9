import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from babelray.text.blocks import split_blocks
from tests.text.documents import document, shown_blocks


def html_blocks(text):
    return shown_blocks(text, "text/html")


def test_structure_becomes_kinds():
    text = """<!DOCTYPE html><html lang="de"><head><title>Not content</title><style>p{}</style></head><body>
    <h1>Top</h1><p>One <b>bold</b>
      word.</p><ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>
    <blockquote><p>said</p></blockquote>
    <pre><code class="language-json">{"a": 1}</code></pre>
    <table><tr><th>k</th><th>v</th></tr><tr><td>x</td><td>y</td></tr></table>
    <script>if (a < b) { "</p>" }</script></body></html>"""
    assert html_blocks(text) == [
        ("heading", "Top"), ("paragraph", "One bold word."), ("list", "a\nb\nc"), ("quote", "said"),
        ("json", '{"a": 1}'), ("table", "k | v\nx | y"),
    ]  # fmt: skip


def test_spans_are_those_of_the_raw_source():
    page = document("<div><h2 id=x>Title</h2>\n<p>a &lt;b&gt; <i>c</i></p></div>", "text/html")
    first, second = split_blocks(page)
    assert page.text[first.start : first.end] == "Title"
    assert page.text[second.start : second.end] == "a &lt;b&gt; <i>c"
    assert second.section_path == ("Title",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>a<!-- b -->c", "ac"),
        ("<p>one<br>two", "one\ntwo"),
        ("<p>x <img src=a alt='a map'> y", "x a map y"),
        ("<p title='a > b'>shown", "shown"),
        ("a < b <= c", "a < b <= c"),
        ("<p>&eacute;&#233;&#xe9;", "ééé"),
        ("<pre>\nx\n  y &amp; z\n</pre>", "x\n  y & z"),
        ("<svg><text>no</text></svg>yes", "yes"),
        ("<script>var a = '<p>'", ""),
        ("tail <div unfinished", "tail <div unfinished"),
        ("</p >text</", "text</"),
    ],
)
def test_what_is_shown(text, expected):
    assert "\n".join(shown for _, shown in html_blocks(text)) == expected


TAGS = st.sampled_from(
    ["<p>", "</p>", "<div>", "</div>", "<b>", "</b>", "<br>", "<li>", "<ul>", "</ul>", "<h2>", "</h2>", "<!-- no -->",
     "<script>no</script>", "<style>no</style>", "<span class='x>y'>", "</span>", " word ", "字", "&amp;", " and\n",
     "<pre>", "</pre>"]
)  # fmt: skip


@given(st.lists(TAGS, max_size=20).map("".join))
def test_the_text_is_what_a_browser_parser_finds(text):
    tree = LexborHTMLParser(f"<html><body>{text}</body></html>")
    for hidden in tree.css("script,style"):
        hidden.decompose()
    oracle = tree.body.text() if tree.body else ""
    shown = "".join(part for _, part in html_blocks(text))
    assert "".join(shown.split()) == "".join(oracle.split())
