"""The published generation of an index: one small file with its history, changed by compare-and-swap alone."""

from datetime import UTC, datetime
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from babelray.errors import InputError, IntegrityError, PublishConflict
from babelray.index.layout import IndexLayout
from babelray.index.sealed import seal, unseal
from babelray.index.store import Store

HISTORY_KEPT = 200
"""Events; about 40 KB, which searchers read at each change only."""

Action = Literal["publish", "rollback"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Event(_Record):
    """One move of the pointer.

    Attributes:
        generation: Where it points since.
        replaced: Where it pointed before, `None` if nothing was published; `from` in the file.
        at: When, UTC.
        by: Who: a person, a job.
        reason: Why, in their words.
    """

    generation: str
    replaced: str | None = Field(default=None, alias="from")
    action: Action
    at: AwareDatetime
    by: str = ""
    reason: str = ""


class Pointer(_Record):
    """The published generation and how it came to be, oldest event first; the last event is the one in force."""

    generation: str
    history: tuple[Event, ...] = Field(min_length=1)

    def previous(self) -> str | None:
        """The generation that a rollback goes back to.

        Publishing puts a generation on top of the one it replaced; rolling back takes off what lies above its target.
        So rolling back twice goes back two steps, and what was rolled back from is not returned to by a rollback.
        """
        first = self.history[0].replaced
        stack = [first] if first else []
        for event in self.history:
            if event.action == "rollback" and event.generation in stack:
                del stack[len(stack) - stack[::-1].index(event.generation) :]
            else:
                stack.append(event.generation)
        return stack[-2] if len(stack) > 1 else None


def read_pointer(store: Store, layout: IndexLayout) -> tuple[Pointer | None, str | None]:
    """The pointer and the tag to swap it by; twice `None` where nothing was ever published.

    Raises:
        IntegrityError: The file is damaged.
    """
    found = store.read_tagged(layout.current)
    if found is None:
        return None, None
    data, tag = found
    try:
        pointer = Pointer.model_validate(unseal(data, layout.current))
    except ValidationError as error:
        raise IntegrityError("the pointer is damaged", where=layout.current, got=str(error)[:200]) from error
    if pointer.history[-1].generation != pointer.generation:
        raise IntegrityError(
            "the pointer and its last event disagree",
            where=layout.current,
            got=pointer.generation,
            allowed=pointer.history[-1].generation,
        )
    return pointer, tag


def move_pointer(
    store: Store,
    layout: IndexLayout,
    seen: tuple[Pointer | None, str | None],
    generation: str,
    action: Action,
    by: str,
    reason: str,
) -> Pointer:
    """Point to another generation if nobody moved the pointer since it was seen.

    Args:
        store: Where the index lies.
        layout: Of the index.
        seen: What `read_pointer` gave before the caller decided.
        generation: Where to.
        action: What the move is.
        by: Who moves it.
        reason: Why.

    Raises:
        PublishConflict: Another writer was first; the error names it, and nothing was changed.
    """
    pointer, tag = seen
    replaced = pointer.generation if pointer else None
    event = Event(generation=generation, replaced=replaced, action=action, at=datetime.now(UTC), by=by, reason=reason)
    history = (*(pointer.history if pointer else ()), event)[-HISTORY_KEPT:]
    moved = Pointer(generation=generation, history=history)
    try:
        store.compare_and_swap(layout.current, tag, seal(moved.model_dump(mode="json", by_alias=True)))
    except PublishConflict:
        raise lost_to(read_pointer(store, layout)[0], replaced or "", layout) from None
    return moved


def lost_to(winner: Pointer | None, expected: str, layout: IndexLayout) -> PublishConflict:
    """The error of a publisher who expected the pointer elsewhere; it names who moved it."""
    got = "nothing is published"
    if winner is not None:
        last = winner.history[-1]
        who = f" by {last.by}" if last.by else ""
        why = f" ({last.reason})" if last.reason else ""
        got = f"{winner.generation}, {last.action} at {last.at.isoformat(timespec='seconds')}{who}{why}"
    return PublishConflict(
        "another publisher moved the pointer first; nothing was changed",
        where=layout.current,
        got=got,
        allowed=expected or "nothing is published",
        fix="look at `babelray generations list`, and publish again if yours should still win",
    )


def nothing_published(store: Store, layout: IndexLayout) -> InputError:
    """The error of a reader who finds no pointer."""
    return InputError(
        "nothing is published in this index",
        where=f"{store.uri}/{layout.root}",
        fix="run `babelray reindex run`, or publish a generation that `babelray generations list` shows",
    )
