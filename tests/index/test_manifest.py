import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from babelray.errors import InputError, IntegrityError, PublishConflict
from babelray.index.digests import FileRecord
from babelray.index.layout import LAYOUT
from babelray.index.manifest import (
    Counts,
    Manifest,
    SegmentRecord,
    contradictions,
    read_manifest,
    write_manifest,
)
from babelray.index.sealed import seal
from babelray.index.store import open_store
from tests.index.small_generations import digest, template

LAYOUT_G1 = LAYOUT.index("main").generation("g1")


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path / "store"))


def test_a_manifest_comes_back_equal(store):
    manifest = template().model_copy(update={"source_high_water": datetime(2025, 1, 1, tzinfo=UTC), "parent": "g0"})
    record = write_manifest(store, LAYOUT_G1, manifest)
    assert read_manifest(store, LAYOUT_G1) == manifest
    assert record.size == len(store.read_bytes(LAYOUT_G1.manifest)) and record.path == LAYOUT_G1.manifest


def test_it_holds_what_a_searcher_and_an_operator_need():
    needed = {
        "schema_version", "generation", "index", "model_key", "chunk_policy", "language_policy_version",
        "analyzer_version", "glossary_version", "corpus_revision", "source_high_water", "vectors", "segments", "golden",
        "counts", "parent", "software", "content_digest",
    }  # fmt: skip
    assert needed <= set(Manifest.model_fields)
    assert {"documents", "blocks_by_kind", "chunks", "sentences", "chunks_by_language", "rejects_by_reason"} <= set(
        Counts.model_fields
    )


def test_no_manifest_means_no_generation_or_an_unfinished_one(store):
    with pytest.raises(InputError, match="no such generation"):
        read_manifest(store, LAYOUT_G1)
    store.write_atomic(f"{LAYOUT_G1.root}/segments/0000-a/rows.arrow", b"x")
    with pytest.raises(IntegrityError, match="never finished"):
        read_manifest(store, LAYOUT_G1)


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_a_changed_byte_anywhere_is_found(tmp_path_factory, data):
    store = open_store(str(tmp_path_factory.getbasetemp() / "bytes"))
    write_manifest(store, LAYOUT_G1, template())
    clean = store.read_bytes(LAYOUT_G1.manifest)
    broken = bytearray(clean)
    broken[data.draw(st.integers(0, len(clean) - 1))] ^= data.draw(st.integers(1, 255))
    store.write_atomic(LAYOUT_G1.manifest, bytes(broken))
    with pytest.raises(IntegrityError) as caught:
        read_manifest(store, LAYOUT_G1)
    assert LAYOUT_G1.manifest in caught.value.where
    store.write_atomic(LAYOUT_G1.manifest, clean)


@pytest.mark.parametrize(("version", "fix"), [(2, "upgrade"), (0, "build the generation again"), ("1", "again")])
def test_another_schema_version_is_named_before_anything_else_is_judged(store, version, fix):
    store.write_atomic(LAYOUT_G1.manifest, seal({"schema_version": version, "unheard of": True}))
    with pytest.raises(IntegrityError, match="version of Babelray") as caught:
        read_manifest(store, LAYOUT_G1)
    assert fix in caught.value.fix and str(version) in caught.value.got


def test_an_unknown_field_is_refused_by_name(store):
    values = template().model_dump(mode="json")
    for changed in ({**values, "later": 1}, {**values, "counts": {**values["counts"], "later": 1}}):
        store.write_atomic(LAYOUT_G1.manifest, seal(changed))
        with pytest.raises(IntegrityError, match="damaged") as caught:
            read_manifest(store, LAYOUT_G1)
        assert "later" in caught.value.where


def test_a_missing_field_is_refused_by_name(store):
    values = template().model_dump(mode="json")
    del values["model_key"]
    store.write_atomic(LAYOUT_G1.manifest, seal(values))
    with pytest.raises(IntegrityError) as caught:
        read_manifest(store, LAYOUT_G1)
    assert "model_key" in caught.value.where


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"content_digest": "0" * 32}, "content digest"),
        ({"counts": Counts(documents=1, chunks=1, sentences=1)}, "chunks"),
        ({"policy_digest": "other"}, "content digest"),
    ],
)
def test_a_manifest_that_contradicts_itself_is_never_written(store, change, named):
    wrong = template().model_copy(update=change)
    assert any(line.startswith(named) for line in contradictions(wrong))
    with pytest.raises(IntegrityError, match="contradicts itself"):
        write_manifest(store, LAYOUT_G1, wrong)
    assert not store.exists(LAYOUT_G1.manifest)


def test_writing_again_keeps_the_first_and_other_content_is_refused(store):
    first = template()
    record = write_manifest(store, LAYOUT_G1, first)
    later = first.model_copy(update={"created_at": datetime(2030, 1, 1, tzinfo=UTC), "run": "resumed"})
    assert write_manifest(store, LAYOUT_G1, later) == record
    assert read_manifest(store, LAYOUT_G1) == first
    fewer = first.segments[:1]
    one = fewer[0]
    other = first.model_copy(
        update={
            "segments": fewer,
            "counts": Counts(documents=one.documents, chunks=one.rows, sentences=one.sentences),
            "content_digest": digest(first, segments=fewer),
        }
    )
    with pytest.raises(PublishConflict, match="never rewritten"):
        write_manifest(store, LAYOUT_G1, other)
    assert read_manifest(store, LAYOUT_G1) == first


def test_the_content_digest_follows_content_and_settings_alone():
    manifest = template()
    same = digest(manifest)
    assert same == manifest.content_digest
    moved = tuple(
        one.model_copy(
            update={
                "name": f"9-{one.name}",
                "files": {path: FileRecord(path=f"x/{path}", size=1, sha256="0" * 64) for path in one.files},
            }
        )
        for one in manifest.segments
    )
    assert digest(manifest, segments=moved) == same, "names and bytes of files are not content"
    changes = [
        {"model_key": manifest.model_key.model_copy(update={"revision": "2"})},
        {"policy_digest": "x"},
        {"analyzer_version": "x"},
        {"corpus_revision": "x"},
        {"kind": "ivf_sq8"},
        {"glossary_version": "x"},
        {"segments": manifest.segments[::-1]},
        {"segments": (manifest.segments[0].model_copy(update={"content_digest": "x"}), *manifest.segments[1:])},
    ]
    assert len({same, *(digest(manifest, **one) for one in changes)}) == len(changes) + 1


@pytest.mark.parametrize("relative", ["../x", "/etc/passwd", "a/../../x", "a//b", "./a", ""])
def test_file_names_stay_inside_the_segment(relative):
    with pytest.raises(ValidationError, match=r"not a path inside a segment|said to lie"):
        SegmentRecord(
            name="0", rows=0, sentences=0, documents=0, content_digest="d",
            files={relative: FileRecord(path=f"s/{relative}", size=0, sha256="0" * 64)},
        )  # fmt: skip


def test_a_file_is_stored_under_its_name_and_segments_have_one_each():
    with pytest.raises(ValidationError, match="said to lie"):
        SegmentRecord(
            name="0", rows=0, sentences=0, documents=0, content_digest="d",
            files={"rows.arrow": FileRecord(path="s/chunks.arrow", size=0, sha256="0" * 64)},
        )  # fmt: skip
    values = json.loads(template().model_dump_json())
    values["segments"] = [values["segments"][0]] * 2
    with pytest.raises(ValidationError, match="one name"):
        Manifest.model_validate(values)


@pytest.mark.parametrize("name", ["../g", "G1", "", "a/b", ".hidden"])
def test_names_that_are_no_folders_are_refused(name):
    values = json.loads(template().model_dump_json())
    with pytest.raises(ValidationError):
        Manifest.model_validate({**values, "generation": name})
