"""`babelray serve`: the HTTP endpoint."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import ValidationError
from rich.console import Console

from babelray.config import load_settings
from babelray.errors import ConfigError
from serve.identity import check_address

app = typer.Typer(help="The HTTP endpoint over Ray Serve.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """The HTTP endpoint over Ray Serve."""


@app.command()
def up(
    config: Annotated[Path, typer.Option("--config", "-c", help="Serve's configuration: a YAML file.")],
    host: Annotated[str | None, typer.Option("--host", help="Overrides the configuration's.")] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65_535, help="Overrides the configuration's.")
    ] = None,
) -> None:
    """Serve on this machine until Ctrl-C, which lets running requests end.

    The file is Ray Serve's own configuration, so that `serve deploy` takes it to a cluster as it is. Without
    `serving.auth` in the settings that it names, nothing but this machine is listened to.

    Example: babelray serve up --config configs/serve-local.yaml
    """
    options = _read(config)
    http = options.get("http_options", {})
    address = host or http.get("host", "127.0.0.1")
    (application,) = options["applications"]
    settings_path = Path(application["args"]["config"])
    settings = load_settings(settings_path)
    if settings.serving.auth is None:
        check_address(address)
    import ray
    from ray import serve

    from jobs.cluster import connect
    from serve.app import build

    connect(settings)
    listening = port or int(http.get("port", 8000))
    serve.start(http_options={"host": address, "port": listening}, proxy_location="HeadOnly")
    deployments = {
        one["name"]: {name: value for name, value in one.items() if name != "name"}
        for one in application.get("deployments", [])
    }
    serve.run(
        build({"config": str(settings_path.resolve())}, deployments),
        name=application["name"],
        route_prefix=application.get("route_prefix", "/"),
    )
    console = Console()
    console.print(f"listening on http://{address}:{listening}, Ctrl-C ends it", highlight=False)
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        console.print("ending: running requests are let go on")
    finally:
        serve.shutdown()  # type: ignore[no-untyped-call]
        ray.shutdown()


def _read(path: Path) -> dict[str, Any]:
    from ray.serve.schema import ServeDeploySchema

    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
        read: dict[str, Any] = ServeDeploySchema.model_validate(values).model_dump(exclude_unset=True)
    except OSError as error:
        raise ConfigError("cannot read Serve's configuration", where=path, got=error.strerror) from error
    except yaml.YAMLError as error:
        raise ConfigError("Serve's configuration is not YAML", where=path, got=str(error)) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"Serve's configuration, `{place}`: {first['msg']}", where=path) from None
    applications = read["applications"]
    wanted = "serve.app:build"
    if (
        len(applications) != 1
        or applications[0].get("import_path") != wanted
        or "config" not in applications[0].get("args", {})
    ):
        allowed = f"one application with import_path {wanted} and args: {{config: PATH}}"
        raise ConfigError("not a configuration of this endpoint", where=path, allowed=allowed)
    return read
