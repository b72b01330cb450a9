"""Makes the plan: which wordings are searched, for which purpose, with which weights and budgets."""

from collections.abc import Iterable, Mapping, Sequence

from babelray.config import RetrievalSettings
from babelray.retrieval.channels import PURPOSES, Channel, settings_of
from babelray.retrieval.plan import Budgets, Purpose, QueryPlan, Variant
from babelray.retrieval.query import QueryAnalysis, QueryType
from babelray.text.anchors import AnchorType
from babelray.text.query_anchors import ConstraintType

LIKELY = 0.15
"""A language candidate under this probability is not searched in."""
LANGUAGES = 3
"""Languages whose stems are searched, at most."""
VARIANTS = 24
"""Wordings of one query, at most; those over it are left out from the end."""

EXACT_TYPES = frozenset(AnchorType) - {AnchorType.NAME, AnchorType.ACRONYM} | {
    ConstraintType.COMMAND,
    ConstraintType.QUOTED,
}
"""Anchors that are looked up as written. Numbers, negation and the like bind a rewriting but find nothing alone; names
of products stand on most pages about them, and are words of the other channels."""

TYPE_WEIGHTS: Mapping[QueryType, Mapping[Channel, float]] = {
    QueryType.EXACT_IDENTIFIER: {Channel.EXACT: 3.0, Channel.DENSE: 0.5},
}
"""Factors on the channels' weights by type of query."""


def likely_languages(analysis: QueryAnalysis) -> tuple[str, ...]:
    """Languages that the query's words are stemmed by, most probable first."""
    likely = [one.language for one in analysis.candidates if one.probability >= LIKELY]
    return tuple(dict.fromkeys([analysis.language, *likely]))[:LANGUAGES]


def own_variants(analysis: QueryAnalysis) -> list[Variant]:
    """The query's own wordings: whole, the sides of a comparison, and its anchors; no more than a plan holds."""
    query, language = analysis.text, analysis.language
    variants = [
        Variant(variant_id="original", purpose=Purpose.ORIGINAL_LEXICAL, text=query, language=language),
        Variant(variant_id="dense", purpose=Purpose.MULTILINGUAL_DENSE, text=query, language=language),
    ]
    variants += [
        Variant(variant_id=f"side-{number}", purpose=Purpose.MULTILINGUAL_DENSE, text=side, language=language)
        for number, side in enumerate(analysis.groups, start=1)
    ]
    values = dict.fromkeys(one.value for one in analysis.anchors if one.must_preserve and one.type in EXACT_TYPES)
    variants += [
        Variant(
            variant_id=f"exact-{number}", purpose=Purpose.EXACT_ANCHOR, text=value, language="und", source="anchors"
        )
        for number, value in enumerate(values, start=1)
    ]
    return variants[:VARIANTS]


def weights_of(analysis: QueryAnalysis, settings: RetrievalSettings) -> dict[str, float]:
    """Factor of each channel for this query, on top of the weights of its language pair; 0 where it is turned off."""
    factors = {channel: float(one.enabled) for channel, one in settings_of(settings.channels).items()}
    for kind in analysis.types:
        for channel, factor in TYPE_WEIGHTS.get(kind, {}).items():
            factors[channel] *= factor
    return {str(channel): factor for channel, factor in factors.items()}


def make_plan(
    analysis: QueryAnalysis,
    variants: Iterable[Variant],
    settings: RetrievalSettings,
    *,
    index: str,
    generation: str,
    access_revision: str,
    scope_digest: str,
    evidence_languages: Sequence[str],
    answer_language: str,
    interface_locale: str,
    versions: Mapping[str, str],
) -> QueryPlan:
    """Put together what was found out; a variant that drifted stays in the plan with its problems and is not searched.

    Args:
        analysis: Of the query.
        variants: Own, alias and translated ones, in the order of their importance.
        settings: Weights and budgets.
        index: What is searched.
        generation: Of the index.
        access_revision: Of the rights.
        scope_digest: What the caller may see of it.
        evidence_languages: Languages that the generation holds, largest first.
        answer_language: As asked for, or the query's.
        interface_locale: Likewise.
        versions: Every version that shapes the results.
    """
    channels = settings_of(settings.channels)
    return QueryPlan(
        index=index,
        generation=generation,
        access_revision=access_revision,
        scope_digest=scope_digest,
        analysis=analysis,
        answer_language=answer_language,
        interface_locale=interface_locale,
        evidence_languages=tuple(evidence_languages),
        variants=tuple(variants)[:VARIANTS],
        weights=weights_of(analysis, settings),
        budgets=Budgets(
            per_channel={str(channel): one.candidates for channel, one in channels.items() if one.enabled},
            variants=VARIANTS,
            union=settings.fusion.union,
            per_document=settings.fusion.per_document,
            rerank_window=settings.rerank.window if settings.rerank.kind != "none" else 0,
        ),
        versions=dict(sorted(versions.items())),
    )


def searched(plan: QueryPlan, channel: Channel) -> tuple[Variant, ...]:
    """The variants that a channel searches: of its purpose, and faithful to the query."""
    if not plan.budgets.per_channel.get(channel):
        return ()
    return tuple(one for one in plan.variants if one.purpose is PURPOSES[channel] and one.accepted)
