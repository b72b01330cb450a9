"""One document to its units: the whole way from text to chunks, with no embedding model in it."""

from dataclasses import replace

from babelray.config import TextSettings
from babelray.text.blocks import block_text, split_blocks
from babelray.text.chunks import chunk_document, content_cap
from babelray.text.language import LanguagePolicy
from babelray.text.projection import project
from babelray.text.sentences import split_sentences
from babelray.text.types import BlockKind, Document, PreparedDocument

_CODE_KINDS = frozenset({BlockKind.CODE, BlockKind.LOG, BlockKind.JSON})


def prepare_document(document: Document, languages: LanguagePolicy, policy: TextSettings) -> PreparedDocument:
    """Blocks with their languages, sentences and chunks of a document; the same input gives the same output.

    A document that shows nothing (only comments, only markup) has no blocks and no chunks.

    Raises:
        InputError: There is no parser for the document's media type.
    """
    blocks = split_blocks(document)
    if not policy.keep_code:
        blocks = [block for block in blocks if block.kind not in _CODE_KINDS]
    texts = [block_text(document, block) for block in blocks]
    verdicts = languages.judge(texts, [block.kind for block in blocks], document.declared_language)
    judged = tuple(
        replace(
            block,
            language=verdict.language,
            language_candidates=tuple(verdict.candidates),
            scripts=verdict.scripts,
            low_confidence=verdict.low_confidence,
            code_switching=verdict.code_switching,
        )
        for block, verdict in zip(blocks, verdicts, strict=True)
    )
    sentences = tuple(split_sentences(document, judged, content_cap(policy)))
    chunks = tuple(chunk_document(document, judged, sentences, policy))
    return PreparedDocument(document, judged, sentences, chunks)


def sentence_text(prepared: PreparedDocument, number: int) -> str:
    """What is embedded for a sentence: its span without the markup."""
    sentence = prepared.sentences[number]
    return project(prepared.document.text, sentence.start, sentence.end, prepared.blocks[sentence.block].cuts).text
