"""Where an answer stands: a span of one revision of one document, with the original words and their hash.

A citation is only ever made from the stored original, and checked against it once more before it leaves. A machine
translation can stand beside it; the evidence is always the original.
"""

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import numpy as np
from pydantic import Field

from babelray.errors import InputError, IntegrityError
from babelray.index.access import CompiledScope
from babelray.index.reader import Hit, OpenGeneration
from babelray.keys import digest_of
from babelray.retrieval.query import Record
from babelray.text.projection import project
from babelray.text.types import Cut

UNDETERMINED = "und"
_CELLS = ("doc_id", "source_uri", "source_revision", "title", "updated_at", "text")


class Citation(Record):
    """A piece of an original document.

    Attributes:
        citation_id: Of document, revision and span, so the same in every generation that holds them.
        start, end: Code points; `text[start:end] == original_quote` in that revision.
        quote_sha256: Of the quote in UTF-8, so that a copy can be checked later.
        source_language: BCP 47, of the largest part of the quote; `zxx` if all of it is code.
        section_path: Headings above the beginning of the quote, outermost first.
    """

    citation_id: str
    doc_id: str
    source_uri: str
    source_revision: str
    generation: str
    start: int = Field(ge=0)
    end: int = Field(ge=1)
    original_quote: str
    quote_sha256: str
    source_language: str
    title: str = ""
    section_path: tuple[str, ...] = ()
    updated_at: datetime | None = None


class Preview(Record):
    """A machine translation of a citation: help for a reader, never evidence.

    Attributes:
        translator: Who translated; `model`, `version` and `glossary_version` say with what.
        machine_made: Always true, so that no renderer can forget it.
    """

    citation_id: str
    source_revision: str
    text: str
    source_language: str
    target_language: str
    translator: str
    model: str
    version: str
    glossary_version: str | None = None
    translation_id: str = ""
    machine_made: Literal[True] = True


@dataclass(frozen=True, slots=True)
class CitedText:
    """A citation, and what is needed to say what a reader sees of its span."""

    citation: Citation
    text: str = field(repr=False)
    blocks: Sequence["_Block"] = field(repr=False)

    def content(self) -> str:
        """The quote without markup, comments and what else the document does not show, blocks on lines of their own.

        That is what models and previews read; it is worked out only for who asks.
        """
        return _content(self.text, self.blocks, self.citation.start, self.citation.end)


@dataclass(frozen=True, slots=True)
class _Block:
    start: int
    end: int
    language: str
    section_path: tuple[str, ...]
    cuts: tuple[Cut, ...]


def cite(generation: OpenGeneration, hit: Hit, start: int, end: int, scope: CompiledScope) -> Citation:
    """Cite a span of the document of a hit.

    Args:
        generation: Where the hit is from.
        hit: Any chunk of the document.
        start: Code point of the document's text.
        end: First code point after the span.
        scope: What the caller may see; the hit's row is checked.

    Raises:
        AccessDenied: The row is outside the scope; counted in `generation.violations`.
        InputError: The span is empty or leaves the document.
        IntegrityError: The quote is not what stands in the document.
    """
    return cite_spans(generation, hit, [(start, end)], scope)[0].citation


def cite_spans(
    generation: OpenGeneration, hit: Hit, spans: Sequence[tuple[int, int]], scope: CompiledScope
) -> list[CitedText]:
    """Cite several spans of one document, which is read once, with what they show; otherwise as `cite`."""
    segment = generation.segments[hit.segment]
    generation.check(hit.segment, np.array([hit.row], dtype=np.int64), scope)
    row = int(segment.access.documents[hit.row])
    cells = {name: segment.documents[name][row].as_py() for name in _CELLS}
    blocks = _blocks_of(segment.documents["blocks"][row].values, spans)
    made = []
    for start, end in spans:
        citation = _citation(cells, blocks, generation.manifest.generation, start, end)
        verify(citation, cells["text"])
        made.append(CitedText(citation, cells["text"], blocks))
    return made


def verify(citation: Citation, text: str) -> None:
    """Compare a citation with the text of its document's revision; done for each one before it leaves.

    Raises:
        IntegrityError: The quote does not stand there, or is not what its hash says.
    """
    stands = text[citation.start : citation.end]
    if stands != citation.original_quote or quote_hash(stands) != citation.quote_sha256:
        raise IntegrityError(
            "a quote is not what stands in its document",
            where=f"{citation.doc_id}, revision {citation.source_revision}, {citation.start}..{citation.end}",
            got=f"sha256 {quote_hash(citation.original_quote)}",
            allowed=f"sha256 {quote_hash(stands)}",
            fix="run `babelray generations verify --deep`; a citation of another revision needs that revision's text",
        )


def quote_hash(quote: str) -> str:
    """The sha256 of a quote's UTF-8, in hex."""
    return hashlib.sha256(quote.encode("utf-8", "surrogatepass")).hexdigest()


def _citation(cells: dict[str, Any], blocks: Sequence[_Block], generation: str, start: int, end: int) -> Citation:
    text = cells["text"]
    if not 0 <= start < end <= len(text):
        raise InputError(
            "a span does not lie in its document", where=cells["doc_id"], got=(start, end), allowed=f"0..{len(text)}"
        )
    quote = text[start:end]
    touched = _touched(blocks, start, end)
    return Citation(
        citation_id=digest_of([cells["doc_id"], cells["source_revision"], start, end, quote_hash(quote)], length=32),
        doc_id=cells["doc_id"],
        source_uri=cells["source_uri"],
        source_revision=cells["source_revision"],
        generation=generation,
        start=start,
        end=end,
        original_quote=quote,
        quote_sha256=quote_hash(quote),
        source_language=_language(touched, start, end),
        title=cells["title"],
        section_path=touched[0].section_path if touched else (),
        updated_at=cells["updated_at"],
    )


def _language(touched: Sequence[_Block], start: int, end: int) -> str:
    """The language of most characters, of equal ones the first by name; code only where there is nothing else."""
    sizes: Counter[str] = Counter()
    for block in touched:
        sizes[block.language] += min(end, block.end) - max(start, block.start)
    ordered = sorted(sizes, key=lambda language: (language == "zxx", -sizes[language], language))
    return ordered[0] if ordered else UNDETERMINED


def _content(text: str, blocks: Sequence[_Block], start: int, end: int) -> str:
    parts = (
        project(text, max(start, block.start), min(end, block.end), block.cuts).text.strip()
        for block in _touched(blocks, start, end)
    )
    return "\n".join(part for part in parts if part)


def _touched(blocks: Sequence[_Block], start: int, end: int) -> list[_Block]:
    first = bisect_right(blocks, start, key=lambda block: block.end)
    touched = []
    for block in blocks[first:]:
        if block.start >= end:
            break
        touched.append(block)
    return touched


def _blocks_of(values: Any | None, spans: Sequence[tuple[int, int]]) -> list[_Block]:
    """The blocks of a document, an Arrow array of structs, that spans may touch: a long document has hundreds."""
    if values is None or not spans:
        return []
    starts, ends = (values.field(name).to_numpy(zero_copy_only=False) for name in ("start", "end"))
    first = int(np.searchsorted(ends, min(start for start, _ in spans), side="right"))
    last = int(np.searchsorted(starts, max(end for _, end in spans), side="left"))
    return _blocks(values.slice(first, max(last - first, 0)).to_pylist())


def _blocks(cells: Sequence[dict[str, Any]]) -> list[_Block]:
    return [
        _Block(
            cell["start"],
            cell["end"],
            cell["language"],
            tuple(cell["section_path"]),
            tuple(Cut(cut["start"], cut["end"], cut["replacement"]) for cut in cell["cuts"]),
        )
        for cell in cells
    ]
