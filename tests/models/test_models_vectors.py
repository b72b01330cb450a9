import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from models.vectors import NON_FINITE, ZERO_VECTOR, normalized, spread


@given(hnp.arrays(np.float32, (5, 3), elements=st.floats(width=32, allow_nan=True, allow_infinity=True)))
def test_each_row_is_a_unit_vector_or_refused_and_zero(vectors):
    unit, refused = normalized(vectors)
    for row in range(len(vectors)):
        if row in refused:
            assert not unit[row].any()
            assert (refused[row] == NON_FINITE) == (not np.isfinite(vectors[row]).all())
            assert (refused[row] == ZERO_VECTOR) == (not vectors[row].any())
        else:
            assert abs(np.linalg.norm(unit[row].astype(np.float64)) - 1) < 1e-6


def test_extreme_but_finite_values_keep_their_direction():
    unit, refused = normalized(np.array([[3e38, 3e38], [1e-38, 0.0]], dtype=np.float32))
    assert refused == {}
    np.testing.assert_allclose(unit, [[2**-0.5, 2**-0.5], [1, 0]], rtol=1e-6)


def test_spread_gives_copies_the_same_row_and_the_same_refusal():
    encoded = spread(
        np.eye(2, dtype=np.float32),
        np.array([7, 9]),
        np.array([False, True]),
        {1: "oom"},
        np.array([0, 1, 0, 1]),
        padded_tokens=10,
    )
    assert encoded.vectors.tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    assert encoded.tokens.tolist() == [7, 9, 7, 9]
    assert encoded.truncated.tolist() == [False, True, False, True]
    assert encoded.refused == {1: "oom", 3: "oom"}
    assert (encoded.padded_tokens, encoded.computed_tokens) == (10, 7)
