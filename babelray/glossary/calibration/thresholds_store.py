"""Calibrated thresholds in a store: immutable versions, and a pointer with history that is only ever swapped."""

import json
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from babelray.config import LocalizationSettings
from babelray.errors import InputError, IntegrityError
from babelray.glossary.calibration.rule import Direction
from babelray.glossary.thresholds import Thresholds, starting_thresholds
from babelray.index.layout import LAYOUT
from babelray.index.store import Store
from babelray.keys import ModelKey


class PairThreshold(BaseModel):
    """The threshold of one pair, and why it has this value."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source_locale: str
    target_locale: str
    threshold: float = Field(ge=-1, le=1)
    direction: Direction
    reason: str


class ThresholdSet(BaseModel):
    """One version: all pairs of one model.

    Attributes:
        parent: The version that was in force when it was made.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    version: str
    parent: str
    model_key: str
    default: float
    pairs: tuple[PairThreshold, ...]
    made_at: datetime

    def thresholds(self) -> Thresholds:
        """As hints use them."""
        by_pair = {(one.source_locale, one.target_locale): one.threshold for one in self.pairs}
        return Thresholds(self.version, self.default, by_pair)


class ThresholdPointer(BaseModel):
    """Which version is in force, and which were before, oldest first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    history: tuple[str, ...] = ()


class ThresholdStore:
    """The calibrated thresholds of one backlog and model.

    Args:
        store: Where they lie.
        name: Of the backlog (`localization.name`).
        key: Of the model whose cosines they are.
    """

    def __init__(self, store: Store, name: str, key: ModelKey) -> None:
        self._store, self._layout = store, LAYOUT.calibration(name, key.digest)

    def current(self) -> ThresholdSet | None:
        """What is in force; None before the first calibration."""
        found = self._pointer()[0]
        return self.read(found.version) if found else None

    def history(self) -> list[ThresholdSet]:
        """All versions that were ever in force, newest first."""
        pointer, _ = self._pointer()
        return [self.read(version) for version in reversed(pointer.history)] if pointer else []

    def read(self, version: str) -> ThresholdSet:
        """One version.

        Raises:
            InputError: There is none of that name.
            IntegrityError: It cannot be read.
        """
        path = self._layout.version(version)
        if not self._store.exists(path):
            raise InputError("no such calibration", got=version, fix="`babelray calibrate history` lists them")
        try:
            return ThresholdSet.model_validate_json(self._store.read_bytes(path))
        except ValueError as error:
            raise IntegrityError("a calibration cannot be read", where=path, got=str(error)[:200]) from error

    def publish(self, made: ThresholdSet) -> None:
        """Put a version in force.

        Raises:
            PublishConflict: Another calibration came first; nothing was changed.
        """
        self._store.create_if_absent(self._layout.version(made.version), made.model_dump_json(indent=1).encode())
        self._swap(made.version)

    def rollback(self, to: str | None = None) -> ThresholdSet:
        """Put an earlier version in force again: the one before by default.

        Raises:
            InputError: There is none before, or `to` was never in force.
            PublishConflict: Another calibration came first; nothing was changed.
        """
        pointer, _ = self._pointer()
        history = pointer.history if pointer else ()
        # Before its first time: going back twice goes back two versions.
        earlier = history[: history.index(pointer.version)] if pointer else ()
        wanted = to or (earlier[-1] if earlier else None)
        if wanted is None or wanted not in history:
            raise InputError(
                "there is no such calibration to go back to",
                got=to or "none before this one",
                allowed=", ".join(dict.fromkeys(earlier)) or "none",
            )
        made = self.read(wanted)
        self._swap(wanted)
        return made

    def _pointer(self) -> tuple[ThresholdPointer | None, str | None]:
        found = self._store.read_tagged(self._layout.current)
        if found is None:
            return None, None
        return ThresholdPointer.model_validate(json.loads(found[0])), found[1]

    def _swap(self, version: str) -> None:
        pointer, tag = self._pointer()
        history = (*(pointer.history if pointer else ()), version)
        data = ThresholdPointer(version=version, history=history).model_dump_json(indent=1).encode()
        self._store.compare_and_swap(self._layout.current, tag, data)


def current_thresholds(store: Store, settings: LocalizationSettings, key: ModelKey) -> Thresholds:
    """The thresholds in force for a model: fixed by the settings, else calibrated, else where the model begins."""
    if settings.hints.threshold is None:
        found = ThresholdStore(store, settings.name, key).current()
        if found is not None:
            return found.thresholds()
    return starting_thresholds(key, settings.hints.threshold)
