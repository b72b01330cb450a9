"""A real S3 server (SeaweedFS, whose binary comes in a Python package) on loopback, for as long as a test session."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

BUCKET = "babelray-tests"
START_SECONDS = 60


def binary() -> str | None:
    """Where `weed` lies: beside this Python, or on the path."""
    return shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """Start the server and a bucket; gives `host:port`.

    Raises:
        TimeoutError: It did not come up; its log is in the message.
    """
    weed = binary()
    assert weed is not None
    ports = _free_ports(8)
    names = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc")
    options = [f"-{name}={port}" for name, port in zip((*names, "s3.port", "s3.port.grpc"), ports, strict=True)]
    (folder / "s3.json").write_text(
        '{"identities": [{"name": "tests", "credentials": [{"accessKey": "tests", "secretKey": "not-a-secret"}], '
        '"actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}'
    )
    data = folder / "data"
    data.mkdir()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                weed,
                "server",
                f"-dir={data}",
                "-ip=127.0.0.1",
                "-ip.bind=127.0.0.1",
                "-s3",
                *options,
                f"-s3.config={folder / 's3.json'}",
                "-master.volumeSizeLimitMB=64",
                "-volume.max=64",
                "-master.telemetry=false",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        _make_bucket(f"http://127.0.0.1:{ports[6]}", process, folder / "log")
        yield f"127.0.0.1:{ports[6]}"
    finally:
        process.kill()  # asked politely it takes half a minute, and its data goes with the folder
        process.wait(timeout=30)


def _make_bucket(endpoint: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="tests",
        aws_secret_access_key="not-a-secret",
        config=Config(retries={"max_attempts": 1}, connect_timeout=2, read_timeout=5),
    )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            client.create_bucket(Bucket=BUCKET)
            # The first write waits until a volume has been grown; before that it fails.
            client.put_object(Bucket=BUCKET, Key="ready", Body=b"1")
        except (BotoCoreError, ClientError):
            time.sleep(0.3)
        else:
            return
    raise TimeoutError(f"the S3 server did not start:\n{log.read_text(errors='replace')[-2000:]}")


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
