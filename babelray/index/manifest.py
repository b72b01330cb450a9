"""The manifest: the only contract between the batch jobs and search. One reader and one writer.

It is written last: a generation exists if, and only if, its manifest does.
"""

import json
from datetime import datetime
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from babelray.errors import InputError, IntegrityError
from babelray.index.digests import FileRecord
from babelray.index.golden import GoldenVectors
from babelray.index.layout import GenerationLayout
from babelray.index.store import Store
from babelray.index.vector_report import VectorReport
from babelray.keys import MANIFEST_SCHEMA_VERSION, ModelKey, digest_of


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SegmentRecord(_Record):
    """One segment: how much is in it, its files with checksums, and the digest of what it says.

    Attributes:
        rows: Chunks; row i is vector i.
        files: Path inside the segment's folder -> path in the store, size, SHA-256.
        content_digest: Over rows and vectors, not over files: Tantivy names its files at random.
    """

    name: str
    rows: int = Field(ge=0)
    sentences: int = Field(ge=0)
    documents: int = Field(ge=0)
    files: dict[str, FileRecord]
    content_digest: str

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(record.size for record in self.files.values())


class Counts(_Record):
    """What is in a generation, and what was left out of it and why."""

    documents: int = Field(default=0, ge=0)
    blocks_by_kind: dict[str, int] = {}
    chunks: int = Field(default=0, ge=0)
    sentences: int = Field(default=0, ge=0)
    chunks_by_language: dict[str, int] = {}
    tokens: int = Field(default=0, ge=0, description="tokens that the model read")
    truncated: int = Field(default=0, ge=0, description="texts that the model did not read to their end")
    rejects_by_reason: dict[str, int] = Field(default={}, description="records refused by policy")
    refused_by_reason: dict[str, int] = Field(default={}, description="texts without a vector; words still find them")
    quarantined_units: int = Field(default=0, ge=0)


class Manifest(_Record):
    """All that a searcher needs to know of a generation, and all that tells where it came from."""

    schema_version: int = MANIFEST_SCHEMA_VERSION
    generation: str
    index: str
    created_at: AwareDatetime
    content_digest: str = Field(
        description="same inputs and settings give the same; times, files and machines are not in it"
    )
    model_key: ModelKey
    chunk_policy: dict[str, Any]
    policy_digest: str
    language_policy_version: str
    analyzer_version: str
    glossary_version: str | None = None
    corpus: str
    corpus_revision: str = Field(description="digest of all units of input")
    source_high_water: datetime | None = Field(default=None, description="newest updated_at of the documents")
    vectors: VectorReport
    segments: tuple[SegmentRecord, ...]
    golden: GoldenVectors
    counts: Counts
    parent: str | None = Field(default=None, description="generation that was current when this one was built")
    run: str = Field(description="digest of the run that built it")
    software: dict[str, str] = {}

    @property
    def size(self) -> int:
        """Bytes of all segment files."""
        return sum(segment.size for segment in self.segments)


def content_digest(
    *,
    model_key: ModelKey,
    policy_digest: str,
    analyzer_version: str,
    corpus_revision: str,
    kind: str,
    segments: tuple[SegmentRecord, ...],
) -> str:
    """Digest of what a generation says: settings that shape it, and the logical content of its segments in order."""
    return digest_of(
        {
            "model_key": model_key.model_dump(),
            "policy": policy_digest,
            "analyzer": analyzer_version,
            "corpus": corpus_revision,
            "kind": kind,
            "segments": [[one.rows, one.sentences, one.documents, one.content_digest] for one in segments],
        },
        length=32,
    )


def write_manifest(store: Store, layout: GenerationLayout, manifest: Manifest) -> FileRecord:
    """Write a manifest: from here on the generation exists. Its files must be in place."""
    data = json.dumps(manifest.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False)
    return store.write_atomic(layout.manifest, data.encode())


def read_manifest(store: Store, layout: GenerationLayout) -> Manifest:
    """Read a manifest.

    Raises:
        InputError: There is no such generation.
        IntegrityError: The manifest is damaged, or of a newer version of Babelray.
    """
    if not store.exists(layout.manifest):
        raise InputError(
            "no such generation",
            where=store.uri,
            got=layout.root,
            fix="`babelray generations list` shows what there is",
        )
    try:
        values = json.loads(store.read_bytes(layout.manifest))
        version = values["schema_version"]
    except (ValueError, KeyError, TypeError) as error:
        raise IntegrityError("a manifest cannot be read", where=layout.manifest, got=str(error)[:200]) from error
    if version != MANIFEST_SCHEMA_VERSION:
        raise IntegrityError(
            "a manifest is of another version of Babelray",
            where=layout.manifest,
            got=version,
            allowed=MANIFEST_SCHEMA_VERSION,
            fix="use the version that wrote it, or build the generation again",
        )
    try:
        return Manifest.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise IntegrityError("a manifest is damaged", where=f"{layout.manifest}: {place}", got=first["msg"]) from error
