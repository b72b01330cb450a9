"""Opens databases by URL, with errors that never show a password."""

from pathlib import Path

from sqlalchemy import Engine, MetaData, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError, SQLAlchemyError

from babelray.config.base import without_secrets
from babelray.errors import ConfigError, UpstreamError


def open_database(url: str, metadata: MetaData) -> Engine:
    """Connect to a database and make the tables that are missing.

    Args:
        url: SQLAlchemy URL: `sqlite:///path/file.db`, `mysql+pymysql://...`, `postgresql+psycopg://...`. The folder of
            a SQLite file is made.
        metadata: Tables that must be there.

    Raises:
        ConfigError: The URL is malformed, or its driver is not installed.
        UpstreamError: The database does not answer or refuses.
    """
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database and parsed.database != ":memory:":
            _make_folder(Path(parsed.database).parent, url)
        # Values may be secret (a query, a tenant's terms) and stand in every message of the driver otherwise.
        engine = create_engine(parsed, hide_parameters=True)
        _make_tables(engine, metadata)
    except (ArgumentError, NoSuchModuleError) as error:
        raise ConfigError(
            "not a database URL", got=without_secrets(url), allowed="sqlite:///file.db or any SQLAlchemy URL"
        ) from error
    except ModuleNotFoundError as error:
        fix = f"pip install {error.name}"
        raise ConfigError(
            "the database driver is not installed", where=without_secrets(url), got=error.name, fix=fix
        ) from error
    except OperationalError as error:
        raise UpstreamError("the database does not answer", where=without_secrets(url), got=str(error.orig)) from error
    except SQLAlchemyError as error:
        raise UpstreamError("the database refuses", where=without_secrets(url), got=type(error).__name__) from error
    return engine


def _make_folder(folder: Path, url: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            "the database's folder cannot be made", where=without_secrets(url), got=error.strerror
        ) from error


def _make_tables(engine: Engine, metadata: MetaData) -> None:
    # Others may make a table between the look for it and the making, and the next one once more: a further look finds
    # what is there by then. Each failure means that one more table exists.
    for _ in metadata.tables:
        try:
            metadata.create_all(engine)
        except DBAPIError:
            continue
        return
    metadata.create_all(engine)
