"""The query in other languages: a channel beside the original, never in its place.

What must be kept as written travels as marks; what a translation has to word anew (numbers, negation, dates in words)
stays visible and is checked afterwards by `babelray.retrieval.drift`. A translator that fails, is late or may not be
sent the text costs its variant and nothing else.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol

from babelray.errors import AccessDenied, BabelrayError
from babelray.protocols import Translation
from babelray.retrieval.degradation import Degradation, Reason
from babelray.retrieval.plan import DriftProblem, Purpose, TranslationRecord, Variant
from babelray.retrieval.query import AnchorRecord, QueryAnalysis
from babelray.text.anchors import AnchorType
from babelray.text.query_anchors import ConstraintType

FALLBACK = "original query, exact words and vectors"
# Dates may have to be worded anew; the type is the same for 2026-08-06 and `6. August`.
_MASKED = frozenset(AnchorType) - {AnchorType.DATE} | {
    ConstraintType.COMMAND,
    ConstraintType.QUOTED,
    ConstraintType.ENTITY,
}


class QueryTranslator(Protocol):
    """Whatever ways there are between languages, with their boundaries; `models.translators` has the real one."""

    @property
    def version(self) -> str:
        """Changes whenever the same text may get another translation; part of cache keys."""
        ...

    def can(self, source: str, target: str) -> bool:
        """Whether there is a way between two BCP 47 languages."""
        ...

    def translate(
        self,
        texts: Sequence[str],
        source: str,
        target: str,
        *,
        tenant_id: str,
        domain: str = "",
        protected: Sequence[Sequence[tuple[int, int]]] = (),
    ) -> list[Translation | None]:
        """One translation a text, in order; None where there is nothing to translate or no translator offers anything.

        Args:
            texts: Of one tenant.
            source: BCP 47 language of the texts.
            target: BCP 47 language with a way to it.
            tenant_id: Decides what may leave, and which terms are used.
            domain: Subject, for terminology.
            protected: For each text the spans that must come back as they are; empty: none.

        Raises:
            AccessDenied: The tenant's boundary allows none of the ways.
            InputError: There is no way.
            UpstreamError: All allowed ways failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class TranslatedQuery:
    """What became of one query.

    Attributes:
        variants: One a language that a translation came for; those with problems must not be searched.
        failures: One a language that none came for although there should be one.
        unneeded: Languages in which nothing but names and terms would remain, or for which no translator offers
            anything: nothing failed.
    """

    variants: tuple[Variant, ...] = ()
    failures: tuple[Degradation, ...] = ()
    unneeded: tuple[str, ...] = ()


def translate_query(
    analysis: QueryAnalysis,
    targets: Sequence[str],
    translator: QueryTranslator,
    *,
    tenant_id: str,
    deadline_seconds: float,
) -> TranslatedQuery:
    """Translate a query into several languages at a time. Failures of translators are told, never raised.

    Args:
        analysis: Of the query; its language is what is translated from.
        targets: Each once; there must be a way to each.
        translator: The ways.
        tenant_id: Whose query it is.
        deadline_seconds: For all languages together; what comes later is dropped.
    """
    if not targets:
        return TranslatedQuery()
    spans = [protected_spans(analysis.anchors)]
    pool = ThreadPoolExecutor(max_workers=len(targets), thread_name_prefix="translate")
    try:
        futures = {
            target: pool.submit(
                translator.translate,
                [analysis.text],
                analysis.language,
                target,
                tenant_id=tenant_id,
                domain=analysis.domain,
                protected=spans,
            )
            for target in dict.fromkeys(targets)
        }
        wait(futures.values(), timeout=deadline_seconds)
    finally:
        # Calls that are late end by their own time-outs; nobody waits for them here.
        pool.shutdown(wait=False, cancel_futures=True)
    return _outcome(futures, deadline_seconds)


def protected_spans(anchors: Sequence[AnchorRecord]) -> list[tuple[int, int]]:
    """Spans of what a translation must repeat letter by letter.

    An abbreviation that is known to have another form in other languages (OTAN, NATO) is left to the translator.
    """
    return [
        (one.start, one.end)
        for one in anchors
        if one.must_preserve
        and one.type in _MASKED
        and not (one.type == AnchorType.ACRONYM and one.normalized not in (one.value, one.value.removesuffix("s")))
    ]


def _outcome(futures: dict[str, Future[list[Translation | None]]], deadline_seconds: float) -> TranslatedQuery:
    variants: list[Variant] = []
    failures: list[Degradation] = []
    unneeded: list[str] = []
    for target, future in futures.items():
        if not future.done() or future.cancelled():
            failures.append(_skipped(f"{target}: not within {deadline_seconds * 1000:.0f} ms"))
            continue
        error = future.exception()
        if isinstance(error, BabelrayError):
            why = "not allowed to leave" if isinstance(error, AccessDenied) else f"{error.title}: {error.what}"
            failures.append(_skipped(f"{target}: {why}"))
            continue
        # Anything else that was raised is a fault of the program and is raised here.
        (translation,) = future.result()
        if translation is None:
            unneeded.append(target)
        else:
            variants.append(_variant(translation, target))
    return TranslatedQuery(tuple(variants), tuple(failures), tuple(unneeded))


def _skipped(detail: str) -> Degradation:
    return Degradation(Reason.TRANSLATED_CHANNEL_SKIPPED, FALLBACK, detail)


def _variant(translation: Translation, target: str) -> Variant:
    problems = [DriftProblem(kind="placeholder_damage", expected=span) for span in translation.damaged]
    if translation.reordered:
        problems.append(DriftProblem(kind="placeholder_damage", expected="names in the order of the query"))
    if not translation.text.strip():
        problems.append(DriftProblem(kind="empty"))
    return Variant(
        variant_id=f"translated-{target}",
        purpose=Purpose.TRANSLATED_LEXICAL,
        text=translation.text,
        language=target,
        source=f"translator:{translation.translator}",
        translation=TranslationRecord(
            translation_id=translation.translation_id,
            translator=translation.translator,
            model=translation.model,
            version=translation.version,
            glossary_version=translation.glossary_version,
            route=translation.route,
        ),
        problems=tuple(problems),
    )
