"""Settings of retrieval: channels and their budgets, fusion, reranking, deadlines, caches."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from babelray.config.base import DatabaseUrl, Group
from babelray.config.qasc import QascSettings
from babelray.config.translation import TranslationSettings

_Weights = Mapping[
    Literal["exact", "original", "general", "translated", "dense", "alias"], Annotated[float, Field(ge=0, le=100)]
]


class ChannelSettings(Group):
    """One channel."""

    enabled: bool = Field(default=True, description="whether it is searched")
    candidates: int = Field(default=50, ge=1, le=10_000, description="chunks that it hands to the fusion")
    weight: float = Field(default=1.0, ge=0, le=100, description="of its ranks in the fusion")


class ChannelsSettings(Group):
    """The channels of a search. Their weights were tuned on half of parallel collections: benchmarks/RESULTS.md."""

    exact: ChannelSettings = Field(default=ChannelSettings(), description="codes, identifiers and phrases as written")
    original: ChannelSettings = Field(
        default=ChannelSettings(weight=0.5), description="BM25 over stems of the query's languages"
    )
    general: ChannelSettings = Field(default=ChannelSettings(weight=0.25), description="BM25 over unstemmed words")
    translated: ChannelSettings = Field(
        default=ChannelSettings(weight=0.5), description="BM25 with the translated query"
    )
    dense: ChannelSettings = Field(default=ChannelSettings(), description="multilingual vectors")
    alias: ChannelSettings = Field(
        default=ChannelSettings(weight=0.5), description="other names of what the query names"
    )


class CohortWeights(Group):
    """Channel weights of one language pair, in place of the channels' own."""

    query: str = Field(default="*", description="language of the query, BCP 47, or *")
    passage: str = Field(default="*", description="language of the passage, BCP 47, or *")
    weights: _Weights = Field(description="channel -> weight; the others keep theirs")


class FusionSettings(Group):
    """Weighted reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""

    rank_constant: float = Field(default=60.0, ge=0, le=10_000, description="k of 1 / (k + rank)")
    cross_language: _Weights = Field(
        default={"original": 0.05, "general": 0.05},
        description="channel -> factor where query and passage are of two languages: common words are mostly chance",
    )
    cohorts: tuple[CohortWeights, ...] = Field(default=(), description="weights by language pair; the most exact wins")
    per_document: int = Field(default=3, ge=1, le=1000, description="chunks of one document among the candidates")
    union: int = Field(default=200, ge=1, le=100_000, description="candidates kept of all channels together")


class RerankSettings(Group):
    """The second look at the best candidates."""

    kind: Literal["none", "sentences", "cross-encoder"] = Field(
        default="sentences",
        description="sentences: the best stored sentence vector; cross-encoder: a model reads the pair",
    )
    path: Path | None = Field(default=None, description="folder of the cross-encoder's checkpoint")
    languages: tuple[str, ...] = Field(default=(), description="languages the cross-encoder was made for; empty: any")
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description="auto: the GPU where there is one")
    pairs: Literal["original", "translated", "best"] = Field(
        default="original",
        description="query that is paired with a passage: as asked, translated to its language, or the better of both",
    )
    window: int = Field(default=30, ge=1, le=1000, description="candidates that are read again")
    max_tokens: int = Field(default=512, ge=16, le=8192, description="of query and passage together")
    weight: float = Field(default=1.0, ge=0, le=100, description="of the new ranks, fused with the old ones")


class DeadlineSettings(Group):
    """Milliseconds a part may take before the search goes on without it."""

    translation_ms: int = Field(default=1500, ge=1, le=600_000, description="of all translations of a query")
    embedding_ms: int = Field(default=5000, ge=1, le=600_000, description="of the query's vector")
    rerank_ms: int = Field(default=3000, ge=1, le=600_000, description="of the second look")


class CacheSettings(Group):
    """Entries kept in memory; 0 turns a cache off."""

    vectors: int = Field(default=4096, ge=0, le=10_000_000, description="query vectors")
    results: int = Field(default=1024, ge=0, le=10_000_000, description="whole answers")
    previews: int = Field(default=4096, ge=0, le=10_000_000, description="translated previews of citations")


class RetrievalSettings(Group):
    """From a query to cited passages."""

    channels: ChannelsSettings = Field(default=ChannelsSettings(), description="where candidates come from")
    fusion: FusionSettings = Field(default=FusionSettings(), description="how the channels' ranks become one")
    rerank: RerankSettings = Field(default=RerankSettings(), description="the second look")
    qasc: QascSettings = Field(default=QascSettings(), description="how passages are cut for the query")
    translation: TranslationSettings = Field(default=TranslationSettings(), description="translated queries")
    deadlines: DeadlineSettings = Field(default=DeadlineSettings(), description="after which a part is given up")
    caches: CacheSettings = Field(default=CacheSettings(), description="what is remembered")
    entities: tuple[Path, ...] = Field(default=(), description="JSONL files of entities with their other names")
    glossary: DatabaseUrl | None = Field(
        default=None, description="SQLAlchemy URL of a glossary; its terms are names too"
    )
    pinyin: bool = Field(default=False, description="match Chinese names by pinyin as well: many false friends")
    plan_sink: DatabaseUrl | None = Field(
        default=None, description="JSONL file, or SQLAlchemy URL, that keeps every plan"
    )
    max_query_characters: int = Field(default=2000, ge=16, le=1_000_000, description="longer queries are refused")
