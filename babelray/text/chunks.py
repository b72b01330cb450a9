"""Sentences into chunks: as many whole sentences as fit, broken where the text itself breaks."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from babelray.config import TextSettings
from babelray.keys import (
    ANCHORS_VERSION,
    BLOCKS_VERSION,
    CHUNKER_VERSION,
    LANGUAGE_POLICY_VERSION,
    PREPARED_SCHEMA_VERSION,
    READERS_VERSION,
    SENTENCES_VERSION,
    digest_of,
)
from babelray.text.anchors import exact_tokens
from babelray.text.projection import project
from babelray.text.scripts import script_distribution
from babelray.text.tokens import count_tokens
from babelray.text.types import Block, BlockKind, Chunk, Document, Sentence

CONTEXT_TOKENS = 48
"""Most tokens of a chunk's context line; a quarter of the cap where that is less."""
PATH_JOINT = " > "
# A section under this share of the cap is joined with the next one: a few words alone make a poor passage.
_SMALL_SECTION = 0.125
# Above this share of the cap a chunk ends rather than take the beginning of a block that the next chunk can hold whole.
_FULL_ENOUGH = 0.5


def policy_digest(policy: TextSettings, identifier_version: str) -> str:
    """Names everything that shapes prepared shards: the settings and the versions of the code that reads text."""
    versions = [
        READERS_VERSION,
        BLOCKS_VERSION,
        LANGUAGE_POLICY_VERSION,
        SENTENCES_VERSION,
        CHUNKER_VERSION,
        ANCHORS_VERSION,
        PREPARED_SCHEMA_VERSION,
    ]
    return digest_of([policy.model_dump(mode="json"), identifier_version, versions])


def context_cap(policy: TextSettings) -> int:
    """Most tokens that title and section path may take of a chunk."""
    return min(CONTEXT_TOKENS, policy.max_tokens // 4)


def content_cap(policy: TextSettings) -> int:
    """Most tokens of one sentence, so that it fits a chunk under any context."""
    return policy.max_tokens - context_cap(policy)


def passage_text(chunk: Chunk) -> str:
    """The text that is embedded for a chunk."""
    return f"{chunk.context}\n{chunk.content}" if chunk.context else chunk.content


def chunk_document(
    document: Document, blocks: Sequence[Block], sentences: Sequence[Sentence], policy: TextSettings
) -> list[Chunk]:
    """Divide a document into chunks of whole sentences.

    A chunk ends before a heading, unless it is very short, and rather between blocks than inside one. No chunk's
    `passage_text` counts more than `policy.max_tokens`. Every sentence is in one chunk; with `overlap_sentences`, the
    last sentences of a chunk are also the first of the next one of the same section.

    Args:
        document: The document of the blocks.
        blocks: In the order of the text.
        sentences: As `split_sentences` gives them with `content_cap(policy)`.
        policy: Cap and overlap.
    """
    digest = digest_of([policy.model_dump(mode="json"), CHUNKER_VERSION])
    return [
        _chunk(document, blocks, sentences, run, policy, digest)
        for run in _runs(document.title, blocks, sentences, policy)
    ]


@dataclass(frozen=True, slots=True)
class _Run:
    """Sentences `first` to `last`, inclusive, under one context."""

    first: int
    last: int
    context: str


def _runs(title: str, blocks: Sequence[Block], sentences: Sequence[Sentence], policy: TextSettings) -> Iterator[_Run]:
    ends = _block_ends(sentences)
    first = new = 0
    while first < len(sentences):
        context = context_line(title, blocks[sentences[first].block].section_path, context_cap(policy))
        room = policy.max_tokens - count_tokens(context)
        stop, tokens = first, 0
        while stop < len(sentences) and tokens + sentences[stop].tokens <= room:
            if stop > new and _should_end(blocks, sentences, stop, tokens, ends, policy):
                break
            tokens += sentences[stop].tokens
            stop += 1
        # What overlaps was in the chunk before; each chunk takes at least one sentence that was not.
        stop = _without_last_headings(blocks, sentences, new, max(stop, new + 1))
        yield _Run(first, stop - 1, context)
        first, new = _next_start(blocks, sentences, first, stop, policy), stop


def _block_ends(sentences: Sequence[Sentence]) -> dict[int, int]:
    """Block -> tokens of all its sentences."""
    totals: dict[int, int] = {}
    for sentence in sentences:
        totals[sentence.block] = totals.get(sentence.block, 0) + sentence.tokens
    return totals


def _should_end(
    blocks: Sequence[Block], sentences: Sequence[Sentence], at: int, tokens: int, totals: dict[int, int],
    policy: TextSettings,
) -> bool:  # fmt: skip
    """Whether a chunk of so many tokens ends before sentence `at`, which would still fit."""
    block = sentences[at].block
    previous = sentences[at - 1].block
    if block == previous:
        return False
    if blocks[block].kind is BlockKind.HEADING:
        only_headings = blocks[previous].kind is BlockKind.HEADING
        return not only_headings and tokens >= _SMALL_SECTION * policy.max_tokens
    fits_here = tokens + totals[block] <= content_cap(policy)
    return not fits_here and totals[block] <= content_cap(policy) and tokens >= _FULL_ENOUGH * policy.max_tokens


def _without_last_headings(blocks: Sequence[Block], sentences: Sequence[Sentence], first: int, stop: int) -> int:
    """Leave headings at the end of a full chunk to the next one, which holds what they announce."""
    end = stop
    while end < len(sentences) and end > first and blocks[sentences[end - 1].block].kind is BlockKind.HEADING:
        end -= 1
    return end if end > first else stop


def _next_start(
    blocks: Sequence[Block], sentences: Sequence[Sentence], first: int, stop: int, policy: TextSettings
) -> int:
    """Where the next chunk begins: at `stop`, or before it by the overlap that leaves room for something new."""
    if stop >= len(sentences) or not policy.overlap_sentences:
        return stop
    path = blocks[sentences[stop].block].section_path
    start, tokens = stop, sentences[stop].tokens
    while start - 1 > first and stop - start < policy.overlap_sentences:
        before = sentences[start - 1]
        tokens += before.tokens
        heading = BlockKind.HEADING in (blocks[before.block].kind, blocks[sentences[start].block].kind)
        if tokens > content_cap(policy) or heading or blocks[before.block].section_path != path:
            break
        start -= 1
    return start


def context_line(title: str, section_path: Sequence[str], cap: int) -> str:
    """Title and section path in one line of at most `cap` tokens; outer sections give way first, then the title."""
    parts = [part for part in (" ".join(part.split()) for part in (title, *section_path)) if part]
    parts = [part for number, part in enumerate(parts) if number == 0 or part != parts[number - 1]]
    while parts:
        line = PATH_JOINT.join(parts)
        if count_tokens(line) <= cap:
            return line
        if len(parts) > 1:
            del parts[1 if len(parts) > 2 else 0]
        else:
            return _first_words(line, cap)
    return ""


def _first_words(line: str, cap: int) -> str:
    kept = line[: cap * 8]
    while kept and count_tokens(kept) > cap:
        shorter = kept.rpartition(" ")[0]
        kept = shorter or kept[: len(kept) // 2]
    return kept


def content_of(document: Document, blocks: Sequence[Block], start: int, end: int, touched: Sequence[int]) -> str:
    """Projection of a span block by block, joined by a line feed."""
    parts = (
        project(
            document.text, max(start, blocks[number].start), min(end, blocks[number].end), blocks[number].cuts
        ).text.strip()
        for number in touched
    )
    return "\n".join(part for part in parts if part)


def _chunk(
    document: Document, blocks: Sequence[Block], sentences: Sequence[Sentence], run: _Run, policy: TextSettings,
    digest: str,
) -> Chunk:  # fmt: skip
    start, end = sentences[run.first].start, sentences[run.last].end
    touched = tuple(range(sentences[run.first].block, sentences[run.last].block + 1))
    content = content_of(document, blocks, start, end, touched)
    chunk_id = digest_of([document.doc_id, document.source_revision, start, end, digest], length=32)
    passage = f"{run.context}\n{content}" if run.context else content
    return Chunk(
        chunk_id=chunk_id,
        start=start,
        end=end,
        first_sentence=run.first,
        last_sentence=run.last,
        blocks=touched,
        content=content,
        context=run.context,
        languages=_languages(blocks, start, end, touched),
        scripts=script_distribution(content),
        tokens=count_tokens(passage),
        exact_tokens=exact_tokens(content),
    )


def _languages(blocks: Sequence[Block], start: int, end: int, touched: Sequence[int]) -> tuple[str, ...]:
    shares: Counter[str] = Counter()
    for number in touched:
        block = blocks[number]
        shares[block.language] += min(end, block.end) - max(start, block.start)
    ordered = [language for language, _ in sorted(shares.items(), key=lambda item: (-item[1], item[0]))]
    return tuple(language for language in ordered if language != "zxx") or tuple(ordered)
