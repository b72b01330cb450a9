import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.errors import IntegrityError
from babelray.index.sealed import seal, unseal

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text("xyz", max_size=3), values, max_size=4))
def test_what_is_sealed_is_unsealed_and_order_of_keys_is_nothing(content):
    data = seal(content)
    assert unseal(data, "f") == content
    assert seal(dict(reversed(content.items()))) == data


def test_any_changed_byte_is_found():
    data = seal({"generation": "g1", "n": 17, "text": "重试", "list": [1.5, None, True]})
    for at in range(len(data)):
        for mask in (0x01, 0x20, 0x2A, 0xFF):
            broken = bytearray(data)
            broken[at] ^= mask
            with pytest.raises(IntegrityError) as caught:
                unseal(bytes(broken), "the file")
            assert caught.value.where == "the file"


@pytest.mark.parametrize("cut", [0, 1, 10, -2])
def test_a_cut_or_lengthened_file_is_found(cut):
    data = seal({"a": 1})
    for broken in (data[:cut], data + b" ", data + data):
        with pytest.raises(IntegrityError):
            unseal(broken, "f")


@pytest.mark.parametrize("data", [b"[]", b"null", b"3", b'"text"', b"\xff\xfe"])
def test_what_is_no_object_is_refused(data):
    with pytest.raises(IntegrityError):
        unseal(data, "f")


def test_a_hand_edit_is_told_what_to_do():
    with pytest.raises(IntegrityError, match="changed after it was written") as caught:
        unseal(seal({"a": 1}).replace(b'"a": 1', b'"a": 2'), "f")
    assert "never by hand" in caught.value.fix
