"""Names and labels of the metrics that the endpoint and Ray export, read from their sources."""

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tests.infra.infra_files import ROOT

KINDS = ("Counter", "Gauge", "Histogram")
OF_RAY = frozenset({"deployment", "application", "replica", "route"})
"""Labels of Serve's own metrics; ours have those that they declare."""
OF_PROMETHEUS = frozenset({"instance", "job", "le", "GpuIndex"})


def series_of(kind: str, name: str) -> set[str]:
    """The series that Ray's exporter makes of a metric."""
    if kind == "Counter":
        return {f"ray_{name.removesuffix('_total')}_total"}
    if kind == "Histogram":
        return {f"ray_{name}_{part}" for part in ("bucket", "sum", "count")}
    return {f"ray_{name}"}


@cache
def ours() -> dict[str, frozenset[str]]:
    """Labels of every series that modules of `serve` declare by `ray.util.metrics`."""
    found: dict[str, frozenset[str]] = {}
    for path in sorted((ROOT / "serve").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and (kind := _name(node.func)) in KINDS:
                name, labels = _declared(node)
                if name is not None:
                    found.update(dict.fromkeys(series_of(kind, name), labels))
    return found


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _declared(call: ast.Call) -> tuple[str | None, frozenset[str]]:
    arguments = {one.arg: one.value for one in call.keywords}
    first = call.args[0] if call.args else arguments.get("name")
    if not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
        return None, frozenset()
    labels = arguments.get("tag_keys")
    return first.value, frozenset(ast.literal_eval(labels) if labels is not None else ())


@cache
def of_ray() -> frozenset[str]:
    """Names of metrics in the sources of Ray itself, without prefix and suffix."""
    (root,) = find_spec("ray").submodule_search_locations
    folders = ("serve/_private", "dashboard/modules/metrics", "dashboard/modules/reporter")
    files = [path for folder in folders for path in (Path(root) / folder).rglob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    names = re.findall(r"[\"'{ (]((?:ray_)?(?:serve|node|component)_\w+)", text)
    return frozenset(name.removeprefix("ray_") for name in names)


def is_of_ray(series: str) -> bool:
    """Whether Ray exports a series of this name."""
    name = series.removeprefix("ray_")
    return bool({name, re.sub(r"_(total|bucket|sum|count)$", "", name)} & of_ray())
