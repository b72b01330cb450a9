"""From settings to translators and the router over them."""

from collections.abc import Sequence
from typing import assert_never

from babelray.config import (
    CommandTranslatorSettings,
    GlossaryTranslatorSettings,
    HttpTranslatorSettings,
    Seq2SeqTranslatorSettings,
    TranslationSettings,
    TranslatorSettings,
)
from babelray.glossary.term_lookup import TermLookup
from babelray.glossary.terms import Term
from babelray.protocols import Translator
from models.translators.router import TranslationRouter

# Torch and transformers take seconds to import: each is loaded only by the kinds that need it.


def build_translators(settings: TranslationSettings, terms: Sequence[Term] = ()) -> TranslationRouter:
    """Load all translators of the settings, and the router over them.

    Args:
        settings: Translators, routes, boundaries.
        terms: Of the glossaries, all tenants.

    Raises:
        ConfigError: A translator, a route or a boundary cannot be used as it is set.
        IntegrityError: A checkpoint is damaged.
    """
    translators = [build_translator(one, terms) for one in settings.translators]
    return TranslationRouter(settings, translators, TermLookup(terms) if terms else None)


def build_translator(settings: TranslatorSettings, terms: Sequence[Term]) -> Translator:
    """Load one translator.

    Raises:
        ConfigError: It cannot be used as it is set.
        IntegrityError: Its checkpoint is damaged.
    """
    match settings:
        case GlossaryTranslatorSettings():
            from models.translators.glossary import GlossaryTranslator

            return GlossaryTranslator(settings, TermLookup(terms, reverse=settings.reverse))
        case CommandTranslatorSettings():
            from models.translators.command import CommandTranslator

            return CommandTranslator(settings)
        case Seq2SeqTranslatorSettings():
            from models.translators.seq2seq import Seq2SeqTranslator

            return Seq2SeqTranslator(settings)
        case HttpTranslatorSettings():
            from models.translators.http import HttpTranslator

            return HttpTranslator(settings)
        case _:
            assert_never(settings)
