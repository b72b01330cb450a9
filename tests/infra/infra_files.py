"""Finds the files of infra/ and what is in them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
INFRA = ROOT / "infra"
KUBERAY = sorted((INFRA / "kuberay").glob("*.yaml"))
YAML = sorted([*INFRA.rglob("*.yaml"), *INFRA.rglob("*.yml")])
SETTINGS_PATH = "/etc/babelray/settings.yaml"


def documents(path: Path) -> list[Any]:
    """What a YAML file holds, aliases resolved, every value a JSON value."""
    return [json.loads(json.dumps(one)) for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def objects() -> list[tuple[str, dict[str, Any]]]:
    """Every Kubernetes object, named by file and kind."""
    return [(f"{path.name}:{one['kind']}", one) for path in KUBERAY for one in documents(path)]


def found(value: Any, key: str) -> Iterator[Any]:
    """Every value that stands under a key, at any depth."""
    if isinstance(value, dict):
        if key in value:
            yield value[key]
        for below in value.values():
            yield from found(below, key)
    elif isinstance(value, list):
        for below in value:
            yield from found(below, key)


def pod_specs(one: dict[str, Any]) -> list[dict[str, Any]]:
    """The specification of every pod that an object makes."""
    templates = [*found(one, "template"), *found(one, "submitterPodTemplate")]
    return [template["spec"] for template in templates if "containers" in template.get("spec", {})]


def containers(one: dict[str, Any]) -> list[dict[str, Any]]:
    """Every container of an object, those that run before the others included."""
    return [each for spec in pod_specs(one) for each in [*spec.get("initContainers", []), *spec["containers"]]]


def strings(value: Any) -> Iterator[str]:
    """Every string of a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, below in value.items():
            yield str(key)
            yield from strings(below)
    elif isinstance(value, list):
        for below in value:
            yield from strings(below)
