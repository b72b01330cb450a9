"""Generations of an index: list, verify, publish, roll back.

The pointer `current.json` names the published generation and keeps its history. It is changed by compare-and-swap
alone, so that of two publishers one wins and the other is told who did. Removing generations belongs to garbage
collection, which must keep what is pinned here, what the history still names, and what a searcher has leased.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from babelray.errors import GateFailed, InputError, IntegrityError, PublishConflict
from babelray.index.digests import FileRecord, sha256_of_blocks, verify_file
from babelray.index.golden import check_golden
from babelray.index.layout import LAYOUT, GenerationLayout
from babelray.index.manifest import Manifest, content_digest, read_manifest
from babelray.index.store import Store
from babelray.protocols import Embedder

HISTORY_KEPT = 200


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Event(_Record):
    """One move of the pointer."""

    generation: str
    at: AwareDatetime
    action: Literal["publish", "rollback"]
    replaced: str | None = None
    reason: str = ""


class Pointer(_Record):
    """The published generation and how it came to be, oldest event first."""

    generation: str
    history: tuple[Event, ...] = ()
    pinned: tuple[str, ...] = Field(default=(), description="kept whatever garbage collection decides")


@dataclass(frozen=True, slots=True)
class Listed:
    """A generation in a list; `manifest` is `None` where it is damaged, and `problem` says how."""

    generation: str
    current: bool
    manifest: Manifest | None
    problem: str = ""


class Catalog:
    """The generations of one index.

    Args:
        store: Where the index lies.
        index: Its name.
    """

    def __init__(self, store: Store, index: str) -> None:
        self._store = store
        self.index = index
        self._layout = LAYOUT.index(index)

    def layout(self, generation: str) -> GenerationLayout:
        """Files of a generation."""
        return self._layout.generation(generation)

    def listing(self) -> list[Listed]:
        """All generations that have a manifest, newest first."""
        pointer = self.pointer()
        current = pointer.generation if pointer else None
        found = []
        for generation in self._store.folders(self._layout.generations):
            if not self._store.exists(self.layout(generation).manifest):
                continue
            try:
                manifest = read_manifest(self._store, self.layout(generation))
            except IntegrityError as error:
                found.append(Listed(generation, generation == current, None, error.what))
            else:
                found.append(Listed(generation, generation == current, manifest))
        oldest = datetime.min.replace(tzinfo=UTC)
        return sorted(found, key=lambda one: one.manifest.created_at if one.manifest else oldest, reverse=True)

    def show(self, generation: str) -> Manifest:
        """The manifest of a generation.

        Raises:
            InputError: There is no such generation.
        """
        return read_manifest(self._store, self.layout(generation))

    def pointer(self) -> Pointer | None:
        """The pointer, or `None` where nothing was ever published."""
        return self._read_pointer()[0]

    def current(self) -> Pointer:
        """The pointer.

        Raises:
            InputError: Nothing is published.
        """
        pointer = self.pointer()
        if pointer is None:
            raise self._nothing_published()
        return pointer

    def verify(self, generation: str, *, deep: bool = False, embedder: Embedder | None = None) -> Manifest:
        """Check that a generation is whole.

        Args:
            generation: Its id.
            deep: Read every file and compare checksums, instead of sizes alone.
            embedder: If given, it must reproduce the golden vectors.

        Raises:
            InputError: There is no such generation.
            IntegrityError: Something is missing or differs.
            ModelKeyMismatch: The embedder is not the generation's.
        """
        manifest = self.show(generation)
        self._verify_coherent(manifest, generation)
        for segment in manifest.segments:
            root = self.layout(generation).segment(segment.name).root
            for relative, record in segment.files.items():
                if record.path != f"{root}/{relative}":
                    raise IntegrityError("a manifest names a file of elsewhere", where=segment.name, got=record.path)
            self._verify_sizes(root, {record.path: record.size for record in segment.files.values()})
            if deep:
                for record in segment.files.values():
                    self._verify_bytes(record)
        if embedder is not None:
            check_golden(embedder, manifest.golden)
        return manifest

    def publish(
        self, generation: str, *, expected: str | None = None, reason: str = "", ignore_gate: bool = False
    ) -> Pointer:
        """Verify a generation and move the pointer to it.

        Args:
            generation: Its id.
            expected: The generation that must be current now (`""`: none); by default whatever is current when
                this call begins.
            reason: Kept in the history.
            ignore_gate: Publish although the measured recall is under its floor.

        Raises:
            GateFailed: The measured recall is under its floor.
            PublishConflict: Another publisher was first; nothing was changed.
        """
        pointer, tag = self._read_pointer()
        current = pointer.generation if pointer else ""
        if expected is not None and expected != current:
            raise self._conflict(expected, current)
        manifest = self.verify(generation, deep=True)
        shortfalls = manifest.vectors.shortfalls()
        if shortfalls and not ignore_gate:
            raise GateFailed(
                f"generation {generation} is not published: " + "; ".join(shortfalls),
                where=f"index {self.index}",
                allowed=f"recall >= {manifest.vectors.floor}",
                fix="raise vectors.recall_target or choose `vectors.kind: flat`, and run the job again",
            )
        if pointer and pointer.generation == generation:
            return pointer
        return self._move(pointer, tag, generation, "publish", reason)

    def rollback(self, to: str | None = None, *, reason: str = "") -> Pointer:
        """Verify the generation that was current before (or a named one) and move the pointer to it.

        Raises:
            InputError: There is none to go back to.
            PublishConflict: Another publisher was first; nothing was changed.
        """
        pointer, tag = self._read_pointer()
        if pointer is None:
            raise self._nothing_published()
        target = to or self._previous(pointer)
        self.verify(target, deep=True)
        if target == pointer.generation:
            return pointer
        return self._move(pointer, tag, target, "rollback", reason)

    def _previous(self, pointer: Pointer) -> str:
        """What the current generation replaced when it was published; so rolling back twice goes back two steps."""
        arrivals: dict[str, str | None] = {}
        for event in pointer.history:
            if event.action == "publish":
                arrivals[event.generation] = event.replaced
        previous = arrivals.get(pointer.generation)
        if previous is None:
            raise InputError(
                "there is no earlier generation to roll back to",
                where=f"index {self.index}",
                got=pointer.generation,
                fix="name one with --to; `babelray generations list` shows what there is",
            )
        return previous

    def _move(
        self,
        pointer: Pointer | None,
        tag: str | None,
        generation: str,
        action: Literal["publish", "rollback"],
        reason: str,
    ) -> Pointer:
        replaced = pointer.generation if pointer else None
        event = Event(generation=generation, at=datetime.now(UTC), action=action, replaced=replaced, reason=reason)
        moved = Pointer(
            generation=generation,
            history=(*(pointer.history if pointer else ()), event)[-HISTORY_KEPT:],
            pinned=pointer.pinned if pointer else (),
        )
        data = json.dumps(moved.model_dump(mode="json"), indent=1).encode()
        try:
            self._store.compare_and_swap(self._layout.current, tag, data)
        except PublishConflict:
            winner = self.pointer()
            raise self._conflict(replaced or "", winner.generation if winner else "") from None
        return moved

    def _nothing_published(self) -> InputError:
        return InputError(
            "nothing is published in this index",
            where=f"{self._store.uri}/{self._layout.root}",
            fix="run `babelray reindex run`, or publish a generation that `babelray generations list` shows",
        )

    def _conflict(self, expected: str, current: str) -> PublishConflict:
        return PublishConflict(
            "another publisher moved the pointer first; nothing was changed",
            where=f"index {self.index}",
            got=current or "nothing published",
            allowed=expected or "nothing published",
            fix="look at `babelray generations list` and publish again if yours should still win",
        )

    def _read_pointer(self) -> tuple[Pointer | None, str | None]:
        found = self._store.read_tagged(self._layout.current)
        if found is None:
            return None, None
        try:
            return Pointer.model_validate_json(found[0]), found[1]
        except ValidationError as error:
            raise IntegrityError("the pointer is damaged", where=self._layout.current, got=str(error)[:200]) from error

    def _verify_coherent(self, manifest: Manifest, generation: str) -> None:
        pairs = {
            "generation": (manifest.generation, generation),
            "index": (manifest.index, self.index),
            "chunks": (sum(one.rows for one in manifest.segments), manifest.counts.chunks),
            "sentences": (sum(one.sentences for one in manifest.segments), manifest.counts.sentences),
            "documents": (sum(one.documents for one in manifest.segments), manifest.counts.documents),
            "golden dimension": (manifest.golden.dimension, manifest.model_key.dimension),
            "content digest": (manifest.content_digest, digest_of_manifest(manifest)),
        }
        for name, (got, expected) in pairs.items():
            if got != expected:
                raise IntegrityError(
                    f"a manifest contradicts itself: {name}",
                    where=self.layout(generation).manifest,
                    got=got,
                    allowed=expected,
                )

    def _verify_sizes(self, root: str, expected: dict[str, int]) -> None:
        found = dict(self._store.files(root))
        for path, size in expected.items():
            if path not in found:
                raise IntegrityError(
                    "a file of the generation is missing", where=path, fix="build the generation again"
                )
            if found[path] != size:
                raise IntegrityError(
                    "a file of the generation has another size", where=path, got=found[path], allowed=size
                )

    def _verify_bytes(self, record: FileRecord) -> None:
        local = self._store.local_path(record.path)
        if local is not None:
            verify_file(local, record)
            return
        with self._store.open_input(record.path) as source:
            found = sha256_of_blocks(iter(lambda: source.read(1 << 20), b""))
        if found != record.sha256:
            raise IntegrityError(
                "a file of the generation holds other bytes", where=record.path, got=found, allowed=record.sha256
            )


def digest_of_manifest(manifest: Manifest) -> str:
    """The content digest that a manifest's own values give."""
    return content_digest(
        model_key=manifest.model_key,
        policy_digest=manifest.policy_digest,
        analyzer_version=manifest.analyzer_version,
        corpus_revision=manifest.corpus_revision,
        kind=manifest.vectors.kind,
        segments=manifest.segments,
    )
