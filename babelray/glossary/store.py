"""Glossaries in a database: every version immutable, with its history and differences.

A term's row says from which version it holds and, once it is changed or removed, until which; so a version is never
rewritten and a small edit of a large glossary stores only itself. Any SQLAlchemy URL; SQLite needs no server.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from babelray.database import open_database
from babelray.errors import InputError, PublishConflict
from babelray.glossary.terms import Term
from babelray.keys import digest_of

MAX_NAME = 63
_BATCH = 500
"""Values of one IN list; SQLite of old allows 999 parameters."""

_METADATA = MetaData()
_VERSIONS = Table(
    "babelray_glossary_versions",
    _METADATA,
    Column("glossary", String(MAX_NAME), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("created_at", String(40), nullable=False),
    Column("note", Text, nullable=False),
    Column("terms", Integer, nullable=False),
    Column("digest", String(64), nullable=False),
)
_TERMS = Table(
    "babelray_glossary_terms",
    _METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("glossary", String(MAX_NAME), nullable=False),
    Column("identity", String(64), nullable=False),
    Column("content", String(64), nullable=False),
    Column("first_version", Integer, nullable=False),
    Column("end_version", Integer, nullable=True),
    Column("body", Text, nullable=False),
    Index("babelray_glossary_terms_open", "glossary", "end_version"),
    Index("babelray_glossary_terms_one", "glossary", "identity", "first_version", unique=True),
    mysql_charset="utf8mb4",
)


@dataclass(frozen=True, slots=True)
class VersionInfo:
    """One version of a glossary.

    Attributes:
        digest: Of all its terms: equal digests are equal glossaries.
    """

    glossary: str
    version: int
    created_at: str
    note: str
    terms: int
    digest: str


@dataclass(frozen=True, slots=True)
class GlossaryDiff:
    """What changed between two versions; a term is the same if tenant, id, locales and source are."""

    added: tuple[Term, ...]
    removed: tuple[Term, ...]
    changed: tuple[tuple[Term, Term], ...]


class GlossaryStore:
    """Versions of glossaries in one database.

    Args:
        engine: From `open_glossaries`, which also makes the tables.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def commit(
        self, glossary: str, terms: Sequence[Term], *, note: str = "", expected: int | None = None
    ) -> VersionInfo:
        """Make a new version that holds exactly these terms; the current one if nothing differs.

        Args:
            glossary: Its name; made on first use.
            terms: Any order.
            note: Why, for the history.
            expected: The version the caller saw; 0 for none.

        Raises:
            InputError: A term is given twice, or the name is unusable.
            PublishConflict: The glossary is at another version than `expected`, or another writer came first.
        """
        if not glossary or len(glossary) > MAX_NAME or glossary != glossary.lower() or " " in glossary:
            allowed = f"1 to {MAX_NAME} characters, lower case, no spaces"
            raise InputError("unusable glossary name", got=glossary, allowed=allowed)
        wanted = _by_identity(terms)
        try:
            with self._engine.begin() as connection:
                return self._commit(connection, glossary, wanted, note, expected)
        except IntegrityError as error:
            raise PublishConflict(
                "another writer made this version first", where=glossary, fix="read the glossary again and repeat"
            ) from error

    def _commit(
        self, connection: Connection, glossary: str, wanted: dict[str, Term], note: str, expected: int | None
    ) -> VersionInfo:
        current = _latest(connection, glossary)
        now_at = current.version if current else 0
        if expected is not None and expected != now_at:
            raise PublishConflict(
                "the glossary has moved on", where=glossary, got=f"version {now_at}", allowed=expected
            )
        columns = (_TERMS.c.id, _TERMS.c.identity, _TERMS.c.content)
        query = select(*columns).where(_TERMS.c.glossary == glossary, _TERMS.c.end_version.is_(None))
        held = {row.identity: (row.id, row.content) for row in connection.execute(query)}
        contents = {identity: digest_of(term.model_dump(mode="json"), length=64) for identity, term in wanted.items()}
        gone = [row for identity, (row, content) in held.items() if contents.get(identity) != content]
        new = [i for i in wanted if i not in held or held[i][1] != contents[i]]
        if current and not gone and not new:
            return current
        digest = digest_of(sorted(contents.items()), length=64)
        info = VersionInfo(glossary, now_at + 1, datetime.now(UTC).isoformat(), note, len(wanted), digest)
        connection.execute(insert(_VERSIONS).values(**{c.name: getattr(info, c.name) for c in _VERSIONS.columns}))
        for batch in _batches(gone):
            connection.execute(update(_TERMS).where(_TERMS.c.id.in_(batch)).values(end_version=info.version))
        rows = [
            {
                "glossary": glossary, "identity": identity, "content": contents[identity],
                "first_version": info.version, "body": wanted[identity].model_dump_json(exclude_defaults=True),
            }
            for identity in new
        ]  # fmt: skip
        if rows:
            connection.execute(insert(_TERMS), rows)
        return info

    def glossaries(self) -> list[VersionInfo]:
        """The latest version of each glossary, by name."""
        with self._engine.connect() as connection:
            names = connection.execute(select(_VERSIONS.c.glossary).distinct().order_by(_VERSIONS.c.glossary)).scalars()
            return [info for name in list(names) if (info := _latest(connection, name))]

    def history(self, glossary: str) -> list[VersionInfo]:
        """All versions, newest first.

        Raises:
            InputError: There is no such glossary.
        """
        with self._engine.connect() as connection:
            query = select(_VERSIONS).where(_VERSIONS.c.glossary == glossary).order_by(_VERSIONS.c.version.desc())
            found = [VersionInfo(**row) for row in connection.execute(query).mappings()]
        if not found:
            raise self._unknown(glossary)
        return found

    def version(self, glossary: str, version: int | None = None) -> VersionInfo:
        """One version, the latest by default.

        Raises:
            InputError: There is no such glossary or version.
        """
        versions = self.history(glossary)
        for info in versions:
            if version in (None, info.version):
                return info
        allowed = f"1 to {versions[0].version}"
        raise InputError("the glossary has no such version", where=glossary, got=version, allowed=allowed)

    def terms(self, glossary: str, version: int | None = None) -> list[Term]:
        """The terms of a version, the latest by default, by id, target locale and source.

        Raises:
            InputError: There is no such glossary or version.
        """
        wanted = self.version(glossary, version).version
        query = select(_TERMS.c.body).where(
            _TERMS.c.glossary == glossary,
            _TERMS.c.first_version <= wanted,
            or_(_TERMS.c.end_version.is_(None), _TERMS.c.end_version > wanted),
        )
        with self._engine.connect() as connection:
            found = [Term.model_validate_json(body) for body in connection.execute(query).scalars()]
        return sorted(found, key=lambda t: (t.term_id, t.target_locale, t.source, t.tenant_id, t.source_locale))

    def diff(self, glossary: str, old: int, new: int) -> GlossaryDiff:
        """What version `new` has that `old` had not, and the other way round.

        Raises:
            InputError: There is no such glossary or version.
        """
        before, after = (_by_identity(self.terms(glossary, version)) for version in (old, new))
        return GlossaryDiff(
            added=tuple(term for identity, term in after.items() if identity not in before),
            removed=tuple(term for identity, term in before.items() if identity not in after),
            changed=tuple((before[i], after[i]) for i in before if i in after and before[i] != after[i]),
        )

    def _unknown(self, glossary: str) -> InputError:
        names = ", ".join(info.glossary for info in self.glossaries()) or "none yet"
        return InputError("there is no such glossary", got=glossary, allowed=names, fix="`babelray glossary import`")


def open_glossaries(url: str) -> GlossaryStore:
    """Connect to a database and make the tables if they are missing.

    Args:
        url: SQLAlchemy URL: `sqlite:///path/file.db`, `mysql+pymysql://...`, `postgresql+psycopg://...`.

    Raises:
        ConfigError: The URL is malformed, or its driver is not installed.
        UpstreamError: The database does not answer or refuses.
    """
    return GlossaryStore(open_database(url, _METADATA))


def _latest(connection: Connection, glossary: str) -> VersionInfo | None:
    newest = select(func.max(_VERSIONS.c.version)).where(_VERSIONS.c.glossary == glossary).scalar_subquery()
    query = select(_VERSIONS).where(_VERSIONS.c.glossary == glossary, _VERSIONS.c.version == newest)
    row = connection.execute(query).mappings().first()
    return VersionInfo(**row) if row else None


def _by_identity(terms: Iterable[Term]) -> dict[str, Term]:
    found: dict[str, Term] = {}
    for term in terms:
        identity = digest_of(
            [term.tenant_id, term.term_id, term.source_locale, term.target_locale, term.source], length=64
        )
        if identity in found:
            pair = f"{term.source_locale}->{term.target_locale}"
            raise InputError("a term is given twice", where=f"{term.term_id} {pair}", got=term.source)
        found[identity] = term
    return found


def _batches(values: list[int]) -> Iterable[list[int]]:
    return (values[i : i + _BATCH] for i in range(0, len(values), _BATCH))
