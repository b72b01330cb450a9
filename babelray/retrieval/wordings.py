"""The other wordings of a query: names that mean the same, and translations. Each is checked by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from babelray.config import RetrievalSettings
from babelray.index.access import AccessScope
from babelray.retrieval.aliases import AliasMatch, AliasTable
from babelray.retrieval.degradation import Degradation, Reason
from babelray.retrieval.drift import check_drift
from babelray.retrieval.plan import Purpose, Variant
from babelray.retrieval.query import QueryAnalysis
from babelray.retrieval.request import Clarification
from babelray.retrieval.translation import QueryTranslator, translate_query
from babelray.text.language import LanguagePolicy

MAIN_SHARE = 0.5
"""An ambiguous name of at least this share of the query's letters is what it is about: the caller is asked."""


@dataclass(frozen=True, slots=True)
class Wordings:
    """What else may be searched.

    Attributes:
        variants: Alias and translated variants; those with problems are kept for the plan and never searched.
        translations: Language -> faithful translation of the query.
        clarifications: Names that may mean several things.
        unclear: Whether such a name is what the query is about.
        aliased: Whether a name was found that means one thing only.
    """

    variants: tuple[Variant, ...] = ()
    translations: Mapping[str, str] = field(default_factory=dict)
    clarifications: tuple[Clarification, ...] = ()
    unclear: bool = False
    aliased: bool = False
    degraded: tuple[Degradation, ...] = ()


def find_wordings(
    analysis: QueryAnalysis,
    evidence: Sequence[str],
    scope: AccessScope,
    settings: RetrievalSettings,
    policy: LanguagePolicy,
    *,
    aliases: AliasTable | None,
    translator: QueryTranslator | None,
) -> Wordings:
    """All other wordings of a query.

    Args:
        analysis: Of the query.
        evidence: Languages that the generation holds, largest first.
        scope: Whose query it is, and when.
        settings: Which channels are searched, into how many languages, within what time.
        policy: Judges the language of translations.
        aliases: Names of things, where there are any.
        translator: With its routes, where there is one.
    """
    names, translated = Wordings(), Wordings()
    if aliases is not None and settings.channels.alias.enabled:
        names = find_names(analysis, aliases, scope)
    # An unsure language would be translated from the wrong one: more words, most of them false.
    if translator is not None and settings.channels.translated.enabled and not analysis.low_confidence:
        targets = translation_targets(analysis, evidence, translator, settings)
        seconds = settings.deadlines.translation_ms / 1000
        translated = translate(
            analysis, targets, translator, policy, tenant_id=scope.tenant_id, deadline_seconds=seconds
        )
    return Wordings(
        variants=(*names.variants, *translated.variants),
        translations=translated.translations,
        clarifications=names.clarifications,
        unclear=names.unclear,
        aliased=names.aliased,
        degraded=(*names.degraded, *translated.degraded),
    )


def find_names(analysis: QueryAnalysis, aliases: AliasTable, scope: AccessScope) -> Wordings:
    """Other names of what the query names.

    A name that may mean several things is not replaced by any of them: it stays as the query has it, and the meanings
    are handed to the caller.
    """
    languages = [one.language for one in analysis.candidates]
    matches = aliases.find(
        analysis.text, tenant_id=scope.tenant_id, as_of=scope.as_of, domain=analysis.domain, languages=languages
    )
    variants: dict[str, Variant] = {}
    unclear: dict[tuple[int, int], list[AliasMatch]] = {}
    for match in matches:
        if match.ambiguous:
            unclear.setdefault((match.start, match.end), []).append(match)
            continue
        for name in match.names:
            number = len(variants) + 1
            variants.setdefault(
                name.text,
                Variant(
                    variant_id=f"alias-{number}",
                    purpose=Purpose.ALIAS,
                    text=name.text,
                    language=name.language,
                    source=match.source,
                ),
            )
    clarifications = tuple(_clarification(items) for _, items in sorted(unclear.items()))
    letters = sum(char.isalnum() for char in analysis.text)
    covered = sum(end - start for start, end in unclear)
    degraded: tuple[Degradation, ...] = ()
    if unclear:
        detail = f"{len(unclear)} names, {sum(map(len, unclear.values()))} meanings"
        degraded = (Degradation(Reason.GLOSSARY_AMBIGUOUS, "the name as the query has it", detail),)
    return Wordings(
        variants=tuple(variants.values()),
        clarifications=clarifications,
        unclear=covered >= MAIN_SHARE * max(letters, 1) and bool(unclear),
        aliased=any(not match.ambiguous for match in matches),
        degraded=degraded,
    )


def _clarification(matches: Sequence[AliasMatch]) -> Clarification:
    return Clarification(
        name=matches[0].matched,
        candidates={match.source: match.names[0].text if match.names else match.matched for match in matches},
    )


def translation_targets(
    analysis: QueryAnalysis, evidence: Sequence[str], translator: QueryTranslator, settings: RetrievalSettings
) -> list[str]:
    """Languages that the query is translated into: those of the evidence that there is a way to."""
    wanted = settings.translation.targets or tuple(evidence)
    ways = [one for one in wanted if one != analysis.language and translator.can(analysis.language, one)]
    return ways[: settings.translation.max_targets]


def translate(
    analysis: QueryAnalysis,
    targets: Sequence[str],
    translator: QueryTranslator,
    policy: LanguagePolicy,
    *,
    tenant_id: str,
    deadline_seconds: float,
) -> Wordings:
    """Translations of the query, each checked by itself; one that drifted is kept with its problems.

    Args:
        analysis: Of the query.
        targets: Languages to translate into.
        translator: With its routes.
        policy: Judges whether a translation is in the language that it should be in.
        tenant_id: Whose text it is.
        deadline_seconds: For all targets together.
    """
    if not targets:
        return Wordings()
    outcome = translate_query(analysis, targets, translator, tenant_id=tenant_id, deadline_seconds=deadline_seconds)
    variants: list[Variant] = []
    faithful: dict[str, str] = {}
    degraded = list(outcome.failures)
    for variant in outcome.variants:
        problems = variant.problems or check_drift(
            analysis, variant.text, variant.language, check_language=policy, translated=True
        )
        variants.append(variant.model_copy(update={"problems": problems}))
        if problems:
            kinds = ", ".join(sorted({one.kind for one in problems}))
            detail = f"{variant.language}: {kinds}"
            degraded.append(Degradation(Reason.ANCHOR_VALIDATION_FAILED, "original and exact words", detail))
        else:
            faithful.setdefault(variant.language, variant.text)
    return Wordings(variants=tuple(variants), translations=faithful, degraded=tuple(degraded))
