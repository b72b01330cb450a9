import numpy as np
import pyarrow as pa
import pytest

from babelray.errors import AccessDenied, IntegrityError
from babelray.index.access import AccessScope, AccessTable, compile_scope
from babelray.index.row_access import BITMAPS_KEPT, RowAccess
from tests.index.access_worlds import random_scope, random_values, random_world


def bits_of(bitmap, rows):
    return np.unpackbits(bitmap, bitorder="little")[:rows].astype(bool)


@pytest.mark.parametrize("seed", range(4))
def test_bitmaps_equal_the_rules_on_thousands_of_random_scopes(seed):
    rng = np.random.default_rng(seed)
    seen = 0
    for _ in range(60):
        world = random_world(rng, rows=int(rng.integers(1, 70)))
        access = world.row_access()
        for _ in range(12):
            scope = random_scope(rng)
            compiled = compile_scope(world.table, scope)
            expected = np.array([world.visible(scope, row) for row in range(world.rows)])
            bitmap, count = access.bitmap(compiled)
            with_vector = expected & np.array(world.has_vector)
            np.testing.assert_array_equal(bits_of(bitmap, world.rows), with_vector)
            assert count == with_vector.sum()
            # The check on the way out agrees row by row, with nothing shared but the table.
            for row in range(world.rows):
                if expected[row]:
                    access.check(np.array([row]), compiled)
                else:
                    with pytest.raises(AccessDenied):
                        access.check(np.array([row]), compiled)
            seen += int(expected.sum())
    assert seen > 300, "the worlds must show something, or this proves nothing"


def test_one_bitmap_serves_all_times_and_the_time_is_applied_after():
    rng = np.random.default_rng(3)
    world = random_world(rng)
    access = world.row_access()
    scope = AccessScope(tenant_id="a", as_of=random_scope(rng).as_of)
    first, _ = access.bitmap(compile_scope(world.table, scope))
    later = scope.model_copy(update={"as_of": scope.as_of.replace(year=2031)})
    second, _ = access.bitmap(compile_scope(world.table, later))
    for bitmap, one in ((first, scope), (second, later)):
        expected = [world.visible(one, row) and world.has_vector[row] for row in range(world.rows)]
        assert bits_of(bitmap, world.rows).tolist() == expected
    assert len(access._bitmaps) == 1


def test_another_revision_is_another_bitmap():
    world = random_world(np.random.default_rng(8))
    access = world.row_access()
    scope = AccessScope(tenant_id="a", groups=frozenset({"dev", "ops", "hr", "all-hands"}))
    before, count = access.bitmap(compile_scope(world.table, scope))
    assert count > 0
    gone = AccessTable("r8", world.table.classes, world.table.overrides, frozenset(world.doc_ids))
    after, none = access.bitmap(compile_scope(gone, scope))
    assert none == 0 and not after.any() and before.any()


def test_the_cache_of_bitmaps_is_bounded():
    world = random_world(np.random.default_rng(9))
    access = world.row_access()
    for number in range(BITMAPS_KEPT + 20):
        table = AccessTable(f"r{number}", world.table.classes)
        access.bitmap(compile_scope(table, AccessScope(tenant_id="a")))
    assert len(access._bitmaps) == BITMAPS_KEPT


def test_a_damaged_class_column_is_caught_on_the_way_out():
    rng = np.random.default_rng(10)
    world = random_world(rng, rows=80)
    world.table = AccessTable("r1", world.table.classes)
    while True:
        scope = random_scope(rng)
        compiled = compile_scope(world.table, scope)
        if compiled.classes:
            break
    hidden = [row for row in range(world.rows) if not world.visible(scope, row)]
    table = world.row_table()
    classes = np.array(world.classes, dtype=np.uint32)
    classes[hidden] = compiled.classes[0]
    damaged = table.set_column(0, table.schema.field(0), pa.array(classes, type=pa.uint32()))
    access = RowAccess("s0", damaged, world.doc_ids, world.declared)
    always = [row for row in hidden if world.valid_from[row] is None and world.valid_to[row] is None]
    bitmap, _ = access.bitmap(compiled)
    assert bits_of(bitmap, world.rows)[[row for row in always if world.has_vector[row]]].all(), "the bitmap is fooled"
    for row in always:
        with pytest.raises(AccessDenied, match="withheld"):
            access.check(np.array([row]), compiled)


def test_the_filter_for_words_says_the_same_as_the_bitmap():
    rng = np.random.default_rng(11)
    for _ in range(200):
        world = random_world(rng)
        access = world.row_access()
        scope = random_scope(rng)
        compiled = compile_scope(world.table, scope)
        one = access.lexical_filter(compiled)
        for row in range(world.rows):
            document, number = world.documents[row], world.classes[row]
            passes = (one.classes is None or number in one.classes) and document not in one.blocked
            passes = passes or document in one.admitted
            if one.as_of is not None:
                start, stop = world.valid_from[row], world.valid_to[row]
                passes = passes and (start is None or start <= one.as_of) and (stop is None or one.as_of < stop)
            assert passes == world.visible(scope, row)
            assert not (one.empty and passes)


def test_columns_that_disagree_are_refused():
    world = random_world(np.random.default_rng(12))
    with pytest.raises(IntegrityError, match="does not hold"):
        RowAccess("s0", world.row_table(), world.doc_ids[:2], world.declared[:2])
    twice = RowAccess("s0", world.row_table(), ["same"] * len(world.doc_ids), world.declared)
    table = AccessTable("r", world.table.classes, {"same": random_values(np.random.default_rng(1))})
    with pytest.raises(IntegrityError, match="twice"):
        twice.bitmap(compile_scope(table, AccessScope(tenant_id="a")))
