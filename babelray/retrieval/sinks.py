"""Keeps query plans, so that what a search did can be looked at and run again.

A plan holds the query's text. It is written to the sink and nowhere else: no message and no error repeats it.
"""

import fcntl
import json
import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Protocol

from pydantic import AwareDatetime, Field, ValidationError

from babelray.errors import ConfigError, InputError, UpstreamError
from babelray.retrieval.plan import QueryPlan
from babelray.retrieval.query import Record
from babelray.retrieval.sink_sql import PlanTable

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+._-]+:")
"""A scheme has two letters or more, so that a drive letter is a path."""


class StoredPlan(Record):
    """A plan with whose it is and when it was made."""

    request_id: str = Field(min_length=1, max_length=128)
    tenant_id: str = Field(min_length=1, max_length=255)
    created_at: AwareDatetime
    plan: QueryPlan


class PlanSink(Protocol):
    """Where plans are kept. Safe to share between threads."""

    def write(self, request_id: str, tenant_id: str, plan: QueryPlan, created_at: datetime) -> None:
        """Keep one plan.

        Raises:
            InputError: Ids, time or plan cannot be stored.
            UpstreamError: The disk or database refuses.
        """
        ...


def plan_json(plan: QueryPlan) -> str:
    """A plan as JSON, keys sorted, no spaces: equal plans give equal bytes.

    Raises:
        InputError: A number of the plan is not finite.
    """
    return _stable_json(plan)


def _stable_json(record: Record) -> str:
    try:
        return json.dumps(
            record.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
    except ValueError:
        raise InputError("a plan holds a number that JSON does not have", allowed="finite numbers") from None


class JsonlSink:
    """One line a plan, appended. Processes and threads may write to one file at a time.

    Args:
        path: The file; it and its folder are made where missing.

    Raises:
        ConfigError: The file cannot be opened for writing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("ab").close()
        except OSError as error:
            raise ConfigError(
                "plans cannot be written there", where="retrieval.plan_sink", got=f"{path}: {error.strerror}"
            ) from error

    def write(self, request_id: str, tenant_id: str, plan: QueryPlan, created_at: datetime) -> None:
        """Append one line; it is whole in the file when this returns.

        Raises:
            InputError: Ids, time or plan cannot be stored.
            UpstreamError: The disk refuses.
        """
        line = _stable_json(_stored(request_id, tenant_id, plan, created_at)).encode() + b"\n"
        try:
            with self.path.open("ab+") as file:
                # Freed with the file, also when the process dies.
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(line if _ends_whole(file.fileno()) else b"\n" + line)
        except OSError as error:
            raise UpstreamError("a plan could not be written", where=self.path, got=error.strerror) from error


def _ends_whole(descriptor: int) -> bool:
    """Whether a file is empty or ends with a line break: a writer that was killed leaves half a line."""
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


class SqlSink:
    """One row a plan in a database; columns for reports, the whole plan as JSON beside them.

    Args:
        url: SQLAlchemy URL; missing tables are made.

    Raises:
        ConfigError: The URL is malformed, or its driver is not installed.
        UpstreamError: The database does not answer or refuses.
    """

    def __init__(self, url: str) -> None:
        self.table = PlanTable(url)

    def write(self, request_id: str, tenant_id: str, plan: QueryPlan, created_at: datetime) -> None:
        """Insert one row; the same plan under the same ids again changes nothing.

        Raises:
            InputError: Ids, time or plan cannot be stored, or the request has another plan already.
            UpstreamError: The database does not answer or refuses.
        """
        stored = _stored(request_id, tenant_id, plan, created_at)
        self.table.insert(stored.request_id, stored.tenant_id, stored.created_at, plan, plan_json(plan))


def open_sink(setting: str) -> PlanSink:
    """The sink that a setting names: a database by its URL, or else a JSONL file by its path.

    Raises:
        ConfigError: The file cannot be written, the URL is malformed or its driver is not installed.
        UpstreamError: The database does not answer or refuses.
    """
    return SqlSink(setting) if _URL.match(setting) else JsonlSink(Path(setting).expanduser())


def read_plans(setting: str, *, tenant_id: str | None = None, request_id: str | None = None) -> Iterator[StoredPlan]:
    """Plans of a sink: a file's in the order of its lines, a database's by time, then tenant and request.

    Args:
        setting: As for `open_sink`.
        tenant_id: Only plans of this tenant; `None` for all.
        request_id: Only plans of this request; `None` for all.

    Raises:
        ConfigError: The URL is malformed or its driver is not installed.
        InputError: There is no such file, or what it holds is no plan; line or row is named.
        UpstreamError: The database does not answer or refuses.
    """
    if _URL.match(setting):
        yield from _read_table(PlanTable(setting), tenant_id, request_id)
        return
    for stored in _read_lines(Path(setting).expanduser()):
        if tenant_id in (None, stored.tenant_id) and request_id in (None, stored.request_id):
            yield stored


def _read_table(table: PlanTable, tenant_id: str | None, request_id: str | None) -> Iterator[StoredPlan]:
    for row in table.rows(tenant_id, request_id):
        values = {
            "request_id": row.request_id,
            "tenant_id": row.tenant_id,
            "created_at": row.created_at,
            "plan": _parsed(row.body, f"request {row.request_id}"),
        }
        yield _validated(values, f"request {row.request_id}")


def _read_lines(path: Path) -> Iterator[StoredPlan]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                where = f"{path}, line {number}"
                if line.strip():
                    yield _validated(_parsed(line, where), where)
    except OSError as error:
        raise InputError("plans cannot be read", where=path, got=error.strerror) from error


def _parsed(text: str | bytes, where: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        fix = "a writer was killed in the middle of it; take the line out to read the others"
        raise InputError("not a stored plan: no JSON", where=where, got=type(error).__name__, fix=fix) from None


def _validated(values: object, where: str) -> StoredPlan:
    try:
        return StoredPlan.model_validate(values)
    except ValidationError as error:
        raise InputError(
            "not a stored plan of this version",
            where=where,
            got=_problem(error),
            fix="read it with the version of Babelray that wrote it",
        ) from None


def _stored(request_id: str, tenant_id: str, plan: QueryPlan, created_at: datetime) -> StoredPlan:
    try:
        return StoredPlan(request_id=request_id, tenant_id=tenant_id, created_at=created_at, plan=plan)
    except ValidationError as error:
        raise InputError("a plan cannot be stored under these values", got=_problem(error)) from None


def _problem(error: ValidationError) -> str:
    """Field and kind of the first problem, without the value: it may hold text of a query."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
