import json

from hypothesis import given
from hypothesis import strategies as st

from babelray.text.blocks import block_text, split_blocks
from babelray.text.code_kinds import looks_like_json, looks_like_log
from tests.text.documents import document, shown_blocks


def plain(text):
    return shown_blocks(text, "text/plain")


def test_paragraphs_end_at_blank_lines():
    assert plain("one\n\n \ntwo\r\n\r\nthree") == [("paragraph", "one"), ("paragraph", "two"), ("paragraph", "three")]


def test_a_wrapped_paragraph_is_one_line_and_short_lines_are_kept():
    wrapped = (
        "This line was wrapped by an editor at some width\nand goes on to the next line without any pause in it\nend."
    )
    assert plain(wrapped) == [("paragraph", wrapped.replace("\n", " "))]
    assert plain("milk\neggs\nbread") == [("paragraph", "milk\neggs\nbread")]


def test_shapes():
    assert looks_like_log("2024-01-01T00:00:00Z a\n2024-01-01T00:00:01Z b")
    assert not looks_like_log("2024-01-01T00:00:00Z one line alone")
    assert looks_like_json('{"a": 1}')
    assert not looks_like_json("{not json}")
    assert not looks_like_json("[" * 5000 + "]" * 5000)


def test_json_strings_with_their_paths():
    text = '{"a": "Hello\\nworld", "list": [{"b": "x\\u00e9\\ud83d\\ude00"}, 7, "z"], "n": 1,'
    text += ' "d": "2024-01-01", "": {"q\\"": "k"}}'
    page = document(text, "application/json")
    found = [(block.section_path, block_text(page, block)) for block in split_blocks(page)]
    assert found == [
        (("a",), "Hello\nworld"), (("list", "0", "b"), "xé😀"), (("list", "2"), "z"), (("", 'q"'), "k"),
    ]  # fmt: skip


VALUES = st.recursive(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufeff"), max_size=8)
    | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def strings_of(value, path=()):
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from strings_of(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from strings_of(inner, (*path, str(number)))


@given(VALUES, st.booleans())
def test_json_strings_are_those_of_the_standard_parser(value, ascii_only):
    page = document(json.dumps(value, ensure_ascii=ascii_only, indent=1), "application/json")
    found = [block_text(page, block).strip() for block in split_blocks(page)]
    wanted = [text.strip() for _, text in strings_of(value) if any(char.isalpha() for char in text)]
    assert found == wanted
