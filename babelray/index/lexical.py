"""The word index of one segment, in Tantivy, over text that `babelray.text.analysis` has cut into terms.

Tantivy never tokenizes: the same function makes the terms at build and at query. Row numbers come back as a fast
field; nothing is stored. Word statistics are those of the whole segment, whatever the scope.
"""

import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tantivy as _tantivy
from numpy.typing import NDArray

from babelray.errors import IntegrityError
from babelray.index.row_access import LexicalFilter
from babelray.index.vectors import Found
from babelray.text.analysis import analyze, exact_terms
from babelray.text.anchors import exact_tokens, find_anchors

# Tantivy's enum types are declared in its stubs in a way that strict checking cannot follow.
tantivy: Any = _tantivy

FieldName = Literal["text", "general", "title", "section", "exact"]
WRITER_BYTES = 128 * 2**20
"""Memory of the writer before it flushes."""

_REMOVALS = 100
"""Attempts to remove the folder of links, 5 ms apart."""

UNFILTERED = LexicalFilter(classes=None, blocked=(), admitted=(), as_of=None)
"""For who takes the rows outside the scope out afterwards."""

Term = tuple[str, int]
"""A term and its position."""


@dataclass(frozen=True, slots=True)
class LexicalRow:
    """What of one chunk goes into the word index, cut into terms.

    Attributes:
        text: Stems of the chunk, by its language.
        general: Its words without stemming, the same for every language.
        title: Terms of the document's title, stemmed and not.
        section: Terms of the headings above, stemmed and not.
        exact: Codes, identifiers, versions, as written.
        access_class, document, valid_from, valid_to: As in the row columns.
    """

    text: Sequence[Term]
    general: Sequence[Term]
    title: Sequence[Term]
    section: Sequence[Term]
    exact: Sequence[Term]
    access_class: int
    document: int
    valid_from: int | None = None
    valid_to: int | None = None


@dataclass(frozen=True, slots=True)
class LexicalPart:
    """Terms looked for in one field; the parts of a query are alternatives whose scores add up.

    Attributes:
        phrase: The terms must follow one another, at `offsets` where those are given.
    """

    field: FieldName
    terms: tuple[str, ...]
    boost: float = 1.0
    phrase: bool = False
    offsets: tuple[int, ...] = ()


def stemmed_terms(text: str, language: str) -> list[Term]:
    """Terms of the `text` field."""
    return [(token.text, token.position) for token in analyze(text, language, "stemmed")]


def general_terms(text: str) -> list[Term]:
    """Terms of the `general` field: no language is asked for, so that a query of any language meets them."""
    return [(token.text, token.position) for token in analyze(text, "und", "general")]


def heading_terms(text: str, language: str) -> list[Term]:
    """Terms of titles and section paths: stems and words together, since a query's language is often a guess."""
    return sorted({*stemmed_terms(text, language), *general_terms(text)}, key=lambda term: (term[1], term[0]))


def exact_field_terms(tokens: Iterable[str]) -> list[Term]:
    """Terms of the `exact` field: each token as written, and the normalized forms of what it is, one position each.

    Args:
        tokens: Values of anchors, as `exact_tokens` finds them in a chunk or a query.
    """
    terms: dict[str, None] = {}
    for token in tokens:
        terms[token] = None
        terms.update(dict.fromkeys(exact_terms(find_anchors(token))))
    return [(term, position) for position, term in enumerate(terms)]


def word_parts(text: str, languages: Sequence[str]) -> list[LexicalPart]:
    """Words by language: stems for each language that the text may be in, in the text and in headings.

    Args:
        text: A query or a translation of one.
        languages: BCP 47 tags, most probable first; empty where nothing can be said.
    """
    stems = _unique(term for language in languages for term, _ in stemmed_terms(text, language))
    parts = [
        LexicalPart("text", stems),
        LexicalPart("title", stems, boost=0.8),
        LexicalPart("section", stems, boost=0.4),
    ]
    return [part for part in parts if part.terms]


def general_parts(text: str) -> list[LexicalPart]:
    """Words without a language, in the text and in headings."""
    words = _unique(term for term, _ in general_terms(text))
    parts = [
        LexicalPart("general", words),
        LexicalPart("title", words, boost=0.8),
        LexicalPart("section", words, boost=0.4),
    ]
    return [part for part in parts if part.terms]


def exact_parts(text: str) -> list[LexicalPart]:
    """Codes and identifiers of a text, as written."""
    terms = _unique(term for term, _ in exact_field_terms(exact_tokens(text)))
    return [LexicalPart("exact", terms)] if terms else []


def query_parts(text: str, languages: Sequence[str]) -> list[LexicalPart]:
    """A plain query in one list: stems, general words, headings and exact tokens, alternatives whose scores add up."""
    return [*word_parts(text, languages), *general_parts(text), *exact_parts(text)]


def phrase_part(text: str, boost: float = 1.0) -> LexicalPart | None:
    """A text whose words must follow one another, in any language; `None` where it holds no word."""
    # Of terms that share a position, the last one is the part that other spellings have too.
    by_position = {position: term for term, position in general_terms(text)}
    if not by_position:
        return None
    first = min(by_position)
    return LexicalPart(
        "general",
        tuple(by_position[position] for position in sorted(by_position)),
        boost,
        phrase=len(by_position) > 1,
        offsets=tuple(position - first for position in sorted(by_position)),
    )


def _unique(terms: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(terms))


def _schema() -> Any:
    builder = tantivy.SchemaBuilder()
    for name in ("text", "general", "title", "section"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="position")
    builder.add_text_field("exact", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("access_class", indexed=True)
    builder.add_unsigned_field("document", indexed=True)
    builder.add_integer_field("valid_from", fast=True)
    builder.add_integer_field("valid_to", fast=True)
    builder.add_unsigned_field("row", fast=True)
    return builder.build()


class LexicalBuilder:
    """Writes the word index of one segment.

    Args:
        folder: Empty folder for its files.
        threads: 1 gives the same index each time, file names aside.
    """

    def __init__(self, folder: Path, threads: int = 1) -> None:
        self._index = tantivy.Index(_schema(), path=str(folder))
        self._writer = self._index.writer(heap_size=WRITER_BYTES * threads, num_threads=threads)
        self._folder = folder
        self.rows = 0

    def add(self, row: LexicalRow) -> None:
        """Append the next row."""
        document = tantivy.Document()
        for name in ("text", "general", "title", "section", "exact"):
            tokens = [tantivy.Token(term, position, 0, 0) for term, position in getattr(row, name)]
            if tokens:
                document.add_pre_tokenized_text(name, tantivy.PreTokenizedString("", tokens))
        document.add_unsigned("access_class", row.access_class)
        document.add_unsigned("document", row.document)
        document.add_unsigned("row", self.rows)
        if row.valid_from is not None:
            document.add_integer("valid_from", row.valid_from)
        if row.valid_to is not None:
            document.add_integer("valid_to", row.valid_to)
        self._writer.add_document(document)
        self.rows += 1

    def close(self) -> list[Path]:
        """Commit, wait for merges, and return the files of the index, without Tantivy's lock files."""
        self._writer.commit()
        self._writer.wait_merging_threads()
        return sorted(path for path in self._folder.iterdir() if path.suffix != ".lock")


@contextmanager
def _short_lived_folder() -> Iterator[Path]:
    """A folder that is gone afterwards, though a thread of Tantivy may once more put its lock file there meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="babelray-lexical-"))
    try:
        yield folder
    finally:
        for _ in range(_REMOVALS):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.005)


class SegmentLexical:
    """The word index of one segment, opened for search.

    Tantivy makes a lock file where it opens an index. Published folders are never written to, so it is given a
    private folder of links instead, and only for as long as opening takes: everything is mapped by then, and a process
    that is killed later leaves nothing behind.

    Args:
        files: The files of the index.
        rows: Rows that the segment holds.

    Raises:
        IntegrityError: The files are no such index, or hold another number of rows.
    """

    def __init__(self, files: Sequence[Path], rows: int) -> None:
        where = files[0].parent if files else None
        with _short_lived_folder() as links:
            for path in files:
                (links / path.name).symlink_to(path.resolve())
            try:
                self._index = tantivy.Index.open(str(links))
                # No thread may look for commits: there are none, and the folder is about to go.
                self._index.config_reader(reload_policy="manual")
                self._searcher = self._index.searcher()
            except (ValueError, OSError) as error:
                raise IntegrityError(
                    "not a word index that Tantivy can open", where=where, got=str(error)[:200]
                ) from error
        self._schema = self._index.schema
        if self._searcher.num_docs != rows:
            raise IntegrityError(
                "the word index and the segment disagree", where=where, got=self._searcher.num_docs, allowed=rows
            )

    def search(self, parts: Sequence[LexicalPart], scope: LexicalFilter, k: int) -> Found:
        """The best rows that match any part and pass the filter.

        Args:
            parts: Alternatives; their BM25 scores add up.
            scope: A compiled scope in this segment's numbers.
            k: Results wanted.
        """
        words = [clause for part in parts for clause in self._words(part)]
        if not words or scope.empty or k < 1:
            return Found(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
        should = tantivy.Occur.Should
        matching = tantivy.Query.boolean_query([(should, one) for one in words])
        clauses = [(tantivy.Occur.Must, matching), *self._scope(scope)]
        query = tantivy.Query.boolean_query(clauses) if len(clauses) > 1 else matching
        hits = self._searcher.search(query, limit=k, count=False).hits
        addresses = [address for _, address in hits]
        rows: NDArray[np.int64] = np.array(self._searcher.fast_field_values("row", addresses), dtype=np.int64)
        scores = np.array([score for score, _ in hits], dtype=np.float32)
        order = np.lexsort((rows, -scores))
        return Found(rows[order], scores[order])

    def _words(self, part: LexicalPart) -> list[Any]:
        query = tantivy.Query
        if part.phrase and len(part.terms) > 1:
            words = list(zip(part.offsets or range(len(part.terms)), part.terms, strict=True))
            return [query.boost_query(query.phrase_query(self._schema, part.field, words), part.boost)]
        option = "basic" if part.field == "exact" else "position"
        return [
            query.boost_query(query.term_query(self._schema, part.field, term, option), part.boost)
            for term in part.terms
        ]

    def _scope(self, scope: LexicalFilter) -> list[tuple[Any, Any]]:
        """The clauses of a filter; they add nothing to a score."""
        query, must, must_not = tantivy.Query, tantivy.Occur.Must, tantivy.Occur.MustNot
        clauses: list[tuple[Any, Any]] = []
        by_class = None
        if scope.classes is not None:
            by_class = query.term_set_query(self._schema, "access_class", list(scope.classes))
        if scope.admitted:
            either = self._either(by_class, scope)
            clauses.append((must, query.const_score_query(either, 0.0)))
        else:
            if by_class is not None:
                clauses.append((must, query.const_score_query(by_class, 0.0)))
            if scope.blocked:
                clauses.append((must_not, query.term_set_query(self._schema, "document", list(scope.blocked))))
        if scope.as_of is not None:
            integer = tantivy.FieldType.Integer
            late = query.range_query(self._schema, "valid_from", integer, lower_bound=scope.as_of, include_lower=False)
            over = query.range_query(self._schema, "valid_to", integer, upper_bound=scope.as_of, include_upper=True)
            clauses += [(must_not, late), (must_not, over)]
        return clauses

    def _either(self, by_class: Any | None, scope: LexicalFilter) -> Any:
        """Rows of an allowed class that are not blocked, or rows that an override lets in."""
        query, occur = tantivy.Query, tantivy.Occur
        blocked = query.term_set_query(self._schema, "document", list(scope.blocked))
        ordinary = query.boolean_query(
            [(occur.Must, query.all_query() if by_class is None else by_class), (occur.MustNot, blocked)]
        )
        admitted = query.term_set_query(self._schema, "document", list(scope.admitted))
        return query.boolean_query([(occur.Should, ordinary), (occur.Should, admitted)])
