import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.errors import InputError
from babelray.text.blocks import split_blocks
from babelray.text.projection import project
from tests.text.documents import document, shown_blocks


def test_headings_make_the_section_path():
    page = document("# Top {#top}\n\nintro\n\n## Part *one*\n\nbody\n\n## Part two\n\nend\n")
    paths = {page.text[b.start : b.end]: b.section_path for b in split_blocks(page)}
    assert paths["intro"] == ("Top",)
    assert paths["body"] == ("Top", "Part one")
    assert paths["end"] == ("Top", "Part two")
    assert paths["Part *one*"] == ("Top",)


def test_front_matter_is_no_content():
    assert shown_blocks("---\ntitle: Secret title\n---\n\nBody.\n") == [("paragraph", "Body.")]
    assert shown_blocks("+++\ntitle = 'x'\n+++\nBody.\n") == [("paragraph", "Body.")]
    assert shown_blocks("Body.\n\n---\n\nMore.\n") == [("paragraph", "Body."), ("paragraph", "More.")]


def test_comments_are_no_content_wherever_they_stand():
    text = (
        "<!-- one -->\nFirst <!-- two --> line.\n\n<!--\n## three\n\n- four\n```sh\nfive\n```\n-->\n"
        "- item\n  <!-- six\n  seven -->\n  goes on\n<!-- eight -->\n- next\n\n<!-- nine -->tail\n"
    )
    assert shown_blocks(text) == [
        ("paragraph", "First  line."),
        ("list", "item\ngoes on\nnext"),
        ("paragraph", "tail"),
    ]


def test_what_looks_like_a_comment_in_code_stays():
    text = "Use `<!-- more -->` here.\n\n```html\n<!-- kept -->\n```\n"
    assert shown_blocks(text) == [("paragraph", "Use <!-- more --> here."), ("code", "<!-- kept -->")]


def test_a_stray_back_tick_does_not_hide_a_comment():
    assert shown_blocks("a ` b\n<!-- gone ` -->\nc\n") == [("paragraph", "a ` b"), ("paragraph", "c")]


def test_an_unclosed_comment_loses_nothing():
    assert shown_blocks("before\n\n<!-- after\n\nend\n") == [
        ("paragraph", "before"), ("paragraph", "after"), ("paragraph", "end"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('The {{< glossary_tooltip text="control plane" term_id="cp" >}} runs.', "The control plane runs."),
        ('The {{<glossary_tooltip term_id="kubelet">}} runs.', "The kubelet runs."),
        ('{{< figure src="/a.svg" alt="A map" caption="<!-- old -->Fig 1" >}}', "A map Fig 1"),
        ('{{< note >}}\nCareful.\n{{< /note >}}', "Careful."),
        ("Version {{< param \"version\" >}}.", "Version ."),
        ("{{< comment >}}hidden{{< /comment >}}Seen.", "Seen."),
        ("Write {{</* note */>}} so.", "Write {{</* note */>}} so."),
        ("Write `{{< note >}}` so.", "Write {{< note >}} so."),
        ("{{< broken \"x", '{{< broken "x'),
    ],
)  # fmt: skip
def test_shortcodes(source, expected):
    assert "\n".join(text for _, text in shown_blocks(source)) == expected


def test_lists_quotes_and_code_inside_them():
    text = "1. first\n   wrapped\n\n   ```sh\n   run  it\n     deep\n   ```\n\n2. second\n   - inner\n\n"
    text += "> quoted\n> text\n>\n> more\n"
    assert shown_blocks(text) == [
        ("list", "first wrapped"),
        ("code", "run  it\n  deep"),
        ("list", "second\ninner"),
        ("quote", "quoted text\nmore"),
    ]


def test_indented_code_keeps_its_inner_indentation_and_blank_lines():
    assert shown_blocks("text\n\n    if x:\n        y\n\n    z\n") == [
        ("paragraph", "text"), ("code", "if x:\n    y\n\nz"),
    ]  # fmt: skip


def test_a_table_is_one_block_of_rows():
    text = "| Name | Use |\n|------|:---:|\n| `a\\|b` | **x** |\n|  | only |\n"
    assert shown_blocks(text) == [("table", "Name | Use\na|b | x\nonly")]


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("```json\n{}\n```", "json"),
        ('```\n{"a": [1, 2]}\n```', "json"),
        ("```log\nanything\n```", "log"),
        ("```\n2024-05-01 10:00:00 INFO up\n2024-05-01 10:00:01 ERROR down\n```", "log"),
        ("```\nI0501 10:00:00.1 main.go:1] up\nW0501 10:00:01.2 main.go:2] slow\n```", "log"),
        ("```go\nfunc main() {}\n```", "code"),
        ("~~~\nplain\n~~~", "code"),
        ("```\nnever closed", "code"),
    ],
)
def test_kinds_of_code(source, kind):
    assert [found for found, _ in shown_blocks(source)] == [kind]


def test_reference_links_and_their_definitions():
    text = 'See [the guide][g] and [undefined].\n\n[g]: https://a.example/x "T"\n'
    assert shown_blocks(text) == [("paragraph", "See the guide and [undefined].")]


def test_html_inside_markdown():
    text = "<details>\n<summary>More &amp; more</summary>\n\nInner **text**.\n\n</details>\n<script>var x</script>\n"
    assert shown_blocks(text) == [("paragraph", "More & more"), ("paragraph", "Inner text.")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_change_nothing_that_is_shown(end):
    text = "# T\n\nfirst\nsecond\n\n- a\n- b\n\n```\nx\ny\n```\n\n| a | b |\n|---|---|\n| c | d |\n"
    assert shown_blocks(text.replace("\n", end)) == shown_blocks(text)


def test_bom_and_nul_are_cut():
    assert shown_blocks("\ufeff# T\0itle\n\nbo\0dy\n") == [("heading", "Title"), ("paragraph", "body")]
    assert shown_blocks("\ufeff---\ntitle: x\n---\nbody") == [("paragraph", "body")]


def test_deep_nesting_loses_nothing():
    assert "".join(text for _, text in shown_blocks("> " * 200 + "deep\n")) == "deep"


def test_a_page_that_shows_nothing_has_no_blocks():
    for text in ("", " \n\n", "<!-- only -->", "---\na: b\n---\n", "---\n"):
        assert shown_blocks(text) == []


def test_an_unknown_media_type_is_refused():
    with pytest.raises(InputError, match="text/markdown"):
        split_blocks(document("x", "image/png"))


PIECES = st.sampled_from(
    ["# h\n", "word ", "字。", "\n", "\n\n", "- ", "1. ", "> ", "```\n", "    ", "| a | b |\n", "|---|---|\n", "<!-- ",
     " -->", "{{< note >}}", "{{< x text=\"t\" >}}", "**", "`", "[a](b)", "&amp;", "<div>", "</div>\n", "<p>", "\t",
     "\r\n", "\0", "\ufeff", "---\n", "~~~\n", "[r]: u\n", "😀", "{", "\"k\": 1}", "<pre>", "</pre>", "<ul><li>",
     "<!--"]
)  # fmt: skip
MEDIA = st.sampled_from(["text/markdown", "text/html", "text/plain", "application/json"])
TEXTS = st.lists(PIECES, max_size=25).map("".join)


@given(TEXTS, MEDIA)
def test_blocks_are_in_order_disjoint_and_their_cuts_inside(text, media_type):
    page = document(text, media_type)
    position = 0
    for block in split_blocks(page):
        assert position <= block.start < block.end <= len(text)
        position = at = block.start
        for cut in block.cuts:
            assert at <= cut.start < cut.end <= block.end
            at = cut.end
        position = block.end
        assert project(text, block.start, block.end, block.cuts).text.strip()


@given(
    st.lists(st.sampled_from(["one", "two", "字", "\n", "\n\n", "- ", "> ", "# ", "**", " "]), max_size=20).map("".join)
)
def test_no_word_of_markdown_is_lost(text):
    shown = "".join("".join(text.split()) for _, text in shown_blocks(text))
    words = [char for char in text if char.isalnum()]
    assert [char for char in shown if char.isalnum()] == words
