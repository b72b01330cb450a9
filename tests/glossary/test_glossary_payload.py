import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.errors import InputError
from babelray.glossary.json_spans import EscapeStyle, decode_string
from babelray.glossary.payload import parse_payload, read_payloads

AWKWARD = (
    '\ufeff{ "a" : "x\\u00e9\\/y" ,\r\n\t"n": [1.0, 1e5, -0, 1E+2, true, null, "", {"k~/": "deep"}], "a": "again",'
    ' "s": "\\ud83d", "e": {}, "l": [] }\n'
)


def test_spans_pointers_and_repeated_keys():
    payload = parse_payload(AWKWARD)
    assert [(s.pointer, s.value) for s in payload.strings] == [
        ("/a", "xé/y"), ("/n/6", ""), ("/n/7/k~0~1", "deep"), ("/a", "again"), ("/s", "\ud83d"),
    ]  # fmt: skip
    assert payload.repeated_pointers() == ("/a",)
    assert AWKWARD[payload.strings[0].start : payload.strings[0].end] == "x\\u00e9\\/y"


def test_replacing_with_the_same_values_changes_no_byte():
    payload = parse_payload(AWKWARD)
    assert payload.replace({i: s.value for i, s in enumerate(payload.strings)}) == AWKWARD


def test_replacing_one_string_changes_only_its_token():
    payload = parse_payload('{"a": "one", "b": 1.50, "a": "two"}')
    assert payload.replace({1: 'zwei "2"\n'}) == '{"a": "one", "b": 1.50, "a": "zwei \\"2\\"\\n"}'
    with pytest.raises(InputError, match="does not have"):
        payload.replace({2: "x"})


@pytest.mark.parametrize(
    ("raw", "new", "expected"),
    [
        ('{"a": "caf\\u00e9"}', "thé", '{"a": "th\\u00e9"}'),
        ('{"a": "CAF\\u00C9"}', "thÉ", '{"a": "th\\u00C9"}'),
        ('{"a": "café\\u00a0"}', "thé", '{"a": "thé"}'),
        ('{"a": "a\\/b"}', "c/d", '{"a": "c\\/d"}'),
        ('{"a": "plain"}', "\ud800é", '{"a": "\\ud800é"}'),
    ],
)
def test_new_strings_are_escaped_in_the_style_of_the_file(raw, new, expected):
    assert parse_payload(raw).replace({0: new}) == expected


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        ('{"a": }', "line 1, column 7"),
        ('{"a": "x"\n"b": 1}', "line 2, column 1"),
        ("[1, 2", "line 1, column 6"),
        ("[01]", "line 1, column 3"),
        ('"a" "b"', "line 1, column 5"),
        ('{"a": "tab\there"}', "line 1, column 7"),
        ('{"a": "\\x41"}', "line 1, column 7"),
        ("{a: 1}", "line 1, column 2"),
        ("", "line 1, column 1"),
        ("[NaN]", "line 1, column 2"),
        ("[1,]", "line 1, column 4"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(raw, where):
    with pytest.raises(InputError, match=where):
        parse_payload(raw)


def test_deep_nesting_is_read_without_recursion_and_has_a_limit():
    assert parse_payload("[" * 900 + '"x"' + "]" * 900).strings[0].value == "x"
    with pytest.raises(InputError, match="nested too deeply"):
        parse_payload("[" * 2000)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


def leaves(value, pointer=""):
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from leaves(item, f"{pointer}/{i}")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{pointer}/" + key.replace("~", "~0").replace("/", "~1"))


@given(json_values, st.booleans(), st.sampled_from([None, 0, 3, "\t"]), st.text())
def test_property_agrees_with_the_standard_library_and_round_trips(value, ascii_only, indent, new):
    raw = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    payload = parse_payload(raw)
    assert [(s.pointer, s.value) for s in payload.strings] == list(leaves(value))
    assert payload.replace({i: s.value for i, s in enumerate(payload.strings)}) == raw
    written = parse_payload(payload.replace(dict.fromkeys(range(len(payload.strings)), new)))
    assert [s.value for s in written.strings] == [new] * len(payload.strings)


@given(
    st.text(alphabet=st.characters() | st.sampled_from('\ud800\udc00/\\"\n\x7f')),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_property_every_style_writes_what_it_reads(value, ascii_only, slashes, upper):
    assert decode_string(EscapeStyle(ascii_only, slashes, upper).encode(value)) in (
        value,
        json.loads(json.dumps(value)),
    )


def test_files_of_payloads(tmp_path: Path):
    (tmp_path / "a.jsonl").write_bytes(b'{"a": "x"}\r\n\r\n["y", "z"]')
    assert [(p.raw, len(p.strings)) for p in read_payloads(tmp_path / "a.jsonl")] == [
        ('{"a": "x"}\r', 1),
        ('["y", "z"]', 2),
    ]
    pq.write_table(pa.table({"body": ['{"a": "x"}']}), tmp_path / "a.parquet")
    assert [p.strings[0].value for p in read_payloads(tmp_path / "a.parquet", "body")] == ["x"]
    with pytest.raises(InputError, match="column is missing"):
        list(read_payloads(tmp_path / "a.parquet"))
    (tmp_path / "bad.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(InputError, match="byte 7"):
        list(read_payloads(tmp_path / "bad.json"))
    (tmp_path / "bad.jsonl").write_text('{"a": 1}\n{oops}')
    with pytest.raises(InputError, match=r"bad\.jsonl:2, line 1, column 2"):
        list(read_payloads(tmp_path / "bad.jsonl"))
