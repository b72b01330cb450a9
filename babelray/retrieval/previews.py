"""Machine translations of citations: made only when asked for, kept under all versions that shaped them.

A preview that cannot be made costs nothing but itself: the citation leaves without it, and the answer says so.
"""

from dataclasses import dataclass

from babelray.errors import AccessDenied, InputError, UpstreamError
from babelray.protocols import Translation
from babelray.retrieval.caches import Cache
from babelray.retrieval.citations import UNDETERMINED, Citation, Preview
from babelray.retrieval.degradation import Degradation, Reason
from babelray.retrieval.translation import QueryTranslator

_FALLBACK = "original quote only"
_NO_LANGUAGE = "zxx"


@dataclass(frozen=True, slots=True)
class PreviewResult:
    """A preview, or why there is none.

    Attributes:
        preview: None where it failed, and where none is needed: the quote is in the reader's language already, or is
            nothing but code.
        degradation: Set only where it failed.
    """

    preview: Preview | None = None
    degradation: Degradation | None = None


class Previewer:
    """Translates citations for a reader.

    Args:
        translator: Ways between languages, or None: then every preview that is needed fails with its reason.
        entries: Previews kept in memory.
        glossary_version: Of the terms that the translator uses; a new one makes new previews.
    """

    def __init__(self, translator: QueryTranslator | None, entries: int, glossary_version: str = "") -> None:
        self._translator = translator
        self._glossary_version = glossary_version
        self._kept: Cache[Preview] = Cache(entries)

    def preview(
        self, citation: Citation, target: str, *, tenant_id: str, domain: str = "", content: str | None = None
    ) -> PreviewResult:
        """The translation of one citation.

        Args:
            citation: What to translate.
            target: BCP 47 language of the reader.
            tenant_id: Decides what may leave, and which terms are used.
            domain: Subject, for terminology.
            content: The quote without markup, as `cite_spans` gives it; the quote itself if not given.
        """
        source, shown = citation.source_language, citation.original_quote if content is None else content
        if source == _NO_LANGUAGE or _primary(source) == _primary(target) or not shown.strip():
            return PreviewResult()
        translator = self._translator
        if source == UNDETERMINED:
            return _failed("the language of the quote is not known")
        if translator is None or not translator.can(source, target):
            return _failed(f"there is no translator from {source} to {target}")
        key = (
            citation.citation_id, citation.source_revision, target, translator.version, self._glossary_version,
            tenant_id, domain, shown,
        )  # fmt: skip
        kept = self._kept.get(key)
        if kept is not None:
            return PreviewResult(kept)
        lines = shown.splitlines()
        try:
            # Translators take texts without line breaks; empty lines are kept as they are.
            asked = [line for line in lines if line.strip()]
            answers = translator.translate(asked, source, target, tenant_id=tenant_id, domain=domain)
        except (AccessDenied, InputError, UpstreamError) as error:
            return _failed(f"{error.title}: {error.what}")
        preview = self._joined(citation, target, lines, answers)
        if preview is None:
            return _failed("the translator lost what had to stay as it is, or translated nothing")
        self._kept.put(key, preview)
        return PreviewResult(preview)

    def _joined(
        self, citation: Citation, target: str, lines: list[str], answers: list[Translation | None]
    ) -> Preview | None:
        """One preview of all lines; None where a line came back damaged or none was translated."""
        made = [answer for answer in answers if answer is not None]
        if not made or any(answer.damaged for answer in made):
            return None
        rest = iter(answers)
        shown = []
        for line in lines:
            answer = next(rest) if line.strip() else None
            # A line that there is nothing to translate in stays as it stands.
            shown.append(line if answer is None else answer.text)
        first = made[0]
        return Preview(
            citation_id=citation.citation_id,
            source_revision=citation.source_revision,
            text="\n".join(shown),
            source_language=citation.source_language,
            target_language=target,
            translator=first.translator,
            model=first.model,
            version=first.version,
            glossary_version=first.glossary_version or self._glossary_version or None,
            translation_id=first.translation_id if len(made) == 1 else "",
        )


def _primary(tag: str) -> str:
    return tag.partition("-")[0].lower()


def _failed(detail: str) -> PreviewResult:
    return PreviewResult(degradation=Degradation(Reason.PREVIEW_TRANSLATION_FAILED, _FALLBACK, detail))
