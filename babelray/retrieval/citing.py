"""From drafts to passages: each cited in the original, its quote verified, with a preview where one is asked for."""

from collections.abc import Sequence

from babelray.index.access import CompiledScope
from babelray.index.reader import Hit, OpenGeneration
from babelray.retrieval.candidates import places_of
from babelray.retrieval.citations import cite
from babelray.retrieval.passages import Draft
from babelray.retrieval.request import Passage


def cite_passages(generation: OpenGeneration, drafts: Sequence[Draft], compiled: CompiledScope) -> list[Passage]:
    """Passages with verified quotes, in the order of the drafts.

    Raises:
        AccessDenied: A document is outside the scope; nothing is returned.
        IntegrityError: A quote is not what stands in the original.
    """
    passages = []
    for rank, draft in enumerate(drafts, start=1):
        segment, row = draft.candidate.place
        hit = Hit(segment, row, draft.score)
        (record,) = generation.records([hit], compiled)
        passages.append(
            Passage(
                rank=rank,
                score=draft.score,
                citation=cite(generation, hit, draft.start, draft.end, compiled),
                tokens=draft.tokens,
                seeds=draft.seeds,
                channels=places_of(draft.candidate),
                chunk_id=record.chunk_id,
                knowledge_base_id=record.knowledge_base_id,
            )
        )
    return passages
