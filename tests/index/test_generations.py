from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from babelray.errors import GateFailed, InputError, IntegrityError, ModelKeyMismatch, PublishConflict
from babelray.index.generations import Catalog
from babelray.index.layout import LAYOUT
from babelray.index.manifest import write_manifest
from babelray.index.pointer import HISTORY_KEPT, read_pointer
from babelray.index.sealed import seal
from babelray.index.store import open_store
from babelray.protocols import Encoded
from tests.index.cache_worlds import FarStore
from tests.index.generation_worlds import StillEmbedder
from tests.index.kill_worlds import move
from tests.index.segment_worlds import KEY
from tests.index.small_generations import digest, plant, planted, template

MAIN = LAYOUT.index("main")
FILES = sorted(f"{one.name}/{relative}" for one in template().segments for relative in one.files)


@pytest.fixture
def three(tmp_path):
    """A store with g1, g2 and g3, none published, and their catalog."""
    store = plant(tmp_path / "store", ["g1", "g2", "g3"])
    return store, Catalog(store, "main")


# publish and roll back


def test_publishing_is_recorded_with_who_and_why(three):
    _, catalog = three
    with pytest.raises(InputError, match="nothing is published"):
        catalog.current()
    before = datetime.now(UTC)
    catalog.publish("g1", by="ann", reason="first")
    catalog.publish("g2", by="job", reason="new model")
    pointer = catalog.current()
    assert pointer.generation == "g2"
    told = [(one.generation, one.replaced, one.action, one.by, one.reason) for one in pointer.history]
    assert told == [("g1", None, "publish", "ann", "first"), ("g2", "g1", "publish", "job", "new model")]
    assert before <= pointer.history[0].at <= pointer.history[1].at <= datetime.now(UTC)


def test_the_pointer_file_says_from(three):
    store, catalog = three
    catalog.publish("g1")
    catalog.publish("g2")
    assert b'"from": "g1"' in store.read_bytes(MAIN.current)


def test_rolling_back_twice_goes_back_two_steps(three):
    _, catalog = three
    for name in ("g1", "g2", "g3"):
        catalog.publish(name)
    assert catalog.rollback(by="ann", reason="worse").generation == "g2"
    assert catalog.rollback().generation == "g1"
    with pytest.raises(InputError, match="no earlier generation"):
        catalog.rollback()
    assert [one.generation for one in catalog.current().history] == ["g1", "g2", "g3", "g2", "g1"]
    assert catalog.current().history[3].reason == "worse"


def test_an_older_generation_can_be_published_again_and_rolled_back_from(three):
    _, catalog = three
    for name in ("g1", "g2", "g3", "g1"):
        catalog.publish(name)
    assert [catalog.rollback().generation for _ in range(3)] == ["g3", "g2", "g1"]
    with pytest.raises(InputError):
        catalog.rollback()


def test_after_a_rollback_the_next_publish_goes_back_to_where_the_rollback_went(three):
    _, catalog = three
    catalog.publish("g1")
    catalog.publish("g2")
    catalog.rollback()
    catalog.publish("g3")
    assert catalog.rollback().generation == "g1"


def test_rolling_back_to_a_named_one_takes_off_all_above_it(three):
    _, catalog = three
    for name in ("g1", "g2", "g3"):
        catalog.publish(name)
    assert catalog.rollback("g1").generation == "g1"
    with pytest.raises(InputError):
        catalog.rollback()
    assert catalog.rollback("g3").generation == "g3", "one that was rolled back from can be named"
    assert catalog.rollback().generation == "g1"


def test_moving_to_where_the_pointer_is_changes_nothing(three):
    store, catalog = three
    catalog.publish("g1")
    before = store.read_bytes(MAIN.current)
    catalog.publish("g1", by="again")
    catalog.publish("g1", expected="", by="a publisher that was killed after it had won")
    catalog.rollback("g1")
    assert store.read_bytes(MAIN.current) == before


def test_history_is_kept_to_its_length_and_rollback_still_works(three):
    store, catalog = three
    for number in range(HISTORY_KEPT + 5):
        move(store, f"g{1 + number % 2}")
    assert len(catalog.current().history) == HISTORY_KEPT
    assert catalog.current().history[0].replaced is not None
    assert catalog.rollback().generation == f"g{1 + (HISTORY_KEPT + 5) % 2}"


# refusals


def test_publish_names_who_was_first(three, monkeypatch):
    store, catalog = three
    catalog.publish("g1")
    swap = store.compare_and_swap

    def late(path, expected, data):
        monkeypatch.setattr(store, "compare_and_swap", swap)
        Catalog(store, "main").publish("g3", by="bob", reason="hotfix")
        return swap(path, expected, data)

    monkeypatch.setattr(store, "compare_and_swap", late)
    with pytest.raises(PublishConflict, match="nothing was changed") as caught:
        catalog.publish("g2", by="ann")
    assert "g3" in caught.value.got and "by bob (hotfix)" in caught.value.got and caught.value.allowed == "g1"
    assert [one.generation for one in catalog.current().history] == ["g1", "g3"]


@pytest.mark.parametrize("expected", ["", "g2", "g9"])
def test_publish_is_refused_if_another_generation_is_current_than_expected(three, expected):
    _, catalog = three
    catalog.publish("g1")
    with pytest.raises(PublishConflict) as caught:
        catalog.publish("g3", expected=expected)
    assert caught.value.got.startswith("g1, publish at")
    assert catalog.publish("g3", expected="g1").generation == "g3"


def test_publishing_for_the_first_time_can_be_expected_too(three):
    _, catalog = three
    with pytest.raises(PublishConflict) as caught:
        catalog.publish("g1", expected="g2")
    assert caught.value.got == "nothing is published"
    assert catalog.publish("g1", expected="").generation == "g1"


def test_an_unfinished_generation_is_not_published(three):
    store, catalog = three
    store.delete(MAIN.generation("g2").manifest)
    with pytest.raises(IntegrityError, match="never finished"):
        catalog.publish("g2")
    with pytest.raises(InputError, match="no such generation"):
        catalog.publish("g9")
    assert catalog.pointer() is None


def test_recall_under_the_floor_is_not_published_unless_forced(tmp_path):
    vectors = template().vectors
    worse = vectors.model_copy(update={"filtered_recall": {0.5: 0.9, 0.01: 0.2}, "floor": 0.5})
    store = plant(tmp_path / "store", ["g1"], vectors=worse)
    catalog = Catalog(store, "main")
    with pytest.raises(GateFailed, match=r"recall@10 0\.200 \(1\.0% of rows allowed\)") as caught:
        catalog.publish("g1")
    assert caught.value.exit_code == 6 and catalog.pointer() is None
    assert catalog.publish("g1", force_gate=True, by="ann").generation == "g1"


def test_a_damaged_generation_is_neither_published_nor_rolled_back_to(three):
    store, catalog = three
    catalog.publish("g1")
    catalog.publish("g2")
    flip(store, planted(store, "g1").segments[0].files["documents.arrow"].path)
    for act in (lambda: catalog.rollback(), lambda: catalog.rollback("g1"), lambda: catalog.publish("g1")):
        with pytest.raises(IntegrityError, match="other bytes"):
            act()
    assert catalog.current().generation == "g2" and len(catalog.current().history) == 2


@pytest.mark.parametrize("name", ["../g1", "G1", "", "a/b", "/etc"])
def test_names_that_are_no_names_are_refused(three, name):
    store, catalog = three
    catalog.publish("g1")
    for act in (catalog.publish, catalog.rollback, catalog.verify, catalog.show, catalog.pin, catalog.unpin):
        with pytest.raises(InputError, match="not the name"):
            act(name)
    with pytest.raises(InputError, match="not the name"):
        Catalog(store, name)


def test_a_damaged_pointer_is_named_and_publishing_does_not_write_over_it(three):
    store, catalog = three
    catalog.publish("g1")
    clean = store.read_bytes(MAIN.current)
    other = seal(
        {"generation": "g2", "history": [{"generation": "g1", "action": "publish", "at": "2025-01-01T00:00Z"}]}
    )
    for broken in (b"", clean[:-5], clean.replace(b"g1", b"g2"), seal({"generation": "g1"}), other):
        store.write_atomic(MAIN.current, broken)
        with pytest.raises(IntegrityError) as caught:
            catalog.publish("g2")
        assert caught.value.where == MAIN.current and store.read_bytes(MAIN.current) == broken


# verify


def flip(store, path):
    data = bytearray(store.read_bytes(path))
    data[len(data) // 2] ^= 1
    store.local_path(path).write_bytes(bytes(data))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    store = plant(tmp_path_factory.mktemp("whole") / "store", ["g1"])
    return store, Catalog(store, "main")


def test_a_whole_generation_passes(whole):
    _, catalog = whole
    for deep in (False, True):
        found = catalog.verify("g1", deep=deep)
        assert (found.files, found.bytes, found.deep) == (len(FILES), found.manifest.size, deep)
        assert found.golden_cosine is None
    assert catalog.verify("g1", embedder=StillEmbedder()).golden_cosine == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("file", FILES)
def test_damage_to_any_file_is_found_and_named(whole, file):
    store, catalog = whole
    path = f"{MAIN.generation('g1').root}/segments/{file}"
    clean = store.read_bytes(path)
    local = store.local_path(path)
    try:
        if clean:
            flip(store, path)
            catalog.verify("g1")  # sizes alone cannot show it
            with pytest.raises(IntegrityError, match="other bytes") as caught:
                catalog.verify("g1", deep=True)
            assert caught.value.where == path
        for size in (clean + b"x", clean[:-1]) if clean else (b"x",):
            local.write_bytes(size)
            with pytest.raises(IntegrityError, match="another size") as caught:
                catalog.verify("g1")
            assert caught.value.where == path
        local.unlink()
        with pytest.raises(IntegrityError, match="missing") as caught:
            catalog.verify("g1")
        assert caught.value.where == path
    finally:
        local.write_bytes(clean)


def test_counts_that_the_files_do_not_hold_are_found(tmp_path):
    segments = list(template().segments)
    one, two = segments[0], segments[1]
    lie = {"g1": {"documents": 1}, "g2": {"sentences": 1}, "g3": {"rows": 1}}
    for name, change in lie.items():
        field = next(iter(change))
        # One segment claims what the other holds: the sums agree, so that the manifest does not contradict itself.
        more = one.model_copy(update={field: getattr(one, field) + 1})
        less = two.model_copy(update={field: getattr(two, field) - 1})
        store = plant_with(tmp_path, name, (more, less))
        Catalog(store, "main").verify(name)
        with pytest.raises(IntegrityError, match=f"another number of {field}"):
            Catalog(store, "main").verify(name, deep=True)


def plant_with(tmp_path, name, segments):
    """Plant a generation whose manifest claims other counts for its segments."""
    store = plant(tmp_path / "store", [name])
    real = planted(store, name)
    claimed = tuple(
        one.model_copy(update={"rows": other.rows, "sentences": other.sentences, "documents": other.documents})
        for one, other in zip(real.segments, segments, strict=True)
    )
    rewrite(store, name, segments=claimed)
    return store


def rewrite(store, name, **changes):
    """Replace the manifest by one that says something else of itself consistently."""
    changed = planted(store, name).model_copy(update=changes)
    store.delete(MAIN.generation(name).manifest)
    write_manifest(store, MAIN.generation(name), changed.model_copy(update={"content_digest": digest(changed)}))


def test_a_manifest_copied_from_elsewhere_is_found(three):
    store, catalog = three
    store.write_atomic(MAIN.generation("g2").manifest, store.read_bytes(MAIN.generation("g1").manifest))
    with pytest.raises(IntegrityError, match="of another generation"):
        catalog.verify("g2")


def test_files_of_another_place_are_not_taken(three):
    store, catalog = three
    rewrite(store, "g2", segments=planted(store, "g1").segments)
    with pytest.raises(IntegrityError, match="another place"):
        catalog.verify("g2")


def test_a_manifest_that_contradicts_itself_is_found(three):
    store, catalog = three
    wrong = planted(store, "g1").model_copy(update={"content_digest": "0" * 32})
    store.write_atomic(MAIN.generation("g1").manifest, seal(wrong.model_dump(mode="json")))
    with pytest.raises(IntegrityError, match="contradicts itself"):
        catalog.verify("g1")


def test_an_embedder_of_another_key_or_space_is_refused(three):
    _, catalog = three
    other = StillEmbedder()
    other.key = KEY.model_copy(update={"pooling": "cls"})
    with pytest.raises(ModelKeyMismatch, match="not the one") as caught:
        catalog.verify("g1", embedder=other)
    assert "pooling" in caught.value.got

    class Drifted(StillEmbedder):
        def encode(self, texts, role):
            made = super().encode(texts, role)
            return Encoded(np.roll(made.vectors, 1, axis=1), made.tokens, made.truncated)

    with pytest.raises(ModelKeyMismatch, match="golden"):
        catalog.publish("g1", embedder=Drifted())
    assert catalog.pointer() is None


def test_a_store_that_is_not_on_this_machine_is_verified_by_a_copy(three):
    store, _ = three
    far = FarStore(Path(store.uri))
    assert Catalog(far, "main").verify("g1", deep=True).files == len(FILES)
    flip(store, planted(store, "g1").segments[1].files["vectors.f16.faiss"].path)
    with pytest.raises(IntegrityError, match="other bytes"):
        Catalog(far, "main").publish("g1")


# list and pin


def test_the_list_tells_the_state_of_each(tmp_path):
    base = datetime(2025, 1, 1, tzinfo=UTC)
    store = open_store(str(tmp_path / "store"))
    for number, name in enumerate(("g1", "g2", "g3", "g4")):
        plant(tmp_path / "store", [name], created_at=base + timedelta(hours=number))
    catalog = Catalog(store, "main")
    catalog.publish("g1")
    catalog.publish("g2")
    catalog.pin("g1")
    flip(store, MAIN.generation("g4").manifest)
    store.write_atomic(f"{MAIN.generation('g5').root}/segments/0/half", b"123")
    listed = {one.generation: one for one in catalog.list()}
    assert {name: one.status for name, one in listed.items()} == {
        "g1": "earlier", "g2": "current", "g3": "candidate", "g4": "damaged", "g5": "unfinished",
    }  # fmt: skip
    assert list(listed)[:3] == ["g3", "g2", "g1"], "newest first, those that cannot be read last"
    assert [name for name, one in listed.items() if one.pinned] == ["g1"]
    assert [name for name, one in listed.items() if one.current] == ["g2"]
    assert listed["g5"].size == 3 and "never finished" in listed["g5"].problem
    manifest_size = len(store.read_bytes(MAIN.generation("g3").manifest))
    assert listed["g3"].size == planted(store, "g3").size + manifest_size


def test_an_index_without_anything_lists_nothing(tmp_path):
    assert list(Catalog(open_store(str(tmp_path)), "main").list()) == []


def test_pins_are_set_once_and_taken_off(three):
    _, catalog = three
    assert catalog.pin("g1", by="ann", reason="baseline") is True
    assert catalog.pin("g1", by="bob", reason="other") is False
    assert catalog.pinned() == {"g1": "baseline"}
    with pytest.raises(InputError, match="no such generation"):
        catalog.pin("g9")
    assert catalog.unpin("g1") is True and catalog.unpin("g1") is False
    assert catalog.pinned() == {}


def test_reading_the_pointer_gives_the_tag_to_swap_it_by(three):
    store, catalog = three
    assert read_pointer(store, MAIN) == (None, None)
    catalog.publish("g1")
    pointer, tag = read_pointer(store, MAIN)
    assert pointer == catalog.pointer() and store.read_tagged(MAIN.current)[1] == tag
