"""The Serve application: `serve.app:build` in Serve's configuration, with the path of the settings as its argument."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict
from ray import serve
from ray.serve import Application

from babelray.config import Settings, load_settings
from babelray.index.vectors import Found
from serve.identity import check_address, identity_of
from serve.metrics import Metrics
from serve.routes import Endpoint as Routes
from serve.routes import create_app
from serve.service import Service, served_settings
from serve.shards import Ask, ServeHandle, ShardGroup, ShardQuestion

logger = logging.getLogger(__name__)


class Arguments(BaseModel):
    """What stands under `args` in Serve's configuration."""

    model_config = ConfigDict(extra="forbid")

    config: str


class _Endpoint:
    """Ingress and search in one replica: a hop between two would cost as much as a search.

    Args:
        config: Path of the settings; every node has it.
        shards: Handles of the shard groups, if the indexes are spread over some.
    """

    def __init__(self, config: str, shards: Sequence[Any]) -> None:
        settings = load_settings(Path(config))
        if settings.serving.auth is None:
            check_address(_listening_host())
        asks = [ServeHandle(one) for one in shards]
        # In a thread: this runs in an event loop, where nobody may wait for the answer of another deployment.
        with ThreadPoolExecutor(1) as opening:
            self._replica = opening.submit(_open, settings, asks).result()

    def __serve_build_asgi_app__(self) -> FastAPI:
        """The routes, once everything is open."""
        return self._replica.app

    def check_health(self) -> None:
        """Raises if the thread that looks for new generations is gone."""
        self._replica.check()

    def __del__(self) -> None:
        """Let running work end."""
        replica = getattr(self, "_replica", None)
        if replica is not None:
            replica.close()


class _Shard:
    """One shard group.

    Args:
        config: Path of the settings; every node has it.
        group: Its number.
    """

    def __init__(self, config: str, group: int) -> None:
        settings = load_settings(Path(config))
        self._group = ShardGroup(served_settings(settings), group, settings.serving.shard_groups)
        self._group.refresh()
        self._pool = ThreadPoolExecutor(settings.serving.concurrency, thread_name_prefix="shard")
        self._watch = Repeated(self._group.refresh, settings.serving.refresh_seconds)

    async def ready(self) -> None:
        """Answered once everything is open."""

    async def answer(self, asked: ShardQuestion) -> list[tuple[int, Found]]:
        """What `ShardGroup.answer` says."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._group.answer, asked)

    def check_health(self) -> None:
        """Raises if the thread that looks for new generations is gone."""
        self._watch.check()

    def __del__(self) -> None:
        """End the thread."""
        watch = getattr(self, "_watch", None)
        if watch is not None:
            watch.close()


Endpoint: Any = serve.deployment(name="Endpoint")(serve.ingress()(_Endpoint))
"""The deployment; `options` and `bind` are Serve's."""
Shard: Any = serve.deployment(name="Shard", max_ongoing_requests=64)(_Shard)


class Repeated:
    """Calls something again and again in a thread of its own; an error is logged and does not end it.

    Args:
        call: What to do.
        seconds: Between two calls.
    """

    def __init__(self, call: Callable[[], None], seconds: float) -> None:
        self._call, self._seconds = call, seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="generations", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raises RuntimeError if the thread is gone."""
        if not self._thread.is_alive():
            raise RuntimeError("the thread that looks for new generations is gone")

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            try:
                self._call()
            except Exception:
                # Whatever a damaged file may raise: without this thread nothing new would ever be taken up.
                logger.exception("new generations could not be looked for")


class Replica:
    """Everything of one replica, with or without Serve around it.

    Args:
        settings: Of the endpoint.
        shards: Ask the shard groups, if the indexes are spread over some.

    Raises:
        BabelrayError: An index cannot be opened, or a key file cannot be used.
    """

    def __init__(self, settings: Settings, shards: Sequence[Ask] = ()) -> None:
        self._metrics = Metrics()
        self.service = Service(settings, self._metrics, shards)
        self.app = create_app(Routes(self.service, identity_of(settings.serving), settings.serving, self._metrics))
        self._watch = Repeated(self.service.refresh, settings.serving.refresh_seconds)

    def check(self) -> None:
        """Raises RuntimeError if new generations are no longer looked for."""
        self._watch.check()

    def close(self) -> None:
        """End the thread and let running searches go on to their end."""
        self._watch.close()
        self.service.close()


def _open(settings: Settings, shards: Sequence[ServeHandle]) -> Replica:
    for one in shards:
        one.wait()
    return Replica(settings, shards)


def _listening_host() -> str:
    """Where Serve listens, however it was started; there is no public way to ask."""
    from ray.serve.context import _get_global_client

    client = _get_global_client()
    assert client is not None, "a replica runs inside Serve"
    host: str = client.http_config.host
    return host


def build(args: dict[str, Any], options: Mapping[str, dict[str, Any]] | None = None) -> Application:
    """The application that Serve's configuration names.

    Args:
        args: `config`: path of the settings.
        options: Of deployments, by name; where Serve reads its configuration itself it puts them over these.
    """
    config = Arguments.model_validate(args).config
    groups = load_settings(Path(config)).serving.shard_groups
    own = options or {}
    names = [f"Shard{number}" for number in range(groups)]
    shards = [
        Shard.options(**{"name": name, **own.get(name, {})}).bind(config, group) for group, name in enumerate(names)
    ]
    bound: Application = Endpoint.options(**own.get("Endpoint", {})).bind(config, shards)
    return bound
