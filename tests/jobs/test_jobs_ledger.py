"""Receipts and attempts: what is done stays done, what kills its worker is given up, what is innocent is not."""

import json
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

from babelray.errors import IntegrityError
from babelray.index.layout import RunLayout
from babelray.index.store import open_store
from babelray.text.types import Reject
from jobs.ledger import Ledger, Outcome, Receipt, read_rejects, total

LAYOUT = RunLayout("runs/test/1")


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path))


def ledger(store, invocation="now", max_attempts=3):
    return Ledger(store, LAYOUT, "embed", max_attempts, invocation)


def receipt(unit="u", **values):
    return Receipt(stage="embed", unit=unit, **values)


def test_a_committed_receipt_is_read_back_and_the_first_one_counts(store):
    first = ledger(store).commit(receipt(counts={"tokens": 1}))
    second = ledger(store, "other").commit(receipt(counts={"tokens": 2}))
    assert first == second == ledger(store).receipt("u")
    assert ledger(store).done() == {"u"}
    assert ledger(store).receipts(["u", "v"]) == {"u": first}
    assert ledger(store).receipt("v") is None


def test_a_unit_that_dies_with_its_worker_again_and_again_is_quarantined(store):
    book = ledger(store)
    assert [book.begin("u", "host:1") for _ in range(3)] == [1, 2, 3]
    assert book.begin("u", "host:1") is None
    found = book.receipt("u")
    assert found is not None and (found.outcome, found.attempt) == (Outcome.QUARANTINED, 3)


def test_a_released_attempt_is_no_death(store):
    book = ledger(store)
    for _ in range(10):
        number = book.begin("u", "host:1")
        assert number == 1
        book.release("u", number)
    assert book.deaths("u") == 0 and book.marks("u") == []


def test_an_attempt_that_ended_with_its_driver_does_not_count_but_those_before_it_do(store):
    for name in ("first", "second", "third", "fourth"):
        assert ledger(store, name).begin("u", "host:1") is not None
    assert ledger(store, "fifth").deaths("u") == 0
    poison = ledger(store, "poison")
    for _ in range(3):
        poison.begin("v", "host:1")
    assert ledger(store, "later").deaths("v") == 2


def test_a_unit_at_work_in_many_invocations_that_died_is_taken_for_their_cause(store):
    for number in range(9):
        assert ledger(store, f"run{number}").begin("u", "host:1") is not None
    assert ledger(store, "next").begin("u", "host:1") is None


def test_beside_another_unit_the_first_death_is_only_suspicion(store):
    book = ledger(store, max_attempts=1)
    book.begin("innocent", "host:1", alone=False)
    book.begin("poison", "host:1", alone=False)
    assert book.begin("innocent", "host:1", alone=True) == 2
    book.commit(receipt("innocent"))
    assert book.begin("poison", "host:1", alone=True) == 2
    assert book.begin("poison", "host:1", alone=True) is None


def test_forgetting_starts_anew(store):
    book = ledger(store, max_attempts=1)
    book.begin("u", "host:1")
    assert book.begin("u", "host:1") is None
    book.forget("u")
    assert book.receipt("u") is None and book.begin("u", "host:1") == 1


def test_racing_threads_mark_attempts_of_their_own(store):
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda n: ledger(store, f"run{n}", 20).begin("u", str(n)), range(8)))
    assert sorted(numbers) == list(range(1, 9))


def _commit(root, n):
    return ledger(open_store(root)).commit(receipt(counts={"by": n})).counts["by"]


def test_racing_processes_agree_on_one_receipt(tmp_path):
    with ProcessPoolExecutor(4, mp_context=get_context("forkserver")) as pool:
        seen = set(pool.map(_commit, [str(tmp_path)] * 12, range(12)))
    assert len(seen) == 1


def test_a_receipt_that_cannot_be_read_is_an_integrity_error_until_it_is_forgotten(store):
    book = ledger(store)
    book.commit(receipt())
    store.write_atomic(LAYOUT.receipt("embed", "u"), b'{"stage": "em')
    with pytest.raises(IntegrityError, match="cannot be read"):
        book.receipt("u")
    assert book.forget_damaged(["u", "v"]) == {"u": "a receipt cannot be read"}
    assert book.done() == set()


@pytest.mark.parametrize("damage", ["delete", "cut"])
def test_receipts_of_lost_or_cut_outputs_are_forgotten(store, damage):
    book = ledger(store)
    for unit in ("kept", "lost"):
        output = store.write_atomic(f"shards/{unit}.parquet", unit.encode() * 9)
        book.commit(receipt(unit, outputs=(output,)))
    store.delete("shards/lost.parquet")
    if damage == "cut":
        store.write_atomic("shards/lost.parquet", b"lost")
    assert list(book.forget_damaged(["kept", "lost"])) == ["lost"]
    assert book.done() == {"kept"}


def test_rejects_are_rows_and_no_rejects_are_no_file(store):
    book = ledger(store)
    reject = Reject("a.md", "file", "binary", "12 NUL", "sample")
    kept = book.write_rejects("u", [reject])
    assert kept is not None and kept.path == LAYOUT.rejects("u")
    assert read_rejects(store, LAYOUT, "u") == [
        {"source_uri": "a.md", "locator": "file", "reason": "binary", "detail": "12 NUL", "sample": "sample"}
    ]
    assert book.write_rejects("v", []) is None and read_rejects(store, LAYOUT, "v") == []


def test_totals_add_up():
    counts, rejects = total([receipt(counts={"a": 1}, rejects={"x": 2}), receipt(counts={"a": 3, "b": 1})])
    assert (counts, rejects) == ({"a": 4, "b": 1}, {"x": 2})


def test_receipts_are_plain_json(store):
    ledger(store).commit(receipt(counts={"a": 1}))
    assert json.loads(store.read_bytes(LAYOUT.receipt("embed", "u")))["outcome"] == "done"
