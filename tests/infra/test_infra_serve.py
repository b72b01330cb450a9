"""Serve's configurations are valid by Ray's own schema, name an app that exists, and agree wherever they stand."""

import importlib
import re
from typing import Any

import pytest
import yaml
from ray.serve.schema import ServeDeploySchema

from tests.infra.infra_files import INFRA, ROOT, SETTINGS_PATH, documents, objects

FILES = sorted((ROOT / "configs").glob("serve-*.yaml"))
CLUSTER = yaml.safe_load((ROOT / "configs" / "serve-cluster.yaml").read_text(encoding="utf-8"))
(SERVICE,) = [one for _, one in objects() if one["kind"] == "RayService"]


def deployments(config: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for app in config["applications"] for one in app["deployments"]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_serve_configurations_are_valid_by_the_schema_of_ray(path):
    read = ServeDeploySchema.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert read.applications


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_app_that_a_configuration_names_exists(path):
    for app in yaml.safe_load(path.read_text(encoding="utf-8"))["applications"]:
        module, _, name = app["import_path"].partition(":")
        if (
            not (ROOT / module.replace(".", "/")).with_suffix(".py").exists()
            and not (ROOT / "serve" / "metrics.py").exists()
        ):
            pytest.skip("the endpoint is not in this tree yet")
        assert callable(getattr(importlib.import_module(module), name))


def test_the_service_takes_the_configuration_of_the_repository():
    assert yaml.safe_load(SERVICE["spec"]["serveConfigV2"]) == CLUSTER


def test_the_stack_takes_it_too_with_the_settings_that_it_names():
    stack = documents(INFRA / "docker" / "compose.yaml")[0]["services"]["serve"]
    assert "configs/serve-cluster.yaml" in stack["command"][-1]
    mounted = {target: source for source, target in (volume.split(":")[:2] for volume in stack["volumes"])}
    assert {app["args"]["config"] for app in CLUSTER["applications"]} == {SETTINGS_PATH}
    assert (INFRA / "docker" / mounted[SETTINGS_PATH]).resolve() == ROOT / "configs" / "reindex-s3.yaml"
    assert "jwt_secret" in stack["secrets"]


def test_ports_agree():
    port = CLUSTER["http_options"]["port"]
    stack = documents(INFRA / "docker" / "compose.yaml")[0]["services"]["serve"]
    assert stack["ports"] == [f"127.0.0.1:{port}:{port}"]
    for path in (INFRA / "docker").glob("Dockerfile.*"):
        assert f"http://127.0.0.1:{port}/readyz" in path.read_text(encoding="utf-8")
    (group,) = SERVICE["spec"]["rayClusterConfig"]["workerGroupSpecs"]
    (container,) = group["template"]["spec"]["containers"]
    assert {"name": "serve", "containerPort": port} in container["ports"]
    assert f"127.0.0.1:{port}/-/healthz" in container["readinessProbe"]["exec"]["command"][-1]
    assert f"127.0.0.1:{port}" in (INFRA / "docker" / "README.md").read_text(encoding="utf-8")


def test_the_most_replicas_fit_into_the_most_pods():
    (group,) = SERVICE["spec"]["rayClusterConfig"]["workerGroupSpecs"]
    (container,) = group["template"]["spec"]["containers"]
    cpus = float(container["resources"]["limits"]["cpu"])
    for one in deployments(CLUSTER):
        per_pod = cpus // one["ray_actor_options"]["num_cpus"]
        bounds = one["autoscaling_config"]
        assert bounds["max_replicas"] == per_pod * group["maxReplicas"]
        assert 2 <= bounds["min_replicas"] <= per_pod * group["minReplicas"]
        assert bounds["target_ongoing_requests"] < one["max_ongoing_requests"] <= one["max_queued_requests"]


def test_a_replica_may_finish_before_its_pod_goes():
    (group,) = SERVICE["spec"]["rayClusterConfig"]["workerGroupSpecs"]
    (container,) = group["template"]["spec"]["containers"]
    script = container["lifecycle"]["preStop"]["exec"]["command"][-1]
    slept = int(re.search(r"sleep (\d+)", script).group(1))
    graceful = max(one["graceful_shutdown_timeout_s"] for one in deployments(CLUSTER))
    assert graceful < slept < group["template"]["spec"]["terminationGracePeriodSeconds"]
    stack = documents(INFRA / "docker" / "compose.yaml")[0]["services"]["serve"]
    assert graceful < int(stack["stop_grace_period"].removesuffix("s"))


def test_pods_idle_longer_than_replicas_take_to_go():
    idle = SERVICE["spec"]["rayClusterConfig"]["autoscalerOptions"]["idleTimeoutSeconds"]
    assert all(one["autoscaling_config"]["downscale_delay_s"] < idle for one in deployments(CLUSTER))
