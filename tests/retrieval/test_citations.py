import hashlib

import numpy as np
import pytest
from pydantic import ValidationError

from babelray.errors import AccessDenied, InputError, IntegrityError
from babelray.index.access import AccessScope, AccessValues
from babelray.index.access_store import register_classes
from babelray.index.reader import Hit, OpenGeneration
from babelray.index.segment_search import LocalSearch
from babelray.index.store import open_store
from babelray.retrieval.citations import Citation, Preview, cite, cite_spans, verify
from babelray.text.types import Block, BlockKind, Chunk, Cut, Document, PreparedDocument, Sentence
from tests.index.segment_worlds import KEY, NOW, embedded, write_segment

TEXT = "# Größe\n中文段落。<!-- English source --> 第二句。\n`x = 1`\nA short line."


def prepared():
    comment = TEXT.index("<!--"), TEXT.index("-->") + 3
    lines = [0, TEXT.index("中"), TEXT.index("`"), TEXT.index("A short")]
    ends = [lines[1] - 1, lines[2] - 1, lines[3] - 1, len(TEXT)]
    kinds = (BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.CODE, BlockKind.PARAGRAPH)
    cuts = ((Cut(0, 2),), (Cut(*comment),), (), ())
    blocks = tuple(
        Block(kind, start, end, section_path=path, language=language, cuts=cut)
        for kind, start, end, path, language, cut in zip(
            kinds, lines, ends, ((), *[("Größe",)] * 3), ("de", "zh-Hans", "zxx", "en"), cuts, strict=True
        )
    )
    sentences = tuple(Sentence(block.start, block.end, at, 5) for at, block in enumerate(blocks))
    chunk = Chunk("c", 0, len(TEXT), 0, 3, (0, 1, 2, 3), "x", "", ("zh-Hans",), {}, 20)
    document = Document(
        "d", "mem://d", "r7", TEXT, title="Size", tenant_id="a", knowledge_base_id="docs", updated_at=NOW
    )
    return PreparedDocument(document, blocks, sentences, (chunk,))


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path / "store"))


class Manifest:
    """As much of a manifest as reading needs."""

    index, generation, model_key = "main", "g1", KEY


@pytest.fixture
def generation(store, tmp_path):
    class_of = register_classes(store, "main", {AccessValues("a", "docs", ("*",), "active")})
    documents = [prepared()]
    segment, _ = write_segment(
        tmp_path / "0000", [(documents, embedded(np.random.default_rng(0), documents))], class_of
    )
    return OpenGeneration(store, Manifest, [segment], LocalSearch([segment]))


@pytest.fixture
def scope(generation):
    return generation.compile(AccessScope(tenant_id="a", as_of=NOW))


def span(of):
    return TEXT.index(of), TEXT.index(of) + len(of)


def test_a_citation_says_where_the_original_words_stand(generation, scope):
    start, end = span("A short line.")
    citation = cite(generation, Hit(0, 0, 1.0), start, end, scope)
    assert (citation.doc_id, citation.source_uri, citation.source_revision) == ("d", "mem://d", "r7")
    assert (citation.generation, citation.start, citation.end) == ("g1", start, end)
    assert citation.original_quote == TEXT[start:end] == "A short line."
    assert citation.quote_sha256 == hashlib.sha256(b"A short line.").hexdigest()
    assert (citation.source_language, citation.title, citation.section_path) == ("en", "Size", ("Größe",))
    assert citation.updated_at == NOW
    assert Citation.model_validate_json(citation.model_dump_json()) == citation


def test_its_id_is_that_of_the_span_and_nothing_else(generation, scope):
    first, again, other = (cite(generation, Hit(0, 0, score), *where, scope) for score, where in (
        (1.0, span("A short line.")), (0.2, span("A short line.")), (1.0, span("short")),
    ))  # fmt: skip
    assert first == again and first.citation_id != other.citation_id


@pytest.mark.parametrize(
    ("of", "language"),
    [
        ("Größe", "de"),
        ("中文段落。<!-- English source --> 第二句。\n`x = 1`", "zh-Hans"),
        ("`x = 1`", "zxx"),
        ("`x = 1`\nA", "en"),
        ("\n", "und"),
    ],
)
def test_the_language_is_that_of_the_blocks_it_touches(generation, scope, of, language):
    assert cite(generation, Hit(0, 0, 1.0), *span(of), scope).source_language == language


def test_content_is_what_the_document_shows_and_the_quote_what_it_holds(generation, scope):
    spans = [(0, TEXT.index("\n`")), span("A short line.")]
    first, second = cite_spans(generation, Hit(0, 0, 1.0), spans, scope)
    assert first.content() == "Größe\n中文段落。 第二句。"
    assert "<!-- English source -->" in first.citation.original_quote
    assert second.content() == second.citation.original_quote


def test_nobody_cites_what_they_may_not_see(generation):
    stranger = generation.compile(AccessScope(tenant_id="b", as_of=NOW))
    with pytest.raises(AccessDenied):
        cite(generation, Hit(0, 0, 1.0), 0, 5, stranger)
    assert generation.violations == 1


@pytest.mark.parametrize("wrong", [(5, 5), (-1, 4), (0, len(TEXT) + 1), (9, 3)])
def test_a_span_outside_the_document_is_refused(generation, scope, wrong):
    with pytest.raises(InputError, match="does not lie in its document"):
        cite(generation, Hit(0, 0, 1.0), *wrong, scope)


def test_a_quote_that_does_not_stand_there_never_leaves(generation, scope):
    citation = cite(generation, Hit(0, 0, 1.0), *span("A short line."), scope)
    verify(citation, TEXT)
    for changed in (
        citation.model_copy(update={"start": citation.start - 1}),
        citation.model_copy(update={"original_quote": "A short lime."}),
        citation.model_copy(update={"quote_sha256": "0" * 64}),
    ):
        with pytest.raises(IntegrityError, match="not what stands in its document"):
            verify(changed, TEXT)
    with pytest.raises(IntegrityError):
        verify(citation, TEXT.replace("short", "long"))


def test_a_preview_cannot_pass_for_the_original():
    fields = {"citation_id": "c", "source_revision": "r", "text": "x", "source_language": "zh", "target_language": "en",
              "translator": "t", "model": "m", "version": "1"}  # fmt: skip
    assert Preview(**fields).machine_made is True
    with pytest.raises(ValidationError):
        Preview(**fields, machine_made=False)
