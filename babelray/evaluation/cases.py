"""Test collections as they lie on disk: passages with queries to rank, documents with questions and their evidence."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from babelray.errors import InputError

T = TypeVar("T")
Span = tuple[int, int]
"""Start and end, code points of a document's text."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One unit that a ranking can hold.

    Attributes:
        group: Passages that say the same in other languages share it.
    """

    passage_id: str
    group: str
    language: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class RankingCase:
    """A query with the group of passages that answer it.

    Attributes:
        kind: Origin of the query: `question`, `heading` or `definition`.
    """

    case_id: str
    language: str
    query: str
    group: str
    kind: str = "question"


@dataclass(frozen=True, slots=True)
class RankingSet:
    """Passages and the queries on them."""

    passages: tuple[Passage, ...]
    cases: tuple[RankingCase, ...]

    def judgements(self, query_language: str, passage_language: str) -> dict[str, dict[str, int]]:
        """Case -> passage -> 1, for the cases of one language and the passages of another."""
        relevant: dict[str, list[str]] = {}
        for passage in self.passages:
            if passage.language == passage_language:
                relevant.setdefault(passage.group, []).append(passage.passage_id)
        return {
            case.case_id: dict.fromkeys(relevant[case.group], 1)
            for case in self.cases
            if case.language == query_language and case.group in relevant
        }


@dataclass(frozen=True, slots=True)
class EvidenceDocument:
    """A text with the spans of its sentences, as the collection splits it."""

    doc_id: str
    language: str
    title: str
    text: str
    sentences: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class EvidenceCase:
    """A question and the sentences that answer it.

    Attributes:
        doc_id: The document that was read for the answer.
        evidence: Spans of whole sentences, sorted and disjoint; empty for a question without an answer.
    """

    case_id: str
    group: str
    language: str
    question: str
    doc_id: str
    answerable: bool
    evidence: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class EvidenceSet:
    """Documents and the questions on them."""

    documents: tuple[EvidenceDocument, ...]
    cases: tuple[EvidenceCase, ...]

    def pair(self, query_language: str, document_language: str) -> "EvidenceSet":
        """Documents of one language with the questions put in another; a question without a translation is left out."""
        asked = {case.group: case.question for case in self.cases if case.language == query_language}
        return EvidenceSet(
            tuple(one for one in self.documents if one.language == document_language),
            tuple(
                replace(case, language=query_language, question=asked[case.group])
                for case in self.cases
                if case.language == document_language and case.group in asked
            ),
        )


def load_xquad(folder: Path) -> RankingSet:
    """Parallel paragraphs and questions.

    Raises:
        InputError: A file or a field is missing or broken.
    """
    return RankingSet(
        _read(
            folder / "passages.jsonl",
            lambda row: Passage(row["id"], row["group_id"], row["lang"], row["title"], row["text"]),
        ),
        _read(
            folder / "queries.jsonl",
            lambda row: RankingCase(row["id"], row["lang"], row["question"], row["gold_group"]),
        ),
    )


def load_k8s_xretrieval(folder: Path) -> RankingSet:
    """Sections of documentation, and headings in other languages; without generic headings and doubtful alignments.

    Raises:
        InputError: A file or a field is missing or broken.
    """
    rows = _read(folder / "queries.jsonl", lambda row: row)
    kept = [row for row in rows if not row.get("generic") and row.get("anchor_ok", True)]
    return RankingSet(
        _read(
            folder / "passages.jsonl",
            lambda row: Passage(
                row["id"], row["group_id"], row["lang"], " > ".join(filter(None, (row["title"], row["heading"]))),
                row["text"],
            ),
        ),
        tuple(RankingCase(row["id"], row["lang"], row["query"], row["gold_group"], row["kind"]) for row in kept),
    )  # fmt: skip


def load_xquad_long(folder: Path) -> EvidenceSet:
    """Whole articles; the evidence of a question is the sentences that its answer touches.

    Raises:
        InputError: A file or a field is missing or broken.
    """
    documents = _read(
        folder / "docs.jsonl",
        lambda row: EvidenceDocument(
            row["id"], row["lang"], row["title"], row["text"], tuple((start, end) for start, end in row["sentences"])
        ),
    )
    by_id = {one.doc_id: one for one in documents}

    def case(row: Mapping[str, Any]) -> EvidenceCase:
        spans = by_id[row["doc"]].sentences
        evidence = tuple(spans[number] for number in sorted(row["answer"]["sentences"]))
        return EvidenceCase(row["id"], row["group_id"], row["lang"], row["question"], row["doc"], True, evidence)

    return EvidenceSet(documents, _read(folder / "queries.jsonl", case))


def load_clapnq(folder: Path) -> EvidenceSet:
    """Passages with human evidence: a sentence is evidence when any annotator marked it.

    A question marked as answerable without any marked sentence is left out.

    Raises:
        InputError: A file or a field is missing or broken.
    """
    documents = _read(
        folder / "docs.jsonl",
        lambda row: EvidenceDocument(
            row["id"], row["lang"], row["title"], row["text"], tuple(_located(row["text"], row["sentences"]))
        ),
    )
    by_id = {one.doc_id: one for one in documents}

    def case(row: Mapping[str, Any]) -> EvidenceCase:
        spans = by_id[row["doc"]].sentences
        marked = sorted({number for output in row["outputs"] for number in output["evidence"]})
        return EvidenceCase(
            row["id"], row["id"], row["lang"], row["question"], row["doc"], row["answerable"],
            tuple(spans[number] for number in marked),
        )  # fmt: skip

    cases = _read(folder / "queries.jsonl", case)
    return EvidenceSet(documents, tuple(one for one in cases if bool(one.evidence) == one.answerable))


def _located(text: str, sentences: list[str]) -> Iterator[Span]:
    at = 0
    for sentence in sentences:
        start = text.index(sentence, at)
        at = start + len(sentence)
        yield start, at


def _read(path: Path, make: Callable[[Mapping[str, Any]], T]) -> tuple[T, ...]:
    try:
        # Not `splitlines`: a JSON string may hold U+2028 as it is.
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line]
    except OSError as error:
        raise InputError("cannot read a file of the collection", where=path, got=error.strerror) from error
    made = []
    for number, line in enumerate(lines, 1):
        try:
            made.append(make(json.loads(line)))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise InputError(
                "a row of the collection is not what it should be",
                where=f"{path}, line {number}",
                got=f"{type(error).__name__}: {error}"[:200],
            ) from error
    return tuple(made)
