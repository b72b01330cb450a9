"""The database tables of retrieval: query plans, and machine translations of cited passages."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from pydantic import AwareDatetime, Field
from sqlalchemy import Column, Index, MetaData, Row, String, Table, Text, insert, select
from sqlalchemy.dialects.mysql import MEDIUMTEXT
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from babelray.config.base import without_secrets
from babelray.database import open_database
from babelray.errors import InputError, UpstreamError
from babelray.retrieval.plan import QueryPlan, Variant
from babelray.retrieval.query import Record

_ROWS_AT_A_TIME = 500
_METADATA = MetaData()
# Ids are compared as they are: the servers' usual collation takes `a` and `A` for one.
_MYSQL: dict[str, Any] = {
    f"{dialect}_{name}": value
    for dialect in ("mysql", "mariadb")
    for name, value in (("charset", "utf8mb4"), ("collate", "utf8mb4_bin"))
}
_LONG = Text().with_variant(MEDIUMTEXT(), "mysql", "mariadb")

_PLANS = Table(
    "babelray_query_plans",
    _METADATA,
    Column("tenant_id", String(255), primary_key=True),
    Column("request_id", String(128), primary_key=True),
    Column("created_at", String(32), nullable=False),
    Column("original_query", _LONG, nullable=False),
    Column("query_language", String(64), nullable=False),
    Column("answer_language", String(64), nullable=False),
    Column("scripts", Text, nullable=False),
    Column("anchors", _LONG, nullable=False),
    Column("glossary_version", String(128), nullable=False),
    Column("query_plan_version", String(128), nullable=False),
    Column("scope_hash", String(64), nullable=False),
    Column("translations", _LONG, nullable=False),
    Column("validation_result", _LONG, nullable=False),
    Column("body", _LONG, nullable=False),
    Index("babelray_query_plans_time", "created_at"),
    **_MYSQL,
)
_PREVIEWS = Table(
    "babelray_citation_previews",
    _METADATA,
    Column("citation_id", String(128), primary_key=True),
    Column("source_revision", String(64), primary_key=True),
    Column("target_language", String(64), primary_key=True),
    Column("translation_model_key", String(255), primary_key=True),
    Column("glossary_version", String(128), primary_key=True),
    Column("original_text_hash", String(64), nullable=False),
    Column("translated_text", _LONG, nullable=False),
    Column("translated_text_hash", String(64), nullable=False),
    Column("created_at", String(32), nullable=False),
    **_MYSQL,
)


class StoredPreview(Record):
    """A machine translation of a cited passage; the first five fields are its key.

    Attributes:
        translation_model_key: Names translator, model and version.
        original_text_hash, translated_text_hash: sha256 in hex.
    """

    citation_id: str = Field(min_length=1, max_length=128)
    source_revision: str = Field(max_length=64)
    target_language: str = Field(min_length=1, max_length=64)
    translation_model_key: str = Field(min_length=1, max_length=255)
    glossary_version: str = Field(default="", max_length=128)
    original_text_hash: str = Field(min_length=64, max_length=64)
    translated_text: str
    translated_text_hash: str = Field(min_length=64, max_length=64)
    created_at: AwareDatetime


class PlanTable:
    """Plans and previews in one database. Safe to share between threads.

    Args:
        url: SQLAlchemy URL; missing tables are made.

    Raises:
        ConfigError: The URL is malformed, or its driver is not installed.
        UpstreamError: The database does not answer or refuses.
    """

    def __init__(self, url: str) -> None:
        self._engine = open_database(url, _METADATA)
        self._where = without_secrets(url)

    def insert(self, request_id: str, tenant_id: str, created_at: datetime, plan: QueryPlan, body: str) -> None:
        """Keep a plan; the same one again changes nothing.

        Args:
            request_id: Names the row together with the tenant.
            tenant_id: Whose request it was.
            created_at: With its zone.
            plan: What the report columns are taken from.
            body: The whole plan as stable JSON.

        Raises:
            InputError: The request has another plan already.
            UpstreamError: The database does not answer or refuses.
        """
        row = {"tenant_id": tenant_id, "request_id": request_id, "created_at": _text(created_at), "body": body}
        try:
            with self._speaking(), self._engine.begin() as connection:
                connection.execute(insert(_PLANS).values(row | _report(plan)))
        except IntegrityError:
            held = [found.body for found in self.rows(tenant_id, request_id)]
            if held != [body]:
                raise InputError(
                    "the request has another plan already",
                    where=self._where,
                    got=f"request {request_id}",
                    fix="give each request an id of its own",
                ) from None

    def rows(self, tenant_id: str | None = None, request_id: str | None = None) -> Iterator[Row[Any]]:
        """Rows of plans by time, then tenant and request; filters that are `None` take all.

        Raises:
            UpstreamError: The database does not answer or refuses.
        """
        query = select(_PLANS).order_by(_PLANS.c.created_at, _PLANS.c.tenant_id, _PLANS.c.request_id)
        if tenant_id is not None:
            query = query.where(_PLANS.c.tenant_id == tenant_id)
        if request_id is not None:
            query = query.where(_PLANS.c.request_id == request_id)
        with self._speaking(), self._engine.connect() as connection:
            yield from connection.execution_options(yield_per=_ROWS_AT_A_TIME).execute(query)

    def keep_preview(self, preview: StoredPreview) -> None:
        """Keep a translated passage; one that is kept already under its key stays as it is.

        Raises:
            UpstreamError: The database does not answer or refuses.
        """
        values = preview.model_dump() | {"created_at": _text(preview.created_at)}
        try:
            with self._speaking(), self._engine.begin() as connection:
                connection.execute(insert(_PREVIEWS).values(values))
        except IntegrityError:
            return

    def preview(
        self,
        citation_id: str,
        source_revision: str,
        target_language: str,
        translation_model_key: str,
        glossary_version: str = "",
    ) -> StoredPreview | None:
        """The translated passage of exactly this key.

        Raises:
            UpstreamError: The database does not answer or refuses.
        """
        key = (citation_id, source_revision, target_language, translation_model_key, glossary_version)
        query = select(_PREVIEWS).where(
            *(column == value for column, value in zip(_PREVIEWS.primary_key.columns, key, strict=True))
        )
        with self._speaking(), self._engine.connect() as connection:
            row = connection.execute(query).mappings().first()
        return None if row is None else StoredPreview.model_validate(dict(row))

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Turn the driver's errors into ours; a row that is there already is left to the caller."""
        try:
            yield
        except IntegrityError:
            raise
        except SQLAlchemyError as error:
            # No message of the driver: it may repeat the values.
            raise UpstreamError("the database refuses", where=self._where, got=type(error).__name__) from error


def _report(plan: QueryPlan) -> dict[str, str]:
    analysis = plan.analysis
    rejected = [one for one in plan.variants if not one.accepted]
    return {
        "original_query": analysis.text,
        "query_language": analysis.language,
        "answer_language": plan.answer_language,
        "scripts": _json(analysis.scripts),
        "anchors": _json([anchor.model_dump(mode="json") for anchor in analysis.anchors]),
        "glossary_version": plan.versions.get("aliases", ""),
        "query_plan_version": plan.plan_version,
        "scope_hash": plan.scope_digest,
        "translations": _variants([one for one in plan.variants if one.translation is not None]),
        "validation_result": _variants(rejected),
    }


def _variants(variants: list[Variant]) -> str:
    return _json([one.model_dump(mode="json") for one in variants])


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _text(moment: datetime) -> str:
    """UTC in one width, so that the order of texts is that of times."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
