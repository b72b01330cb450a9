import threading

import pytest

from babelray.errors import InputError, IntegrityError, PublishConflict
from babelray.index import access_store
from babelray.index.access import AccessClass, AccessTable, AccessValues
from babelray.index.access_changes import parse_changes
from babelray.index.access_store import (
    apply_changes,
    current_revision,
    decode_table,
    encode_table,
    read_current,
    read_table,
    register_classes,
)
from babelray.index.layout import LAYOUT
from babelray.index.store import open_store

ENG = AccessValues("acme", "docs", ("eng",), "active")
HR = AccessValues("acme", "wiki", ("hr",), "active")
HIDE = [{"action": "set_class", "where": {"tenant_id": "acme", "groups": ["eng"]}, "set": {"groups": []}}]


def deletion(doc_id):
    return parse_changes([{"action": "delete_document", "doc_id": doc_id}], "test")


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path))


def test_nothing_written_is_an_empty_table(store):
    assert read_current(store, "main").table == AccessTable()
    assert current_revision(store, "main") == "empty"


def test_classes_get_lasting_numbers_whatever_the_order(store):
    first = register_classes(store, "main", [HR, ENG])
    assert first == {ENG: 0, HR: 1}
    draft = AccessValues("acme", "docs", (), "draft")
    assert register_classes(store, "main", [draft, HR]) == {HR: 1, draft: 2}
    revision = current_revision(store, "main")
    assert register_classes(store, "main", [ENG, HR]) == {ENG: 0, HR: 1}
    assert current_revision(store, "main") == revision, "nothing new makes no revision"


def test_registering_again_undoes_no_change_of_rights(store):
    register_classes(store, "main", [ENG])
    apply_changes(store, "main", parse_changes(HIDE, "test"), note="leak")
    register_classes(store, "main", [ENG, HR])
    pointed = read_current(store, "main")
    assert pointed.table.classes[0] == AccessClass(ENG, AccessValues("acme", "docs", (), "active"))
    assert [entry["note"] for entry in pointed.history][1] == "leak"
    assert [entry["number"] for entry in pointed.history] == [1, 2, 3]


def test_deletions_are_kept_before_any_class_is_known(store):
    apply_changes(store, "main", deletion("d1"))
    assert read_current(store, "main").table.deleted == {"d1"}


def test_a_failed_change_changes_nothing(store):
    register_classes(store, "main", [ENG])
    revision = current_revision(store, "main")
    changes = deletion("d1") + parse_changes([{"action": "reset_class", "where": {"tenant_id": "zeta"}}], "test")
    with pytest.raises(InputError, match="no access class matches"):
        apply_changes(store, "main", changes)
    assert current_revision(store, "main") == revision


def test_an_operator_may_insist_on_the_revision_that_was_looked_at(store):
    register_classes(store, "main", [ENG])
    looked_at = current_revision(store, "main")
    apply_changes(store, "main", deletion("d1"))
    with pytest.raises(PublishConflict, match="in the meantime"):
        apply_changes(store, "main", deletion("d2"), expected=looked_at)
    assert read_current(store, "main").table.deleted == {"d1"}


def test_writers_that_race_all_get_through_and_lose_nothing(store):
    workers, each = 6, 4
    start = threading.Barrier(workers)
    numbers, failures = {}, []

    def work(worker):
        start.wait()
        try:
            for step in range(each):
                mine = AccessValues("acme", f"kb{worker}", (f"g{step}",), "active")
                numbers.update(register_classes(store, "main", [mine, ENG]))
                apply_changes(store, "main", deletion(f"d{worker}-{step}"))
        except PublishConflict as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    table = read_current(store, "main").table
    assert len(table.classes) == workers * each + 1
    assert len(table.deleted) == workers * each
    assert all(table.classes[number].declared == values for values, number in numbers.items())


def test_losing_every_race_ends_with_a_conflict(store, monkeypatch):
    monkeypatch.setattr(access_store, "MAX_TRIES", 3)

    def lose(*_):
        raise PublishConflict("lost")

    monkeypatch.setattr(store, "compare_and_swap", lose)
    with pytest.raises(PublishConflict, match="always first"):
        register_classes(store, "main", [ENG])


def test_tables_survive_the_file_and_equal_tables_are_equal_bytes():
    table = AccessTable("r", (AccessClass(ENG, HR),), {"d2": HR, "d1": ENG}, frozenset({"x", "y"}))
    again = AccessTable("r", table.classes, {"d1": ENG, "d2": HR}, frozenset({"y", "x"}))
    assert decode_table(encode_table(table), "r", "test") == table
    assert encode_table(table) == encode_table(again)


def test_damage_is_found(store, tmp_path):
    register_classes(store, "main", [ENG])
    revision = current_revision(store, "main")
    path = tmp_path / LAYOUT.index("main").access_table(revision)
    path.chmod(0o644)
    path.write_bytes(encode_table(AccessTable("r", (AccessClass(ENG, HR),))))
    with pytest.raises(IntegrityError, match="not what its name says"):
        read_table(store, "main", revision)
    path.write_bytes(b"junk")
    with pytest.raises(IntegrityError, match="cannot be read"):
        read_current(store, "main")
    pointer = tmp_path / LAYOUT.index("main").access_pointer
    pointer.chmod(0o644)
    pointer.write_bytes(b"{}")
    with pytest.raises(IntegrityError, match="pointer"):
        read_current(store, "main")


@pytest.mark.parametrize("damaged", [b"", b"[]", b"{}", b'{"revision": 1}', b"\xff"])
def test_a_damaged_pointer_is_an_integrity_error_however_it_is_read(store, damaged):
    store.write_atomic(LAYOUT.index("i").access_pointer, damaged)
    for read in (read_current, current_revision):
        with pytest.raises(IntegrityError, match="pointer") as caught:
            read(store, "i")
        assert caught.value.fix
