"""Grouping of parts into units: deterministic, local to a change, independent of where the corpus lies."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.config import SourceSettings
from babelray.errors import InputError
from babelray.text.readers import InputPart
from jobs.units import BYTES_A_TEXT, Unit, group_parts, limited

SOURCES = (SourceSettings(path="/a"), SourceSettings(path="/b", tenant_id="other"))


def part(n: int, source: int = 0, size: int = 1000, digest: str = "0" * 16) -> InputPart:
    return InputPart(source, f"page{n}.md", "markdown", 0, size, size, digest)


def group(parts, sources=SOURCES, target_texts=20):
    return group_parts(parts, sources, target_texts)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 1)), unique=True, min_size=1), st.randoms())
def test_every_part_is_in_one_unit_whatever_the_order(names, order):
    parts = [part(n, source) for n, source in names]
    shuffled = list(parts)
    order.shuffle(shuffled)
    units = group(parts)
    assert units == group(shuffled)
    assert sorted(one.uri + str(one.source) for unit in units for one in unit.parts) == sorted(
        one.uri + str(one.source) for one in parts
    )
    assert [unit.unit_id for unit in units] == sorted({unit.unit_id for unit in units})


def test_units_have_about_the_wanted_size():
    units = group([part(n) for n in range(2000)], target_texts=100)
    wanted = 100 * BYTES_A_TEXT
    mean = sum(unit.size for unit in units) / len(units)
    assert wanted / 2 <= mean <= wanted


def test_a_changed_file_changes_its_unit_and_no_other():
    parts = [part(n) for n in range(100)]
    before = group(parts)
    parts[42] = replace(parts[42], digest="f" * 16)
    after = group(parts)
    gone = set(before) - set(after)
    assert len(gone) == 1 and any(one.uri == "page42.md" for one in gone.pop().parts)
    assert len(after) == len(before)


def test_a_grown_corpus_keeps_the_units_that_got_nothing():
    parts = [part(n) for n in range(100)]
    before, after = group(parts), group([*parts, part(100)])
    assert len({unit.unit_id for unit in before} - {unit.unit_id for unit in after}) <= 1


@pytest.mark.parametrize(
    "change", [{"tenant_id": "x"}, {"acl_groups": ("staff",)}, {"status": "draft"}, {"columns": {"text": "body"}}]
)
def test_settings_of_a_source_that_shape_documents_change_its_units(change):
    changed = (SOURCES[0].model_copy(update=change), SOURCES[1])
    parts = [part(n) for n in range(10)]
    before, after = group(parts), group(parts, changed)
    assert not {unit.unit_id for unit in before} & {unit.unit_id for unit in after}


def test_a_moved_corpus_and_other_patterns_keep_the_units():
    moved = tuple(
        source.model_copy(update={"path": f"/mnt{source.path}", "include": ("*.md",), "exclude": ("x",)})
        for source in SOURCES
    )
    parts = [part(n, n % 2) for n in range(50)]
    assert group(parts) == group(parts, moved)


def test_a_unit_is_stored_and_read_back_whole():
    unit = group([part(n) for n in range(3)], target_texts=1000)[0]
    assert Unit.from_bytes(unit.to_bytes()) == unit and len(unit.parts) == 3


def test_a_limit_samples_the_same_parts_whatever_the_order_and_grows_by_adding():
    parts = [part(n) for n in range(200)]
    shuffled = random.Random(5).sample(parts, len(parts))
    few, more = list(limited(parts, 10)), list(limited(shuffled, 30))
    assert len(few) == 10 and len(more) == 30
    assert set(few) < set(more)
    assert [one.uri for one in few] != [one.uri for one in parts[:10]]
    assert list(limited(parts, None)) == parts
    assert len(list(limited(parts, 1000))) == 200


def test_no_input_is_an_error():
    with pytest.raises(InputError, match="hold nothing"):
        group([])
