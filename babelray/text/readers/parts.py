"""The unit of reading: a file, a byte range of lines, or row groups; what a plan lists and a worker reads."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from babelray.errors import InputError

PartFormat = Literal["markdown", "html", "text", "json", "jsonl", "parquet"]


@dataclass(frozen=True, slots=True)
class InputPart:
    """A piece of a source that can be read by itself. It holds no absolute path: a moved corpus has the same parts.

    Attributes:
        source: Number of the source in the settings.
        uri: Path relative to the source's root, with `/`.
        start, stop: Bytes of a page or of whole lines; row groups of a Parquet file.
        size: Bytes to read, for planning.
        digest: 16 hex digits over the bytes (for Parquet over the file's bytes and the range).
    """

    source: int
    uri: str
    format: PartFormat
    start: int
    stop: int
    size: int
    digest: str

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """The reverse of `to_json`.

        Raises:
            InputError: Fields are missing or unknown.
        """
        try:
            return cls(**values)
        except TypeError as error:
            raise InputError(
                "not an input part", got=sorted(values), allowed=", ".join(cls.__slots__), fix="plan the job again"
            ) from error
