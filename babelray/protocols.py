"""What the engine asks of models. The engine is handed objects that meet these; it never imports `models`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from babelray.keys import ModelKey, Role


@dataclass(frozen=True, slots=True)
class Encoded:
    """Vectors of n texts in the order they were given.

    Attributes:
        vectors: float32 (n, dimension), unit length; the row of a refused text is zero.
        tokens: int32 (n,), tokens the model read, special tokens and template included, after truncation.
        truncated: bool (n,), whether tokens were cut off.
        refused: position -> reason (`oom`, `non_finite`, `zero_vector`, ...), for texts that have no vector.
        padded_tokens: tokens computed, padding included.
        computed_tokens: tokens computed, padding not included. Less than `tokens.sum()` where equal texts were computed
            once; `1 - computed_tokens / padded_tokens` is the padding waste.
        tokens_estimated: whether `tokens` and `truncated` are estimates, because the model runs elsewhere.
    """

    vectors: NDArray[np.float32]
    tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]
    refused: Mapping[int, str] = field(default_factory=dict)
    padded_tokens: int = 0
    computed_tokens: int = 0
    tokens_estimated: bool = False


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of the space that `key` names.

    The work is split so that a job can tokenize the next unit in a thread while the device computes this one;
    `encode` is the two in a row. The same texts in the same call give the same bytes.
    """

    @property
    def key(self) -> ModelKey:
        """The full model key of every vector this object returns."""
        ...

    def tokenize(self, texts: Sequence[str], role: Role) -> Any:
        """CPU side: template and tokenize. The result is only for this object's `embed`."""
        ...

    def embed(self, tokenized: Any) -> Encoded:
        """Device side: forward, pool and check what `tokenize` returned."""
        ...

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """Embed n texts.

        Raises:
            UpstreamError: A remote embedder failed after its retries.
        """
        ...


@dataclass(frozen=True, slots=True)
class LanguageCandidate:
    """One entry of a language distribution: a BCP 47 tag and its probability in 0..1."""

    language: str
    probability: float


@runtime_checkable
class LanguageIdentifier(Protocol):
    """Gives a distribution over languages by the text alone; policy (scripts, priors) lies in `babelray.text`."""

    @property
    def version(self) -> str:
        """Changes whenever the same text may get another distribution."""
        ...

    def identify(self, texts: Sequence[str], limit: int = 5) -> list[list[LanguageCandidate]]:
        """For each text up to `limit` candidates, most probable first; an empty list where nothing can be said."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Scores passages against one query with a model that reads both."""

    @property
    def version(self) -> str:
        """Names weights and revision; part of cache keys and traces."""
        ...

    def supports(self, query_language: str, passage_language: str) -> bool:
        """Whether the pair of BCP 47 languages is one the model was made for."""
        ...

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """float32 (n,), finite, higher is better; comparable only between passages of the same query.

        Raises:
            InputError: The query alone is longer than what the model reads.
            UpstreamError: The model gave scores that are not numbers.
        """
        ...


@dataclass(frozen=True, slots=True)
class Translation:
    """A machine translation and all that is needed to tell where it came from.

    Attributes:
        translator: Name of the one that gave the text, or the names of a route's steps joined by `+`.
        model: What it ran: a checkpoint, a program, the name that a service knows its model by.
        version: Of everything that shaped the text, the glossary aside.
        glossary_version: Of the terms that were bound or replaced; None where no glossary took part.
        translation_id: Digest of source, languages, versions and text: equal ids are equal translations.
        route: Languages passed through, source and target included.
        damaged: Protected spans and terms that did not come back exactly once, and marks that nobody put in; the text
            must not be used as a translation of the source then.
        reordered: Whether protected spans and terms stand in another order than in the source.
    """

    text: str
    source_language: str
    target_language: str
    translator: str
    model: str
    version: str
    glossary_version: str | None = None
    translation_id: str = ""
    route: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    reordered: bool = False


@runtime_checkable
class Translator(Protocol):
    """One engine that translates. Routes, protected spans, boundaries, retries and caches are its caller's work."""

    @property
    def name(self) -> str:
        """What routes, boundaries and traces call it."""
        ...

    @property
    def model(self) -> str:
        """What it runs."""
        ...

    @property
    def version(self) -> str:
        """Names engine, weights and revision; part of cache keys and traces."""
        ...

    @property
    def external(self) -> bool:
        """Whether texts leave for a service that others run."""
        ...

    @property
    def glossary_version(self) -> str | None:
        """Of the glossary that it applies by itself; None: the caller binds the terms."""
        ...

    def knows(self, source: str, target: str) -> bool:
        """Whether it translates between two BCP 47 languages."""
        ...

    def pairs(self) -> frozenset[tuple[str, str]]:
        """The (source, target) language pairs it was set up for."""
        ...

    def translate(
        self, texts: Sequence[str], source: str, target: str, *, tenant_id: str, domain: str = ""
    ) -> list[str | None]:
        """One translation a text, in order; None where it has nothing to offer. Safe to call from several threads.

        Args:
            texts: Without line breaks; marks (`babelray.glossary.marks`) must come back as they are.
            source: BCP 47 language that it knows.
            target: Likewise.
            tenant_id: Whose terms it may use.
            domain: Of which subject; empty: of any.

        Raises:
            UpstreamError: The engine failed after its retries.
        """
        ...
