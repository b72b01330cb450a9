"""The manifest: the only contract between the batch jobs and search. One reader and one writer.

It is written last and once: a generation exists if, and only if, its manifest does. A field that this version does not
know is refused like any other damage; whoever adds one raises `MANIFEST_SCHEMA_VERSION`.
"""

from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from babelray.config import NAME_PATTERN
from babelray.errors import InputError, IntegrityError, PublishConflict
from babelray.index.digests import FileRecord, sha256_of
from babelray.index.golden import GoldenVectors
from babelray.index.layout import GenerationLayout
from babelray.index.sealed import parse, seal, unseal
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

    name: str = Field(pattern=NAME_PATTERN)
    rows: int = Field(ge=0)
    sentences: int = Field(ge=0)
    documents: int = Field(ge=0)
    files: dict[str, FileRecord]
    content_digest: str

    @field_validator("files")
    @classmethod
    def _files_stay_inside(cls, files: dict[str, FileRecord]) -> dict[str, FileRecord]:
        for relative, record in files.items():
            pure = PurePosixPath(relative)
            if pure.is_absolute() or ".." in pure.parts or pure.as_posix() != relative:
                raise ValueError(f"{relative!r} is not a path inside a segment")
            if not record.path.endswith(f"/{relative}"):
                raise ValueError(f"{relative!r} is said to lie at {record.path!r}")
        return files

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
    generation: str = Field(pattern=NAME_PATTERN)
    index: str = Field(pattern=NAME_PATTERN)
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

    @model_validator(mode="after")
    def _segments_have_names_of_their_own(self) -> Self:
        names = [segment.name for segment in self.segments]
        if len(set(names)) != len(names):
            raise ValueError(f"two segments have one name: {names}")
        return self

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
    glossary_version: str | None = None,
) -> str:
    """Digest of what a generation says: settings that shape it, and the logical content of its segments in order.

    Measured numbers (recall, costs, the plan tuned by them) and golden vectors are left out: they move with the machine
    and its threads, and they describe the content without being part of it.
    """
    return digest_of(
        {
            "model_key": model_key.model_dump(),
            "policy": policy_digest,
            "analyzer": analyzer_version,
            "glossary": glossary_version,
            "corpus": corpus_revision,
            "kind": kind,
            "segments": [[one.rows, one.sentences, one.documents, one.content_digest] for one in segments],
        },
        length=32,
    )


def contradictions(manifest: Manifest) -> list[str]:
    """Where a manifest disagrees with itself, one line each; empty for a sound one."""
    expected_digest = content_digest(
        model_key=manifest.model_key,
        policy_digest=manifest.policy_digest,
        analyzer_version=manifest.analyzer_version,
        corpus_revision=manifest.corpus_revision,
        kind=manifest.vectors.kind,
        segments=manifest.segments,
        glossary_version=manifest.glossary_version,
    )
    pairs: dict[str, tuple[object, object]] = {
        "chunks": (manifest.counts.chunks, sum(one.rows for one in manifest.segments)),
        "sentences": (manifest.counts.sentences, sum(one.sentences for one in manifest.segments)),
        "documents": (manifest.counts.documents, sum(one.documents for one in manifest.segments)),
        "golden vectors' dimension": (manifest.golden.dimension, manifest.model_key.dimension),
        "golden vectors' model key": (manifest.golden.model_key, manifest.model_key.digest),
        "content digest": (manifest.content_digest, expected_digest),
    }
    return [f"{name}: {got}, its parts say {parts}" for name, (got, parts) in pairs.items() if got != parts]


def write_manifest(store: Store, layout: GenerationLayout, manifest: Manifest) -> FileRecord:
    """Write a manifest: from here on the generation exists. Its files must be in place.

    Writing again what stands already (the same content in the same files, as after a crash) keeps the first one.

    Returns:
        Record of the manifest that stands.

    Raises:
        IntegrityError: The manifest contradicts itself.
        PublishConflict: The generation exists with other content.
    """
    problems = contradictions(manifest)
    if problems:
        raise IntegrityError("a manifest contradicts itself", where=layout.manifest, got="; ".join(problems))
    data = seal(manifest.model_dump(mode="json"))
    if not store.create_if_absent(layout.manifest, data):
        data = store.read_bytes(layout.manifest)
        standing = read_manifest(store, layout)
        if (standing.content_digest, standing.segments) != (manifest.content_digest, manifest.segments):
            raise PublishConflict(
                "the generation exists with other content, and a generation is never rewritten",
                where=layout.manifest,
                got=f"content {standing.content_digest}, written {standing.created_at.isoformat()}",
                allowed=f"content {manifest.content_digest} in the same files",
                fix="build under another generation name",
            )
    return FileRecord(path=layout.manifest, size=len(data), sha256=sha256_of(data))


def read_manifest(store: Store, layout: GenerationLayout) -> Manifest:
    """Read a manifest.

    Raises:
        InputError: There is no such generation.
        IntegrityError: The generation was never finished, or its manifest is damaged or of another version of Babelray.
    """
    if not store.exists(layout.manifest):
        raise _no_manifest(store, layout)
    data = store.read_bytes(layout.manifest)
    version = parse(data, layout.manifest).get("schema_version")
    if version != MANIFEST_SCHEMA_VERSION:
        newer = isinstance(version, int) and version > MANIFEST_SCHEMA_VERSION
        raise IntegrityError(
            f"a manifest is of {'a newer' if newer else 'another'} version of Babelray",
            where=layout.manifest,
            got=f"schema_version {version}",
            allowed=f"schema_version {MANIFEST_SCHEMA_VERSION}",
            fix="upgrade Babelray" if newer else "use the version that wrote it, or build the generation again",
        )
    try:
        return Manifest.model_validate(unseal(data, layout.manifest))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise IntegrityError("a manifest is damaged", where=f"{layout.manifest}: {place}", got=first["msg"]) from error


def _no_manifest(store: Store, layout: GenerationLayout) -> InputError | IntegrityError:
    if next(iter(store.files(layout.root)), None) is not None:
        return IntegrityError(
            "the generation was never finished: it has files and no manifest",
            where=layout.manifest,
            fix="run the job that builds it again; it resumes",
        )
    return InputError(
        "no such generation",
        where=store.uri,
        got=layout.root,
        fix="`babelray generations list` shows what there is",
    )
