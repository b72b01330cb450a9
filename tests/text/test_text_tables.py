"""Word tables: every table that ships is well formed and means what its reader thinks."""

import pytest

from babelray.errors import IntegrityError
from babelray.text import tables
from babelray.text.language_evidence import languages
from babelray.text.tables import read_rows, read_words


def test_languages_have_scripts_and_small_letters():
    table = languages()
    assert table["sr"].scripts == {"Cyrl", "Latn"}
    assert table["en"].letters == frozenset()
    for row in table.values():
        assert row.scripts <= set(read_words("scripts.txt"))
        assert row.weight > 0
        assert row.letters is None or all(letter.islower() for letter in row.letters)


def test_small_words_belong_to_known_languages():
    for tag, words in read_rows("function_words.tsv", 2):
        assert tag in languages()
        assert len(set(words.split())) > 9


def test_anchor_words_have_the_purposes_that_the_code_asks_for():
    purposes = {purpose for purpose, _ in read_rows("anchor_words.tsv", 2)}
    assert purposes == {
        "extension", "abbreviation", "sentence_start", "error_part", "error_prefix", "error_name", "designation",
        "prose_part", "technical_part", "version_word", "unit",
    }  # fmt: skip


def test_a_malformed_row_is_named(tmp_path, monkeypatch):
    (tmp_path / "bad.tsv").write_text("# comment\n\na\tb\nonly one\n", "utf-8")
    monkeypatch.setattr(tables, "files", lambda package: tmp_path)
    with pytest.raises(IntegrityError, match="only one"):
        read_rows("bad.tsv", 2)


def test_words_are_unique_in_order(tmp_path, monkeypatch):
    (tmp_path / "words.txt").write_text("# b\nc a\na d\n", "utf-8")
    monkeypatch.setattr(tables, "files", lambda package: tmp_path)
    assert read_words("words.txt") == ("c", "a", "d")
