"""A store under a prefix of an S3 bucket, of AWS or of any server that has conditional writes.

S3 gives whole objects: a reader sees the old content or the new. Create-if-absent is a PUT with `If-None-Match: *`,
compare-and-swap one with `If-Match` and the ETag that was read. Each such write carries a token of its own as metadata,
so that a retry after a lost answer is told apart from a write of somebody else.

Credentials come by the usual AWS chain (environment, profile, role of the machine or pod), never from the URI.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from babelray.errors import ConfigError, InputError, PublishConflict, UpstreamError
from babelray.index.digests import FileRecord, sha256_of, sha256_of_file
from babelray.index.store import checked

_WRITER = "writer"
_OPTIONS = ("endpoint_override", "region", "scheme")
_CONFLICTS = 5
"""S3 answers 409 while another conditional write of the key is on its way; asked again it decides."""
_DELETE_BATCH = 1000


class S3Store:
    """The store under one prefix.

    Args:
        uri: `s3://bucket/prefix`, with `?endpoint_override=host:port&scheme=http&region=name` for other servers: the
            form that `pyarrow.fs` takes, so that sources and stores are named alike.

    Raises:
        ConfigError: No bucket, or an option that is not known; or boto3 is not installed.
    """

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        unknown = sorted(options.keys() - set(_OPTIONS))
        if not parts.netloc or unknown:
            raise ConfigError(
                "not the address of an S3 store",
                where="store",
                got=", ".join(unknown) or uri,
                allowed="s3://bucket/prefix?" + "&".join(f"{name}=..." for name in _OPTIONS),
            )
        self._uri = uri
        self._bucket = parts.netloc
        self._prefix = f"{parts.path.strip('/')}/" if parts.path.strip("/") else ""
        self._options = options
        self._client = _client(options)
        self._reader: Any = None

    @property
    def uri(self) -> str:
        """The address it was opened with."""
        return self._uri

    def __reduce__(self) -> tuple[type["S3Store"], tuple[str]]:
        """Another process opens its own connections."""
        return S3Store, (self._uri,)

    def _key(self, path: str) -> str:
        return self._prefix + checked(path)

    def local_path(self, path: str) -> Path | None:
        """None: it has to be copied first."""
        self._key(path)
        return None

    def read_bytes(self, path: str) -> bytes:
        """The content of an object.

        Raises:
            InputError: There is no such object.
        """
        found = self.read_tagged(path)
        if found is None:
            raise self._missing(path)
        return found[0]

    def open_input(self, path: str) -> Any:
        """A seekable `pyarrow.NativeFile` that reads ranges on demand.

        Raises:
            InputError: There is no such object.
        """
        if not self.exists(path):
            raise self._missing(path)
        if self._reader is None:
            self._reader = _file_system(self._options)
        with self._upstream(path):
            return self._reader.open_input_file(f"{self._bucket}/{self._key(path)}")

    def exists(self, path: str) -> bool:
        """Whether there is such an object."""
        return self._head(path) is not None

    def write_atomic(self, path: str, data: bytes) -> FileRecord:
        """Write an object whole."""
        with self._upstream(path):
            self._client.put_object(Bucket=self._bucket, Key=self._key(path), Body=data)
        return FileRecord(path=checked(path), size=len(data), sha256=sha256_of(data))

    def put_file(self, local: Path, path: str) -> FileRecord:
        """Copy a local file into the store, in parts if it is large; the parts become an object at the end, whole."""
        record = FileRecord(path=checked(path), size=local.stat().st_size, sha256=sha256_of_file(local))
        with self._upstream(path):
            self._client.upload_file(str(local), self._bucket, self._key(path))
        return record

    def create_if_absent(self, path: str, data: bytes) -> bool:
        """Write an object unless it exists."""
        return self._put_if(path, data, IfNoneMatch="*") is not None

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        """Content and ETag."""
        key = self._key(path)
        try:
            with self._upstream(path):
                answer = self._client.get_object(Bucket=self._bucket, Key=key)
                return answer["Body"].read(), str(answer["ETag"])
        except _Absent:
            return None

    def compare_and_swap(self, path: str, expected: str | None, data: bytes) -> str:
        """Replace an object if its ETag is the expected one.

        Raises:
            PublishConflict: The object is another by now.
        """
        condition = {"IfNoneMatch": "*"} if expected is None else {"IfMatch": expected}
        tag = self._put_if(path, data, **condition)
        if tag is None:
            found = self._head(path)
            raise PublishConflict(
                "another writer changed the file first; nothing was written",
                where=f"{self._uri}, {path}",
                got=found["ETag"] if found else "no file",
                allowed=expected or "no file",
                fix="read it again and decide anew",
            )
        return tag

    def files(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Every object below a folder, sorted by path: some servers list folder by folder."""
        contents = (found for page in self._pages(prefix) for found in page.get("Contents", ()))
        # Some list a folder that somebody created as an empty object.
        there = ((str(one["Key"]), int(one["Size"])) for one in contents if not one["Key"].endswith("/"))
        yield from sorted((key.removeprefix(self._prefix), size) for key, size in there)

    def folders(self, prefix: str) -> list[str]:
        """Names of the folders directly below a folder."""
        pages = self._pages(prefix, Delimiter="/")
        return sorted(
            one["Prefix"].rstrip("/").rpartition("/")[2] for p in pages for one in p.get("CommonPrefixes", ())
        )

    def delete(self, path: str) -> None:
        """Remove an object and all below it, a thousand at a time."""
        with self._upstream(path):
            self._client.delete_object(Bucket=self._bucket, Key=self._key(path))
        keys = [{"Key": self._prefix + found} for found, _ in self.files(path)]
        for start in range(0, len(keys), _DELETE_BATCH):
            with self._upstream(path):
                batch = {"Objects": keys[start : start + _DELETE_BATCH], "Quiet": True}
                answer = self._client.delete_objects(Bucket=self._bucket, Delete=batch)
            if answer.get("Errors"):
                raise UpstreamError("objects could not be removed", where=self._uri, got=answer["Errors"][:3])

    def sweep(self, prefix: str, older_than: timedelta) -> int:
        """Abort uploads in parts that crashed writers never finished."""
        before = datetime.now(UTC) - older_than
        swept = 0
        with self._upstream(prefix):
            pages = self._client.get_paginator("list_multipart_uploads").paginate(
                Bucket=self._bucket, Prefix=f"{self._key(prefix)}/"
            )
            for upload in [one for page in pages for one in page.get("Uploads", ())]:
                if upload["Initiated"] < before:
                    one = {"Key": upload["Key"], "UploadId": upload["UploadId"]}
                    self._client.abort_multipart_upload(Bucket=self._bucket, **one)
                    swept += 1
        return swept

    def _put_if(self, path: str, data: bytes, **condition: str) -> str | None:
        """Write under a condition; the new ETag, or None where the condition did not hold."""
        token = uuid4().hex
        for _ in range(_CONFLICTS):
            try:
                with self._upstream(path):
                    answer = self._client.put_object(
                        Bucket=self._bucket, Key=self._key(path), Body=data, Metadata={_WRITER: token}, **condition
                    )
                    return str(answer["ETag"])
            except _ConditionFailed as failed:
                found = self._head(path)
                if found is not None and found["Metadata"].get(_WRITER) == token:
                    return str(found["ETag"])  # ours: the answer to an earlier try was lost
                if failed.decided:
                    return None
            except _Absent:
                return None
        raise UpstreamError("the store does not decide between writers", where=self._uri, got=path, fix="try again")

    def _head(self, path: str) -> dict[str, Any] | None:
        try:
            with self._upstream(path):
                found: dict[str, Any] = self._client.head_object(Bucket=self._bucket, Key=self._key(path))
                return found
        except _Absent:
            return None

    def _pages(self, prefix: str, **more: str) -> Iterator[dict[str, Any]]:
        with self._upstream(prefix):
            paginator = self._client.get_paginator("list_objects_v2")
            yield from paginator.paginate(Bucket=self._bucket, Prefix=f"{self._key(prefix)}/", **more)

    def _missing(self, path: str) -> InputError:
        return InputError("no such file in the store", where=self._uri, got=path)

    @contextmanager
    def _upstream(self, path: str) -> Iterator[None]:
        """Turn what the client raises into our errors."""
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            if code in ("NoSuchKey", "404", "NotFound"):
                raise _Absent from None
            if status in (409, 412):
                raise _ConditionFailed(decided=status == 412) from None
            fix = "check bucket, endpoint and credentials"
            raise UpstreamError("the S3 store refused", where=f"{self._uri}, {path}", got=code, fix=fix) from error
        except (BotoCoreError, Boto3Error, OSError) as error:
            fix = "check the endpoint and the network"
            got = f"{type(error).__name__}: {error}"
            raise UpstreamError(
                "the S3 store does not answer", where=f"{self._uri}, {path}", got=got, fix=fix
            ) from error


class _Absent(Exception):
    """There is no such object."""


class _ConditionFailed(Exception):
    """A conditional write was not made; `decided` is False while another one is on its way."""

    def __init__(self, *, decided: bool) -> None:
        super().__init__()
        self.decided = decided


def _client(options: dict[str, str]) -> Any:
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        fix = "pip install 'babelray[s3]'"
        raise ConfigError("an S3 store needs boto3", where="store", got="not installed", fix=fix) from error
    endpoint = options.get("endpoint_override")
    return boto3.session.Session().client(
        "s3",
        endpoint_url=f"{options.get('scheme', 'https')}://{endpoint}" if endpoint else None,
        region_name=options.get("region", "us-east-1" if endpoint else None),
        config=Config(
            retries={"mode": "standard", "max_attempts": 5},
            connect_timeout=10,
            read_timeout=60,
            max_pool_connections=32,
            s3={"addressing_style": "path"} if endpoint else {},
        ),
    )


def _file_system(options: dict[str, str]) -> Any:
    from pyarrow import fs

    known = {name: options[name] for name in _OPTIONS if name in options}
    if "endpoint_override" in known:
        known.setdefault("region", "us-east-1")
    return fs.S3FileSystem(**known)
