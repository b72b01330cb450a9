import logging
import socket
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.config import EndpointSettings
from babelray.errors import ConfigError, UpstreamError
from babelray.keys import Role
from babelray.protocols import Embedder
from babelray.text.tokens import count_tokens
from models import retries
from models.embedders.endpoint import EndpointEmbedder, divided
from models.registry import build_embedder, ensure_on_node, model_key
from models.retries import delay_before, retry_after
from tests.models.embedding_server import good, serving, vector_of

TEXTS = ["alpha", "beta gamma", "delta", "alpha"]
pytestmark = pytest.mark.http


@pytest.fixture(autouse=True)
def short_delays(monkeypatch):
    monkeypatch.setattr(retries, "FIRST_DELAY", 0.001)


def endpoint(url, **more):
    values = {"model": "m", "revision": "1", "dimension": 4, "timeout_seconds": 5.0, "batch_size": 2, **more}
    return EndpointSettings(kind="endpoint", url=url, **values)


def encode(url, texts=TEXTS, role=Role.PASSAGE, **more):
    return EndpointEmbedder.from_settings(endpoint(url, **more)).encode(texts, role)


def unit(text):
    vector = np.array(vector_of(text))
    return vector / np.linalg.norm(vector)


def test_vectors_in_order_normalized_each_different_text_sent_once(tmp_path):
    with serving(lambda body, _: good(body)) as (url, script):
        embedder = build_embedder(endpoint(url, passage_template="p: {text}"), tmp_path)
        assert isinstance(embedder, Embedder)
        encoded = embedder.encode(TEXTS, Role.PASSAGE)
    np.testing.assert_allclose(encoded.vectors, [unit(f"p: {text}") for text in TEXTS], atol=1e-6)
    sent = sorted(tuple(body["input"]) for _, _, body in script.requests)
    assert sent == [("p: alpha", "p: beta gamma"), ("p: delta",)]
    assert {path for path, _, _ in script.requests} == {"/v1/embeddings"}
    assert embedder.encode([], Role.QUERY).vectors.shape == (0, 4)


def test_answers_in_another_order_are_put_back():
    def reversed_answer(body, _):
        status, answer, headers = good(body)
        return status, {"data": answer["data"][::-1]}, headers

    with serving(reversed_answer) as (url, _):
        encoded = encode(url)
    np.testing.assert_allclose(encoded.vectors, [unit(text) for text in TEXTS], atol=1e-6)


def test_tokens_are_the_services_where_it_counts_and_estimates_else():
    with serving(lambda body, _: good(body)) as (url, _):
        counted = encode(url)
    assert counted.tokens[:3].sum() == counted.computed_tokens == 30
    assert counted.tokens_estimated
    with serving(lambda body, _: (200, {"data": good(body)[1]["data"]}, {})) as (url, _):
        estimated = encode(url, max_tokens=8, texts=[*TEXTS, "long " * 20])
    assert estimated.tokens.tolist() == [min(8, count_tokens(text)) for text in [*TEXTS, "long " * 20]]
    assert estimated.truncated.tolist() == [False] * 4 + [True]


@given(st.integers(0, 10**6), st.lists(st.integers(1, 10**4), min_size=1, max_size=50))
def test_divided_sums_to_the_whole_and_is_nearly_proportional(total, weights):
    parts = divided(total, np.array(weights))
    assert parts.sum() == total
    assert np.all(np.abs(parts - total * np.array(weights) / sum(weights)) < 1)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_passing_failures_are_retried(status):
    def twice_down(body, number):
        return (status, {"error": "later"}, {}) if number < 2 else good(body)

    with serving(twice_down) as (url, script):
        encoded = encode(url, texts=["alpha"], retries=2)
    assert len(script.requests) == 3
    np.testing.assert_allclose(encoded.vectors[0], unit("alpha"), atol=1e-6)


def test_failures_that_last_are_an_upstream_error_after_the_retries():
    down = serving(lambda *_: (503, {"error": "down"}, {}))
    with down as (url, script), pytest.raises(UpstreamError, match="HTTP 503") as caught:
        encode(url, texts=["alpha"], retries=2)
    assert len(script.requests) == 3
    assert "resumes" in str(caught.value)


def test_retry_after_is_obeyed():
    def busy_once(body, number):
        return (429, {}, {"Retry-After": "1"}) if number == 0 else good(body)

    with serving(busy_once) as (url, _):
        started = time.monotonic()
        encode(url, texts=["alpha"])
    assert time.monotonic() - started >= 1.0


def test_retry_after_as_number_date_and_nonsense():
    assert retry_after("7", 0.0) == 7.0
    assert retry_after("Thu, 01 Jan 1970 00:01:40 GMT", 40.0) == 60.0
    assert retry_after("Thu, 01 Jan 1970 00:00:00 GMT", 40.0) == 0.0
    assert retry_after("soon", 0.0) is None
    assert retry_after(None, 0.0) is None


def test_delays_double_and_are_bounded(monkeypatch):
    monkeypatch.setattr(retries, "FIRST_DELAY", 0.25)
    for attempt in range(1, 12):
        longest = min(0.25 * 2 ** (attempt - 1), 60.0)
        assert longest / 2 <= delay_before(attempt, None) <= longest
    assert delay_before(1, 5.0) == 5.0
    assert delay_before(1, 86_400.0) == 60.0


def test_time_out_is_retried_then_reported():
    came = threading.Semaphore(0)

    def hang(body, _):
        came.release()
        script.release.wait(30)
        return good(body)

    with serving(hang) as (url, script):
        with pytest.raises(UpstreamError, match="ReadTimeout"):
            encode(url, texts=["alpha"], timeout_seconds=0.5, retries=1)
        assert came.acquire(timeout=30) and came.acquire(timeout=30)


def test_nobody_listens():
    with serving(lambda body, _: good(body)) as (url, _):
        pass
    with pytest.raises(UpstreamError, match="ConnectError"):
        encode(url, texts=["alpha"], retries=1)


def bad(change):
    def answer(body, _):
        status, content, headers = good(body)
        return status, change(content["data"]), headers

    return answer


@pytest.mark.parametrize(
    "change",
    [
        lambda data: {"data": data[:-1]},
        lambda data: {"data": [*data, data[0]]},
        lambda data: {"data": [{**item, "index": 0} for item in data]},
        lambda data: {"data": [{"index": item["index"], "embedding": item["embedding"][:3]} for item in data]},
        lambda data: {"data": [{"index": item["index"], "embedding": "AAAA"} for item in data]},
        lambda data: {"data": [{"index": item["index"], "embedding": None} for item in data]},
        lambda data: {"vectors": data},
        lambda data: [1, 2],
        lambda data: b"<html>not json</html>",
        lambda data: b" " * 2_000_000,
    ],
)
def test_answers_that_are_not_what_was_asked_for_are_refused_and_not_retried(change):
    with serving(bad(change)) as (url, script), pytest.raises(UpstreamError, match="something else"):
        encode(url, texts=["alpha", "beta"])
    assert len(script.requests) == 1


def test_vectors_that_are_not_finite_or_zero_are_refused_by_text():
    def broken(body, _):
        table = {"nan": [float("nan")] * 4, "big": [1e39, 0, 0, 0], "zero": [0.0] * 4}
        data = [{"index": at, "embedding": table.get(t, vector_of(t))} for at, t in enumerate(body["input"])]
        return 200, {"data": data}, {}

    with serving(broken) as (url, _):
        encoded = encode(url, texts=["nan", "fine", "zero", "big", "nan"])
    assert encoded.refused == {0: "non_finite", 2: "zero_vector", 3: "non_finite", 4: "non_finite"}
    np.testing.assert_allclose(encoded.vectors[1], unit("fine"), atol=1e-6)


def test_text_that_the_service_refuses_is_found_and_the_others_come_through():
    def choosy(body, _):
        return (400, {"error": "too long"}, {}) if "bad" in body["input"] else good(body)

    texts = [f"t{number}" for number in range(7)] + ["bad"]
    with serving(choosy) as (url, script):
        encoded = encode(url, texts=texts, batch_size=8)
    assert encoded.refused == {7: "refused_by_service"}
    np.testing.assert_allclose(encoded.vectors[:7], [unit(text) for text in texts[:7]], atol=1e-6)
    assert [len(body["input"]) for _, _, body in script.requests] == [8, 4, 4, 2, 2, 1, 1]


def test_all_texts_refused_is_an_error_and_not_an_empty_result():
    unwilling = serving(lambda *_: (400, {"error": "unknown model m"}, {}))
    with unwilling as (url, _), pytest.raises(UpstreamError, match="unknown model"):
        encode(url)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_failures_that_retrying_does_not_help_end_at_once(status):
    unwilling = serving(lambda *_: (status, {"error": "no"}, {}))
    with unwilling as (url, script), pytest.raises(UpstreamError, match=f"HTTP {status}"):
        encode(url, texts=["alpha"])
    assert len(script.requests) == 1


def test_redirects_are_not_followed():
    with serving(lambda body, _: good(body)) as (elsewhere, other):
        redirecting = serving(lambda *_: (307, {}, {"Location": f"{elsewhere}/embeddings"}))
        with redirecting as (url, _), pytest.raises(UpstreamError, match="HTTP 307"):
            encode(url, texts=["alpha"])
    assert other.requests == []


def test_concurrency_is_used_and_bounded():
    both_in = threading.Barrier(2, timeout=5)

    def together(body, number):
        if number < 2:
            both_in.wait()
        return good(body)

    with serving(together) as (url, script):
        encode(url, texts=[f"t{number}" for number in range(12)], batch_size=1, concurrency=2)
    assert script.most_running == 2


def test_one_batch_that_failed_stops_the_waiting_of_the_others(monkeypatch):
    monkeypatch.setattr(retries, "FIRST_DELAY", 30.0)
    one_is_in = threading.Event()

    def answer(body, _):
        if body["input"] == ["slow"]:
            one_is_in.set()
            return 503, {}, {}
        one_is_in.wait(5)
        return 401, {"error": "key"}, {}

    started = time.monotonic()
    with serving(answer) as (url, _), pytest.raises(UpstreamError, match="HTTP 401"):
        encode(url, texts=["slow", "other"], batch_size=1, concurrency=2)
    assert time.monotonic() - started < 10


def test_key_file_is_sent_and_shown_nowhere(tmp_path, caplog):
    secret = "sk-very-secret"
    (tmp_path / "key").write_text(f"{secret}\n")

    def echo(body, _):
        return 401, {"error": f"bad key {script.requests[-1][1]['Authorization']}"}, {}

    with serving(echo) as (url, script), caplog.at_level(logging.DEBUG):
        embedder = EndpointEmbedder.from_settings(endpoint(url, api_key_file=tmp_path / "key"))
        with pytest.raises(UpstreamError) as caught:
            embedder.encode(["alpha"], Role.QUERY)
    assert script.requests[0][1]["Authorization"] == f"Bearer {secret}"
    shown = [str(caught.value), caplog.text, repr(embedder), repr(embedder._client), repr(embedder.key)]
    assert not any(secret in text for text in shown)
    assert "<key>" in str(caught.value)


@pytest.mark.parametrize("content", ["", "  \n", "two words", "line\nline", "schlüssel"])
def test_key_file_that_is_not_one_key(tmp_path, content):
    (tmp_path / "key").write_text(content)
    with pytest.raises(ConfigError, match="one key"):
        EndpointEmbedder.from_settings(endpoint("http://127.0.0.1:1/v1", api_key_file=tmp_path / "key"))
    with pytest.raises(ConfigError, match="cannot be read"):
        EndpointEmbedder.from_settings(endpoint("http://127.0.0.1:1/v1", api_key_file=tmp_path / "none"))


@pytest.mark.parametrize("verb", [lambda url, _: encode(url), lambda url, cache: ensure_on_node(endpoint(url), cache)])
def test_host_outside_of_the_boundary_is_refused_before_anything_is_sent(verb, tmp_path, monkeypatch):
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a connection was opened"))
    with pytest.raises(ConfigError, match="may not leave"):
        verb("http://93.184.216.34/v1", tmp_path)


def test_proxy_of_the_environment_does_not_get_local_texts(monkeypatch):
    with serving(lambda body, _: good(body)) as (proxy, other), serving(lambda body, _: good(body)) as (url, script):
        monkeypatch.setenv("HTTP_PROXY", proxy.removesuffix("/v1"))
        encode(url, texts=["alpha"])
    assert (len(script.requests), other.requests) == (1, [])


def test_role_is_sent_only_where_asked_for_and_is_in_the_key(tmp_path):
    with serving(lambda body, _: good(body)) as (url, script):
        encode(url, texts=["alpha"], role=Role.QUERY)
        encode(url, texts=["alpha"], role=Role.QUERY, send_input_type=True)
    assert [body.get("input_type") for _, _, body in script.requests] == [None, "query"]
    plain, by_role = (model_key(endpoint(url, send_input_type=flag), tmp_path) for flag in (False, True))
    assert plain.differences(by_role).keys() == {"query_template_version", "passage_template_version"}


def test_key_names_the_endpoint(tmp_path):
    key = model_key(endpoint("http://127.0.0.1:9/v1/", revision="r7"), tmp_path)
    assert (key.provider, key.name, key.revision, key.endpoint) == ("endpoint", "m", "r7", "http://127.0.0.1:9/v1")
    assert (key.pooling, key.dtype, key.dimension) == ("provider", "provider", 4)
