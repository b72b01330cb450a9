"""The channels: where candidates come from. All of them search one generation under one compiled scope."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from babelray.config import ChannelSettings, ChannelsSettings
from babelray.index.access import CompiledScope
from babelray.index.lexical import LexicalPart, exact_parts, general_parts, phrase_part, word_parts
from babelray.index.reader import Hit, OpenGeneration
from babelray.index.vectors import Floats
from babelray.keys import ModelKey
from babelray.retrieval.plan import Purpose, Variant


class Channel(StrEnum):
    """One way to find passages; the names stand in settings, plans and traces."""

    EXACT = "exact"
    ORIGINAL = "original"
    GENERAL = "general"
    TRANSLATED = "translated"
    DENSE = "dense"
    ALIAS = "alias"


PURPOSES: dict[Channel, Purpose] = {
    Channel.EXACT: Purpose.EXACT_ANCHOR,
    Channel.ORIGINAL: Purpose.ORIGINAL_LEXICAL,
    Channel.GENERAL: Purpose.ORIGINAL_LEXICAL,
    Channel.TRANSLATED: Purpose.TRANSLATED_LEXICAL,
    Channel.DENSE: Purpose.MULTILINGUAL_DENSE,
    Channel.ALIAS: Purpose.ALIAS,
}
"""The purpose of the variants that a channel searches."""


def settings_of(channels: ChannelsSettings) -> dict[Channel, ChannelSettings]:
    """Each channel's own settings."""
    return {
        Channel.EXACT: channels.exact,
        Channel.ORIGINAL: channels.original,
        Channel.GENERAL: channels.general,
        Channel.TRANSLATED: channels.translated,
        Channel.DENSE: channels.dense,
        Channel.ALIAS: channels.alias,
    }


Place = tuple[int, int]
"""Segment of the generation, and row of the segment."""


@dataclass(frozen=True, slots=True)
class Found:
    """One chunk that a channel found.

    Attributes:
        rank: In the channel, from 1.
        score: BM25 or cosine; not comparable between channels.
        variant_id: Of the variant that found it; for words the channel's first one, since its variants are one query.
    """

    place: Place
    rank: int
    score: float
    variant_id: str


def lexical_parts(channel: Channel, variants: Sequence[Variant], languages: Sequence[str]) -> list[LexicalPart]:
    """The parts of a word channel's one query: its variants are alternatives whose scores add up.

    Args:
        channel: Any but the dense one.
        variants: Those of the channel's purpose.
        languages: Likely languages of the query, most probable first.
    """
    parts: list[LexicalPart] = []
    for variant in variants:
        match channel:
            case Channel.ORIGINAL:
                parts += word_parts(variant.text, languages)
            case Channel.GENERAL:
                parts += general_parts(variant.text)
            case Channel.TRANSLATED:
                parts += [*word_parts(variant.text, [variant.language]), *_halved(general_parts(variant.text))]
            case Channel.EXACT:
                parts += [*exact_parts(variant.text), *_phrase(variant.text)]
            case _:
                parts += [*exact_parts(variant.text), *_phrase(variant.text)]
    return list(dict.fromkeys(parts))


def search_words(
    generation: OpenGeneration,
    channel: Channel,
    variants: Sequence[Variant],
    languages: Sequence[str],
    scope: CompiledScope,
    k: int,
) -> list[Found]:
    """Search a word channel.

    Raises:
        AccessDenied: A row outside the scope came out of the index; nothing is returned.
    """
    parts = lexical_parts(channel, variants, languages)
    if not parts:
        return []
    hits = generation.search_lexical(parts, scope, k)
    return [_found(hit, rank, variants[0].variant_id) for rank, hit in enumerate(hits, start=1)]


def search_vectors(
    generation: OpenGeneration,
    variants: Sequence[Variant],
    vectors: Floats,
    key: ModelKey,
    scope: CompiledScope,
    k: int,
) -> list[Found]:
    """Search the dense channel: each variant by itself, taken in turn, so that each side of a comparison is heard.

    Args:
        generation: Opened generation.
        variants: n variants.
        vectors: float32 (n, dimension), unit length, encoded as queries.
        key: Model key of the vectors.
        scope: What the caller may see.
        k: Chunks wanted.

    Raises:
        ModelKeyMismatch: The vectors are of another space than the generation.
        AccessDenied: A row outside the scope came out of the index; nothing is returned.
    """
    lists = [
        [(hit, variant.variant_id) for hit in generation.search_dense(np.asarray(vector), key, scope, k)]
        for variant, vector in zip(variants, vectors, strict=True)
    ]
    taken: dict[Place, tuple[Hit, str]] = {}
    for hit, variant_id in _in_turn(lists):
        taken.setdefault((hit.segment, hit.row), (hit, variant_id))
    return [_found(hit, rank, variant_id) for rank, (hit, variant_id) in enumerate(list(taken.values())[:k], start=1)]


def _found(hit: Hit, rank: int, variant_id: str) -> Found:
    return Found((hit.segment, hit.row), rank, hit.score, variant_id)


def _in_turn(lists: Sequence[Sequence[tuple[Hit, str]]]) -> Iterable[tuple[Hit, str]]:
    for number in range(max(map(len, lists), default=0)):
        yield from (one[number] for one in lists if number < len(one))


def _phrase(text: str) -> list[LexicalPart]:
    part = phrase_part(text)
    return [part] if part else []


def _halved(parts: Iterable[LexicalPart]) -> list[LexicalPart]:
    return [LexicalPart(part.field, part.terms, part.boost / 2, part.phrase, part.offsets) for part in parts]
