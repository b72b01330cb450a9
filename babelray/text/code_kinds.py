"""Telling logs and JSON apart from other code, by the info string of a fence or by what the text looks like."""

import json
import re

from babelray.text.types import BlockKind

_JSON_INFOS = frozenset({"json", "jsonc", "json5", "jsonl", "ndjson", "geojson"})
_LOG_INFOS = frozenset({"log", "logs", "syslog", "logcat"})
# Info strings that name no language: the shape decides.
_VAGUE_INFOS = frozenset({"", "none", "text", "txt", "plain", "plaintext", "output", "nocode"})
_LOG_LINE = re.compile(
    r"""\s*(?:
        \[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d                        # 2024-05-01T10:00
      | [IWEF]\d{4}\s\d\d:\d\d:\d\d                                  # klog
      | (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+\d{1,2}\s\d\d:\d\d:\d\d   # syslog
      | \d{1,3}(?:\.\d{1,3}){3}\s\S+\s\S+\s\[                        # access log
      | \[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)\]?[\s:]
      | (?:time|ts|level|msg)=\S
    )""",
    re.X,
)
_LINES_LOOKED_AT = 50
_JSON_LIMIT = 1_000_000


def code_kind(text: str, info: str = "") -> BlockKind:
    """CODE, LOG or JSON.

    Args:
        text: The lines of the code, fence marks not among them.
        info: The info string of a Markdown fence, empty if there is none.
    """
    language = info.split()[0].lower() if info.strip() else ""
    language = language.strip("{}.").split(",")[0]
    if language in _JSON_INFOS:
        return BlockKind.JSON
    if language in _LOG_INFOS:
        return BlockKind.LOG
    if language in _VAGUE_INFOS:
        if looks_like_log(text):
            return BlockKind.LOG
        if looks_like_json(text):
            return BlockKind.JSON
    return BlockKind.CODE


def looks_like_log(text: str) -> bool:
    """Whether most of the first lines begin as log lines do; one line alone is not enough to tell."""
    lines = [line for line in text[:10_000].splitlines() if line.strip()][:_LINES_LOOKED_AT]
    return len(lines) >= 2 and sum(bool(_LOG_LINE.match(line)) for line in lines) * 2 > len(lines)


def looks_like_json(text: str) -> bool:
    """Whether a text is one JSON object or array."""
    stripped = text.strip()
    if not (2 < len(stripped) <= _JSON_LIMIT and stripped[0] + stripped[-1] in {"{}", "[]"}):
        return False
    try:
        json.loads(stripped)
    except (ValueError, RecursionError):
        return False
    return True
