"""Generations of an index: list, verify, publish, roll back, pin.

Publishing moves `current.json` by compare-and-swap, so that of two publishers one wins and the other is told who did.

Removing generations is the work of garbage collection, which has to keep: the current one, the last ones of the
history, those in `pinned()`, and those that a searcher holds open, named by a file in `IndexLayout.leases`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from babelray.config import NAME_PATTERN
from babelray.errors import GateFailed, InputError, IntegrityError
from babelray.index.layout import LAYOUT, GenerationLayout
from babelray.index.manifest import Manifest, read_manifest
from babelray.index.pointer import Action, Pointer, lost_to, move_pointer, nothing_published, read_pointer
from babelray.index.sealed import seal, unseal
from babelray.index.store import Store
from babelray.index.verification import Verified, verify_generation
from babelray.protocols import Embedder

Status = Literal["current", "earlier", "candidate", "unfinished", "damaged"]


@dataclass(frozen=True, slots=True)
class Listed:
    """A generation in a list.

    Attributes:
        status: `current`; `earlier`: was current; `candidate`: never was; `unfinished`: has no manifest yet;
            `damaged`: has one that cannot be read.
        size: Bytes of its files.
        manifest: `None` where it is unfinished or damaged, and `problem` says what is wrong.
    """

    generation: str
    status: Status
    pinned: bool
    size: int
    manifest: Manifest | None
    problem: str = ""

    @property
    def current(self) -> bool:
        """Whether it is the published one."""
        return self.status == "current"


class Catalog:
    """The generations of one index.

    Args:
        store: Where the index lies.
        index: Its name.

    Raises:
        InputError: Not a name that an index can have.
    """

    def __init__(self, store: Store, index: str) -> None:
        _check_name(index, "index")
        self._store = store
        self.index = index
        self._layout = LAYOUT.index(index)

    def layout(self, generation: str) -> GenerationLayout:
        """Files of a generation.

        Raises:
            InputError: Not a name that a generation can have.
        """
        _check_name(generation, "generation")
        return self._layout.generation(generation)

    def list(self) -> Sequence[Listed]:
        """All generations, newest first; those without a readable manifest last."""
        pointer, pins = self.pointer(), self.pinned()
        found = [self._listed(name, pointer, name in pins) for name in self._store.folders(self._layout.generations)]
        oldest = datetime.min.replace(tzinfo=UTC)
        return sorted(found, key=lambda one: one.manifest.created_at if one.manifest else oldest, reverse=True)

    def show(self, generation: str) -> Manifest:
        """The manifest of a generation.

        Raises:
            InputError: There is no such generation.
            IntegrityError: It was never finished, or its manifest is damaged.
        """
        return read_manifest(self._store, self.layout(generation))

    def pointer(self) -> Pointer | None:
        """The pointer, or `None` where nothing was ever published."""
        return read_pointer(self._store, self._layout)[0]

    def current(self) -> Pointer:
        """The pointer.

        Raises:
            InputError: Nothing is published.
        """
        pointer = self.pointer()
        if pointer is None:
            raise nothing_published(self._store, self._layout)
        return pointer

    def verify(self, generation: str, *, deep: bool = False, embedder: Embedder | None = None) -> Verified:
        """Check that a generation is whole.

        Args:
            generation: Its id.
            deep: Compare every byte, open every segment and count its rows, instead of comparing sizes alone.
            embedder: If given, it must have the generation's key and reproduce its golden vectors.

        Raises:
            InputError: There is no such generation.
            IntegrityError: Something is missing or differs; the error names the file.
            ModelKeyMismatch: The embedder is not the generation's.
        """
        layout, manifest = self.layout(generation), self.show(generation)
        if (manifest.index, manifest.generation) != (self.index, generation):
            raise IntegrityError(
                "a manifest is of another generation",
                where=layout.manifest,
                got=f"{manifest.index}/{manifest.generation}",
                allowed=f"{self.index}/{generation}",
            )
        return verify_generation(self._store, layout, manifest, deep=deep, embedder=embedder)

    def publish(
        self,
        generation: str,
        *,
        expected: str | None = None,
        by: str = "",
        reason: str = "",
        force_gate: bool = False,
        embedder: Embedder | None = None,
    ) -> Pointer:
        """Verify a generation, every byte of it, and move the pointer to it.

        Publishing what is current already changes nothing, so that a publisher that was killed can simply do it again.

        Args:
            generation: Its id.
            expected: The generation that must be current now (empty: none); by default the one that is current when
                this call begins.
            by: Who publishes; kept in the history.
            reason: Why; kept in the history.
            force_gate: Publish although the measured recall is under its floor.
            embedder: If given, it must reproduce the golden vectors.

        Raises:
            InputError: There is no such generation.
            IntegrityError: It was never finished, or it is damaged.
            GateFailed: The measured recall is under its floor.
            PublishConflict: Another publisher was first; nothing was changed, and the error names it.
        """
        seen = read_pointer(self._store, self._layout)
        pointer = seen[0]
        current = pointer.generation if pointer else ""
        if expected is not None and current not in (expected, generation):
            raise lost_to(pointer, expected, self._layout)
        manifest = self.verify(generation, deep=True, embedder=embedder).manifest
        shortfalls = manifest.vectors.shortfalls()
        if shortfalls and not force_gate:
            raise GateFailed(
                f"generation {generation} is not published: " + "; ".join(shortfalls),
                where=f"index {self.index}",
                allowed=f"recall >= {manifest.vectors.floor}",
                fix="raise vectors.recall_target or choose `vectors.kind: flat`, and run the job again",
            )
        return self._move(seen, generation, "publish", by, reason)

    def rollback(self, to: str | None = None, *, by: str = "", reason: str = "") -> Pointer:
        """Verify the generation that was current before (or a named one), every byte of it, and move the pointer to it.

        Args:
            to: Its id; by default what the current one replaced, so that rolling back twice goes back two steps.
            by: Who; kept in the history.
            reason: Why; kept in the history.

        Raises:
            InputError: There is none to go back to.
            IntegrityError: The target is damaged; the pointer stays.
            PublishConflict: Another publisher was first; nothing was changed, and the error names it.
        """
        seen = read_pointer(self._store, self._layout)
        if seen[0] is None:
            raise nothing_published(self._store, self._layout)
        target = to if to is not None else seen[0].previous()
        if target is None:
            raise InputError(
                "there is no earlier generation to roll back to",
                where=f"index {self.index}",
                got=seen[0].generation,
                fix="name one with --to; `babelray generations list` shows what there is",
            )
        self.verify(target, deep=True)
        return self._move(seen, target, "rollback", by, reason)

    def pin(self, generation: str, *, by: str = "", reason: str = "") -> bool:
        """Keep a generation whatever garbage collection decides; says whether it was not pinned before.

        Raises:
            InputError: There is no such generation.
        """
        self.show(generation)
        record = {"generation": generation, "by": by, "reason": reason, "at": datetime.now(UTC).isoformat()}
        return self._store.create_if_absent(self._layout.pin(generation), seal(record))

    def unpin(self, generation: str) -> bool:
        """Let garbage collection decide again; says whether it was pinned."""
        _check_name(generation, "generation")
        was = self._store.exists(self._layout.pin(generation))
        self._store.delete(self._layout.pin(generation))
        return was

    def pinned(self) -> Mapping[str, str]:
        """Pinned generations and why.

        Raises:
            IntegrityError: A pin is damaged.
        """
        paths = [path for path, _ in self._store.files(self._layout.pins)]
        records = [unseal(self._store.read_bytes(path), path) for path in paths]
        return {str(one["generation"]): str(one["reason"]) for one in records}

    def _move(
        self, seen: tuple[Pointer | None, str | None], generation: str, action: Action, by: str, reason: str
    ) -> Pointer:
        pointer = seen[0]
        if pointer is not None and pointer.generation == generation:
            return pointer
        return move_pointer(self._store, self._layout, seen, generation, action, by, reason)

    def _listed(self, generation: str, pointer: Pointer | None, pinned: bool) -> Listed:
        layout = self._layout.generation(generation)
        size = sum(size for _, size in self._store.files(layout.root))
        problem, manifest = "", None
        try:
            manifest = read_manifest(self._store, layout)
        except (IntegrityError, InputError) as error:
            # Not swallowed: it is what the list has to say of this generation.
            problem = error.what
        status: Status = "candidate"
        if manifest is None:
            status = "damaged" if self._store.exists(layout.manifest) else "unfinished"
        elif pointer is not None and generation == pointer.generation:
            status = "current"
        elif pointer is not None and any(generation in (one.generation, one.replaced) for one in pointer.history):
            status = "earlier"
        return Listed(generation, status, pinned, size, manifest, problem)


def _check_name(name: str, what: str) -> None:
    if not re.fullmatch(NAME_PATTERN, name):
        raise InputError(f"not the name of {what}", got=repr(name), allowed=f"matching {NAME_PATTERN}")
