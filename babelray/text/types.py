"""Documents and the units they are divided into. All spans are code point offsets into the original `Document.text`.

`document.text[unit.start:unit.end]` is always the unit's own text. What is read by models and word indexes is a
projection of it with the markup cut out (see `babelray.text.projection`), never a replacement.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from babelray.protocols import LanguageCandidate

EVERYONE = "*"
"""ACL group that every member of the tenant belongs to. A document without any group is visible to nobody."""


class BlockKind(StrEnum):
    """What a block is; kinds that are not prose are never split by sentence rules."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    CODE = "code"
    QUOTE = "quote"
    LOG = "log"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Document:
    """One source text with what the access filter, the citations and the freshness rules need to know of it.

    Attributes:
        doc_id: Stable and unique within an index: derived from tenant, source and path or key, never from a row number.
        source_revision: Digest of the text or the source's own revision.
        text: The original characters: line ends, byte order mark and markup included.
        updated_at, valid_from, valid_to: UTC; `None` where unknown or unbounded.
        declared_language: BCP 47 tag that the source states; a prior, not a verdict.
    """

    doc_id: str
    source_uri: str
    source_revision: str
    text: str
    title: str = ""
    media_type: str = "text/plain"
    domain: str = ""
    tenant_id: str = "default"
    knowledge_base_id: str = "default"
    acl_groups: tuple[str, ...] = (EVERYONE,)
    status: str = "active"
    updated_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    declared_language: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """A span of the original that is not content (markup, comment, shortcode) and its stand-in, mostly nothing."""

    start: int
    end: int
    replacement: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, paragraph, list, table, code block... with its own language.

    Attributes:
        cuts: Sorted, disjoint, inside the block.
        section_path: Titles of the headings above, outermost first; for JSON the pointer's parts.
        language: BCP 47, with script where it matters (zh-Hans, sr-Cyrl); `und` if nothing can be said, `zxx` for code.
        scripts: ISO 15924 code -> share of the letters and digits, summing to 1.
    """

    kind: BlockKind
    start: int
    end: int
    section_path: tuple[str, ...] = ()
    cuts: tuple[Cut, ...] = ()
    language: str = "und"
    language_candidates: tuple[LanguageCandidate, ...] = ()
    scripts: dict[str, float] = field(default_factory=dict)
    low_confidence: bool = False
    code_switching: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, or for code a group of lines, or a piece of one that was over the cap; never across blocks.

    Attributes:
        block: Position of its block in the document.
        tokens: By the model-free counter of `babelray.text.tokens`.
    """

    start: int
    end: int
    block: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of whole sentences under the token cap: the unit that is embedded and indexed.

    Attributes:
        chunk_id: Hash of document, revision, span and policy.
        first_sentence, last_sentence: Inclusive positions in the document's sentences.
        blocks: Positions of the blocks it touches.
        content: Projection of the span, blocks joined by a line feed: what models and word indexes read.
        context: Title and section path in one line; searchable, and put before `content` for embedding.
        languages: Languages of its blocks by share of characters, largest first, `zxx` excluded unless alone.
        exact_tokens: Error codes, identifiers, versions... as `babelray.text.anchors` finds them, original case.
    """

    chunk_id: str
    start: int
    end: int
    first_sentence: int
    last_sentence: int
    blocks: tuple[int, ...]
    content: str
    context: str
    languages: tuple[str, ...]
    scripts: dict[str, float]
    tokens: int
    exact_tokens: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    glossary_terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document and its units; no model has touched it, so it serves every embedder."""

    document: Document
    blocks: tuple[Block, ...]
    sentences: tuple[Sentence, ...]
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that was refused by policy, kept with its reason and enough to find it again.

    Attributes:
        reason: Short code for counting (`empty`, `wrong_encoding`, `lone_surrogate`, `too_large`, ...).
        detail: One line for a human.
        sample: The first characters of what was refused, safe to store.
    """

    source_uri: str
    locator: str
    reason: str
    detail: str
    sample: str = ""
