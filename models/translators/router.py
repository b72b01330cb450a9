"""Translates by whatever way there is, and watches over what leaves, what comes back and who is failing.

For each text: find what must stay as it is, what the glossary binds and, if a service outside is asked, what is
private; put marks in the place of all that; go the way; put everything back and count.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from babelray.config import DataBoundary, TranslationSettings
from babelray.errors import AccessDenied, ConfigError, InputError, UpstreamError
from babelray.glossary.marks import MARKS_VERSION, Masked, mask, unmask
from babelray.glossary.redaction import check_service, find_private
from babelray.glossary.term_lookup import TermLookup
from babelray.keys import digest_of
from babelray.protocols import Translation, Translator
from babelray.retrieval.caches import Cache
from models.translators.circuit import CircuitBreaker
from models.translators.steps import Step, boundary_digest
from models.translators.ways import Way, check_routes, ways_between

logger = logging.getLogger(__name__)

Spans = Sequence[tuple[int, int]]
NamedSpans = Sequence[tuple[int, int, str]]
ID_LENGTH = 32


class TranslationRouter:
    """Translations of texts of many tenants, by translators, routes, glossary terms and boundaries.

    The ways between two languages are tried in order: a way that a tenant's boundary forbids is passed over, so is one
    whose translator is failing, and where a way has nothing to offer for a text, the next one may. Safe between
    threads.

    Args:
        settings: Routes, boundaries, limits.
        translators: In the order in which they are tried.
        lookup: Glossary terms that are bound for translators that know no glossary; None: none.
        clock: Monotonic seconds, for translators that are left alone for a while.

    Raises:
        ConfigError: Two translators of one name, or a route that cannot be gone.
    """

    def __init__(
        self,
        settings: TranslationSettings,
        translators: Sequence[Translator],
        lookup: TermLookup | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._translators = {one.name: one for one in translators}
        if len(self._translators) < len(translators):
            raise ConfigError(
                "two translators have the same name",
                where="retrieval.translation.translators",
                got=", ".join(one.name for one in translators),
                fix="set `name` of each",
            )
        check_routes(settings.routes, self._translators)
        self._lookup = lookup if settings.bind_terms and lookup is not None and len(lookup) else None
        self._breakers = {
            name: CircuitBreaker(settings.failures_to_open, settings.open_seconds, clock) for name in self._translators
        }
        self._cache: Cache[tuple[str | None]] = Cache(settings.cache_entries)
        self._version = digest_of(
            [
                [[one.name, one.version, one.glossary_version] for one in translators],
                [route.model_dump() for route in settings.routes],
                {tenant: boundary_digest(boundary) for tenant, boundary in settings.boundaries.items()},
                self._lookup.version if self._lookup else None,
                MARKS_VERSION,
            ]
        )

    @property
    def version(self) -> str:
        """Changes whenever the same text may get another translation."""
        return self._version

    def pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of all routes and translators, `*` standing for any target."""
        routed = {(route.languages[0], route.languages[-1]) for route in self._settings.routes}
        return frozenset(routed.union(*(one.pairs() for one in self._translators.values())))

    def can(self, source: str, target: str) -> bool:
        """Whether there is a way between two BCP 47 languages, whoever may go it."""
        return bool(ways_between(source, target, self._settings.routes, self._translators))

    def translate(
        self,
        texts: Sequence[str],
        source: str,
        target: str,
        *,
        tenant_id: str,
        domain: str = "",
        protected: Sequence[Spans] = (),
        terms: Sequence[NamedSpans] | None = None,
    ) -> list[Translation | None]:
        """One translation a text, in order; None where there is nothing to translate or no way offers anything.

        Args:
            texts: Of one tenant; line breaks inside are spaces to a translator.
            source: BCP 47 language of the texts.
            target: BCP 47 language with a way to it.
            tenant_id: Decides what may leave, and which terms are used.
            domain: Subject, for terminology.
            protected: For each text the spans that come back as they are; empty: none.
            terms: For each text start, end and rendering of the terms that the caller binds; None: those of the
                glossary that the router was made with.

        Raises:
            AccessDenied: The tenant's boundary allows none of the ways.
            ConfigError: A service lies outside of its data boundary.
            InputError: There is no way, or not one group of spans a text.
            UpstreamError: A text has no translation because ways failed.
        """
        if protected and len(protected) != len(texts):
            raise InputError("protected spans do not belong to the texts", got=f"{len(protected)} for {len(texts)}")
        if terms is not None and len(terms) != len(texts):
            raise InputError("terms do not belong to the texts", got=f"{len(terms)} for {len(texts)}")
        boundary = self._settings.boundaries.get(tenant_id, DataBoundary())
        found: dict[int, Translation] = {}
        failure: UpstreamError | None = None
        for way in self._allowed(source, target, boundary, tenant_id):
            open_ones = [number for number in range(len(texts)) if number not in found]
            if not open_ones:
                break
            call = _Call(self, way, source, target, tenant_id, domain, boundary)
            spans = [protected[number] if protected else () for number in open_ones]
            bound = None if terms is None else [terms[number] for number in open_ones]
            try:
                made = call.run([texts[number] for number in open_ones], spans, bound)
            except UpstreamError as error:
                logger.warning("%s > %s by %s: %s", source, target, way.name, error.what)
                failure = failure or error
                continue
            found |= {number: one for number, one in zip(open_ones, made, strict=True) if one is not None}
        if failure is not None and len(found) < len(texts):
            raise failure
        return [found.get(number) for number in range(len(texts))]

    def _allowed(self, source: str, target: str, boundary: DataBoundary, tenant_id: str) -> list[Way]:
        ways = ways_between(source, target, self._settings.routes, self._translators)
        if not ways:
            known = ", ".join(f"{left}>{right}" for left, right in sorted(self.pairs()))
            raise InputError(
                "no translator knows the languages",
                got=f"{source}>{target}",
                allowed=known or "nothing",
                fix="set a route",
            )
        allowed: list[Way] = []
        denied: AccessDenied | None = None
        for way in ways:
            try:
                for service in way.external:
                    check_service(boundary, service, f"tenant {tenant_id}")
            except AccessDenied as error:
                denied = denied or error
            else:
                allowed.append(way)
        if denied is not None and not allowed:
            raise denied
        return allowed


class _Call:
    """The texts of one tenant on one way."""

    def __init__(
        self,
        router: TranslationRouter,
        way: Way,
        source: str,
        target: str,
        tenant_id: str,
        domain: str,
        boundary: DataBoundary,
    ) -> None:
        self._way = way
        self._source, self._target = source, target
        self._tenant_id, self._domain = tenant_id, domain
        self._boundary = boundary
        self._cache = router._cache
        self._breakers: Mapping[str, CircuitBreaker] = router._breakers
        self._lookup = None if way.applies_glossary else router._lookup
        own = [step.glossary_version for step in way.steps if step.glossary_version is not None]
        self._glossary_version = self._lookup.version if self._lookup else "+".join(own) or None

    def run(
        self, texts: Sequence[str], protected: Sequence[Spans], terms: Sequence[NamedSpans] | None
    ) -> list[Translation | None]:
        bound = [self._terms(text) for text in texts] if terms is None else terms
        masked = [self._mask(*each) for each in zip(texts, protected, bound, strict=True)]
        outputs = self._outputs([one.text for one in masked if one.has_words])
        return [self._translation(text, one, outputs) for text, one in zip(texts, masked, strict=True)]

    def _terms(self, text: str) -> NamedSpans:
        if self._lookup is None:
            return ()
        matches = self._lookup.find(text, self._source, self._target, self._tenant_id, self._domain)
        return [(one.start, one.end, one.term.rendering) for one in matches]

    def _mask(self, text: str, protected: Spans, terms: NamedSpans) -> Masked:
        # Private text is looked for in the whole text, before anything in it is hidden from the rules by a mark.
        private = find_private(text, self._boundary.redactions) if self._way.external else []
        return mask(text, kept=protected, private=private, terms=terms)

    def _outputs(self, texts: Sequence[str]) -> dict[str, str | None]:
        """Masked text -> what came back for it; texts that are remembered are not sent again."""
        known: dict[str, str | None] = {}
        for text in dict.fromkeys(texts):
            kept = None if self._way.applies_glossary else self._cache.get(self._key(text))
            if kept is not None:
                known[text] = kept[0]
        asked = [text for text in dict.fromkeys(texts) if text not in known]
        current: dict[str, str | None] = {text: text for text in asked}
        for number, translator in enumerate(self._way.steps):
            source, target = self._way.languages[number : number + 2]
            left = [text for text in asked if current[text]]
            step = Step(translator, self._breakers[translator.name], self._boundary, self._tenant_id, self._domain)
            answers = step.take([current[text] or "" for text in left], source, target)
            current |= zip(left, answers, strict=True)
        if not self._way.applies_glossary:  # its terms may end to hold at any moment
            for text in asked:
                self._cache.put(self._key(text), (current[text],))
        return known | current

    def _key(self, text: str) -> tuple[object, ...]:
        versions = (self._way.version, MARKS_VERSION, self._glossary_version, boundary_digest(self._boundary))
        languages = (self._source, self._target, *self._way.languages)
        return (self._way.name, versions, languages, self._tenant_id, self._domain, text)

    def _translation(self, text: str, masked: Masked, outputs: Mapping[str, str | None]) -> Translation | None:
        if not masked.has_words and not masked.terms:
            return None
        output = outputs[masked.text] if masked.has_words else masked.text
        if output is None:
            return None
        back = unmask(output, masked)
        # Nothing but names and terms: the glossary alone has translated it.
        way = self._way if masked.has_words else None
        told = (way.name, way.model, way.version) if way else ("glossary", "glossary", MARKS_VERSION)
        identity = [text, self._source, self._target, told, self._glossary_version, back.text]
        return Translation(
            text=back.text,
            source_language=self._source,
            target_language=self._target,
            translator=told[0],
            model=told[1],
            version=told[2],
            glossary_version=self._glossary_version,
            translation_id=digest_of(identity, length=ID_LENGTH),
            route=self._way.languages if way else (self._source, self._target),
            damaged=(*(masked.shown[number] for number in back.damaged), *back.invented),
            reordered=not back.in_order,
        )
