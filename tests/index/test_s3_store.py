"""What only an S3 store has to deal with; what it shares with a folder is in test_store.py."""

import pickle
from datetime import timedelta

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from babelray.errors import ConfigError, PublishConflict, UpstreamError
from babelray.index.s3_store import S3Store
from babelray.index.store import open_store
from tests.s3_server import BUCKET


@pytest.mark.parametrize(
    ("uri", "got"),
    [("s3://", "s3://"), ("s3:///prefix", "s3:///prefix"), ("s3://b/p?endpoint=h&scheme=http", "endpoint")],
)
def test_an_address_that_names_no_bucket_or_an_unknown_option_is_refused(uri, got):
    with pytest.raises(ConfigError, match="not the address of an S3 store") as caught:
        open_store(uri)
    assert caught.value.got == got


def test_a_server_that_does_not_answer_is_named():
    store = open_store("s3://bucket/prefix?endpoint_override=127.0.0.1:9&scheme=http")
    with pytest.raises(UpstreamError, match="does not answer") as caught:
        store.read_bytes("a")
    assert "127.0.0.1:9" in str(caught.value)


@pytest.fixture
def stubbed():
    """A store whose server is a script."""
    store = S3Store("s3://bucket/prefix?endpoint_override=127.0.0.1:9&scheme=http")
    with Stubber(store._client) as stub:
        yield store, stub


class Echo:
    """Stands for a token that is known only once it was sent; remembers it."""

    def __eq__(self, other: object) -> bool:
        self.seen = other
        return isinstance(other, dict) and len(other["writer"]) == 32

    __hash__ = None  # type: ignore[assignment]


def put(stub, token, error=None, status=412, **condition):
    asked = {"Bucket": "bucket", "Key": "prefix/p", "Body": b"1", "Metadata": token, **condition}
    if error:
        stub.add_client_error("put_object", error, http_status_code=status, expected_params=asked)
    else:
        stub.add_response("put_object", {"ETag": '"new"'}, asked)


def test_a_write_whose_answer_was_lost_is_known_by_its_token(stubbed, monkeypatch):
    store, stub = stubbed
    monkeypatch.setattr("babelray.index.s3_store.uuid4", lambda: type("Token", (), {"hex": "f" * 32}))
    put(stub, {"writer": "f" * 32}, "PreconditionFailed", IfMatch='"old"')
    stub.add_response("head_object", {"ETag": '"mine"', "Metadata": {"writer": "f" * 32}})
    assert store.compare_and_swap("p", '"old"', b"1") == '"mine"'
    stub.assert_no_pending_responses()


def test_a_write_of_somebody_else_is_a_conflict(stubbed):
    store, stub = stubbed
    put(stub, Echo(), "PreconditionFailed", IfMatch='"old"')
    for _ in range(2):
        stub.add_response("head_object", {"ETag": '"theirs"', "Metadata": {}})
    with pytest.raises(PublishConflict) as caught:
        store.compare_and_swap("p", '"old"', b"1")
    assert caught.value.got == '"theirs"'


def test_an_undecided_write_is_asked_again(stubbed):
    store, stub = stubbed
    put(stub, Echo(), "ConditionalRequestConflict", status=409, IfNoneMatch="*")
    stub.add_client_error("head_object", "404", http_status_code=404)
    put(stub, Echo(), IfNoneMatch="*")
    assert store.create_if_absent("p", b"1") is True
    stub.assert_no_pending_responses()


def test_a_pointer_that_vanished_is_a_conflict(stubbed):
    store, stub = stubbed
    put(stub, Echo(), "NoSuchKey", status=404, IfMatch='"old"')
    stub.add_client_error("head_object", "404", http_status_code=404)
    with pytest.raises(PublishConflict) as caught:
        store.compare_and_swap("p", '"old"', b"1")
    assert caught.value.got == "no file"


@pytest.mark.services
def test_unfinished_uploads_are_swept_when_they_are_old(new_s3_store):
    store = open_store(new_s3_store())
    client, key = store._client, f"{store._prefix}x/large"
    upload = client.create_multipart_upload(Bucket=BUCKET, Key=key)["UploadId"]
    client.upload_part(Bucket=BUCKET, Key=key, UploadId=upload, PartNumber=1, Body=b"half")
    assert store.sweep("x", timedelta(hours=1)) == 0
    assert store.sweep("y", timedelta(hours=-1)) == 0
    assert store.sweep("x", timedelta(hours=-1)) == 1
    assert list(store.files("x")) == [] and store.sweep("x", timedelta(hours=-1)) == 0


@pytest.mark.services
def test_a_file_of_several_parts_arrives_whole(new_s3_store, tmp_path):
    store = open_store(new_s3_store())
    large = tmp_path / "large"
    large.write_bytes(bytes(range(256)) * 4 * 20_000)  # 20 MB: over the size at which boto3 sends parts
    record = store.put_file(large, "x/large")
    with store.open_input("x/large") as stream:
        assert stream.size() == record.size
        stream.seek(record.size - 3)
        assert stream.read() == bytes([253, 254, 255])
    assert store.write_atomic("x/copy", store.read_bytes("x/large")).sha256 == record.sha256


@pytest.mark.services
def test_a_wrong_account_is_refused_with_the_servers_word(new_s3_store, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(UpstreamError, match="the S3 store refused") as caught:
        open_store(new_s3_store()).read_bytes("a")
    assert caught.value.got == "SignatureDoesNotMatch" and isinstance(caught.value.__cause__, ClientError)


@pytest.mark.services
def test_another_process_opens_its_own_connections(new_s3_store):
    store = open_store(new_s3_store())
    store.write_atomic("a", b"1")
    again = pickle.loads(pickle.dumps(store))
    assert again._client is not store._client and again.read_bytes("a") == b"1"
