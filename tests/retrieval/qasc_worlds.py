"""Documents of made-up sentences whose cosines with the query are given, so that a test can say what is cut."""

import numpy as np
from hypothesis import strategies as st

from babelray.index.document_sentences import DocumentSentences
from tests.index.segment_worlds import KEY

QUERY = np.eye(KEY.dimension, dtype=np.float32)[0]


def with_cosines(cosines):
    """float32 (n, d): unit vectors with these cosines to `QUERY`."""
    cosines = np.asarray(cosines, dtype=np.float64)
    vectors = np.zeros((len(cosines), KEY.dimension))
    vectors[:, 0] = cosines
    vectors[:, 1] = np.sqrt(1 - cosines**2)
    return vectors.astype(np.float32)


def document(
    name, cosines, *, blocks=None, kinds="paragraph", tokens=10, parents=None, parent_cosines=None, missing=(),
    language="en", key=KEY,
):  # fmt: skip
    """A document with one sentence a cosine, nine characters each and one between; one chunk holds all by default."""
    n = len(cosines)
    blocks = [0] * n if blocks is None else blocks
    vectors, present = with_cosines(cosines), np.ones(n, dtype=bool)
    present[list(missing)] = False
    vectors[~present] = 0
    parents = np.array([(0, n - 1)] if parents is None else parents, dtype=np.int32).reshape(-1, 2)
    chunk_cosines = np.full(len(parents), 0.5) if parent_cosines is None else parent_cosines
    return DocumentSentences(
        segment=0,
        document=sum(map(ord, name)),
        doc_id=name,
        key=key,
        starts=np.arange(n, dtype=np.int64) * 10,
        ends=np.arange(n, dtype=np.int64) * 10 + 9,
        blocks=np.array(blocks, dtype=np.int32),
        languages=(language,) * n,
        kinds=(kinds,) * n if isinstance(kinds, str) else tuple(kinds),
        sections=np.zeros(n, dtype=np.int32),
        tokens=np.full(n, tokens, dtype=np.int32) if np.isscalar(tokens) else np.array(tokens, dtype=np.int32),
        vectors=vectors,
        has_vector=present,
        parent_vectors=with_cosines(chunk_cosines),
        parent_has_vector=np.ones(len(parents), dtype=bool),
        parents=parents,
        text="x" * (n * 10),
    )


@st.composite
def documents(draw, most=4):
    """A few documents of any shape: repeated cosines, sentences without vectors, blocks of all kinds, short ones."""
    made = []
    for name in draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=most, unique=True)):
        n = draw(st.integers(1, 14))
        cosines = draw(st.lists(st.sampled_from([-0.4, 0.0, 0.3, 0.5, 0.8, 0.81, 0.95]), min_size=n, max_size=n))
        blocks = np.cumsum(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))).tolist()
        of_block = draw(
            st.lists(st.sampled_from(["paragraph", "list", "code", "table", "heading"]), min_size=n + 1, max_size=n + 1)
        )
        cut = draw(st.integers(0, n - 1))
        made.append(
            document(
                name,
                cosines,
                blocks=blocks,
                kinds=[of_block[block] for block in blocks],
                tokens=draw(st.lists(st.integers(1, 60), min_size=n, max_size=n)),
                parents=[(0, cut), (max(cut - 1, 0), n - 1)],
                parent_cosines=draw(st.lists(st.sampled_from([0.1, 0.6, 0.9]), min_size=2, max_size=2)),
                missing=draw(st.sets(st.integers(0, n - 1), max_size=3)),
            )
        )
    return made
