"""`babelray serve up` as a real process: HTTP through Ray Serve, publishes under it, metrics, and how it ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
import yaml

from babelray.errors import ConfigError
from serve import app
from serve.identity import check_address
from tests.jobs.job_worlds import english, write_page
from tests.serve.serve_worlds import ServeWorld, bearer

pytestmark = [pytest.mark.ray, pytest.mark.http]

ROOT = Path(__file__).parents[2]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def serve_config(path, settings, port, host="127.0.0.1"):
    values = yaml.safe_load((ROOT / "configs/serve-local.yaml").read_text())
    values["http_options"] = {"host": host, "port": port}
    values["applications"][0]["args"]["config"] = str(settings)
    path.write_text(yaml.safe_dump(values))
    return path


def command(*arguments):
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return [sys.executable, "-m", "cli.main", *map(str, arguments)], {"cwd": ROOT, "env": environ}


@pytest.fixture(scope="module")
def up(ray_cluster, tmp_path_factory):
    root = tmp_path_factory.mktemp("up")
    world = ServeWorld.create(root)
    port = free_port()
    config = serve_config(root / "serve.yaml", world.write(root / "settings.yaml"), port)
    words, options = command("serve", "up", "--config", config)
    with (root / "log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, **options)
    base = f"http://127.0.0.1:{port}"
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(f"{base}/readyz", timeout=2).status_code == 200:
                break
        except httpx.TransportError:
            time.sleep(0.2)
    assert process.poll() is None, (root / "log").read_text(errors="replace")[-3000:]
    yield world, base, process, root / "log"
    if process.poll() is None:
        process.kill()
        process.wait(30)


def ask(base, query="", **more):
    body = {"query": query or english(4), "k": 3}
    return httpx.post(f"{base}/v1/retrieve", json=body, headers=bearer(**more), timeout=20)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_it_answers_swaps_under_load_and_ends_without_losing_a_request(up):
    world, base, process, log = up
    first = world.job.current()
    answer = ask(base)
    assert answer.status_code == 200 and answer.json()["generation"] == first
    assert httpx.post(f"{base}/v1/retrieve", json={"query": "x"}, timeout=20).status_code == 401
    write_page(world.job.root / "corpus", 60)
    second = world.job.run(publish=False).generation
    stop, codes, generations = threading.Event(), [], set()

    def load():
        with httpx.Client(timeout=20) as client:
            while not stop.is_set():
                found = client.post(f"{base}/v1/retrieve", json={"query": english(4)}, headers=bearer())
                codes.append(found.status_code)
                if found.status_code == 200:
                    generations.add(found.json()["generation"])

    threads = [threading.Thread(target=load) for _ in range(3)]
    for one in threads:
        one.start()
    world.job.catalog().publish(second)
    end = time.monotonic() + 60
    while second not in generations and time.monotonic() < end:
        time.sleep(0.05)
    world.job.catalog().rollback()
    while httpx.get(f"{base}/healthz").json()["indexes"]["trip"]["generation"] != first and time.monotonic() < end:
        time.sleep(0.05)
    stop.set()
    for one in threads:
        one.join()
    assert set(codes) == {200} and generations == {first, second}
    lines = wait_for_metrics(base)
    assert "ray_babelray_requests_total" in lines and "ray_babelray_generation_age_seconds" in lines
    assert "acme" not in lines and "KX-" not in lines, "labels hold no tenant and no query"
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0, log.read_text(errors="replace")[-2000:]
    assert "Traceback" not in log.read_text(errors="replace")


def wait_for_metrics(base):
    """What the node exports; it does so every few seconds."""
    end = time.monotonic() + 40
    while time.monotonic() < end:
        text = httpx.get(f"{base}/metrics", headers=bearer(), timeout=10).text
        if "ray_babelray_requests_total" in text and "ray_babelray_generation_age_seconds" in text:
            return text
        time.sleep(1)
    return text


def test_a_replica_of_a_deployment_that_listens_to_everybody_needs_authentication(served, tmp_path, monkeypatch):
    """However Serve was started: `serve run` and `serve deploy` do not ask the command line."""
    settings = served.write(tmp_path / "settings.yaml", auth=None)
    monkeypatch.setattr(app, "_listening_host", lambda: "0.0.0.0")
    with pytest.raises(ConfigError, match="this machine alone"):
        app._Endpoint(str(settings), [])
    config = serve_config(tmp_path / "serve.yaml", settings, free_port(), host="0.0.0.0")
    words, options = command("serve", "up", "--config", config)
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, **options)
    assert done.returncode == 2 and "this machine alone" in done.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "::", "example.org"])
def test_without_authentication_it_listens_to_nobody_else(host):
    with pytest.raises(ConfigError, match="this machine alone"):
        check_address(host)
    check_address("127.0.0.1")
    check_address("localhost")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("applications: []\n", "not a configuration"),
        ("applications: [{import_path: 'other.app:build', args: {config: x}}]\n", "not a configuration"),
        ("nonsense: [\n", "not YAML"),
        ("applications: 7\n", "Serve's configuration"),
    ],
)
def test_what_is_no_configuration_of_the_endpoint_is_said(tmp_path, text, what):
    path = tmp_path / "serve.yaml"
    path.write_text(text)
    words, options = command("serve", "up", "--config", path)
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 2 and what in done.stderr and "Traceback" not in done.stderr


def test_the_local_configuration_serves_the_demo():
    values = yaml.safe_load((ROOT / "configs/serve-local.yaml").read_text())
    settings = ROOT / values["applications"][0]["args"]["config"]
    assert settings.exists() and json.dumps(values)
