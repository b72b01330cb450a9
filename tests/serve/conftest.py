from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.serve.serve_worlds import ServeWorld


@pytest.fixture(scope="session")
def served(ray_cluster, tmp_path_factory) -> ServeWorld:
    """A published index that tests only read."""
    return ServeWorld.create(tmp_path_factory.mktemp("served"))


@pytest.fixture
def client_of():
    """Makes an HTTP client of an endpoint with these settings, without Serve around it."""
    from serve.app import Replica

    opened = []

    def make(settings, peer="127.0.0.1") -> TestClient:
        replica = Replica(settings)
        opened.append(replica)
        return TestClient(replica.app, "http://127.0.0.1:8000", raise_server_exceptions=False, client=(peer, 50_000))

    yield make
    for replica in opened:
        replica.close()


@pytest.fixture
def client(served, client_of) -> Iterator[TestClient]:
    return client_of(served.settings())
