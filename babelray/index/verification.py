"""Whether a generation is whole: its manifest sound, its files in place, and what they hold as the manifest says."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from babelray.errors import IntegrityError, ModelKeyMismatch
from babelray.index.cache import materialize
from babelray.index.golden import check_golden
from babelray.index.layout import GenerationLayout, SegmentLayout
from babelray.index.manifest import Manifest, SegmentRecord, contradictions
from babelray.index.store import Store
from babelray.protocols import Embedder


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found in order.

    Attributes:
        manifest: Of the generation.
        files: How many were checked.
        bytes: Of all of them.
        deep: Whether every byte was compared and every segment opened, or sizes alone.
        golden_cosine: Smallest cosine of the embedder's vectors to the golden ones; `None` without an embedder.
    """

    manifest: Manifest
    files: int
    bytes: int
    deep: bool
    golden_cosine: float | None = None


def verify_generation(
    store: Store, layout: GenerationLayout, manifest: Manifest, *, deep: bool, embedder: Embedder | None
) -> Verified:
    """Check a generation against its manifest.

    Args:
        store: Where it lies.
        layout: Its folder.
        manifest: As read from there.
        deep: Compare every byte, open every segment and count its rows, instead of comparing sizes alone.
        embedder: If given, it must have the generation's key and reproduce its golden vectors.

    Raises:
        IntegrityError: Something is missing, differs, or contradicts the manifest; the error names the file.
        ModelKeyMismatch: The embedder is not the generation's.
    """
    problems = contradictions(manifest)
    if problems:
        raise IntegrityError("a manifest contradicts itself", where=layout.manifest, got="; ".join(problems))
    for segment in manifest.segments:
        place = layout.segment(segment.name)
        _verify_sizes(store, place, segment)
        if deep:
            _verify_content(store, place, segment, manifest.model_key.dimension)
    cosine = None
    if embedder is not None:
        _verify_key(manifest, embedder)
        cosine = check_golden(embedder, manifest.golden)
    return Verified(
        manifest=manifest,
        files=sum(len(segment.files) for segment in manifest.segments),
        bytes=manifest.size,
        deep=deep,
        golden_cosine=cosine,
    )


def _verify_sizes(store: Store, place: SegmentLayout, segment: SegmentRecord) -> None:
    found = dict(store.files(place.root))
    for relative, record in segment.files.items():
        if record.path != f"{place.root}/{relative}":
            raise IntegrityError("a manifest names a file of another place", where=place.root, got=record.path)
        if record.path not in found:
            raise IntegrityError(
                "a file of the generation is missing", where=record.path, fix="build the generation again"
            )
        if found[record.path] != record.size:
            raise IntegrityError(
                "a file of the generation has another size",
                where=record.path,
                got=found[record.path],
                allowed=record.size,
                fix="build the generation again",
            )


def _verify_content(store: Store, place: SegmentLayout, segment: SegmentRecord, dimension: int) -> None:
    # Here, because opening needs the vector and word libraries, and moving a pointer does not.
    from babelray.index.open_segment import OpenSegment

    with tempfile.TemporaryDirectory(prefix="babelray-verify-") as scratch:
        folder = materialize(store, place, segment, Path(scratch))
        opened = OpenSegment(segment.name, folder, list(segment.files), dimension)
        counts = {
            "rows": (opened.rows, segment.rows),
            "sentences": (opened.sentences.num_rows, segment.sentences),
            "documents": (opened.documents.num_rows, segment.documents),
        }
    for name, (got, expected) in counts.items():
        if got != expected:
            raise IntegrityError(
                f"a segment has another number of {name} than its manifest says",
                where=place.root,
                got=got,
                allowed=expected,
            )


def _verify_key(manifest: Manifest, embedder: Embedder) -> None:
    if embedder.key != manifest.model_key:
        raise ModelKeyMismatch(
            "the embedder is not the one that this generation was built with",
            where=f"index {manifest.index}, generation {manifest.generation}",
            got=f"{embedder.key.readable()}; different: {', '.join(manifest.model_key.differences(embedder.key))}",
            allowed=manifest.model_key.readable(),
        )
