import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.errors import IntegrityError
from models.e5_format import E5File, dequantize

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁wörter"]


def small_file(magic=b"E5S1", version=1, block=32):
    """A file with one fp32 and one 4-bit tensor, as the documented layout says."""
    blob = "".join(PIECES).encode()
    offsets = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)])
    head = magic + struct.pack("<I7ifi", version, 32, 1, 2, 64, 5, 8, 2, 1e-12, block)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(blob))
    head += offsets.astype("<u4").tobytes() + np.arange(5, dtype="<f4").tobytes() + blob
    head += struct.pack("<iI", 1, 6) + b"abcdef"
    plain = np.array([1.5, -2.5], dtype="<f4").tobytes()
    packed = np.float16(0.5).tobytes() + bytes(range(16))
    names = [(b"emb.ln.w", 0, 2, plain), (b"l0.q.w", 1, 32, packed)]
    directory_size = sum(2 + len(name) + 21 for name, *_ in names)
    offset = len(head) + 4 + directory_size
    directory = struct.pack("<i", len(names))
    for name, kind, count, data in names:
        directory += struct.pack("<H", len(name)) + name + struct.pack("<BIQQ", kind, count, offset, len(data))
        offset += len(data)
    return head + directory + plain + packed


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.bin"


def test_sizes_pieces_and_tensors(path):
    path.write_bytes(small_file())
    file = E5File(path)
    assert (file.sizes.hidden, file.sizes.layers, file.sizes.heads, file.sizes.ffn) == (32, 1, 2, 64)
    assert (file.sizes.vocabulary, file.sizes.positions, file.sizes.token_types) == (5, 8, 2)
    assert file.pieces.pieces == PIECES
    assert file.pieces.scores == [0, 1, 2, 3, 4]
    assert (file.pieces.bos, file.pieces.pad, file.pieces.eos, file.pieces.unk) == (0, 1, 2, 3)
    assert file.tensor("emb.ln.w", (2,)).tolist() == [1.5, -2.5]
    expected = [(number - 8) * 0.5 for number in range(16)] + [-8 * 0.5] * 16
    assert file.tensor("l0.q.w", (4, 8)).reshape(-1).tolist() == expected


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "damaged"),
        (small_file()[:40], "damaged"),
        (small_file(magic=b"GGUF"), "known format"),
        (small_file(version=2), "known format"),
        (small_file(block=64), "block size"),
    ],
)
def test_other_or_damaged_files_are_refused(path, data, message):
    path.write_bytes(data)
    with pytest.raises(IntegrityError, match=message):
        E5File(path)


def test_tensor_of_another_name_shape_or_cut_off(path):
    path.write_bytes(small_file()[:-4])
    file = E5File(path)
    for name, shape in [("l0.k.w", (4, 8)), ("emb.ln.w", (3,)), ("l0.q.w", (4, 8))]:
        with pytest.raises(IntegrityError):
            file.tensor(name, shape)


@given(st.lists(st.tuples(st.floats(-8, 8, width=16), st.binary(min_size=16, max_size=16)), min_size=1, max_size=8))
def test_dequantize_equals_the_plain_way(blocks):
    raw = b"".join(np.float16(scale).tobytes() + nibbles for scale, nibbles in blocks)
    expected = [
        np.float32((nibble - 8) * np.float32(np.float16(scale)))
        for scale, nibbles in blocks
        for nibble in [byte & 15 for byte in nibbles] + [byte >> 4 for byte in nibbles]
    ]
    np.testing.assert_array_equal(dequantize(np.frombuffer(raw, dtype=np.uint8)), np.array(expected, np.float32))
