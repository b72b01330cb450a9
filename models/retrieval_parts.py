"""Puts together what a retriever is made of, from settings: the command line, evaluation and serving all start here."""

from babelray.config import Settings
from babelray.errors import ModelKeyMismatch
from babelray.glossary.store import open_glossaries
from babelray.glossary.terms import Term
from babelray.index.golden import check_golden
from babelray.index.reader import OpenGeneration
from babelray.protocols import Embedder
from babelray.retrieval.aliases import AliasTable, load_entities
from babelray.retrieval.engine import Parts
from babelray.retrieval.sinks import open_sink
from babelray.text.language import LanguagePolicy
from models.identifier import FastTextIdentifier
from models.registry import build_embedder, model_key
from models.rerankers import build_reranker
from models.translators import build_translators


def build_parts(settings: Settings, generation: OpenGeneration) -> Parts:
    """Load everything that searches of one generation need.

    Args:
        settings: Its embedder must be the one that the generation was built with.
        generation: Opened generation.

    Raises:
        ModelKeyMismatch: The settings' embedder is of another vector space; found out before any weight is loaded.
        ConfigError: A setting names a model, a file or a service that cannot be used.
    """
    retrieval = settings.retrieval
    terms = glossary_terms(retrieval.glossary)
    return Parts(
        languages=LanguagePolicy(FastTextIdentifier()),
        settings=retrieval,
        embedder=embedder_of(settings, generation),
        aliases=AliasTable(load_entities(retrieval.entities), terms, pinyin=retrieval.pinyin),
        translator=build_translators(retrieval.translation, terms),
        reranker=build_reranker(retrieval.rerank),
        sink=open_sink(retrieval.plan_sink) if retrieval.plan_sink else None,
    )


def embedder_of(settings: Settings, generation: OpenGeneration) -> Embedder:
    """The settings' embedder, if it is the generation's; compared by key before any weight is loaded."""
    wanted, configured = generation.key, model_key(settings.embedder, settings.cache_dir)
    if configured != wanted:
        raise ModelKeyMismatch(
            "the configured embedder is not the one that this generation was built with",
            where=f"index {generation.manifest.index}, generation {generation.manifest.generation}",
            got=f"{configured.readable()}; different: {', '.join(wanted.differences(configured))}",
            allowed=wanted.readable(),
            fix="pass the settings file of the generation's model with --config, or another --generation",
        )
    embedder = build_embedder(settings.embedder, settings.cache_dir)
    check_golden(embedder, generation.manifest.golden)
    return embedder


def glossary_terms(url: str | None) -> list[Term]:
    """The newest terms of all glossaries of a database; none without a database."""
    if url is None:
        return []
    store = open_glossaries(url)
    return [term for glossary in store.glossaries() for term in store.terms(glossary.glossary)]
