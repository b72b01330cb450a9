"""What a page says of itself in its header: title, language, date. Never access: a page cannot grant itself readers."""

import html
import re
import tomllib
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import yaml

from babelray.text.markdown_source import FRONT_MATTER

_HEADING = re.compile(r"^ {0,3}#[ \t]+(.+?)[ \t]*#*[ \t]*(?:\{#[^}\n]*\})?[ \t]*\r?$", re.M)
_HTML_TITLE = re.compile(r"<title[^>]*>([^<]*)", re.I)
_HTML_LANGUAGE = re.compile(r"<html[^>]*?\slang\s*=\s*[\"']?([\w-]+)", re.I)
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_LOOKED_AT = 65_536
"""Characters at the start of a page in which its header is looked for."""
_TITLE_LENGTH = 300


@dataclass(frozen=True, slots=True)
class PageHeader:
    """Title (empty if none), stated language as it is written, and date in UTC."""

    title: str = ""
    language: str | None = None
    updated_at: datetime | None = None


def markdown_header(text: str) -> PageHeader:
    """From YAML or TOML front matter; the first heading is the title of a page whose front matter has none."""
    values = _front_matter(text)
    title = values.get("title")
    if not isinstance(title, str | int | float) or not str(title).strip():
        visible = _COMMENT.sub("", text[:_LOOKED_AT])
        heading = _HEADING.search(visible)
        title = heading[1] if heading else ""
    language = next((values[key] for key in ("lang", "language", "locale") if isinstance(values.get(key), str)), None)
    moment = next((values[key] for key in ("lastmod", "updated", "date") if values.get(key)), None)
    return PageHeader(_one_line(str(title)), language, parse_moment(moment))


def html_header(text: str) -> PageHeader:
    """From `<title>` and the `lang` of `<html>`."""
    head = text[:_LOOKED_AT]
    title, language = _HTML_TITLE.search(head), _HTML_LANGUAGE.search(head)
    return PageHeader(_one_line(html.unescape(title[1])) if title else "", language[1] if language else None)


def parse_moment(value: object) -> datetime | None:
    """A date, time, ISO 8601 string or Unix seconds as UTC (times without a zone are UTC); `None` if it is none."""
    try:
        if isinstance(value, datetime):
            moment = value
        elif isinstance(value, date):
            moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
        elif isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            return None
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _front_matter(text: str) -> dict[str, Any]:
    found = FRONT_MATTER.match(text)
    if found is None:
        return {}
    try:
        values = yaml.safe_load(found[1]) if found[1] is not None else tomllib.loads(found[2] or "")
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError, RecursionError):
        # A broken header costs the page its title, not its text.
        return {}
    return values if isinstance(values, dict) else {}


def _one_line(title: str) -> str:
    return " ".join(title.split())[:_TITLE_LENGTH]
