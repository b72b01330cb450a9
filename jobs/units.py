"""Work units: which parts of the input are read, embedded and accounted for together. Pure.

A part belongs to a unit by the hash of its name, so that every unit, and every segment built of units, is a random
sample of the corpus, and so that a changed file changes its own unit and no other.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from babelray.config import SourceSettings
from babelray.errors import InputError
from babelray.keys import digest_of
from babelray.text.readers import InputPart

BYTES_A_TEXT = 110
"""Bytes of input for each text that is embedded, sentences and chunks together: 105 to 140 on documentation pages in
English, Chinese, Japanese, German and Portuguese. Only the size of a unit depends on it."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Parts that are processed together.

    Attributes:
        unit_id: 16 hex digits over the parts' names and content and over the settings of their sources, so that a unit
            with another name has other content, and one with the same name has the same.
        parts: In a fixed order.
    """

    unit_id: str
    parts: tuple[InputPart, ...]

    @property
    def size(self) -> int:
        """Bytes of input."""
        return sum(part.size for part in self.parts)

    def to_bytes(self) -> bytes:
        """As stored for the worker."""
        return json.dumps({"unit": self.unit_id, "parts": [part.to_json() for part in self.parts]}).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Unit":
        """The reverse of `to_bytes`."""
        values = json.loads(data)
        return cls(values["unit"], tuple(InputPart.from_json(part) for part in values["parts"]))


def group_parts(parts: Iterable[InputPart], sources: tuple[SourceSettings, ...], target_texts: int) -> list[Unit]:
    """Divide parts into units of about `target_texts` texts.

    Raises:
        InputError: There is no input at all.
    """
    listed = list(parts)
    if not listed:
        raise InputError(
            "the sources hold nothing to read",
            where=", ".join(source.path for source in sources) or "sources",
            fix="check `sources`: path, format, include and exclude",
        )
    total = sum(part.size for part in listed)
    # A power of two: a corpus that grows keeps its units until it has doubled.
    count = 1
    while count * target_texts * BYTES_A_TEXT < total:
        count *= 2
    described = [source_values(source) for source in sources]
    buckets: dict[int, list[InputPart]] = {}
    for part in listed:
        buckets.setdefault(int(_name_hash(part, described), 16) % count, []).append(part)
    units = (_unit(buckets[number], described) for number in sorted(buckets))
    return sorted(units, key=lambda unit: unit.unit_id)


def limited(parts: Iterable[InputPart], limit: int | None) -> Iterator[InputPart]:
    """A random sample of `limit` parts, the same for the same input; all without a limit."""
    if limit is None:
        yield from parts
        return
    yield from sorted(parts, key=lambda part: digest_of(["sample", part.source, part.uri, part.start]))[:limit]


def source_values(source: SourceSettings) -> dict[str, Any]:
    """What a source's settings add to its documents; not where it lies, so that a moved corpus keeps its units."""
    values = source.model_dump(mode="json")
    for name in ("path", "include", "exclude"):
        del values[name]
    return values


def _name_hash(part: InputPart, described: list[dict[str, Any]]) -> str:
    return digest_of([described[part.source]["tenant_id"], part.uri, part.start])


def _unit(parts: list[InputPart], described: list[dict[str, Any]]) -> Unit:
    ordered = tuple(sorted(parts, key=lambda part: (part.source, part.uri, part.start)))
    content = [
        [part.source, part.uri, part.format, part.start, part.stop, part.digest, digest_of(described[part.source])]
        for part in ordered
    ]
    return Unit(digest_of(content), ordered)
