"""From settings to a `Localizer`: the command line, the backlog job and the endpoint all start here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from babelray.config import HttpTranslatorSettings, Settings, TranslationSettings
from babelray.errors import ConfigError
from babelray.glossary.calibration.thresholds_store import current_thresholds
from babelray.glossary.generation import GlossaryGenerations, OpenGlossary
from babelray.glossary.hints import HintFinder, LiveSearch, build_hint_index
from babelray.glossary.localizing import Localizer
from babelray.glossary.match import TermMatcher
from babelray.glossary.profile import EngineProfile, load_profile
from babelray.glossary.store import GlossaryStore, open_glossaries
from babelray.glossary.terms import Term
from babelray.glossary.translating import BoundTranslator
from babelray.glossary.vector_cache import NGramVectors, read_vectors
from babelray.index.golden import check_golden
from babelray.index.store import open_store
from models.localizers.by_route import RoutedTranslator
from models.localizers.chat import ChatTranslator
from models.localizers.marked import MarkedTranslator
from models.registry import build_embedder, ensure_on_node, model_key
from models.translators.registry import build_translator
from models.translators.router import TranslationRouter


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a profile's glossaries, and which versions they are."""

    terms: tuple[Term, ...]
    versions: Mapping[str, int]


def glossary_database(settings: Settings) -> str:
    """SQLAlchemy URL of the glossaries.

    Raises:
        ConfigError: None is named, and the store is not a folder that one could lie beside.
    """
    if settings.localization.database is not None:
        return settings.localization.database
    if "://" in settings.store:
        fix = "set localization.database, for example sqlite:////data/glossaries.sqlite"
        raise ConfigError("a glossary database cannot lie in an object store", got=settings.store, fix=fix)
    return f"sqlite:///{Path(settings.store).parent / 'glossaries.sqlite'}"


def profile_of(settings: Settings) -> EngineProfile:
    """The configured profile, or one that only names the glossaries."""
    localization = settings.localization
    if localization.profile is not None:
        return load_profile(localization.profile)
    return EngineProfile(name=localization.name, glossaries=localization.glossaries)


def glossary_versions(settings: Settings, profile: EngineProfile) -> dict[str, int]:
    """The newest version of each glossary of the profile; cheap to ask, to learn whether anything changed.

    Raises:
        InputError: There is no such glossary.
    """
    store = open_glossaries(glossary_database(settings))
    return {name: store.version(name).version for name in settings.localization.glossaries or profile.glossaries}


def load_terms(settings: Settings, profile: EngineProfile, versions: Mapping[str, int] | None = None) -> Terms:
    """Terms of the profile's glossaries.

    Args:
        settings: Their database, and glossaries in place of the profile's.
        profile: Its glossaries, unless the settings name others.
        versions: Which to take; the newest by default.

    Raises:
        ConfigError: No glossary is named.
        InputError: There is no such glossary or version.
    """
    names = settings.localization.glossaries or profile.glossaries
    if not names:
        fix = "set localization.glossaries, or `glossaries` in the profile; `babelray glossary list` shows them"
        raise ConfigError("no glossary is named", where="localization.glossaries", fix=fix)
    store: GlossaryStore = open_glossaries(glossary_database(settings))
    infos = [store.version(name, (versions or {}).get(name)) for name in names]
    terms = [term for info in infos for term in store.terms(info.glossary, info.version)]
    return Terms(tuple(terms), {info.glossary: info.version for info in infos})


def build_translator_of_profile(
    settings: TranslationSettings | None, profile: EngineProfile, terms: Sequence[Term]
) -> BoundTranslator | None:
    """Everything that a profile may have strings translated by; None where nothing is configured.

    The translator of kind `glossary` is none of them: terms are bound for every engine, and by themselves they
    translate no sentence.

    Raises:
        ConfigError: A route names a translator that is not configured, or one cannot be used as it is set.
    """
    configured = [] if settings is None else [one for one in settings.translators if one.kind != "glossary"]
    if settings is None or not configured:
        return None
    # The profile says what may leave, whatever boundaries of tenants the settings hold.
    bounded = settings.model_copy(update={"boundaries": {profile.tenant_id: profile.boundary}})
    translators: dict[str, BoundTranslator] = {}
    engines = []
    for one in configured:
        if isinstance(one, HttpTranslatorSettings):
            translators[one.name] = ChatTranslator(one, profile)
        else:
            engines.append(build_translator(one, terms))
    wanted = {name for route in profile.routes for name in route.translators}
    for engine in engines:
        # By itself, so that a profile's route can name it; the settings' routes join engines where no profile does.
        alone = bounded.model_copy(update={"routes": ()})
        translators[engine.name] = MarkedTranslator(
            TranslationRouter(alone, [engine]), engine.name, external=engine.external
        )
    if settings.routes:
        joined = TranslationRouter(bounded, engines)
        external = any(engine.external for engine in engines)
        translators = {"routes": MarkedTranslator(joined, "routes", external=external), **translators}
    unknown = sorted(wanted - translators.keys())
    if unknown:
        raise ConfigError(
            "a route of the profile names a translator that is not configured",
            where=f"profile {profile.name}",
            got=", ".join(unknown),
            allowed=", ".join(translators),
            fix="add it to localization.translation.translators",
        )
    return RoutedTranslator(translators, profile)


def compiled(settings: Settings, terms: Terms) -> OpenGlossary | None:
    """The glossary generation in force, if it was built of exactly these terms.

    Raises:
        IntegrityError: It is damaged.
    """
    return GlossaryGenerations(open_store(settings.store), settings.localization.name).find(terms.terms)


def build_hints(settings: Settings, matcher: TermMatcher, glossary: OpenGlossary | None = None) -> HintFinder:
    """Hints by the settings' embedder under the thresholds in force; vectors that backfills kept are used.

    Args:
        settings: Embedder, thresholds.
        matcher: Whose terms are hinted at.
        glossary: The matcher's own, with vectors of its forms.

    Raises:
        ConfigError: The embedder cannot be used.
        ModelKeyMismatch: The embedder does not make the vectors that the glossary was built with.
    """
    hints = settings.localization.hints
    store = open_store(settings.store)
    ensure_on_node(settings.embedder, settings.cache_dir)
    key = model_key(settings.embedder, settings.cache_dir)
    embedder = build_embedder(settings.embedder, settings.cache_dir)
    cache = NGramVectors(key, hints.cache_entries)
    read_vectors(store, key, cache)
    index = glossary.hint_index(matcher, key) if glossary else None
    if index is not None and glossary is not None and glossary.manifest.golden is not None:
        check_golden(embedder, glossary.manifest.golden)
    search = LiveSearch(index or build_hint_index(matcher, embedder, cache), embedder, cache)
    thresholds = current_thresholds(store, settings.localization, key)
    return HintFinder(matcher, search, thresholds, hints.per_ngram, hints.margin)


def build_localizer(settings: Settings, source_locale: str, *, terms: Terms | None = None) -> Localizer:
    """A localizer for one source locale; it uses the compiled glossary in force where that is of the same terms.

    Args:
        settings: Profile, glossaries, translators, hints.
        source_locale: BCP 47 of the strings.
        terms: Loaded before; the newest by default.

    Raises:
        ConfigError: A setting names what is not there.
    """
    profile = profile_of(settings)
    known = terms or load_terms(settings, profile)
    glossary = compiled(settings, known)
    matcher = glossary.matcher(source_locale) if glossary else TermMatcher(known.terms, source_locale)
    return Localizer(
        matcher,
        profile,
        build_translator_of_profile(settings.localization.translation, profile, known.terms),
        build_hints(settings, matcher, glossary) if settings.localization.hints.enabled else None,
        glossaries=known.versions,
    )
