"""A document into blocks, by its media type. Language comes later (`babelray.text.language`)."""

from collections.abc import Callable, Mapping

from babelray.errors import InputError
from babelray.text.html import html_blocks
from babelray.text.json_blocks import json_blocks
from babelray.text.markdown import markdown_blocks
from babelray.text.plain import plain_blocks
from babelray.text.projection import project
from babelray.text.types import Block, Document

PARSERS: Mapping[str, Callable[[str], list[Block]]] = {
    "text/markdown": markdown_blocks,
    "text/html": html_blocks,
    "text/plain": plain_blocks,
    "application/json": json_blocks,
}
"""Media type -> parser. A new format needs a parser here and a reader that sets its type."""


def split_blocks(document: Document) -> list[Block]:
    """Blocks in the order of the text, disjoint, none of them empty; languages are not set yet.

    Raises:
        InputError: There is no parser for the document's media type.
    """
    parser = PARSERS.get(document.media_type)
    if parser is None:
        raise InputError(
            "no parser for this media type",
            where=document.source_uri,
            got=document.media_type,
            allowed=", ".join(PARSERS),
            fix="name a known media type, or map the column `media_type` to one that holds it",
        )
    return parser(document.text)


def block_text(document: Document, block: Block) -> str:
    """What a reader of the page sees of a block."""
    return project(document.text, block.start, block.end, block.cuts).text
