"""What clients rely on: the committed OpenAPI file, OpenAI's own client, and a fuzzer of the schema."""

import json
import threading
import time
from pathlib import Path

import numpy as np
import openai
import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, settings

from serve.app import Replica
from tests.serve.serve_worlds import bearer, token

pytestmark = [pytest.mark.ray, pytest.mark.http]

COMMITTED = Path(__file__).parents[2] / "serve" / "openapi.json"


@pytest.fixture(scope="module")
def running(served):
    """The application behind a real server on loopback."""
    replica = Replica(served.settings())
    server = uvicorn.Server(uvicorn.Config(replica.app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 30
    while not server.started and time.monotonic() < end:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}", replica
    server.should_exit = True
    thread.join(30)
    replica.close()


def test_the_committed_schema_is_that_of_the_application(running):
    _, replica = running
    made = json.dumps(replica.app.openapi(), indent=1, sort_keys=True) + "\n"
    assert COMMITTED.read_text(encoding="utf-8") == made, (
        "the API changed: write serve/openapi.json anew with `python -m serve.openapi`"
    )


def test_openais_own_client_gets_vectors(running, served):
    base, replica = running
    client = openai.OpenAI(base_url=f"{base}/v1", api_key=token())
    found = client.embeddings.create(model="trip", input=["one", "two"])
    plain = client.embeddings.create(model="trip", input=["one", "two"], encoding_format="float")
    assert np.allclose(found.data[0].embedding, plain.data[0].embedding, atol=1e-6)
    expected = replica.service.indexes["trip"].embedder.encode(["one", "two"], "passage")
    assert np.allclose([one.embedding for one in plain.data], expected.vectors, atol=1e-6)
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(base_url=f"{base}/v1", api_key="x").embeddings.create(model="trip", input="one")
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model="other", input="one")


@pytest.mark.slow
def test_nothing_that_the_schema_allows_or_forbids_breaks_the_application(running):
    """Every route is asked with what its schema allows and with what it does not; none may end in a 5xx."""
    base, _ = running
    schema = schemathesis.openapi.from_url(f"{base}/openapi.json")
    asked = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path == "/metrics":
            continue

        @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @schemathesis_given(operation)
        def check(case):
            answer = case.call(base_url=base, headers=bearer())
            assert answer.status_code < 500, (case.method, case.path, answer.status_code, answer.text[:300])
            if answer.status_code >= 400 and answer.status_code not in (404, 405):
                assert answer.headers["content-type"][0].startswith("application/problem+json")

        check()
        asked += 1
    assert asked >= 9


def schemathesis_given(operation):
    from hypothesis import given

    return given(case=operation.as_strategy())
