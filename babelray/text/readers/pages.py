"""One file, one document: Markdown, HTML, plain text and JSON."""

import json
import re
from collections.abc import Iterator

from babelray.config import SourceSettings, TextSettings
from babelray.errors import IntegrityError
from babelray.text.language import canonical_language
from babelray.text.readers.decoding import Refusal, decode, safe_sample
from babelray.text.readers.identity import page_id, text_revision
from babelray.text.readers.page_header import PageHeader, html_header, markdown_header
from babelray.text.readers.parts import InputPart
from babelray.text.readers.ranges import bytes_digest
from babelray.text.readers.storage import SourceRoot
from babelray.text.types import Document, Reject

MEDIA_TYPES = {
    "markdown": "text/markdown", "html": "text/html", "text": "text/plain", "json": "application/json",
}  # fmt: skip


def read_page(
    part: InputPart, root: SourceRoot, source: SourceSettings, limits: TextSettings
) -> Iterator[Document | Reject]:
    """The one document of a page, or why it is refused.

    Raises:
        IntegrityError: The file is not the one that was planned.
    """
    if part.size > limits.max_document_bytes:
        detail = f"{part.size} bytes, at most {limits.max_document_bytes} are allowed"
        yield Reject(part.uri, "file", "too_large", detail)
        return
    with root.filesystem.open_input_stream(root.full(part.uri)) as stream:
        data: bytes = stream.read()
    if bytes_digest(data) != part.digest:
        raise IntegrityError(
            "an input changed after it was planned", where=root.full(part.uri), fix="plan and run the job again"
        )
    text = decode(data)
    if isinstance(text, str) and part.format == "json":
        text = _checked_json(text)
    if isinstance(text, Refusal):
        yield Reject(part.uri, "file", text.reason, text.detail, text.sample)
        return
    header = _header(text, part.format)
    yield Document(
        doc_id=page_id(source.tenant_id, source.knowledge_base_id, root.name, part.uri),
        source_uri=part.uri,
        source_revision=text_revision(text),
        text=text,
        title=header.title,
        media_type=MEDIA_TYPES[part.format],
        domain=source.domain,
        tenant_id=source.tenant_id,
        knowledge_base_id=source.knowledge_base_id,
        acl_groups=source.acl_groups,
        status=source.status,
        updated_at=header.updated_at,
        declared_language=canonical_language(header.language) or path_language(part.uri, source),
    )


def path_language(path: str, source: SourceSettings) -> str | None:
    """The language that a path states by `language_from_path`, else the one declared for the whole source."""
    if source.language_from_path:
        found = re.search(source.language_from_path, path)
        language = canonical_language(found["lang"]) if found else None
        if language:
            return language
    return canonical_language(source.declared_language)


def _header(text: str, format_: str) -> PageHeader:
    if format_ == "markdown":
        return markdown_header(text)
    return html_header(text) if format_ == "html" else PageHeader()


def _checked_json(text: str) -> str | Refusal:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except ValueError as error:
        return Refusal("bad_json", str(error), safe_sample(text))
    except RecursionError:
        return Refusal("bad_json", "nested too deeply", safe_sample(text))
    return text
