"""From drafts to passages: each cited in the original, its quote verified, with a preview where one is asked for."""

from collections.abc import Sequence

from babelray.index.access import CompiledScope
from babelray.index.reader import Hit, OpenGeneration
from babelray.retrieval.candidates import places_of
from babelray.retrieval.citations import CitedText, cite_spans
from babelray.retrieval.degradation import Degradation
from babelray.retrieval.passages import Draft
from babelray.retrieval.previews import Previewer
from babelray.retrieval.query import Suspicion
from babelray.retrieval.request import Passage
from babelray.text.suspicion import find_suspicions


def cite_passages(
    generation: OpenGeneration, drafts: Sequence[Draft], compiled: CompiledScope
) -> list[tuple[Passage, CitedText]]:
    """Passages with verified quotes in the order of the drafts, each with what can say what its span shows.

    Raises:
        AccessDenied: A document is outside the scope; nothing is returned.
        IntegrityError: A quote is not what stands in the original.
    """
    by_document: dict[tuple[int, int], list[int]] = {}
    for number, draft in enumerate(drafts):
        by_document.setdefault(draft.candidate.document, []).append(number)
    cited: dict[int, CitedText] = {}
    for numbers in by_document.values():
        hit = Hit(*drafts[numbers[0]].candidate.place, score=0.0)
        spans = [(drafts[number].start, drafts[number].end) for number in numbers]
        cited |= dict(zip(numbers, cite_spans(generation, hit, spans, compiled), strict=True))
    return [
        (_passage(generation, number + 1, draft, cited[number]), cited[number]) for number, draft in enumerate(drafts)
    ]


def add_previews(
    passages: Sequence[tuple[Passage, CitedText]], previewer: Previewer, language: str, *, tenant_id: str, domain: str
) -> tuple[list[Passage], list[Degradation]]:
    """Passages with machine translations of their quotes into a language, and which could not be made."""
    shown, failed = [], []
    for passage, cited in passages:
        content = cited.content()
        result = previewer.preview(passage.citation, language, tenant_id=tenant_id, domain=domain, content=content)
        shown.append(passage.model_copy(update={"preview": result.preview}))
        failed += [result.degradation] if result.degradation else []
    return shown, failed


def _passage(generation: OpenGeneration, rank: int, draft: Draft, cited: CitedText) -> Passage:
    segment, row = draft.candidate.place
    opened = generation.segments[segment]
    return Passage(
        rank=rank,
        score=draft.score,
        citation=cited.citation,
        tokens=draft.tokens,
        seeds=draft.seeds,
        channels=places_of(draft.candidate),
        chunk_id=opened.chunks["chunk_id"][row].as_py(),
        suspicions=tuple(
            Suspicion(kind=one.kind, start=draft.start + one.start, end=draft.start + one.end, detail=one.detail)
            for one in find_suspicions(cited.citation.original_quote)
        ),
        knowledge_base_id=opened.documents["knowledge_base_id"][draft.candidate.document[1]].as_py(),
    )
