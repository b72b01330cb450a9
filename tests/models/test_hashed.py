import hashlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelray.config import HashSettings
from babelray.keys import Role
from babelray.protocols import Embedder
from models.embedders import hashed
from models.embedders.hashed import HashEmbedder

SETTINGS = HashSettings(kind="hash")
TEXTS = ["The scheduler places pods on nodes.", "调度器将 Pod 放到节点上", "", "!?", "ＥＲＲ_1205", "\ud800 lone"]


def test_meets_the_protocol():
    assert isinstance(HashEmbedder(SETTINGS), Embedder)


def test_golden_bytes_are_the_same_in_every_process_and_on_every_platform():
    vectors = HashEmbedder(SETTINGS).encode(TEXTS, Role.PASSAGE).vectors
    assert hashlib.sha256(vectors.tobytes()).hexdigest()[:16] == "46540e9f57639606"


def plain_words(text):
    words, word = [], ""
    for char in text:
        alone = any(first <= ord(char) < stop for first, stop in hashed._ALONE_RANGES)
        if word and (alone or not (char.isalnum() or char == "_")):
            words.append(word)
            word = ""
        if alone and char.isalnum():
            words.append(char)
        elif not alone and (char.isalnum() or char == "_"):
            word += char
    return words + [word] * bool(word)


@given(st.lists(st.text(alphabet="aB_9 .\n-é日本のไทย\U00020000\ud800", max_size=30), max_size=8))
@settings(deadline=None)
def test_words_of_all_texts_at_once_are_those_of_the_plain_way(texts):
    hashes, lengths = hashed._hashed_words(texts)
    expected = [plain_words(text) for text in texts]
    assert lengths.tolist() == [len(words) for words in expected]
    alone = [hashed._hashed_words([word])[0][0] for words in expected for word in words]
    assert hashes.tolist() == alone


def test_another_process_with_another_hash_seed_gives_the_same_bytes():
    code = (
        "import sys; from babelray.config import HashSettings; from babelray.keys import Role;"
        "from models.embedders.hashed import HashEmbedder;"
        "e = HashEmbedder(HashSettings(kind='hash')).encode(['alpha beta', '日本'], Role.QUERY);"
        "sys.stdout.buffer.write(e.vectors.tobytes())"
    )
    environment = {"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(path for path in sys.path if path) + ":."}
    written = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment).stdout
    assert written == HashEmbedder(SETTINGS).encode(["alpha beta", "日本"], Role.QUERY).vectors.tobytes()


@given(st.lists(st.text(max_size=40), max_size=12), st.sampled_from(list(Role)))
@settings(deadline=None)
def test_unit_vectors_that_do_not_depend_on_company(texts, role):
    embedder = HashEmbedder(SETTINGS)
    together = embedder.encode(texts, role)
    assert together.vectors.shape == (len(texts), 64)
    for row, text in enumerate(texts):
        assert together.vectors[row].tobytes() == embedder.encode([text], role).vectors[0].tobytes()
        if row not in together.refused:
            assert np.linalg.norm(together.vectors[row]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("near", "far"),
    [
        (("restart policy of a pod", "the restart policy of every pod"), "quarterly revenue grew in Asia"),
        (("重试策略的默认值", "重试策略默认值"), "季度收入增长"),
        (("再起動の理由", "再起動する理由"), "売上が増えた"),
    ],
)
def test_texts_that_share_words_are_nearer(near, far):
    one, other, unrelated = HashEmbedder(SETTINGS).encode([*near, far], Role.PASSAGE).vectors
    assert one @ other > 0.6 > 0.4 > abs(one @ unrelated)


def test_case_does_not_matter_but_seed_and_dimension_are_in_the_key():
    embedder = HashEmbedder(SETTINGS)
    upper, lower = embedder.encode(["RETRY Limit", "retry limit"], Role.QUERY).vectors
    assert upper.tobytes() == lower.tobytes()
    other = HashEmbedder(HashSettings(kind="hash", seed=1))
    assert other.key != embedder.key
    assert abs(other.encode(["retry limit"], Role.QUERY).vectors[0] @ lower) < 0.5


def test_long_text_is_cut_and_flagged_and_tokens_are_words():
    encoded = HashEmbedder(SETTINGS).encode(["word " * 9000, "two words"], Role.PASSAGE)
    assert encoded.truncated.tolist() == [True, False]
    assert encoded.tokens.tolist() == [8192, 2]
    assert encoded.refused == {}


def test_slices_of_the_sum_do_not_change_it(monkeypatch):
    texts = [f"w{number} " * (number % 7 + 1) + "shared" for number in range(50)]
    whole = HashEmbedder(SETTINGS).encode(texts, Role.PASSAGE).vectors
    monkeypatch.setattr("models.embedders.hashed._SLICE_COMPONENTS", 64 * 5)
    assert HashEmbedder(SETTINGS).encode(texts, Role.PASSAGE).vectors.tobytes() == whole.tobytes()


def test_no_texts():
    encoded = HashEmbedder(SETTINGS).encode([], Role.QUERY)
    assert encoded.vectors.shape == (0, 64)
