"""Who searches the indexes of a generation's segments: this process, or others that hold them (`serve/shards.py`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from babelray.index.access import CompiledScope
from babelray.index.lexical import LexicalPart
from babelray.index.open_segment import OpenSegment
from babelray.index.vector_report import SearchPlan
from babelray.index.vectors import Floats, Found


@dataclass(frozen=True, slots=True, eq=False)
class DenseQuestion:
    """Which chunks are nearest to a vector.

    Attributes:
        vector: float32 (dimension,), unit length.
        plan: How each index is asked.
    """

    vector: Floats
    plan: SearchPlan


@dataclass(frozen=True, slots=True)
class WordQuestion:
    """Which chunks hold words.

    Attributes:
        parts: Alternatives whose scores add up.
    """

    parts: Sequence[LexicalPart]


SegmentQuestion = DenseQuestion | WordQuestion


class SegmentSearch(Protocol):
    """Answers a question in every segment of one generation."""

    @property
    def concurrent(self) -> bool:
        """Whether several questions should be asked side by side: they wait for others, not for this processor."""
        ...

    def search(self, question: SegmentQuestion, scope: CompiledScope, k: int) -> Sequence[Found]:
        """For each segment, in the manifest's order, its k best rows that the scope allows."""
        ...


class LocalSearch:
    """Searches one segment after the other in this process.

    Args:
        segments: In the manifest's order.
    """

    concurrent = False

    def __init__(self, segments: Sequence[OpenSegment]) -> None:
        self._segments = segments

    def search(self, question: SegmentQuestion, scope: CompiledScope, k: int) -> list[Found]:
        """As the protocol."""
        return [search_segment(one, question, scope, k) for one in self._segments]


def search_segment(segment: OpenSegment, question: SegmentQuestion, scope: CompiledScope, k: int) -> Found:
    """The k best rows of one segment; not yet checked on the way out."""
    if isinstance(question, DenseQuestion):
        return segment.search_dense(question.vector, scope, k, question.plan)
    return segment.search_lexical(question.parts, scope, k)
