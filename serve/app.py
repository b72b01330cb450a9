"""The Serve application: `serve.app:build` in Serve's configuration, with the path of the settings as its argument."""

import logging
import threading
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict
from ray import serve
from ray.serve import Application

from babelray.config import Settings, load_settings
from serve.identity import check_address, identity_of
from serve.metrics import Metrics
from serve.routes import Endpoint as Routes
from serve.routes import create_app
from serve.service import Service

logger = logging.getLogger(__name__)


class Arguments(BaseModel):
    """What stands under `args` in Serve's configuration."""

    model_config = ConfigDict(extra="forbid")

    config: str


class _Endpoint:
    """Ingress and search in one replica: a hop between two would cost as much as a search.

    Args:
        config: Path of the settings; every node has it.
    """

    def __init__(self, config: str) -> None:
        settings = load_settings(Path(config))
        if settings.serving.auth is None:
            check_address(_listening_host())
        self._replica = Replica(settings)

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


Endpoint: Any = serve.deployment(name="Endpoint")(serve.ingress()(_Endpoint))
"""The deployment; `options` and `bind` are Serve's."""


class Replica:
    """Everything of one replica, with or without Serve around it.

    Args:
        settings: Of the endpoint.

    Raises:
        BabelrayError: An index cannot be opened, or a key file cannot be used.
    """

    def __init__(self, settings: Settings) -> None:
        self._metrics = Metrics()
        self.service = Service(settings, self._metrics)
        self.app = create_app(Routes(self.service, identity_of(settings.serving), settings.serving, self._metrics))
        self._ended = threading.Event()
        self._watcher = threading.Thread(
            target=self._watch, args=(settings.serving.refresh_seconds,), name="generations", daemon=True
        )
        self._watcher.start()

    def check(self) -> None:
        """Raises RuntimeError if new generations are no longer looked for."""
        if not self._watcher.is_alive():
            raise RuntimeError("the thread that looks for new generations is gone")

    def close(self) -> None:
        """End the thread and let running searches go on to their end."""
        self._ended.set()
        self._watcher.join()
        self.service.close()

    def _watch(self, seconds: float) -> None:
        while not self._ended.wait(seconds):
            self.service.refresh()


def _listening_host() -> str:
    """Where Serve listens, however it was started; there is no public way to ask."""
    from ray.serve.context import _get_global_client

    client = _get_global_client()
    assert client is not None, "a replica runs inside Serve"
    host: str = client.http_config.host
    return host


def build(args: dict[str, Any]) -> Application:
    """The application that Serve's configuration names.

    Args:
        args: `config`: path of the settings.
    """
    bound: Application = Endpoint.bind(Arguments.model_validate(args).config)
    return bound
