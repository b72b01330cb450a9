"""Replaces glossary terms by their translation and leaves the rest of a text as it is."""

from collections.abc import Sequence

from babelray.config import GlossaryTranslatorSettings
from babelray.glossary.term_lookup import TermLookup


class GlossaryTranslator:
    """A `Translator` that needs no engine: for words that are searched, half a translation finds more than none.

    Args:
        settings: Its name.
        lookup: The terms.
    """

    external = False
    model = "glossary"
    version = "substitution-1"

    def __init__(self, settings: GlossaryTranslatorSettings, lookup: TermLookup) -> None:
        self.name = settings.name
        self.glossary_version: str | None = lookup.version
        self._lookup = lookup

    def pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of the terms, `*` for any target."""
        return self._lookup.pairs

    def knows(self, source: str, target: str) -> bool:
        """Whether any term is for the pair."""
        return self._lookup.knows(source, target)

    def translate(
        self, texts: Sequence[str], source: str, target: str, *, tenant_id: str, domain: str = ""
    ) -> list[str | None]:
        """Each text with its terms replaced; None where it has none."""
        return [self._substituted(text, source, target, tenant_id, domain) for text in texts]

    def _substituted(self, text: str, source: str, target: str, tenant_id: str, domain: str) -> str | None:
        matches = self._lookup.find(text, source, target, tenant_id, domain)
        if not matches:
            return None
        pieces: list[str] = []
        done = 0
        for match in matches:
            pieces += (text[done : match.start], match.term.rendering)
            done = match.end
        return "".join(pieces) + text[done:]
