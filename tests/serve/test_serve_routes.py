"""The routes over a real index, without Serve around them: answers, bounds, errors, what is kept from whom."""

import base64
import json
import socket
import threading
import time

import numpy as np
import pytest

from babelray.retrieval.request import Response
from serve.scoring import STRINGS, WAITING
from serve.service import LOCALIZED_STRINGS, LOCALIZERS_KEPT
from tests.jobs.backfill_worlds import terms as glossary_terms
from tests.jobs.job_worlds import english
from tests.serve.serve_worlds import bearer
from tests.serve.web_worlds import running

pytestmark = [pytest.mark.ray, pytest.mark.http]


QUERY = english(4)


def ask(client, query=QUERY, headers=None, **body):
    return client.post("/v1/retrieve", json={"query": query, **body}, headers=headers or bearer())


def wait_for_score(client, request_id, **claims):
    end = time.monotonic() + 20
    while True:
        found = client.get(f"/v1/localize/{request_id}/score", headers=bearer(**claims)).json()
        if found.get("state") != "waiting" or time.monotonic() > end:
            return found
        time.sleep(0.02)


class TestRetrieve:
    def test_an_answer_cites_the_original_and_names_its_generation(self, client, served):
        answer = ask(client)
        assert answer.status_code == 200
        found = answer.json()
        assert found["generation"] == served.job.current() and found["request_id"] == answer.headers["x-request-id"]
        first = found["passages"][0]
        assert first["citation"]["source_uri"].endswith("page004.md")
        assert "trace" not in found
        Response.model_validate({**found, "passages": []})

    def test_ranks_go_out_and_raw_scores_do_not(self, client, served, client_of):
        hidden = ask(client, explain=True).text
        found = json.loads(hidden)
        channels = found["passages"][0]["channels"]
        assert channels and all(set(place) == {"rank", "variant_id"} for place in channels.values())
        assert all("score" not in place for one in found["trace"]["candidates"] for place in one["channels"].values())
        shown = ask(client_of(served.settings(raw_scores="shown")), explain=True).json()
        assert all("score" in place for place in shown["passages"][0]["channels"].values())

    def test_a_request_narrows_and_never_widens(self, client):
        def uris(**more):
            return {
                one["citation"]["source_uri"].partition("#")[0]
                for one in ask(client, english(102), **more).json()["passages"]
            }

        assert "rows.jsonl" in uris() and "rows.jsonl" not in uris(groups=[])
        widened = ask(client, groups=["staff", "board"])
        assert widened.status_code == 403 and widened.headers["content-type"] == "application/problem+json"
        assert ask(client, headers=bearer(groups=[]), groups=["staff"]).status_code == 403

    def test_tenants_see_their_own(self, client):
        assert ask(client, "Karte KX-202", headers=bearer(tenant="nobody")).json()["passages"] == []
        own = ask(client, "Karte KX-202", headers=bearer(tenant="other")).json()["passages"]
        assert {one["citation"]["source_uri"].partition("#")[0] for one in own} == {"rows.parquet"}

    @pytest.mark.parametrize(
        "body",
        [
            {"query": ""}, {"query": "x" * 4001}, {"k": 0}, {"k": 101}, {"k": "many"}, {"token_budget": 1},
            {"unknown": 1}, {"tenant_id": "other"}, {"answer_language": "not a language!"}, {"index": "../etc"},
            {"groups": ["x"] * 101},
        ],
    )  # fmt: skip
    def test_what_is_out_of_bounds_is_refused_and_not_repeated(self, client, body):
        answer = client.post("/v1/retrieve", json={"query": "secret words", **body}, headers=bearer())
        assert answer.status_code == 422 and answer.json()["title"] == "not a usable request"
        assert "secret words" not in answer.text and "x" * 100 not in answer.text

    def test_an_index_that_is_not_served_is_named(self, client):
        answer = ask(client, index="other")
        assert answer.status_code == 400 and "trip" in answer.json()["detail"]

    def test_a_request_id_of_the_callers_is_kept_if_it_is_one(self, client):
        assert ask(client, headers={**bearer(), "X-Request-Id": "mine-1"}).json()["request_id"] == "mine-1"
        odd = ask(client, headers={**bearer(), "X-Request-Id": "a b\tc"}).json()["request_id"]
        assert odd != "a b\tc" and len(odd) == 32

    def test_the_query_is_in_no_log(self, client, caplog):
        caplog.set_level("INFO")
        ask(client, "a very private question")
        assert "private" not in caplog.text and "/v1/retrieve" in caplog.text


class TestLimits:
    def test_a_body_that_is_too_large_is_refused_whatever_it_says(self, served, client_of):
        client = client_of(served.settings(max_body_bytes=2000))
        assert ask(client, "x" * 3000).status_code == 413

        def chunks():
            for _ in range(100):
                yield b"x" * 100

        streamed = client.post("/v1/retrieve", content=chunks(), headers=bearer())
        assert streamed.status_code == 413 and streamed.json()["title"] == "too large"

    def test_more_than_can_wait_are_told_when_to_come_back(self, served, client_of, monkeypatch):
        client = client_of(served.settings(concurrency=1, waiting=1))
        service = client.app.state.endpoint.service
        gate, begun = threading.Event(), threading.Semaphore(0)

        def slow(*_):
            begun.release()
            gate.wait(20)
            return {}

        monkeypatch.setattr(service, "retrieve", slow)
        with client:
            answers = []
            threads = [threading.Thread(target=lambda: answers.append(ask(client))) for _ in range(6)]
            for one in threads:
                one.start()
            assert begun.acquire(timeout=20)
            end = time.monotonic() + 20
            while len(answers) < 4 and time.monotonic() < end:
                time.sleep(0.01)
            gate.set()
            for one in threads:
                one.join()
        codes = sorted(one.status_code for one in answers)
        assert codes == [200, 200, 429, 429, 429, 429]
        refused = next(one for one in answers if one.status_code == 429)
        assert int(refused.headers["retry-after"]) >= 1

    def test_a_request_that_takes_too_long_is_ended(self, served, client_of, monkeypatch):
        client = client_of(served.settings(deadline_seconds=0.2))
        gate = threading.Event()
        monkeypatch.setattr(client.app.state.endpoint.service, "retrieve", lambda *_: gate.wait(5))
        assert ask(client).status_code == 504
        gate.set()

    def test_a_place_is_free_only_once_its_thread_is(self, served, client_of, monkeypatch):
        client = client_of(served.settings(concurrency=1, waiting=5, deadline_seconds=0.3))
        gate, begun = threading.Event(), []

        def slow(*_):
            begun.append(1)
            gate.wait(20)
            return {}

        monkeypatch.setattr(client.app.state.endpoint.service, "retrieve", slow)
        with client:
            assert [ask(client).status_code for _ in range(3)] == [504, 504, 504]
            assert len(begun) == 1, "the others found no place, for the first is still at work"
            gate.set()
            end = time.monotonic() + 20
            while (code := ask(client).status_code) != 200 and time.monotonic() < end:
                time.sleep(0.01)
            assert code == 200

    def test_an_error_of_ours_says_nothing_of_the_machine(self, client, monkeypatch):
        from babelray.errors import IntegrityError

        def broken(*_):
            raise IntegrityError("a file is damaged", where="/secret/place", got="abc")

        monkeypatch.setattr(client.app.state.endpoint.service, "retrieve", broken)
        answer = ask(client)
        assert answer.status_code == 503 and "secret" not in answer.text


HOSTILE = [
    "difference between Kubernetes and Nomad: " + " ".join(f"ERR_{1000 + n}" for n in range(30)),
    "what happened on 9999-12-31?",
    "since 9999-12",
    "after 0000-00-00",
]


class TestFaults:
    @pytest.mark.parametrize("query", HOSTILE)
    def test_queries_that_once_broke_the_service(self, client, query):
        assert ask(client, query).status_code == 200

    def test_every_error_is_a_problem(self, client, monkeypatch):
        def fault(*_):
            raise RuntimeError("a secret of the machine")

        service = client.app.state.endpoint.service
        answers = [
            client.get("/nowhere", headers=bearer()),
            client.get("/v1/retrieve", headers=bearer()),
            client.post("/v1/retrieve", content=b"{", headers=bearer()),
            client.post("/v1/retrieve", json={"query": "x", "y" * 5000: 1}, headers=bearer()),
        ]
        monkeypatch.setattr(service, "retrieve", fault)
        answers.append(ask(client))
        assert [one.status_code for one in answers] == [404, 405, 422, 422, 500]
        for one in answers:
            assert one.headers["content-type"] == "application/problem+json" and one.json()["request_id"]
            assert len(one.text) < 1000 and "secret" not in one.text

    def test_a_withheld_row_is_not_told_of(self, client, monkeypatch):
        from babelray.errors import ScopeViolation

        def fault(*_):
            raise ScopeViolation("a row outside the scope", where="segment 7, row 3")

        monkeypatch.setattr(client.app.state.endpoint.service, "retrieve", fault)
        answer = ask(client)
        assert answer.status_code == 500 and "row" not in answer.text and "segment" not in answer.text

    def test_a_tenant_learns_of_its_own_languages_alone(self, client):
        def languages(**claims):
            found = ask(client, QUERY, headers=bearer(**claims), explain=True).json()
            return found["trace"]["plan"]["evidence_languages"]

        assert languages() == ["en"]
        assert languages(tenant="other") == ["de"] and languages(tenant="nobody") == []

    def test_metrics_are_for_this_machine(self, served, client_of):
        far = client_of(served.settings(), peer="10.0.0.7")
        assert far.get("/metrics", headers=bearer()).status_code == 403
        near = client_of(served.settings())
        assert near.get("/metrics", headers={**bearer(), "X-Forwarded-For": "10.0.0.7"}).status_code == 403

    def test_long_work_is_refused_or_let_others_in_between(self, client):
        texts = ["word " * 400] * 60
        body = {"input": texts, "model": "trip"}
        answer = client.post("/v1/embeddings", json=body, headers=bearer())
        assert answer.status_code == 400 and "more tokens" in answer.json()["detail"]
        many = json.dumps(["backup"] * (LOCALIZED_STRINGS + 1))
        answer = client.post("/v1/localize", json={"payload": many, "target": "es"}, headers=bearer())
        assert answer.status_code == 400 and "more strings" in answer.json()["detail"]

    def test_scores_are_bounded_by_their_strings(self, client, monkeypatch):
        scoring = client.app.state.endpoint.service._scoring
        monkeypatch.setattr(scoring, "_score", lambda records, _: [{}] * len(records))
        for number in range(5):
            scoring.submit([None] * (STRINGS // 2), "en", "acme", f"big{number}")
            assert wait_for_score(client, f"big{number}")["state"] == "done"
        assert scoring._kept_strings <= STRINGS and scoring._waiting_strings == 0
        assert client.get("/v1/localize/big0/score", headers=bearer()).status_code == 400, "the oldest made room"


class TestOthers:
    def test_facts_without_counts_over_tenants(self, client, served):
        (one,) = client.get("/v1/indexes", headers=bearer()).json()["indexes"]
        assert one["generation"] == served.job.current() and "documents" not in one
        (generation,) = client.get("/v1/indexes/trip/generations", headers=bearer()).json()["generations"]
        assert generation["serving"] and generation["recall"] == 1.0 and "chunks" not in generation

    def test_health_and_readiness_need_no_token(self, client, served):
        assert client.get("/readyz").json() == {"status": "ready", "indexes": ["trip"]}
        assert client.get("/healthz").json()["indexes"]["trip"]["generation"] == served.job.current()

    def test_terms_of_strings(self, client):
        found = client.post(
            "/v1/glossary/match", json={"strings": ["The backups", "nothing"], "target": "es"}, headers=bearer()
        ).json()
        assert found["strings"][0]["enforced"][0]["rendering"] == "copia" and found["strings"][1]["enforced"] == []
        other = client.post(
            "/v1/glossary/match", json={"strings": ["x"], "target": "es"}, headers=bearer(tenant="other")
        )
        assert other.status_code == 403

    def test_a_payload_is_localized_and_scored_afterwards(self, client):
        body = {"payload": '{"a": "The backup of Orchard", "n": 1.50}', "target": "es"}
        made = client.post("/v1/localize", json=body, headers=bearer()).json()
        assert made["payload"] == '{"a": "THE copia OF Orchard", "n": 1.50}'
        path = f"/v1/localize/{made['request_id']}/score"
        end = time.monotonic() + 20
        while not (found := client.get(path, headers=bearer()).json())["scored"] and time.monotonic() < end:
            time.sleep(0.02)
        statuses = {one["term_id"]: one["status"] for one in found["strings"][0]["verdicts"]}
        assert statuses == {"backup": "applied", "orchard": "applied"}
        assert client.get(path, headers=bearer(tenant="other")).status_code == 400, "another tenant's is not there"
        broken = client.post("/v1/localize", json={"payload": "{", "target": "es"}, headers=bearer())
        assert broken.status_code == 400

    def test_two_tenants_may_use_one_request_id(self, client):
        def localize(**claims):
            headers = {**bearer(**claims), "X-Request-Id": "same"}
            return client.post("/v1/localize", json={"payload": '["x"]', "target": "es"}, headers=headers)

        scoring = client.app.state.endpoint.service._scoring
        scoring.submit([], "en", "other", "same")
        assert localize().status_code == 200
        assert wait_for_score(client, "same")["state"] == "done"
        assert wait_for_score(client, "same", tenant="other")["strings"] == []

    def test_a_score_that_fails_or_is_left_out_says_so(self, client, monkeypatch):
        scoring = client.app.state.endpoint.service._scoring
        gate = threading.Event()

        def broken(*_):
            gate.wait(20)
            raise RuntimeError("no")

        monkeypatch.setattr(scoring, "_score", broken)
        for number in range(WAITING + 1):
            scoring.submit([], "en", "acme", f"r{number}")
        assert client.get(f"/v1/localize/r{WAITING}/score", headers=bearer()).json()["state"] == "skipped"
        assert client.get("/v1/localize/r0/score", headers=bearer()).json()["state"] == "waiting"
        gate.set()
        assert wait_for_score(client, "r0")["state"] == "failed"

    def test_locales_that_callers_make_up_do_not_pile_up(self, client):
        for number in range(LOCALIZERS_KEPT + 3):
            body = {"strings": ["backup"], "source": f"en-{chr(65 + number)}A", "target": "es"}
            assert client.post("/v1/glossary/match", json=body, headers=bearer()).status_code == 200
        assert len(client.app.state.endpoint.service._localizers) == LOCALIZERS_KEPT

    def test_a_changed_glossary_is_taken_up(self, served, client_of, tmp_path):
        from babelray.config import Settings
        from babelray.glossary.store import open_glossaries

        own = served.settings().localization.model_dump(mode="json") | {
            "database": f"sqlite:///{tmp_path / 'g.sqlite'}"
        }
        terms = [one.model_copy(update={"tenant_id": "acme"}) for one in glossary_terms()]
        open_glossaries(own["database"]).commit("own", terms)
        client = client_of(Settings.model_validate({**served.values, "localization": own}))

        def rendering():
            asked = {"strings": ["a backup"], "target": "es"}
            found = client.post("/v1/glossary/match", json=asked, headers=bearer()).json()
            return found["strings"][0]["enforced"][0]["rendering"]

        assert rendering() == "copia"
        open_glossaries(own["database"]).commit(
            "own", [t.model_copy(update={"target": "respaldo"}) if t.target == "copia" else t for t in terms]
        )
        end = time.monotonic() + 20
        while rendering() != "respaldo":
            assert time.monotonic() < end
            time.sleep(0.05)

    def test_feedback_is_kept_without_the_token(self, client_of, served, tmp_path):
        client = client_of(served.settings(feedback=str(tmp_path)))
        body = {"request_id": "r1", "kind": "wrong_citation", "passage": 1, "comment": "of another page"}
        assert client.post("/v1/feedback", json=body, headers=bearer()).status_code == 201
        (kept,) = tmp_path.rglob("*.json")
        record = json.loads(kept.read_text())
        assert (record["tenant_id"], record["comment"]) == (
            "acme",
            "of another page",
        ) and "Bearer" not in kept.read_text()

    def test_vectors_as_openai_gives_them(self, client):
        asked = {"model": "trip", "input": ["one", "two"]}
        plain = client.post("/v1/embeddings", json=asked, headers=bearer()).json()
        packed = client.post("/v1/embeddings", json={**asked, "encoding_format": "base64"}, headers=bearer()).json()
        vectors = [np.frombuffer(base64.b64decode(one["embedding"]), "<f4") for one in packed["data"]]
        assert np.allclose([one["embedding"] for one in plain["data"]], vectors) and len(vectors[0]) == 32
        assert plain["usage"]["total_tokens"] > 0 and [one["index"] for one in plain["data"]] == [0, 1]


def test_a_body_that_never_ends_is_ended(served):
    with running(served.settings(deadline_seconds=0.5)) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as line:
            line.sendall(b"POST /v1/retrieve HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
            assert line.recv(1000).startswith(b"HTTP/1.1 408 ")
