"""What KubeRay's API takes, as far as the manifests use it: the fields of `ray.io/v1`, and none beside them.

No Python package carries KubeRay's own schemas. This one follows its API types (v1, operator 1.5.1); pod templates and
services in it are checked against Kubernetes' schemas by the tests.
"""

from typing import Any

STRING, BOOLEAN, ANY = {"type": "string"}, {"type": "boolean"}, {"type": "object"}
COUNT = {"type": "integer", "minimum": 0}
WORDS = {"type": "object", "additionalProperties": STRING}
"""A map of strings: a number without quotes is what the operator refuses most often."""


def _object(required: list[str], **fields: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": fields, "additionalProperties": False}


_RESOURCES = _object([], requests=ANY, limits=ANY)
_AUTOSCALER = _object(
    [],
    resources=_RESOURCES,
    securityContext=ANY,
    idleTimeoutSeconds=COUNT,
    upscalingMode={"enum": ["Default", "Aggressive", "Conservative"]},
    version={"enum": ["v1", "v2"]},
)
_HEAD = _object(
    ["template"],
    serviceType={"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
    headService=ANY,
    enableIngress=BOOLEAN,
    rayStartParams=WORDS,
    template=ANY,
)
_WORKERS = _object(
    ["groupName", "minReplicas", "maxReplicas", "template"],
    groupName=STRING,
    replicas=COUNT,
    minReplicas=COUNT,
    maxReplicas=COUNT,
    idleTimeoutSeconds=COUNT,
    numOfHosts=COUNT,
    suspend=BOOLEAN,
    rayStartParams=WORDS,
    template=ANY,
)
_CLUSTER = _object(
    ["headGroupSpec"],
    rayVersion=STRING,
    authOptions=_object(["mode"], mode={"enum": ["disabled", "token"]}, secretName=STRING),
    enableInTreeAutoscaling=BOOLEAN,
    autoscalerOptions=_AUTOSCALER,
    headServiceAnnotations=WORDS,
    suspend=BOOLEAN,
    headGroupSpec=_HEAD,
    workerGroupSpecs={"type": "array", "items": _WORKERS},
)
_JOB = _object(
    ["entrypoint"],
    activeDeadlineSeconds={"type": "integer", "minimum": 1},
    backoffLimit=COUNT,
    rayClusterSpec=_CLUSTER,
    submitterPodTemplate=ANY,
    submitterConfig=_object([], backoffLimit=COUNT),
    metadata=WORDS,
    clusterSelector=WORDS,
    entrypoint=STRING,
    runtimeEnvYAML=STRING,
    jobId=STRING,
    submissionMode={"enum": ["K8sJobMode", "HTTPMode", "InteractiveMode"]},
    entrypointResources=STRING,
    entrypointNumCpus={"type": "number", "minimum": 0},
    entrypointNumGpus={"type": "number", "minimum": 0},
    ttlSecondsAfterFinished=COUNT,
    shutdownAfterJobFinishes=BOOLEAN,
    suspend=BOOLEAN,
)
_SERVICE = _object(
    ["serveConfigV2", "rayClusterConfig"],
    serveConfigV2=STRING,
    rayClusterConfig=_CLUSTER,
    serveService=ANY,
    excludeHeadPodFromServeSvc=BOOLEAN,
    rayClusterDeletionDelaySeconds=COUNT,
    upgradeStrategy=_object(["type"], type={"enum": ["NewCluster", "None"]}),
)
_METADATA = _object(["name", "namespace"], name=STRING, namespace=STRING, labels=WORDS, annotations=WORDS)


def schema_of(kind: str) -> dict[str, Any]:
    """JSON schema of `RayCluster`, `RayJob` or `RayService`."""
    spec = {"RayCluster": _CLUSTER, "RayJob": _JOB, "RayService": _SERVICE}[kind]
    return _object(
        ["apiVersion", "kind", "metadata", "spec"],
        apiVersion={"const": "ray.io/v1"},
        kind={"const": kind},
        metadata=_METADATA,
        spec=spec,
    )
