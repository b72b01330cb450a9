"""Shard groups: replicas that hold the indexes of a part of the segments, for an index that one node cannot hold.

Segment n belongs to group n modulo the number of groups. The front keeps the tables of all segments, which are mapped
from disk, compiles the scope, asks every group side by side, looks at each row once more and merges. So the results are
those of one process, bit for bit: the same search runs in the same segments, only elsewhere.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from babelray.config import Settings
from babelray.errors import UpstreamError
from babelray.index.access import AccessScope, AccessTable, CompiledScope, compile_scope
from babelray.index.access_store import read_table
from babelray.index.generations import Catalog
from babelray.index.manifest import Manifest
from babelray.index.open_segment import OpenSegment
from babelray.index.reader import find_manifest, open_segments
from babelray.index.segment_search import SegmentQuestion, SegmentSearch, search_segment
from babelray.index.store import open_store
from babelray.index.vectors import Found

GENERATIONS_KEPT = 2
"""Of one index: the one that is published and the one that searches may still use."""
TABLES_KEPT = 4
"""Revisions of access tables: fronts take up a new one within a moment of each other."""
Value = TypeVar("Value")
TRIES = 2
"""A question to a replica that died is asked once more; it changes nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class ShardQuestion:
    """What a front asks a group.

    Attributes:
        revision: Of the access table that the scope is to be evaluated on: the front's own.
    """

    index: str
    generation: str
    scope: AccessScope
    revision: str
    question: SegmentQuestion
    k: int


class _Kept(Generic[Value]):
    """The values that were used last, by name. Nobody who finds theirs waits while another is loaded."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, Value] = OrderedDict()
        self._lock, self._loading = threading.Lock(), threading.Lock()

    def get(self, name: str, load: Callable[[], Value]) -> Value:
        found = self._find(name)
        if found is not None:
            return found
        with self._loading:
            found = self._find(name)
            if found is None:
                found = load()
                with self._lock:
                    self._kept[name] = found
                    if len(self._kept) > self._most:
                        self._kept.popitem(last=False)
            return found

    def _find(self, name: str) -> Value | None:
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
            return self._kept.get(name)


class ShardGroup:
    """The segments of one group, of every index that is served.

    Args:
        settings: Of each index, by name.
        group: Number of this group, from 0.
        groups: How many there are.
    """

    def __init__(self, settings: Mapping[str, Settings], group: int, groups: int) -> None:
        self._settings, self._group, self._groups = settings, group, groups
        self._opened: dict[str, _Kept[dict[int, OpenSegment]]] = {name: _Kept(GENERATIONS_KEPT) for name in settings}
        self._tables: dict[str, _Kept[AccessTable]] = {name: _Kept(TABLES_KEPT) for name in settings}

    def answer(self, asked: ShardQuestion) -> list[tuple[int, Found]]:
        """For each segment of this group its position and its best rows.

        Raises:
            IntegrityError: A file is missing or is not what its checksum says.
            InputError: There is no such generation.
        """
        segments = self._segments(asked.index, asked.generation)
        scope = compile_scope(self._table(asked.index, asked.revision), asked.scope)
        return [(number, search_segment(one, asked.question, scope, asked.k)) for number, one in segments.items()]

    def refresh(self) -> None:
        """Open what was published since, before a front asks for it."""
        for name, settings in self._settings.items():
            pointer = Catalog(open_store(settings.store), name).pointer()
            if pointer is not None:
                self._segments(name, pointer.generation)

    def _segments(self, index: str, generation: str) -> dict[int, OpenSegment]:
        def load() -> dict[int, OpenSegment]:
            settings = self._settings[index]
            store = open_store(settings.store)
            manifest = find_manifest(store, index, generation)
            own = range(self._group, len(manifest.segments), self._groups)
            return open_segments(store, manifest, settings.cache_dir, numbers=own)

        return self._opened[index].get(generation, load)

    def _table(self, index: str, revision: str) -> AccessTable:
        def load() -> AccessTable:
            if revision == AccessTable().revision:
                return AccessTable()
            return read_table(open_store(self._settings[index].store), index, revision)

        return self._tables[index].get(revision, load)


class Pending(Protocol):
    """An answer on its way."""

    def result(self, timeout: float) -> list[tuple[int, Found]]:
        """Wait for it; raises TimeoutError, ConnectionError where the replica is gone, and what the group raised."""
        ...


Ask = Callable[[ShardQuestion], Pending]


class ShardedSearch(SegmentSearch):
    """Asks all groups about the segments of one generation.

    Args:
        groups: Ask one group each, in the order of their numbers.
        manifest: Of the generation.
        timeout: Seconds that a group has.
    """

    concurrent = True

    def __init__(self, groups: Sequence[Ask], manifest: Manifest, timeout: float) -> None:
        self._groups, self._manifest, self._timeout = groups, manifest, timeout

    def search(self, question: SegmentQuestion, scope: CompiledScope, k: int) -> list[Found]:
        """As the protocol.

        Raises:
            UpstreamError: A group does not answer. What the others found is not shown: it would look complete.
        """
        manifest = self._manifest
        asked = ShardQuestion(manifest.index, manifest.generation, scope.scope, scope.revision, question, k)
        pending = [ask(asked) for ask in self._groups]
        found: dict[int, Found] = {}
        for number, one in enumerate(pending):
            found.update(self._result(number, one, asked))
        return [found[number] for number in range(len(manifest.segments))]

    def _result(self, group: int, pending: Pending, asked: ShardQuestion) -> list[tuple[int, Found]]:
        for tries_left in reversed(range(TRIES)):
            try:
                return pending.result(self._timeout)
            except (ConnectionError, TimeoutError) as error:
                # A late answer is not asked for again: the caller has waited as long as it may.
                if isinstance(error, TimeoutError) or not tries_left:
                    raise self._silent(group) from error
                pending = self._groups[group](asked)
        raise AssertionError("the last try returns or raises")

    def _silent(self, group: int) -> UpstreamError:
        return UpstreamError(
            "a shard group does not answer",
            where=f"group {group} of {len(self._groups)}, index {self._manifest.index}",
            fix="see the state of its replicas in `serve status`",
        )


class ServeHandle:
    """Asks a group over Ray Serve, from a thread that may wait.

    Args:
        handle: Of the group's deployment.
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def wait(self) -> None:
        """Return once the group has opened its segments; however long that takes, a search could do nothing before."""
        self._handle.ready.remote().result()

    def __call__(self, asked: ShardQuestion) -> "Pending":
        """Send the question."""
        return _ServeAnswer(self._handle.answer.remote(asked))


class _ServeAnswer:
    def __init__(self, response: Any) -> None:
        self._response = response

    def result(self, timeout: float) -> list[tuple[int, Found]]:
        from ray.exceptions import ActorDiedError, ActorUnavailableError, GetTimeoutError
        from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError, ReplicaUnavailableError

        try:
            answer: list[tuple[int, Found]] = self._response.result(timeout_s=timeout)
        except (ActorDiedError, ActorUnavailableError, ReplicaUnavailableError) as error:
            raise ConnectionError(str(error)) from error
        except (GetTimeoutError, TimeoutError, BackPressureError, DeploymentUnavailableError) as error:
            raise TimeoutError(str(error)) from error
        return answer
