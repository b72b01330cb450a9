from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest

from babelray.errors import AccessDenied, InputError, ModelKeyMismatch
from babelray.index import open_segment
from babelray.index.access import AccessScope, AccessValues, to_micros
from babelray.index.access_changes import parse_changes
from babelray.index.access_store import apply_changes, read_current
from babelray.index.lexical import LexicalPart, query_parts
from babelray.index.reader import Hit, OpenGeneration
from babelray.index.row_access import RowAccess
from babelray.index.store import open_store
from babelray.index.vectors import count_rows
from tests.index.access_worlds import BASES, GROUPS, STATUSES, TENANTS, random_values
from tests.index.segment_worlds import KEY, NOW, always_probe, open_world, unit_vectors

WORDS = [LexicalPart("general", ("pod", "scheduler", "volume", "retries", "gateway", "secret"))]


def random_scope(rng):
    return AccessScope(
        tenant_id=str(rng.choice([*TENANTS, "unknown"])),
        groups=frozenset(group for group in GROUPS if rng.random() < 0.4),
        knowledge_bases=None if rng.random() < 0.5 else frozenset(base for base in BASES if rng.random() < 0.5),
        statuses=frozenset(status for status in STATUSES if rng.random() < 0.7),
        as_of=NOW + timedelta(microseconds=int(rng.integers(-1, 2))),
    )


def visible_chunks(table, corpora, scope):
    """(segment, row) of every chunk that the rules show, by walking the documents."""
    shown = set()
    for segment, corpus in enumerate(corpora):
        row = 0
        for one in corpus:
            document = one.document
            declared = AccessValues.of(document)
            effective = table.overrides.get(document.doc_id)
            if effective is None:
                effective = table.classes[table.numbers[declared]].effective
            ok = document.doc_id not in table.deleted
            ok &= effective.tenant_id == declared.tenant_id == scope.tenant_id
            ok &= effective.status in scope.statuses
            ok &= scope.knowledge_bases is None or effective.knowledge_base_id in scope.knowledge_bases
            ok &= "*" in effective.groups or bool(set(effective.groups) & scope.groups)
            ok &= document.valid_from is None or document.valid_from <= scope.as_of
            ok &= document.valid_to is None or scope.as_of < document.valid_to
            shown |= {(segment, row + at) for at in range(len(one.chunks) if ok else 0)}
            row += len(one.chunks)
    return shown


def random_changes(rng, corpora):
    changes = []
    for one in (one for corpus in corpora for one in corpus):
        values, doc_id = random_values(rng), one.document.doc_id
        draw = rng.random()
        if draw < 0.1:
            changes.append({"action": "delete_document", "doc_id": doc_id})
        elif draw < 0.25:
            tenant = values.tenant_id if draw < 0.12 else one.document.tenant_id
            changes.append(
                {"action": "set_document", "doc_id": doc_id, "tenant_id": tenant,
                 "knowledge_base_id": values.knowledge_base_id, "groups": list(values.groups), "status": values.status}
            )  # fmt: skip
        elif draw < 0.35:
            where = {"tenant_id": one.document.tenant_id, "groups": list(one.document.acl_groups)}
            changes.append({"action": "set_class", "where": where, "set": {"groups": list(values.groups)}})
    return parse_changes(changes, "test")


@pytest.mark.parametrize("kind", ["flat", "ivf_sq8"])
@pytest.mark.parametrize("seed", range(3))
def test_no_channel_shows_a_row_outside_the_scope_and_the_exact_path_misses_none(tmp_path, kind, seed):
    rng = np.random.default_rng(seed)
    store = open_store(str(tmp_path / "store"))
    plan = always_probe() if kind == "ivf_sq8" else None
    generation, corpora = open_world(store, tmp_path / "work", rng, kind, plan)
    total = 0
    for _ in range(4):
        table = apply_changes(store, "main", random_changes(rng, corpora))
        generation.refresh_access()
        assert generation.access_revision == table.revision == read_current(store, "main").table.revision
        for _ in range(25):
            scope = random_scope(rng)
            compiled = generation.compile(scope)
            expected = visible_chunks(table, corpora, scope)
            total += len(expected)
            dense_rows = {
                (segment, row) for segment, row in expected if generation.segments[segment].access.has_vector[row]
            }
            query = unit_vectors(rng, 1)[0].astype(np.float32)
            dense = {(hit.segment, hit.row) for hit in generation.search_dense(query, KEY, compiled, 1000)}
            # With k over the number of rows, probing finds too few and falls back to the exact scan.
            assert dense == dense_rows
            near = {(hit.segment, hit.row) for hit in generation.search_dense(query, KEY, compiled, 3)}
            assert near <= dense_rows and len(near) == min(3, len(dense_rows))
            words = {(hit.segment, hit.row) for hit in generation.search_lexical(WORDS, compiled, 1000)}
            assert words <= expected
            matching = {
                (segment, row)
                for segment, row in expected
                if set(WORDS[0].terms) & set(generation.segments[segment].chunks["content"][row].as_py().split())
            }
            assert words == matching
    assert total > 100 and generation.violations == 0


def test_asking_words_without_the_clause_gives_the_same_rows_in_the_same_order(tmp_path, monkeypatch):
    monkeypatch.setattr(open_segment, "WIDE_SHARE", 0.02)
    rng = np.random.default_rng(21)
    store = open_store(str(tmp_path / "store"))
    generation, corpora = open_world(store, tmp_path / "work", rng, documents=60)
    wide = 0
    for number in range(60):
        if number % 20 == 10:
            apply_changes(store, "main", random_changes(rng, corpora))
            generation.refresh_access()
        compiled = generation.compile(random_scope(rng))
        for segment in generation.segments:
            wide += count_rows(segment.access.permitted(compiled)) >= 0.02 * segment.rows
            for k in (1, 4, 15):
                found = segment.search_lexical(WORDS, compiled, k)
                plain = segment.lexical.search(WORDS, segment.access.lexical_filter(compiled), k)
                assert found.rows.tolist() == plain.rows.tolist()
                np.testing.assert_array_equal(found.scores, plain.scores)
    assert wide > 20


def small_world(tmp_path, seed=5, kind="flat"):
    store = open_store(str(tmp_path / "store"))
    generation, corpora = open_world(store, tmp_path / "work", np.random.default_rng(seed), kind)
    everyone = AccessScope(tenant_id="a", groups=frozenset(GROUPS), statuses=frozenset(STATUSES), as_of=NOW)
    return store, generation, corpora, everyone


def test_a_damaged_class_column_lets_nothing_out_and_is_counted(tmp_path):
    _, generation, _, scope = small_world(tmp_path)
    compiled = generation.compile(scope)
    segment = generation.segments[0]
    classes = segment.access.classes.copy()
    classes[:] = compiled.classes[0]
    rows = pa.table(
        {
            "access_class": pa.array(classes, type=pa.uint32()),
            "document": pa.array(segment.access.documents, type=pa.uint32()),
            "valid_from": pa.nulls(segment.rows, pa.int64()),
            "valid_to": pa.nulls(segment.rows, pa.int64()),
            "has_vector": pa.array(segment.access.has_vector),
        }
    )
    documents = segment.documents
    columns = [documents[name].to_pylist() for name in ("tenant_id", "knowledge_base_id", "acl_groups", "status")]
    declared = [AccessValues(a, b, tuple(c), d) for a, b, c, d in zip(*columns, strict=True)]
    segment.access = RowAccess(segment.name, rows, documents["doc_id"].to_pylist(), declared)
    query = unit_vectors(np.random.default_rng(0), 1)[0].astype(np.float32)
    with pytest.raises(AccessDenied, match="withheld"):
        generation.search_dense(query, KEY, compiled, 100)
    assert generation.violations == 1
    with pytest.raises(AccessDenied, match="withheld"):
        generation.records([hit_of(generation, row) for row in range(segment.rows)], compiled)
    assert generation.violations == 2


def hit_of(generation, row, segment=0):
    return Hit(segment, row, 1.0)


def test_a_word_index_that_ignores_the_filter_is_caught(tmp_path):
    _, generation, _, scope = small_world(tmp_path)
    compiled = generation.compile(scope)
    other = generation.compile(scope.model_copy(update={"tenant_id": "b"}))
    for segment in generation.segments:
        honest = segment.search_lexical
        segment.search_lexical = lambda parts, _, k, honest=honest: honest(parts, other, k)
    assert generation.search_lexical(WORDS, other, 50), "tenant b has something to leak"
    with pytest.raises(AccessDenied):
        generation.search_lexical(WORDS, compiled, 50)
    assert generation.violations == 1


def test_another_model_key_is_refused_by_name_of_the_difference(tmp_path):
    _, generation, _, scope = small_world(tmp_path)
    other = KEY.model_copy(update={"revision": "2"})
    with pytest.raises(ModelKeyMismatch, match="revision"):
        generation.search_dense(np.ones(16, dtype=np.float32), other, generation.compile(scope), 3)


@pytest.mark.parametrize("bad", [np.ones(15), np.full(16, np.nan), np.ones((1, 16))])
def test_vectors_that_cannot_be_searched_are_refused(tmp_path, bad):
    _, generation, _, scope = small_world(tmp_path)
    with pytest.raises(InputError, match="query vector"):
        generation.search_dense(bad.astype(np.float32), KEY, generation.compile(scope), 3)


def test_a_deletion_is_in_force_after_the_refresh_and_undone_by_the_restore(tmp_path):
    store, generation, _, scope = small_world(tmp_path)
    hits = generation.search_lexical(WORDS, generation.compile(scope), 100)
    victim = generation.records(hits[:1], generation.compile(scope))[0].doc_id
    assert generation.refresh_access() is False
    apply_changes(store, "main", parse_changes([{"action": "delete_document", "doc_id": victim}], "t"))
    assert generation.refresh_access() is True
    after = generation.search_lexical(WORDS, generation.compile(scope), 100)
    assert victim not in {one.doc_id for one in generation.records(after, generation.compile(scope))}
    assert len(after) < len(hits)
    apply_changes(store, "main", parse_changes([{"action": "restore_document", "doc_id": victim}], "t"))
    generation.refresh_access()
    assert generation.search_lexical(WORDS, generation.compile(scope), 100) == hits


def test_an_index_without_an_access_table_shows_nothing(tmp_path):
    _, generation, _, scope = small_world(tmp_path)
    empty = open_store(str(tmp_path / "other"))
    blind = OpenGeneration(empty, generation.manifest, generation.segments, generation.search)
    assert blind.access_revision == "empty"
    assert blind.search_lexical(WORDS, blind.compile(scope), 10) == []


def test_hits_come_in_one_order_over_segments(tmp_path):
    _, generation, _, scope = small_world(tmp_path)
    compiled = generation.compile(scope)
    hits = generation.search_lexical(query_parts("pod volume 数据库", ["en", "zh-Hans"]), compiled, 10)
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.segment, hit.row))
    assert {hit.segment for hit in hits} == {0, 1}
    assert to_micros(scope.as_of) == compiled.as_of
