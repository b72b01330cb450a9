"""Golden vectors: fixed texts with their vectors, kept in a manifest to prove that a loaded embedder is the right one.

The key says what should be loaded; the golden vectors show what was. A wrong prefix, pooling or checkpoint gives
vectors that look healthy and find the wrong things.
"""

import base64
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from babelray.errors import ModelKeyMismatch
from babelray.keys import Role
from babelray.protocols import Embedder

MIN_COSINE = 0.999
"""Another batch shape, thread count or processor moves a cosine by less than 1e-4; another model or prefix far more."""

GOLDEN_TEXTS = (
    "The retry policy doubles the delay after each attempt, up to max_retries = 5.",
    "重试策略在每次失败后将等待时间加倍，最多重试五次。",
    "Die Wiederholungsregel verdoppelt die Wartezeit nach jedem Versuch.",
    "La política de reintentos duplica la espera después de cada intento.",
    "再試行ポリシーは失敗するたびに待ち時間を2倍にします。",
    "A política de repetição dobra a espera após cada tentativa.",
    "ERR_1205: partition delete failed at v2.1.0",
    "Политика повторов удваивает задержку после каждой попытки.",
)


class GoldenVectors(BaseModel):
    """Texts and their vectors for both roles.

    Attributes:
        model_key: Digest of the key of the embedder that made them.
        query, passage: base64 of little-endian float32 (texts, dimension).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model_key: str
    texts: tuple[str, ...] = Field(min_length=1)
    dimension: int = Field(ge=1)
    query: str
    passage: str

    @model_validator(mode="after")
    def _vectors_fit_texts(self) -> Self:
        expected = len(self.texts) * self.dimension * 4
        for role, packed in ((Role.QUERY, self.query), (Role.PASSAGE, self.passage)):
            try:
                got = len(base64.b64decode(packed, validate=True))
            except ValueError as error:  # wrong alphabet, wrong padding
                raise ValueError(f"golden vectors ({role}) are not base64") from error
            if got != expected:
                raise ValueError(f"golden vectors ({role}) have {got} bytes, not {expected}")
        return self

    def vectors(self, role: Role) -> NDArray[np.float32]:
        """float32 (texts, dimension)."""
        raw = base64.b64decode(self.query if role is Role.QUERY else self.passage)
        return np.frombuffer(raw, dtype="<f4").reshape(len(self.texts), self.dimension)


def make_golden(embedder: Embedder) -> GoldenVectors:
    """Embed the golden texts in both roles."""
    encoded = {role: embedder.encode(GOLDEN_TEXTS, role) for role in Role}
    for role, one in encoded.items():
        if one.refused:
            raise ModelKeyMismatch(
                "the embedder refuses golden texts", where=f"{embedder.key.readable()}, {role}", got=dict(one.refused)
            )
    return GoldenVectors(
        model_key=embedder.key.digest,
        texts=GOLDEN_TEXTS,
        dimension=embedder.key.dimension,
        query=_packed(encoded[Role.QUERY].vectors),
        passage=_packed(encoded[Role.PASSAGE].vectors),
    )


def check_golden(embedder: Embedder, golden: GoldenVectors) -> float:
    """Embed the golden texts again and compare.

    Returns:
        The smallest cosine.

    Raises:
        ModelKeyMismatch: The embedder has another key, another dimension, or a cosine is under 0.999.
    """
    if embedder.key.digest != golden.model_key:
        raise ModelKeyMismatch(
            "the embedder has another model key than the golden vectors",
            got=f"{embedder.key.readable()} ({embedder.key.digest})",
            allowed=golden.model_key,
            fix="load the model that the generation's manifest names",
        )
    worst = 1.0
    for role in Role:
        made = embedder.encode(golden.texts, role).vectors
        kept = golden.vectors(role)
        if made.shape != kept.shape:
            raise ModelKeyMismatch("the embedder gives other shapes", got=made.shape, allowed=kept.shape)
        lengths = np.linalg.norm(made, axis=1) * np.linalg.norm(kept, axis=1)
        cosines = np.einsum("ij,ij->i", made, kept) / np.maximum(lengths, 1e-12)
        at = int(np.argmin(cosines))
        if not cosines[at] >= MIN_COSINE:  # so that NaN fails too
            raise ModelKeyMismatch(
                "the loaded embedder does not reproduce the generation's golden vectors",
                where=f"{embedder.key.readable()}, {role}",
                got=f"cosine {cosines[at]:.4f} on {golden.texts[at]!r}",
                allowed=f">= {MIN_COSINE}",
                fix="load the weights, pooling and templates that the generation was built with",
            )
        worst = min(worst, float(cosines[at]))
    return worst


def _packed(vectors: NDArray[np.float32]) -> str:
    return base64.b64encode(np.ascontiguousarray(vectors, dtype="<f4").tobytes()).decode()
