"""Private text out of a string before it leaves, and back into what returns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from babelray.config import Redaction
from babelray.errors import UpstreamError

_LABEL = re.compile(r"\[\[([A-Z][A-Z0-9_]*)_(\d+)\]\]")


@dataclass(frozen=True, slots=True)
class Redacted:
    """A string with labels in place of what must not leave.

    Attributes:
        values: Label -> the original text; the same text always has the same label in one string.
    """

    text: str
    values: dict[str, str]


def redact(text: str, rules: Sequence[Redaction]) -> Redacted:
    """Apply the rules in order; what one has replaced, the next does not see."""
    values: dict[str, str] = {}
    labels: dict[tuple[str, str], str] = {}
    for rule in rules:

        def label(match: re.Match[str], name: str = rule.name) -> str:
            if not match[0]:
                return ""
            known = labels.setdefault((name, match[0]), f"[[{name}_{len(labels)}]]")
            values[known] = match[0]
            return known

        pieces = re.split(r"(\[\[[A-Z][A-Z0-9_]*_\d+\]\])", text)
        text = "".join(p if p in values else rule.pattern.sub(label, p) for p in pieces)
    return Redacted(text, values)


def restore(output: str, redacted: Redacted) -> str:
    """Put the private text back.

    Raises:
        UpstreamError: A label was lost or changed on the way, so that the text cannot be made whole.
    """
    missing = [label for label in redacted.values if label not in output]
    if missing:
        raise UpstreamError("the service lost redacted text", got=", ".join(missing), fix="send the string again")
    return _LABEL.sub(lambda match: redacted.values.get(match[0], match[0]), output)
