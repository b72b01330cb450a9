"""Rows to documents: which column holds what, and what to do with values that are missing or of another type."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from babelray.config import SourceSettings, TextSettings
from babelray.errors import ConfigError
from babelray.text.blocks import PARSERS
from babelray.text.language import canonical_language
from babelray.text.readers.decoding import Refusal, check_text, safe_sample
from babelray.text.readers.identity import keyless_row_id, row_id, text_revision
from babelray.text.readers.page_header import parse_moment
from babelray.text.readers.pages import path_language
from babelray.text.types import Document

# Read from columns of these names unless mapped elsewhere.
_OPEN_FIELDS = ("id", "text", "title", "language")
# Read only from columns that the settings name: a corpus must not decide by a column's name who may see it.
_MAPPED_FIELDS = (
    "tenant_id", "knowledge_base_id", "acl_groups", "status", "domain", "media_type", "source_uri", "updated_at",
    "valid_from", "valid_to",
)  # fmt: skip
_ACCESS_NAMES = ("tenant_id", "knowledge_base_id", "status")


def column_map(source: SourceSettings) -> dict[str, str]:
    """Our field -> column name.

    Raises:
        ConfigError: The settings map a field that does not exist.
    """
    unknown = sorted(set(source.columns) - set(_OPEN_FIELDS) - set(_MAPPED_FIELDS))
    if unknown:
        raise ConfigError(
            "unknown field in `columns`",
            where=source.path,
            got=", ".join(unknown),
            allowed=", ".join((*_OPEN_FIELDS, *_MAPPED_FIELDS)),
            fix="write {our field: column name}",
        )
    return {**{name: name for name in _OPEN_FIELDS}, **source.columns}


@dataclass(frozen=True, slots=True)
class RowContext:
    """What all rows of a part share."""

    source: SourceSettings
    limits: TextSettings
    columns: Mapping[str, str]
    root_name: str
    path: str


def row_document(row: Mapping[str, Any], context: RowContext) -> Document | Refusal:
    """One row as a document, or why it is none."""
    values = {field: row.get(column) for field, column in context.columns.items()}
    text = _text(values["text"], context)
    if isinstance(text, Refusal):
        return text
    access = _access(values, context)
    if isinstance(access, Refusal):
        return access
    moments = _moments(values)
    if isinstance(moments, Refusal):
        return moments
    media_type = _string(values.get("media_type")) or "text/plain"
    if media_type not in PARSERS:
        return Refusal("unknown_media_type", f"{media_type}; known are {', '.join(PARSERS)}")
    source = context.source
    key = _string(values["id"])
    identity = (access["tenant_id"], access["knowledge_base_id"])
    return Document(
        doc_id=row_id(*identity, key) if key else keyless_row_id(*identity, context.root_name, context.path, text),
        source_uri=_string(values.get("source_uri")) or (f"{context.path}#{key}" if key else context.path),
        source_revision=text_revision(text),
        text=text,
        title=" ".join(_string(values["title"]).split()),
        media_type=media_type,
        domain=_string(values.get("domain")) or source.domain,
        tenant_id=access["tenant_id"],
        knowledge_base_id=access["knowledge_base_id"],
        status=access["status"],
        acl_groups=_groups(values["acl_groups"]) if "acl_groups" in values else source.acl_groups,
        updated_at=moments.get("updated_at"),
        valid_from=moments.get("valid_from"),
        valid_to=moments.get("valid_to"),
        declared_language=canonical_language(_string(values["language"])) or path_language(context.path, source),
    )


def _text(value: object, context: RowContext) -> str | Refusal:
    if value is None:
        return Refusal("no_text", f"column `{context.columns['text']}` is missing or null")
    if not isinstance(value, str):
        detail = f"column `{context.columns['text']}` holds {type(value).__name__}"
        return Refusal("text_not_string", detail, safe_sample(repr(value)[:200]))
    checked = check_text(value)
    if isinstance(checked, str):
        size = len(checked.encode())
        if size > context.limits.max_document_bytes:
            detail = f"{size} bytes, at most {context.limits.max_document_bytes} are allowed"
            return Refusal("too_large", detail, safe_sample(checked))
    return checked


def _access(values: Mapping[str, object], context: RowContext) -> dict[str, str] | Refusal:
    """Access values; one that is mapped to a column but missing in a row refuses the row: a default could leak it."""
    found: dict[str, str] = {}
    for name in _ACCESS_NAMES:
        value = _string(values[name]) if name in values else getattr(context.source, name)
        if not value:
            return Refusal("no_access_value", f"column `{context.columns[name]}` gives no {name}")
        found[name] = value
    return found


def _moments(values: Mapping[str, object]) -> dict[str, datetime] | Refusal:
    found: dict[str, datetime] = {}
    for name in ("updated_at", "valid_from", "valid_to"):
        value = values.get(name)
        if value is None or value == "":
            continue
        moment = parse_moment(value)
        if moment is None:
            return Refusal("bad_time", f"{name} is neither ISO 8601 nor Unix seconds", safe_sample(repr(value)))
        found[name] = moment
    return found


def _groups(value: object) -> tuple[str, ...]:
    """Groups of a row: a list, or names parted by commas or white space; missing means nobody."""
    if isinstance(value, str):
        value = re.split(r"[,\s]+", value)
    if not isinstance(value, list | tuple):
        return ()
    return tuple(sorted({group.strip() for group in value if isinstance(group, str) and group.strip()}))


def _string(value: object) -> str:
    """Strings as they are, numbers in digits, anything else as empty; what cannot be encoded is shown escaped."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value).strip().encode("utf-8", "backslashreplace").decode()
