"""What every embedder does to vectors before it hands them out: unit length, and no broken one among them."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from babelray.protocols import Encoded

NON_FINITE = "non_finite"
ZERO_VECTOR = "zero_vector"
OUT_OF_MEMORY = "oom"


def normalized(vectors: NDArray[np.floating] | NDArray[np.integer]) -> tuple[NDArray[np.float32], dict[int, str]]:
    """Bring n vectors to unit length; rows without a direction become zero and are named with their reason.

    Lengths are taken in float64, where no float32 input overflows or vanishes.
    """
    wide = np.asarray(vectors, dtype=np.float64)
    norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    finite, nonzero = np.isfinite(norms), norms > 0
    good = finite & nonzero
    unit = np.zeros(wide.shape, dtype=np.float32)
    unit[good] = (wide[good] / norms[good, None]).astype(np.float32)
    refused = {int(row): NON_FINITE for row in np.flatnonzero(~finite)}
    refused.update({int(row): ZERO_VECTOR for row in np.flatnonzero(finite & ~nonzero)})
    return unit, refused


def spread(
    vectors: NDArray[np.float32],
    lengths: NDArray[np.integer],
    truncated: NDArray[np.bool_],
    refused: Mapping[int, str],
    rows: NDArray[np.int64],
    padded_tokens: int,
) -> Encoded:
    """Give each of n texts the result of the different text it equals.

    Args:
        vectors: float32 (u, dimension), of the different texts.
        lengths: (u,), tokens of each.
        truncated: bool (u,), whether tokens of it were cut off.
        refused: Position among the u -> reason.
        rows: int64 (n,), which of the u each text is.
        padded_tokens: Tokens computed for the u texts, padding included.
    """
    computed = np.ones(len(lengths), dtype=np.bool_)
    computed[list(refused)] = False
    by_row = {row: refused[int(unique)] for row, unique in enumerate(rows) if int(unique) in refused} if refused else {}
    return Encoded(
        vectors=vectors[rows],
        tokens=np.asarray(lengths, dtype=np.int32)[rows],
        truncated=truncated[rows],
        refused=by_row,
        padded_tokens=padded_tokens,
        computed_tokens=int(np.asarray(lengths)[computed].sum()),
    )
