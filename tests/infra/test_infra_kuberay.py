"""Manifests are what Kubernetes and KubeRay take, and agree with each other and with the code."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest

from babelray.config import load_settings
from tests.infra.infra_files import KUBERAY, ROOT, SETTINGS_PATH, containers, found, objects, pod_specs, strings
from tests.infra.kuberay_schema import schema_of

KUBERNETES = ("1.30", "1.37")
"""The oldest and the newest release that the manifests are checked against."""
OBJECTS = objects()
OURS = [(name, one) for name, one in OBJECTS if one["apiVersion"] != "ray.io/v1"]
RAY = [(name, one) for name, one in OBJECTS if one["apiVersion"] == "ray.io/v1"]
CLUSTERS = [(name, spec) for name, one in RAY for spec in found(one, "headGroupSpec")]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def names(pairs: list[tuple[str, Any]]) -> list[str]:
    return [name for name, _ in pairs]


def settings_files() -> dict[str, str]:
    """Files of the ConfigMap by name."""
    (data,) = [one["data"] for _, one in OBJECTS if one["kind"] == "ConfigMap"]
    return data


def cluster_specs() -> list[dict[str, Any]]:
    return [one["spec"].get("rayClusterSpec") or one["spec"].get("rayClusterConfig") or one["spec"] for _, one in RAY]


def megabytes(quantity: str) -> float:
    number, unit = re.fullmatch(r"(\d+)(Mi|Gi)", quantity).groups()
    return int(number) * (1024 if unit == "Gi" else 1)


def cpus(quantity: str) -> float:
    return int(quantity[:-1]) / 1000 if quantity.endswith("m") else float(quantity)


def test_there_is_one_of_each_kind_that_a_cluster_needs():
    kinds = [one["kind"] for _, one in OBJECTS]
    assert {
        "Namespace",
        "ConfigMap",
        "RayCluster",
        "RayJob",
        "RayService",
        "CronJob",
        "Job",
        "PodDisruptionBudget",
    } <= set(kinds)
    assert "Secret" not in kinds


@pytest.mark.parametrize("release", KUBERNETES)
@pytest.mark.parametrize(("name", "one"), OURS, ids=names(OURS))
def test_objects_are_valid_by_the_schemas_of_kubernetes(name, one, release):
    kubernetes_validate.validate(one, release, strict=True)


@pytest.mark.parametrize(("name", "one"), RAY, ids=names(RAY))
def test_objects_of_ray_have_the_fields_of_kuberay(name, one):
    jsonschema.validate(one, schema_of(one["kind"]))


@pytest.mark.parametrize("release", KUBERNETES)
@pytest.mark.parametrize(("name", "one"), RAY, ids=names(RAY))
def test_pods_of_ray_are_valid_by_the_schemas_of_kubernetes(name, one, release):
    templates = [*found(one, "template"), *found(one, "submitterPodTemplate")]
    assert templates
    for template in templates:
        pod = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "pod"}, "template": template}
        kubernetes_validate.validate(pod, release, strict=True)


def test_a_field_that_does_not_exist_is_found_out():
    (cluster,) = [one for _, one in RAY if one["kind"] == "RayCluster"]
    wrong = {**cluster, "spec": {**cluster["spec"], "workerGroups": []}}
    with pytest.raises(jsonschema.ValidationError, match="workerGroups"):
        jsonschema.validate(wrong, schema_of("RayCluster"))


@pytest.mark.parametrize(("name", "one"), OBJECTS, ids=names(OBJECTS))
def test_pods_keep_to_the_rules_of_the_house(name, one):
    for spec in pod_specs(one):
        # A variable such as BABELRAY_SERVE_SVC_PORT would be read as an unknown setting.
        assert spec["enableServiceLinks"] is False
        assert isinstance(spec["automountServiceAccountToken"], bool)
        declared = {volume["name"] for volume in spec.get("volumes", [])}
        mounted = {mount["name"] for each in containers(one) for mount in each.get("volumeMounts", [])}
        assert declared <= mounted
    for each in containers(one):
        secured = each["securityContext"]
        assert secured["runAsNonRoot"] and not secured["allowPrivilegeEscalation"]
        assert secured["capabilities"] == {"drop": ["ALL"]}
        assert {"cpu", "memory"} <= each["resources"]["requests"].keys() & each["resources"]["limits"].keys()
        # Memory that is not reserved is memory that a neighbour can take: the kernel kills whom it likes.
        assert (
            each["resources"]["requests"]["memory"] == each["resources"]["limits"]["memory"]
            or each["name"] == "submitter"
        )


@pytest.mark.parametrize(("name", "one"), OBJECTS, ids=names(OBJECTS))
def test_every_mount_has_its_volume(name, one):
    for spec in pod_specs(one):
        declared = {volume["name"] for volume in spec.get("volumes", [])}
        for each in [*spec.get("initContainers", []), *spec["containers"]]:
            assert {mount["name"] for mount in each.get("volumeMounts", [])} <= declared


def test_images_are_of_this_version():
    images = {each["image"] for _, one in OBJECTS for each in containers(one)}
    assert images == {f"registry.example.com/babelray:{VERSION}-{kind}" for kind in ("cpu", "cuda")}


def test_the_version_of_ray_is_the_one_of_the_images():
    pinned = re.search(r"^ray==(.+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.M).group(1)
    assert {spec["rayVersion"] for spec in cluster_specs()} == {pinned} == {version("ray")}


def test_everything_lies_in_one_namespace():
    (namespace,) = [one["metadata"]["name"] for _, one in OBJECTS if one["kind"] == "Namespace"]
    assert {one["metadata"].get("namespace") for _, one in OBJECTS if one["kind"] != "Namespace"} == {namespace}


@pytest.mark.parametrize("name", sorted(settings_files()))
def test_settings_of_the_config_map_load(name, tmp_path):
    path = tmp_path / name
    path.write_text(settings_files()[name], encoding="utf-8")
    settings = load_settings(path, environ={})
    assert settings.sources
    assert settings.store.startswith("s3://")
    # What is not in the object store has to lie on a disk that the pod mounts.
    localization = settings.localization
    local = [str(settings.cache), localization.output, *(one.path for one in localization.backlog)]
    mounts = {
        m["mountPath"] for _, one in OBJECTS if one["kind"] in ("Job", "CronJob") for m in found(one, "mountPath_")
    }
    mounts |= {m for _, one in OBJECTS if one["kind"] in ("Job", "CronJob") for m in found(one, "mountPath")}
    assert all(any(Path(path).is_relative_to(mount) for mount in mounts) for path in local)


def test_commands_read_the_settings_that_are_mounted():
    seen = 0
    for _, one in OBJECTS:
        if any(SETTINGS_PATH in text for text in strings(one.get("spec", {}))):
            for spec in pod_specs(one):
                mounts = {m["mountPath"]: m for each in spec["containers"] for m in each.get("volumeMounts", [])}
                if SETTINGS_PATH in mounts:
                    assert mounts[SETTINGS_PATH]["subPath"] in settings_files()
                    seen += 1
    assert seen >= 8


def test_the_embed_pool_of_the_settings_fits_into_the_cluster_of_the_job(tmp_path):
    """The same rule as the job's own check before it starts."""
    path = tmp_path / "settings.yaml"
    path.write_text(settings_files()["settings.yaml"], encoding="utf-8")
    resources = load_settings(path, environ={}).resources
    (job,) = [one["spec"] for _, one in RAY if one["kind"] == "RayJob"]
    total, gpus, gpu_group = 0.0, 0.0, None
    for group in job["rayClusterSpec"]["workerGroupSpecs"]:
        (container,) = group["template"]["spec"]["containers"]
        limits = container["resources"]["limits"]
        total += group["replicas"] * float(group["rayStartParams"].get("num-cpus", cpus(limits["cpu"])))
        if "nvidia.com/gpu" in limits:
            gpus += group["replicas"] * float(limits["nvidia.com/gpu"])
            gpu_group = group
    assert resources.embed_actors * resources.gpus_per_actor == gpus > 0
    assert total >= resources.embed_actors * resources.cpus_per_actor + resources.cpus_per_task
    # No prepare task may settle where an embed actor has to go.
    assert float(gpu_group["rayStartParams"]["num-cpus"]) == resources.cpus_per_actor
    (gpu_container,) = gpu_group["template"]["spec"]["containers"]
    assert gpu_container["image"].endswith("-cuda")
    assert job["rayClusterSpec"]["enableInTreeAutoscaling"] is False
    for group in job["rayClusterSpec"]["workerGroupSpecs"]:
        assert group["minReplicas"] == group["replicas"] == group["maxReplicas"]


@pytest.mark.parametrize("spec", cluster_specs())
def test_clusters_are_sound(spec):
    head = spec["headGroupSpec"]
    assert spec["authOptions"] == {"mode": "token"}
    assert head["rayStartParams"]["num-cpus"] == "0"
    groups = spec["workerGroupSpecs"]
    assert all(one["minReplicas"] <= one["replicas"] <= one["maxReplicas"] for one in groups)
    for group in [head, *groups]:
        (container,) = group["template"]["spec"]["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert str(ports["metrics"]) == group["rayStartParams"]["metrics-export-port"]
        shared = int(group["rayStartParams"].get("object-store-memory", 0)) / 2**20
        assert shared < megabytes(container["resources"]["limits"]["memory"]) / 4


def test_a_pod_that_drains_is_given_the_time_for_it():
    seen = 0
    for _, one in RAY:
        for spec in pod_specs(one):
            for container in spec["containers"]:
                for script in found(container.get("lifecycle", {}), "command"):
                    deadline = int(re.search(r"--deadline-remaining-seconds (\d+)", script[-1]).group(1))
                    slept = int(re.search(r"sleep (\d+)", script[-1]).group(1))
                    assert deadline <= slept < spec["terminationGracePeriodSeconds"]
                    seen += 1
    assert seen >= 2


def test_the_disruption_budget_and_the_spread_select_the_pods_that_serve():
    (service,) = [one for _, one in RAY if one["kind"] == "RayService"]
    (budget,) = [one for _, one in OBJECTS if one["kind"] == "PodDisruptionBudget"]
    (group,) = service["spec"]["rayClusterConfig"]["workerGroupSpecs"]
    labels = group["template"]["metadata"]["labels"].items()
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels
    (spread,) = group["template"]["spec"]["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"].items() <= labels
    assert group["minReplicas"] > budget["spec"]["maxUnavailable"]


def test_secrets_are_named_and_nowhere_written():
    readme = (ROOT / "infra/kuberay/README.md").read_text(encoding="utf-8")
    for _, one in OBJECTS:
        for name in found(one, "secretName"):
            assert f"secret generic {name}" in readme
        for variables in found(one, "env"):
            assert all("value" in one or "valueFrom" in one for one in variables)


def test_every_manifest_is_applied_by_the_readme():
    readme = (ROOT / "infra/kuberay/README.md").read_text(encoding="utf-8")
    assert [path.name for path in KUBERAY if f"infra/kuberay/{path.name}" not in readme] == []
