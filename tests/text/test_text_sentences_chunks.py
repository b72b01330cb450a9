import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelray.config import TextSettings
from babelray.text.chunks import context_line, passage_text, policy_digest
from babelray.text.prepare import prepare_document, sentence_text
from babelray.text.projection import project
from babelray.text.tokens import MAX_TOKENS_PER_CHARACTER, count_tokens
from tests.text.documents import OneLanguage, document
from tests.text.test_text_blocks import MEDIA, TEXTS

SMALL = TextSettings(max_tokens=32)


def prepared(text, media_type="text/markdown", policy=None, language="en", **fields):
    return prepare_document(document(text, media_type, **fields), OneLanguage(language), policy or TextSettings())


def sentences(text, **options):
    page = prepared(text, **options)
    return [sentence_text(page, number) for number in range(len(page.sentences))]


def test_sentences_by_icu_with_abbreviations_of_the_language():
    text = "See e.g. the guide. Then [go on](/x).\nMr. Smith waits. 你好。再见！"
    assert sentences(text) == ["See e.g. the guide.", "Then go on.", "Mr. Smith waits.", "你好。", "再见！"]


def test_characters_outside_the_basic_plane_do_not_shift_spans():
    page = prepared("😀😀 first. 😀 Second. Third")
    assert [page.document.text[s.start : s.end] for s in page.sentences] == ["😀😀 first.", "😀 Second.", "Third"]


def test_list_items_rows_and_headings_are_sentences():
    assert sentences("# A. B\n\n- one\n- two\n\n| a | b |\n|---|---|\n| c | d |\n") == [
        "A. B",
        "one",
        "two",
        "a | b",
        "c | d",
    ]


def test_code_is_kept_by_groups_of_lines():
    assert sentences("```\na = 1\nb = 2\n\nc = 3\n```\n") == ["a = 1\nb = 2", "c = 3"]


def test_an_oversized_sentence_is_divided_between_words():
    text = "word " * 100
    parts = sentences(text, policy=SMALL)
    assert len(parts) > 1
    assert " ".join(parts) == text.strip()
    assert all(count_tokens(part) <= 24 for part in parts)


def test_an_oversized_word_is_divided_anywhere():
    parts = sentences("x" * 1000, policy=SMALL)
    assert "".join(parts) == "x" * 1000


def test_a_heading_goes_with_what_follows_it():
    body = "Some words that fill the place. " * 5
    page = prepared(f"# One\n\n{body}\n\n## Two\n\n{body}\n", policy=TextSettings(max_tokens=64))
    for chunk in page.chunks:
        assert page.blocks[page.sentences[chunk.last_sentence].block].kind.value != "heading"
    starts = [chunk.content.split("\n")[0] for chunk in page.chunks]
    assert "One" in starts and "Two" in starts


def test_context_is_title_and_path():
    page = prepared(
        "# Guide\n\n## Install\n\n" + "Do this now. " * 60, title="Guide", policy=TextSettings(max_tokens=64)
    )
    assert page.chunks[-1].context == "Guide > Install"
    assert passage_text(page.chunks[-1]).startswith("Guide > Install\nDo this now.")


def test_a_long_context_loses_outer_sections_first():
    path = ["outer section with many words", "inner"]
    assert context_line("Title", path, 48) == "Title > outer section with many words > inner"
    assert context_line("Title", path, 4) == "Title > inner"
    assert count_tokens(context_line("word " * 100, [], 10)) <= 10
    assert context_line("", [], 10) == ""


def test_overlap_repeats_the_last_sentences():
    text = "One two three four five. " * 20
    page = prepared(text, policy=TextSettings(max_tokens=64, overlap_sentences=2))
    pairs = list(zip(page.chunks, page.chunks[1:], strict=False))
    assert pairs
    assert all(before.last_sentence - after.first_sentence == 1 for before, after in pairs)


WORDY = st.lists(
    st.sampled_from(["## Head\n\n", "Some words here. ", "More words to fill it up. ", "\n\n"]), max_size=40
)


@given(WORDY.map("".join), st.integers(0, 3), st.sampled_from([32, 48]))
def test_every_chunk_brings_something_new(text, overlap, cap):
    page = prepared(text, policy=TextSettings(max_tokens=cap, overlap_sentences=overlap))
    ends = [chunk.last_sentence for chunk in page.chunks]
    assert ends == sorted(set(ends))
    assert (ends[-1] if ends else -1) == len(page.sentences) - 1


def test_code_can_be_left_out():
    text = "Text.\n\n```\ncode\n```\n\nMore.\n"
    assert [chunk.content for chunk in prepared(text).chunks] == ["Text.\ncode\nMore."]
    assert [chunk.content for chunk in prepared(text, policy=TextSettings(keep_code=False)).chunks] == ["Text.\nMore."]


def test_chunk_metadata():
    chunk = prepared("Error ORA-00942 in 数据库.\n\n```\nx\n```\n").chunks[0]
    assert chunk.languages == ("en",)
    assert "ORA-00942" in chunk.exact_tokens
    assert set(chunk.scripts) >= {"Latn", "Hani"}


def test_ids_depend_on_revision_span_and_policy():
    base = prepared("Some text.").chunks[0].chunk_id
    assert prepared("Some text.").chunks[0].chunk_id == base
    assert prepared("Some text.", policy=TextSettings(max_tokens=128)).chunks[0].chunk_id != base
    assert policy_digest(TextSettings(), "a") != policy_digest(TextSettings(), "b")
    assert policy_digest(TextSettings(), "a") != policy_digest(TextSettings(keep_code=False), "a")


POLICIES = st.builds(TextSettings, max_tokens=st.sampled_from([32, 48, 256]), overlap_sentences=st.integers(0, 3))


@settings(max_examples=200)
@given(TEXTS, MEDIA, POLICIES, st.sampled_from(["", "A title", "title " * 40]))
def test_units_tile_the_page(text, media_type, policy, title):
    page = prepared(text, media_type, policy, title=title)
    assert page == prepared(text, media_type, policy, title=title)
    shown = ["" for _ in page.blocks]
    position = 0
    for number, sentence in enumerate(page.sentences):
        block = page.blocks[sentence.block]
        assert max(position, block.start) <= sentence.start < sentence.end <= block.end
        position = sentence.end
        shown[sentence.block] += sentence_text(page, number)
        assert sentence.tokens <= policy.max_tokens
    for block, found in zip(page.blocks, shown, strict=True):
        whole = project(text, block.start, block.end, block.cuts).text
        assert "".join(found.replace("|", "").split()) == "".join(whole.replace("|", "").split())
    following = 0
    for chunk in page.chunks:
        assert following - policy.overlap_sentences <= chunk.first_sentence <= following <= chunk.last_sentence
        following = chunk.last_sentence + 1
        assert chunk.tokens == count_tokens(passage_text(chunk)) <= policy.max_tokens
        parts = [sentence_text(page, at) for at in range(chunk.first_sentence, following)]
        assert "".join("".join(parts).split()) == "".join(chunk.content.split())
    assert following == len(page.sentences)


@given(st.text(max_size=30), st.text(max_size=30))
def test_the_count_of_two_texts_is_at_most_the_sum(left, right):
    for joint in ("", " ", "\n"):
        assert count_tokens(left + joint + right) <= count_tokens(left) + count_tokens(right)
    assert count_tokens(left) <= MAX_TOKENS_PER_CHARACTER * len(left)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("word", 1), ("Kubernetes", 2), ("汉字汉字", 4), ("3.14", 3)])
def test_some_counts(text, tokens):
    assert count_tokens(text) == tokens
