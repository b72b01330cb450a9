import hashlib
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.config import SourceSettings, TextSettings
from babelray.errors import ConfigError, InputError, IntegrityError
from babelray.text.readers import InputPart, list_parts, read_part
from babelray.text.readers.ranges import line_ranges
from babelray.text.readers.storage import matches, open_root
from babelray.text.types import Document, Reject


def write(root, files):
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())


def read_all(source, limits=None):
    return [item for part in list_parts(source, 0) for item in read_part(part, source, limits or TextSettings())]


def reasons(items):
    return [item.reason if isinstance(item, Reject) else item.text for item in items]


def test_a_folder_is_listed_sorted_and_without_hidden_files(tmp_path):
    write(tmp_path, {"b.md": "b", "a/z.md": "z", "a/x.html": "x", ".git/c.md": "c", "a/.d.md": "d", "n.bin": "n"})
    parts = list(list_parts(SourceSettings(path=str(tmp_path)), 3))
    assert [(part.uri, part.format, part.source) for part in parts] == [
        ("a/x.html", "html", 3), ("a/z.md", "markdown", 3), ("b.md", "markdown", 3),
    ]  # fmt: skip
    assert parts[2].digest == hashlib.sha256(b"b").hexdigest()[:16]
    assert InputPart.from_json(json.loads(json.dumps(parts[0].to_json()))) == parts[0]


def test_patterns(tmp_path):
    write(tmp_path, {"en/a.md": "a", "en/drafts/b.md": "b", "de/c.md": "c", "README": "r"})
    chosen = SourceSettings(path=str(tmp_path), include=("en/**",), exclude=("**/drafts/**",), format="markdown")
    assert [part.uri for part in list_parts(chosen, 0)] == ["en/a.md"]
    named = SourceSettings(path=str(tmp_path), include=("README",), format="text")
    assert [part.uri for part in list_parts(named, 0)] == ["README"]


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("a/b.md", "*.md", True), ("a/b.md", "a/*.md", True), ("a/b/c.md", "a/*.md", False), ("a/b/c.md", "a/**", True),
        ("a/c.md", "a/**/c.md", True), ("x.md", "?.md", True), ("x.md", "[!y].md", True), ("x.md", "[xy].md", True),
        ("a.md", "a.m", False), ("a(b).md", "a(b).md", True),
    ],
)  # fmt: skip
def test_globs(path, pattern, expected):
    assert matches(path, pattern) is expected


def test_ids_survive_revision_and_moving(tmp_path):
    first, second = tmp_path / "one" / "docs", tmp_path / "two" / "docs"
    write(first, {"a.md": "old"})
    write(second, {"a.md": "new"})
    (old,), (new,) = read_all(SourceSettings(path=str(first))), read_all(SourceSettings(path=str(second)))
    assert old.doc_id == new.doc_id
    assert old.source_revision != new.source_revision
    (other,) = read_all(SourceSettings(path=str(first), tenant_id="other"))
    assert other.doc_id != old.doc_id


def test_page_headers(tmp_path):
    write(
        tmp_path,
        {
            "a.md": "---\ntitle: 'Über  uns'\nlang: zh-cn\ndate: 2024-05-01\nacl_groups: [everyone]\n---\n# H\n",
            "b.md": "<!-- # no -->\n# First {#f}\n",
            "c.md": "---\ntitle: [broken\n---\n# Saved\n",
            "d.html": "<html lang='de'><title>A &amp; B</title><p>x",
            "e.txt": "plain",
        },
    )
    source = SourceSettings(path=str(tmp_path), acl_groups=("staff",), language_from_path=r"(?P<lang>e)\.txt")
    a, b, c, d, e = read_all(source)
    assert (a.title, a.declared_language, a.updated_at.isoformat()) == (
        "Über uns", "zh-Hans", "2024-05-01T00:00:00+00:00",
    )  # fmt: skip
    assert a.acl_groups == ("staff",)
    assert (b.title, c.title, d.title, d.declared_language, e.title) == ("First", "Saved", "A & B", "de", "")


def test_bytes_that_are_no_page_are_refused_with_a_reason(tmp_path):
    write(
        tmp_path,
        {
            "a_empty.md": b"", "b_blank.md": b" \r\n\t", "c_latin1.md": "né".encode("latin-1") + b" caf\xe9 x",
            "d_utf16.md": b"\xff\xfe" + "häagen".encode("utf-16-le"), "e_utf16_nomark.md": "plain".encode("utf-16-le"),
            "f_nul.md": b"a" * 50 + b"\0 kept", "g_bom.md": b"\xef\xbb\xbfbom", "h_broken.json": b'{"a": ',
            "i_fine.json": b'{"a": "b"}', "j_utf32.md": b"\xff\xfe\0\0" + "x".encode("utf-32-le"),
        },
    )  # fmt: skip
    found = reasons(read_all(SourceSettings(path=str(tmp_path))))
    assert found == [
        "empty", "empty", "wrong_encoding", "\ufeffhäagen", "binary", "a" * 50 + "\0 kept", "\ufeffbom", "bad_json",
        '{"a": "b"}', "\ufeffx",
    ]  # fmt: skip


def test_a_large_file_is_refused_unread(tmp_path):
    write(tmp_path, {"a.md": "x" * 2000})
    (reject,) = read_all(SourceSettings(path=str(tmp_path)), TextSettings(max_document_bytes=1024))
    assert (reject.reason, reject.source_uri) == ("too_large", "a.md")


def test_a_file_that_changed_after_listing_stops_the_unit(tmp_path):
    write(tmp_path, {"a.md": "x", "b.jsonl": '{"text": "x"}'})
    source = SourceSettings(path=str(tmp_path))
    parts = list(list_parts(source, 0))
    write(tmp_path, {"a.md": "y", "b.jsonl": '{"text": "y"}'})
    for part in parts:
        with pytest.raises(IntegrityError, match="changed"):
            list(read_part(part, source, TextSettings()))


def test_jsonl_rows_are_handled_one_by_one(tmp_path):
    lines = [
        '{"id": 7, "text": "one", "title": "T", "language": "pt-BR"}', "", "not json", "[1]", '{"text": null}',
        '{"other": 1}',
        '{"text": 5}', '{"text": "  "}', '{"text": "\\ud800 x"}', '{"id": 7, "text": "again"}', '{"text": "no key"}',
        '{"text": "no key"}', "[" * 100_000, '{"text": "trunc',
    ]  # fmt: skip
    write(tmp_path, {"r.jsonl": "\r\n".join(lines).encode() + b'\n{"text": "caf\xe9"}'})
    items = read_all(SourceSettings(path=str(tmp_path / "r.jsonl")))
    assert reasons(items) == [
        "one", "bad_json", "not_an_object", "no_text", "no_text", "text_not_string", "empty", "lone_surrogate",
        "duplicate",
        "no key", "duplicate", "bad_json", "bad_json", "wrong_encoding",
    ]  # fmt: skip
    assert (items[0].title, items[0].declared_language, items[0].source_uri) == ("T", "pt", "r.jsonl#7")
    assert items[1].locator == f"byte {len(lines[0]) + 4}"
    assert all(item.sample.isprintable() for item in items if isinstance(item, Reject))


def test_access_columns_count_only_when_mapped_and_fail_closed(tmp_path):
    rows = [
        {"text": "a", "acl_groups": ["x"], "tenant_id": "evil"},
        {"text": "b", "g": ["b", "a", 3], "t": "acme", "from": "2024-01-01", "to": 1735689600},
        {"text": "c", "g": "p, q", "t": "acme"},
        {"text": "d", "t": "acme"},
        {"text": "e", "g": ["x"]},
        {"text": "f", "t": "acme", "from": "soon"},
    ]
    write(tmp_path, {"r.jsonl": "\n".join(map(json.dumps, rows))})
    path = str(tmp_path / "r.jsonl")
    plain = read_all(SourceSettings(path=path, tenant_id="home", acl_groups=("all",)))
    assert {(doc.tenant_id, doc.acl_groups) for doc in plain} == {("home", ("all",))}
    columns = {"acl_groups": "g", "tenant_id": "t", "valid_from": "from", "valid_to": "to"}
    mapped = read_all(SourceSettings(path=path, columns=columns))
    assert [item.acl_groups if isinstance(item, Document) else item.reason for item in mapped] == [
        "no_access_value", ("a", "b"), ("p", "q"), (), "no_access_value", "bad_time",
    ]  # fmt: skip
    assert mapped[1].valid_from.isoformat() == "2024-01-01T00:00:00+00:00"
    assert mapped[1].valid_to.isoformat() == "2025-01-01T00:00:00+00:00"


def test_parquet_by_row_groups(tmp_path):
    table = pa.table({"body": ["a", None, "c", "d"], "id": ["1", "2", "3", "4"], "kind": ["text/html"] * 3 + ["x/y"]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    source = SourceSettings(path=str(tmp_path), columns={"text": "body", "media_type": "kind"})
    parts = list(list_parts(source, 0))
    assert [(part.start, part.stop) for part in parts] == [(0, 2)]
    items = read_all(source)
    assert reasons(items) == ["a", "no_text", "c", "unknown_media_type"]
    assert items[0].media_type == "text/html"


def test_parquet_with_another_type_or_no_text_column(tmp_path):
    pq.write_table(pa.table({"text": [1, 2]}), tmp_path / "t.parquet")
    assert reasons(read_all(SourceSettings(path=str(tmp_path)))) == ["text_not_string"] * 2
    with pytest.raises(InputError, match="text column"):
        read_all(SourceSettings(path=str(tmp_path), columns={"text": "body"}))
    write(tmp_path, {"bad.parquet": b"no parquet"})
    with pytest.raises(InputError, match="cannot be read"):
        list(list_parts(SourceSettings(path=str(tmp_path)), 0))


def test_mistakes_in_the_settings_are_named(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        list(list_parts(SourceSettings(path=str(tmp_path / "gone")), 0))
    write(tmp_path, {"a.bin": b"x"})
    with pytest.raises(InputError, match="format"):
        list(list_parts(SourceSettings(path=str(tmp_path / "a.bin")), 0))
    with pytest.raises(ConfigError, match="unknown field"):
        list(list_parts(SourceSettings(path=str(tmp_path), columns={"texts": "x"}), 0))
    with pytest.raises(InputError, match="not an input part"):
        InputPart.from_json({"source": 1})


@pytest.fixture(scope="module")
def lines_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lines")


@given(
    st.lists(st.sampled_from([b"a", b"bb\n", b"\n", b"cccccc\n", b"d" * 20]), max_size=12).map(b"".join),
    st.integers(1, 16),
)
def test_line_ranges_tile_the_file_at_line_ends(lines_folder, data, part_bytes):
    (lines_folder / "f.jsonl").write_bytes(data)
    root = open_root(SourceSettings(path=str(lines_folder)))
    ranges = list(line_ranges(root, "f.jsonl", part_bytes))
    assert b"".join(data[piece.start : piece.stop] for piece in ranges) == data
    for piece in ranges[:-1]:
        assert data[piece.stop - 1 : piece.stop] == b"\n"
        assert b"\n" not in data[piece.start + part_bytes - 1 : piece.stop - 1]
    for piece in ranges:
        assert piece.digest == hashlib.sha256(data[piece.start : piece.stop]).hexdigest()[:16]
