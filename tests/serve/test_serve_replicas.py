"""Replicas under Ray Serve: more under load and fewer after it, one that is killed, and shard groups."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import psutil
import pytest

from tests.jobs.job_worlds import english, german
from tests.serve.serve_worlds import ServeWorld, bearer
from tests.serve.test_serve_up import free_port

pytestmark = [pytest.mark.ray, pytest.mark.http, pytest.mark.slow, pytest.mark.timeout(600)]

SMALL = {"ray_actor_options": {"num_cpus": 0.1}, "max_ongoing_requests": 64, "graceful_shutdown_timeout_s": 20}


@pytest.fixture(scope="module")
def base(ray_cluster) -> Iterator[str]:
    """Address of Ray Serve on the tests' cluster."""
    from ray import serve

    port = free_port()
    serve.start(http_options={"host": "127.0.0.1", "port": port}, proxy_location="HeadOnly")
    yield f"http://127.0.0.1:{port}"
    serve.shutdown()


@pytest.fixture(scope="module")
def world(ray_cluster, tmp_path_factory) -> ServeWorld:
    return ServeWorld.create(tmp_path_factory.mktemp("replicas"))


@contextmanager
def running(world, path, options, **serving):
    """The application on the cluster, with settings of its own."""
    from ray import serve

    from serve.app import build

    path.mkdir(parents=True)
    settings = world.write(path / "settings.yaml", **serving)
    serve.run(build({"config": str(settings)}, options), name="replicas", route_prefix="/")
    try:
        yield
    finally:
        serve.delete("replicas")


class Load:
    """Clients that each send the next request when they have an answer."""

    def __init__(self, base, clients):
        self.codes, self.slowest = Counter(), 0.0
        self._base, self._stop, self._lock = base, threading.Event(), threading.Lock()
        self._threads = [threading.Thread(target=self._run) for _ in range(clients)]

    def __enter__(self):
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for one in self._threads:
            one.join()

    def _run(self):
        with httpx.Client(timeout=60, trust_env=False) as client:
            number = 0
            while not self._stop.is_set():
                number += 1
                body = {"query": f"{english(number % 12)} {number}", "k": 3}
                began = time.monotonic()
                try:
                    code = client.post(f"{self._base}/v1/retrieve", json=body, headers=bearer()).status_code
                except httpx.TransportError as error:
                    code = type(error).__name__
                with self._lock:
                    self.codes[code] += 1
                    self.slowest = max(self.slowest, time.monotonic() - began)


def replicas(deployment):
    """Replicas that serve."""
    from ray import serve

    found = serve.status().applications["replicas"].deployments[deployment]
    return found.replica_states.get("RUNNING", 0)


def wait_for(condition, seconds=150):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.2)


def pid_of(deployment):
    """A process of a replica of a deployment of this application; None while there is none."""
    for process in psutil.process_iter(["cmdline", "create_time"]):
        if f"ServeReplica:replicas:{deployment}" in " ".join(process.info["cmdline"] or ()):
            return process.pid
    return None


def test_replicas_grow_under_load_shrink_after_it_and_lose_no_request(base, world, tmp_path):
    scaling = {
        "min_replicas": 1,
        "max_replicas": 2,
        "target_ongoing_requests": 2,
        "upscale_delay_s": 1,
        "downscale_delay_s": 2,
        "look_back_period_s": 12,
    }
    with running(world, tmp_path / "a", {"Endpoint": {**SMALL, "autoscaling_config": scaling}}):
        assert replicas("Endpoint") == 1
        with Load(base, 8) as load:
            wait_for(lambda: replicas("Endpoint") == 2)
            time.sleep(1)
        # One client goes on while a replica is taken away: what that replica works on is answered.
        with Load(base, 1) as rest:
            wait_for(lambda: replicas("Endpoint") == 1)
            time.sleep(1)
        assert set(load.codes) == {200} and set(rest.codes) == {200}


def test_a_killed_replica_is_replaced_while_the_others_answer(base, world, tmp_path):
    options = {"Endpoint": {**SMALL, "num_replicas": 2, "health_check_period_s": 1}}
    with running(world, tmp_path / "b", options):
        with Load(base, 4) as load:
            time.sleep(1)
            victim = pid_of("Endpoint")
            os.kill(victim, signal.SIGKILL)
            before = sum(load.codes.values())
            wait_for(lambda: replicas("Endpoint") == 2 and sum(load.codes.values()) > before + 50)
            wait_for(lambda: not psutil.pid_exists(victim))
        lost = sum(count for code, count in load.codes.items() if code != 200)
        assert load.codes[200] > 50
        # What it was working on; and each client may meet it once more before the router knows.
        assert lost <= 8, load.codes


def test_shard_groups_answer_as_one_process_does_and_outlive_a_killed_one(base, world, tmp_path):
    def answers():
        asked = [english(4), german(7), "KX-102", "opens at 7"]
        found = [
            httpx.post(f"{base}/v1/retrieve", json={"query": query}, headers=bearer(), timeout=30).json()
            for query in asked
        ]
        return [{name: value for name, value in one.items() if name != "request_id"} for one in found]

    with running(world, tmp_path / "c", {"Endpoint": SMALL}):
        alone = answers()
    small = {**SMALL, "health_check_period_s": 1}
    options = {"Endpoint": small, "Shard0": small, "Shard1": small}
    with running(world, tmp_path / "d", options, shard_groups=2, deadline_seconds=60):
        assert replicas("Shard0") == replicas("Shard1") == 1
        assert answers() == alone and any(one["passages"] for one in alone)
        with Load(base, 2) as load:
            time.sleep(1)
            victim = pid_of("Shard1")
            os.kill(victim, signal.SIGKILL)
            wait_for(lambda: pid_of("Shard1") not in (None, victim))
            before = load.codes[200]
            wait_for(lambda: load.codes[200] > before + 20)
        assert set(load.codes) <= {200, 502}
        assert load.codes[502] <= 8, load.codes
        assert answers() == alone
