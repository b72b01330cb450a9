"""A bounded memory of values whose keys hold every version that shaped them, and the scope.

A key is a tuple of plain values; whoever makes one puts in model key, generation, access revision, scope digest,
glossary, translator, plan and policy versions, as far as they shape the value. So nothing is ever looked at before its
key, scope included, has matched, and a new version needs no clearing: old entries simply are no longer asked for.
"""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """The least recently used entries go first. Safe between threads.

    Args:
        entries: Most entries kept; 0 keeps none.
    """

    def __init__(self, entries: int) -> None:
        self._most = entries
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = Lock()
        self.hits = 0
        self.misses = 0

    def get(self, key: Hashable) -> Value | None:
        """The value of exactly this key."""
        with self._lock:
            value = self._values.get(key)
            if value is None:
                self.misses += 1
                return None
            self._values.move_to_end(key)
            self.hits += 1
            return value

    def put(self, key: Hashable, value: Value) -> None:
        """Remember a value."""
        if self._most == 0:
            return
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
