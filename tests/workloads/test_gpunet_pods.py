"""GPUNet's pods: where they run, what they are told, how they begin and end."""

import ast
import re
from dataclasses import asdict
from functools import cache
from typing import Any

import pytest

from components.compute import instance_types
from components.compute.node_pools import node_pool_spec
from components.compute.shared_capacity import overlay_specs
from components.pools import Pool
from components.workloads.gpunet_pods import (
    DRAIN_S,
    GRACE_S,
    PRE_STOP_S,
    SHUTDOWN_S,
    START_S,
    GpunetSurroundings,
    pod_template,
)
from components.workloads.gpunet_settings import GpunetSettings
from policies.rules.judging.pod_placement import Placement, fits
from schema import gpunet
from schema.pool_charts import described
from tests.platform.pools import PARTED, ROOT, SERVED, SLICED, not_tolerated, pool, stack

SERVICE = ROOT / "services" / "gpunet" / "gpunet"
PROD = stack("prod")
TYPES = {name: asdict(row) for name, row in instance_types.table().items()}
SHA256 = "2" * 64
SERVING: dict[str, Any] = {
    "enabled": True,
    "pools": ["gpu-a10g-inference-g5"],
    "imageDigest": f"sha256:{'1' * 64}",
    "model": {"file": "gpunet-0-fp16.onnx", "sha256": SHA256},
}
"""The section of a stack that serves."""
BALANCED_S = 15
"""How long requests still come to a pod that goes: what `preStop` is for."""


def declared(**changes: Any) -> GpunetSettings:
    """Settings of the service; what differs is in a stack file's spelling."""
    settings: Any = gpunet.Gpunet.model_validate({**SERVING, **changes}).model_dump()
    return settings


def pools_of_prod(*names: str) -> list[Pool]:
    return [found for name in names for found in described(PROD.node_pools) if found.name == name]


def pod(on: list[Pool] | None = None, /, **changes: Any) -> dict[str, Any]:
    """The pod template on some pools; else on those of prod that the settings name."""
    settings = declared(**changes)
    around = GpunetSurroundings(
        pools=on or pools_of_prod(*settings["pools"]),
        image="registry/gpunet@sha256:1",
        bucket="models-1",
        region="us-west-2",
        vpc_ranges=("10.1.0.0/16", "198.18.0.0/16"),
    )
    return pod_template(settings, around)


def container(on: list[Pool] | None = None, /, **changes: Any) -> dict[str, Any]:
    (found,) = pod(on, **changes)["spec"]["containers"]
    return found


def environment(**changes: Any) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in container(**changes)["env"]}


def spread(on: list[Pool] | None = None, /, **changes: Any) -> list[str]:
    return [one["topologyKey"] for one in pod(on, **changes)["spec"]["topologySpreadConstraints"]]


# What the service itself says; its packages are not those of this environment.


@cache
def settings_of_the_service() -> dict[str, Any]:
    """The service's variables with their defaults, None where one is not a plain value."""
    tree = ast.parse((SERVICE / "settings.py").read_text(encoding="utf-8"))
    (fields,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Settings")
    found: dict[str, Any] = {}
    for field in fields:
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        name, default = f"GPUNET_{field.target.id.upper()}", field.value
        if isinstance(default, ast.Call):
            options = {option.arg: option.value for option in default.keywords}
            name = ast.literal_eval(options["validation_alias"]) if "validation_alias" in options else name
            default = options.get("default")
        found[name] = ast.literal_eval(default) if isinstance(default, ast.Constant) else None
    return found


def text_of(file: str) -> str:
    return (SERVICE / file).read_text(encoding="utf-8")


EVERY_WAY: list[dict[str, Any]] = [
    {},
    {"imageHosts": [".example.com", "images.example.org"]},
    {"model": {**SERVING["model"], "versionId": "v1"}},
    {"modelAccess": "volume"},
    {"device": "cpu", "pools": ["general"]},
]


@pytest.mark.parametrize("changes", EVERY_WAY)
def test_the_service_knows_every_variable_that_pods_get(changes: dict[str, Any]):
    # This one is for boto3.
    assert set(environment(**changes)) - {"AWS_REGION"} <= set(settings_of_the_service())


def test_pods_are_asked_where_the_service_answers():
    asked = container()
    port = {one["name"]: one["containerPort"] for one in asked["ports"]}
    assert port == {"http": settings_of_the_service()["GPUNET_LISTEN_PORT"]}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert asked[probe]["httpGet"]["port"] == "http"
        assert f'"{asked[probe]["httpGet"]["path"]}"' in text_of("routes/health.py")
    assert len({asked[probe]["httpGet"]["path"] for probe in asked if probe.endswith("Probe")}) == 3


def test_the_device_is_one_that_the_service_has():
    known = re.search(r"device: Literal\[(.*?)\]", text_of("settings.py"))
    assert known is not None
    for device, pools in (("gpu", ["gpu-a10g"]), ("cpu", ["general"])):
        assert f'"{environment(device=device, pools=pools)["GPUNET_DEVICE"]}"' in known[1]


def test_a_pod_is_killed_only_after_all_that_it_does_at_its_end():
    assert pod()["spec"]["terminationGracePeriodSeconds"] == GRACE_S
    told = environment()
    assert (told["GPUNET_DRAIN_DELAY"], told["GPUNET_SHUTDOWN_TIMEOUT"]) == (str(DRAIN_S), str(SHUTDOWN_S))
    assert container()["lifecycle"]["preStop"] == {"sleep": {"seconds": PRE_STOP_S}}
    assert PRE_STOP_S >= BALANCED_S
    assert GRACE_S > PRE_STOP_S + DRAIN_S + SHUTDOWN_S
    assert settings_of_the_service()["GPUNET_REQUEST_TIMEOUT"] < SHUTDOWN_S, "every request has its answer"
    assert GRACE_S < 120, "a spot instance has two minutes"


def test_a_start_may_take_its_time_and_then_a_pod_must_answer():
    probes = container()
    startup = probes["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] == START_S
    for probe in ("readinessProbe", "livenessProbe"):
        assert probes[probe]["periodSeconds"] * probes[probe]["failureThreshold"] <= 30


# The model.


def test_a_model_is_read_from_the_bucket_and_checked():
    told = environment(model={**SERVING["model"], "file": "v2/gpunet-0.onnx"})
    assert {name: told[name] for name in ("S3_BUCKET_NAME", "S3_KEY", "AWS_REGION", "MODEL_SHA256")} == {
        "S3_BUCKET_NAME": "models-1",
        "S3_KEY": "models/gpunet/v2/gpunet-0.onnx",
        "AWS_REGION": "us-west-2",
        "MODEL_SHA256": SHA256,
    }
    assert not {"MODEL_PATH", "S3_VERSION_ID"} & set(told)
    assert environment(model={**SERVING["model"], "versionId": "v1"})["S3_VERSION_ID"] == "v1"


def test_or_from_a_volume_that_nobody_writes():
    told, asked = environment(modelAccess="volume"), pod(modelAccess="volume")["spec"]
    (mount,) = (m for m in asked["containers"][0]["volumeMounts"] if m["name"] == "models")
    assert told["MODEL_PATH"] == f"{mount['mountPath']}/gpunet-0-fp16.onnx"
    assert told["MODEL_SHA256"] == SHA256
    assert not [name for name in told if name.startswith(("S3_", "AWS_"))]
    (volume,) = (v for v in asked["volumes"] if v["name"] == "models")
    assert volume["persistentVolumeClaim"] == {"claimName": "s3-model-pvc", "readOnly": True}
    assert mount["readOnly"] is True


def test_another_model_or_image_makes_other_pods():
    other = {**SERVING["model"], "sha256": "3" * 64}
    assert pod() == pod()
    for access in ("download", "volume"):
        assert pod(modelAccess=access, model=other) != pod(modelAccess=access)


def test_without_image_and_model_it_is_known_where_pods_would_fit():
    around = GpunetSurroundings(pools=pools_of_prod("gpu-a10g"))
    told = pod_template(declared(imageDigest=None, model=None), around)
    assert placed(told).fitting == ("gpu-a10g",)
    names = {variable["name"] for variable in told["spec"]["containers"][0]["env"]}
    assert not [name for name in names if name.startswith(("MODEL_", "S3_"))]


# What is fetched.


def test_nothing_is_fetched_from_the_vpc():
    assert environment()["GPUNET_FETCH_DENIED_NETWORKS"] == "10.1.0.0/16,198.18.0.0/16"


def test_images_come_from_named_hosts_or_from_anywhere():
    named = environment(imageHosts=[".example.com", "images.example.org"])
    assert named["GPUNET_FETCH_HOSTS"] == ".example.com,images.example.org"
    assert "GPUNET_FETCH_HOSTS" not in environment()


# Where pods run.


def placed(template: dict[str, Any]) -> Placement:
    declarations: dict[str, Any] = {name: declared.model_dump() for name, declared in PROD.node_pools.items()}
    made = {name: pool for name, pool in declarations.items() if pool["provisioner"] == "karpenter"}
    overlays = [{"spec": spec} for name, pool in made.items() for spec in overlay_specs(name, pool).values()]
    return fits(template, {name: {"spec": node_pool_spec(name, pool)} for name, pool in made.items()}, TYPES, overlays)


@pytest.mark.parametrize(
    "changes",
    [
        {"pools": ["gpu-a10g-inference-g5"]},
        {"pools": ["gpu-a10g-inference-g5", "gpu-a10g"]},
        {"pools": ["gpu-a10g-shared"]},
        {"pools": ["general"], "device": "cpu"},
        {"pools": ["cpu-inference-m7gxlarge"], "device": "cpu", "architecture": "arm64"},
    ],
)
def test_pods_run_on_their_pools_and_on_no_others(changes: dict[str, Any]):
    place = placed(pod(**changes))
    assert set(place.fitting) == set(changes["pools"]), place.refused
    for name in changes["pools"]:
        (meant,) = pools_of_prod(name)
        assert not_tolerated(meant.taints, pod(**changes)["spec"]["tolerations"]) == []


def test_an_image_of_another_architecture_runs_nowhere_there():
    assert not placed(pod(pools=["general"], device="cpu", architecture="arm64")).fitting


@pytest.mark.parametrize(
    ("sharing", "resource"),
    [
        (None, "nvidia.com/gpu"),
        (SLICED, "nvidia.com/gpu.shared"),
        (SERVED, "nvidia.com/gpu.shared"),
        (PARTED, "nvidia.com/mig-1g.10gb"),
    ],
    ids=["whole", "sliced", "served", "parted"],
)
def test_a_pod_asks_for_one_gpu_or_for_its_share(sharing: Any, resource: str):
    asked = container([pool(sharing=sharing)])["resources"]
    assert asked["requests"][resource] == asked["limits"][resource] == "1"
    assert len(asked["requests"]) == 3


def test_a_pod_may_use_all_cpu_that_is_free_and_no_more_memory_than_it_asks_for():
    asked = container(device="cpu", pools=["general"], cpu="1500m", memory="3Gi")["resources"]
    assert asked == {"requests": {"cpu": "1500m", "memory": "3Gi"}, "limits": {"memory": "3Gi"}}


def test_pods_spread_over_zones_and_over_nodes_where_each_has_a_gpu():
    zone, node = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
    assert spread() == [zone, node]
    assert spread(device="cpu", pools=["general"]) == [zone]
    for sharing in (SLICED, SERVED, PARTED):
        assert spread([pool(sharing=sharing)]) == [zone]


def test_a_spread_keeps_no_pod_waiting_and_counts_its_own_generation():
    template = pod()
    for constraint in template["spec"]["topologySpreadConstraints"]:
        assert constraint["whenUnsatisfiable"] == "ScheduleAnyway"
        assert constraint["matchLabelKeys"] == ["pod-template-hash"]
        assert constraint["labelSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()


# What pods may do.


def test_a_pod_is_one_that_pod_security_calls_restricted():
    for changes in EVERY_WAY:
        spec = pod(**changes)["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        security = container(**changes)["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert security["readOnlyRootFilesystem"] is True
        assert {key for volume in spec["volumes"] for key in volume} <= {"name", "emptyDir", "persistentVolumeClaim"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)


def test_its_user_is_the_one_of_the_image():
    image = (SERVICE.parent / "Dockerfile").read_text(encoding="utf-8")
    security = pod()["spec"]["securityContext"]
    assert f"USER {security['runAsUser']}:{security['runAsGroup']}\n" in image


def test_it_has_no_token_and_no_variables_that_would_be_taken_for_settings():
    spec = pod()["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False


def test_the_root_is_read_only_and_tmp_is_not():
    mounts = {mount["mountPath"]: mount["name"] for mount in container()["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod()["spec"]["volumes"]}
    assert "emptyDir" in volumes[mounts["/tmp"]]


def test_the_services_settings_are_read_as_it_declares_them():
    known = settings_of_the_service()
    assert {"MODEL_PATH", "S3_KEY", "GPUNET_DEVICE", "GPUNET_FETCH_HOSTS"} <= set(known)
    assert (known["S3_KEY"], known["GPUNET_DRAIN_DELAY"]) == ("gpunet-0.pth", 2.0)


def test_the_reason_of_a_start_that_failed_is_in_the_pods_status():
    assert container()["terminationMessagePolicy"] == "FallbackToLogsOnError"
