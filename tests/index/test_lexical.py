import tempfile

import numpy as np
import pytest

from babelray.errors import IntegrityError
from babelray.index.access import compile_scope
from babelray.index.lexical import (
    UNFILTERED,
    LexicalBuilder,
    LexicalPart,
    LexicalRow,
    SegmentLexical,
    exact_field_terms,
    general_terms,
    heading_terms,
    query_parts,
    stemmed_terms,
)
from babelray.index.row_access import LexicalFilter
from babelray.text.anchors import exact_tokens
from tests.index.access_worlds import random_scope, random_world

PAGES = [
    ("en", "Retries", "The scheduler restarts failing pods; see ERR_CONN_RESET and set max_retries to 3."),
    ("zh-Hans", "调度器", "调度器会重启失败的容器组。设置max_retries可以限制重试次数，错误码 E1042。"),
    ("zh-Hant", "資料庫", "資料庫連線逾時時，請檢查網路設定。"),
    ("ja", "再試行", "スケジューラは失敗したポッドを再起動します。kubectl rollout restart を使います。"),
    ("de", "Wiederholungen", "Der Planer startet fehlgeschlagene Container neu und begrenzt Wiederholungen."),
    ("es", "Reintentos", "El planificador reinicia los contenedores que fallan según la política de reintentos."),
    ("pt", "Tentativas", "O agendador reinicia os contêineres que falham conforme a política de novas tentativas."),
    ("en", "Upgrade", "Version v2.1.0 removes the flag --enable-foo from kube-apiserver; v2.10.0 adds it back."),
]


def lexical_row(language, title, text, access_class=0, document=0, **bounds):
    return LexicalRow(
        text=stemmed_terms(text, language),
        general=general_terms(text),
        title=heading_terms(title, language),
        section=(),
        exact=exact_field_terms(exact_tokens(text)),
        access_class=access_class,
        document=document,
        **bounds,
    )


def build(folder, rows):
    builder = LexicalBuilder(folder)
    for row in rows:
        builder.add(row)
    return SegmentLexical(builder.close(), len(rows))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    rows = [lexical_row(*page, document=number) for number, page in enumerate(PAGES)]
    return build(tmp_path_factory.mktemp("pages"), rows)


@pytest.mark.parametrize(
    ("query", "language", "best"),
    [
        ("restarted pod", "en", 0),
        ("重启容器组", "zh-Hans", 1),
        ("数据库", "zh-Hans", 2),  # simplified query, traditional page
        ("ポッドの再起動", "ja", 3),
        ("Wiederholung begrenzen", "de", 4),
        ("reiniciar contenedor", "es", 5),
        ("política de tentativa", "pt", 6),
        ("ERR_CONN_RESET", "en", 0),
        ("E1042", "und", 1),
        ("kubectl rollout", "en", 3),
        ("--enable-foo", "en", 7),
        ("kube-apiserver", "und", 7),
    ],
)
def test_each_language_and_identifier_finds_its_page(pages, query, language, best):
    found = pages.search(query_parts(query, [language]), UNFILTERED, 5)
    assert found.rows[0] == best, found


def test_an_identifier_is_found_in_chinese_and_english_alike(pages):
    found = pages.search(query_parts("max_retries", ["en"]), UNFILTERED, 5)
    assert set(found.rows[:2]) == {0, 1}


def test_versions_are_told_apart_in_the_exact_field(pages):
    assert pages.search([LexicalPart("exact", ("v2.1.0",))], UNFILTERED, 5).rows.tolist() == [7]
    assert pages.search([LexicalPart("exact", ("v2.1",))], UNFILTERED, 5).rows.tolist() == []


def test_phrases_hold_on_text_that_was_cut_before(pages):
    words = tuple(term for term, _ in general_terms("failing pods"))
    assert pages.search([LexicalPart("general", words, phrase=True)], UNFILTERED, 5).rows.tolist() == [0]
    assert pages.search([LexicalPart("general", words[::-1], phrase=True)], UNFILTERED, 5).rows.size == 0


def test_a_word_of_the_title_counts(pages):
    assert pages.search(query_parts("retries", ["en"]), UNFILTERED, 1).rows.tolist() == [0]
    assert pages.search([LexicalPart("title", ("upgrad",))], UNFILTERED, 3).rows.tolist() == [7]


def test_no_words_and_nothing_allowed_give_nothing(pages):
    assert pages.search([], UNFILTERED, 5).rows.size == 0
    assert query_parts("?!", ["en"]) == []
    nobody = LexicalFilter(classes=(), blocked=(), admitted=(), as_of=None)
    assert pages.search(query_parts("max_retries", ["en"]), nobody, 5).rows.size == 0


def test_a_query_that_looks_like_syntax_is_only_words(pages):
    for text in ('"a AND (b OR', "title:retries^9", "*", "\\", "\ud800", "x" * 100_000):
        pages.search(query_parts(text, ["en"]), UNFILTERED, 5)


@pytest.mark.parametrize("seed", range(3))
def test_filtered_search_is_the_unfiltered_one_without_the_hidden_rows(tmp_path, seed):
    rng = np.random.default_rng(seed)
    shown = 0
    for number in range(6):
        world = random_world(rng, rows=50)
        words = [f"w{int(n)}" for n in rng.integers(0, 6, world.rows)]
        rows = [
            LexicalRow(
                text=[("common", 0), (words[row], 1)],
                general=(), title=(), section=(), exact=(),
                access_class=world.classes[row],
                document=world.documents[row],
                valid_from=world.valid_from[row],
                valid_to=world.valid_to[row],
            )
            for row in range(world.rows)
        ]  # fmt: skip
        folder = tmp_path / f"{seed}-{number}"
        folder.mkdir()
        segment = build(folder, rows)
        access = world.row_access()
        parts = [LexicalPart("text", ("common", "w1", "w2"))]
        whole = segment.search(parts, UNFILTERED, world.rows)
        assert len(whole.rows) == world.rows
        for _ in range(25):
            scope = random_scope(rng)
            found = segment.search(parts, access.lexical_filter(compile_scope(world.table, scope)), world.rows)
            keep = [at for at, row in enumerate(whole.rows) if world.visible(scope, int(row))]
            assert found.rows.tolist() == whole.rows[keep].tolist()
            np.testing.assert_allclose(found.scores, whole.scores[keep], rtol=1e-6)
            shown += len(keep)
    assert shown > 100


def test_a_published_folder_is_not_written_to(tmp_path):
    folder = tmp_path / "lexical"
    folder.mkdir()
    builder = LexicalBuilder(folder)
    builder.add(lexical_row(*PAGES[0]))
    files = builder.close()
    for path in set(folder.iterdir()) - set(files):
        path.unlink()
    before = sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir())
    assert SegmentLexical(files, 1).search(query_parts("pods", ["en"]), UNFILTERED, 1).rows.size == 1
    assert sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir()) == before


def test_an_open_index_leaves_nothing_behind(tmp_path, monkeypatch):
    scratch, folder = tmp_path / "scratch", tmp_path / "lexical"
    scratch.mkdir()
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    builder = LexicalBuilder(folder)
    builder.add(lexical_row(*PAGES[0]))
    opened = [SegmentLexical(builder.close(), 1)]
    for _ in range(20):
        opened.append(SegmentLexical([path for path in folder.iterdir() if path.suffix != ".lock"], 1))
    assert not list(scratch.iterdir())
    assert all(one.search(query_parts("pods", ["en"]), UNFILTERED, 1).rows.size == 1 for one in opened)


def test_damage_is_named(tmp_path):
    builder = LexicalBuilder(tmp_path)
    builder.add(lexical_row(*PAGES[0]))
    files = builder.close()
    with pytest.raises(IntegrityError, match="disagree"):
        SegmentLexical(files, 2)
    with pytest.raises(IntegrityError, match="Tantivy"):
        SegmentLexical([path for path in files if path.name != "meta.json"], 1)
