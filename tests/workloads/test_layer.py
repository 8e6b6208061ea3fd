"""What of the workloads is made, and after what."""

from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest

from components.domain import Domain
from components.release import ChartSource
from components.stack import StackFacts
from components.storage import VolumeSource
from components.workloads.layer import WorkloadInputs, WorkloadOutputs, WorkloadSettings, make_workloads
from schema import ray_clusters
from schema.gpunet import Gpunet
from schema.ml_pipeline import MlPipeline
from tests.serving import IMAGE_AND_MODEL
from tests.workloads.ray import PROD_POOLS, RAY, SMALL, by_name
from tests.world import Built, run

MODELS = VolumeSource(driver="s3.csi.aws.com", capacity="5Gi")
FILES = VolumeSource(driver="efs.csi.aws.com", capacity="2Ti", handle="fs-1::fsap-1")
CLAIM, MONITOR = "kubernetes:core/v1:PersistentVolumeClaim", "kubernetes:monitoring.coreos.com/v1:PodMonitor"
STACK = StackFacts(
    region="us-west-2",
    account_id="111122223333",
    cluster_name="eksai-dev",
    cluster_version="1.35",
    node_ranges=["192.168.0.0/16"],
    pod_ranges=[],
    tags={},
    pools=list(by_name(PROD_POOLS).values()),
    domain=None,
    installs=frozenset(),
    applications=[],
    own_hosts={},
    volume_claims=[],
    keeps_data=True,
    charts=ChartSource(),
)
DECLARATION: dict[str, Any] = {**SMALL, "groups": {}}


def _earlier(name: str) -> pulumi.Resource:
    """Something of the layers before."""
    return kubernetes.core.v1.ConfigMap(name, metadata={"name": name})


def made(
    *names: str,
    charts: tuple[str, ...] = (),
    volumes: dict[str, VolumeSource] | None = None,
    gpunet: dict[str, Any] | None = None,
) -> Built[WorkloadOutputs]:
    clusters: Any = {name: ray_clusters.RayCluster.model_validate(DECLARATION).model_dump() for name in names}

    def build() -> WorkloadOutputs:
        inputs = WorkloadInputs(
            cluster_ready=[_earlier("nodes")],
            pools={name: _earlier(name) for name in PROD_POOLS},
            namespaces={name: _earlier(name) for name in ("ray-system", "argo")},
            installed={name: _earlier(name) for name in ("kuberay-operator", "argo-workflows", *charts)},
            volumes={"models": MODELS, **(volumes or {})},
            key_arn="arn:aws:kms:us-west-2:111122223333:key/k",
            model_bucket="models",
            artifact_bucket=None,
            repository_urls={"gpunet-inference-app": "registry/gpunet-inference-app"},
            domain=Domain("ml.example.com", "Z1", pulumi.Output.from_input("certificate"), ("8.8.8.0/24",)),
        )
        pipeline: Any = MlPipeline().model_dump()
        service: Any = Gpunet.model_validate(gpunet or {}).model_dump()
        settings = WorkloadSettings(ray_clusters=clusters, ml_pipeline=pipeline, gpunet=service)
        return make_workloads(settings, inputs, STACK, [])

    return run(build)


def after(built: Built[WorkloadOutputs], name: str) -> set[str]:
    """Names of what a Ray cluster waits for."""
    component = built.named(name, "eksai:index:RayCluster")
    return {urn.rpartition("::")[2] for urn in built.named(name, RAY).dependencies} | {
        urn.rpartition("::")[2] for urn in component.dependencies
    }


def test_a_stack_without_ray_clusters_has_nothing_of_ray():
    assert {resource.type for resource in made(volumes={"shared-datasets": FILES}).resources} == {
        "kubernetes:core/v1:ConfigMap"
    }


def test_a_cluster_waits_for_nodes_its_namespace_and_its_operator_and_for_no_other():
    waits = after(made("ml-cluster"), "ml-cluster")
    assert {"nodes", "ray-system", "kuberay-operator"} <= waits
    assert not {"argo", "argo-workflows"} & waits


def test_monitors_are_made_after_the_chart_that_brings_their_kind_and_not_without_it():
    assert not made("ml-cluster").all(MONITOR)
    built = made("ml-cluster", charts=("prometheus-operator-crds",))
    assert built.all(MONITOR)
    assert "prometheus-operator-crds" in after(built, "ml-cluster")


def test_all_clusters_share_one_claim_where_there_is_a_shared_file_system():
    built = made("ml-cluster", "other", volumes={"shared-datasets": FILES})
    claim = built.only(CLAIM).inputs
    assert (claim["metadata"]["namespace"], claim["metadata"]["name"]) == ("ray-system", "ray-shared-data")
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for name in ("ml-cluster", "other"):
        volumes = built.named(name, RAY).inputs["spec"]["headGroupSpec"]["template"]["spec"]["volumes"]
        assert {"claimName": "ray-shared-data"} in [volume.get("persistentVolumeClaim") for volume in volumes]


def test_without_a_shared_file_system_there_is_no_claim():
    assert not made("ml-cluster").all(CLAIM)


GPUNET: dict[str, Any] = {"enabled": True, "pools": ["gpu-a10g"]}
SCALED = {"scaling": {"metricsFrom": "keda", "gpuPercent": None}, "publish": {"inboundCidrs": ["8.8.8.0/24"]}}
CHARTS = ("prometheus-operator-crds", "keda", "aws-load-balancer-controller", "external-dns", "cert-manager")


def service_waits_for(kind: str = "eksai:index:Gpunet", **gpunet: Any) -> set[str]:
    """Names of what the service, or one of its objects, waits for itself."""
    waiting = made(charts=CHARTS, gpunet=GPUNET | gpunet).named("gpunet", kind)
    return {urn.rpartition("::")[2] for urn in waiting.dependencies}


def test_a_stack_is_told_what_to_push_until_it_names_it():
    def pushed(**gpunet: Any) -> tuple[dict[str, str], dict[str, str]]:
        built = made(gpunet=GPUNET | gpunet)
        told = built.result
        return tuple({name: built.value(where) for name, where in one.items()} for one in vars(told).values())

    image, model = {"gpunet": "registry/gpunet-inference-app"}, {"gpunet": "s3://models/models/gpunet/"}
    assert pushed() == (image, model)
    assert pushed(imageDigest=IMAGE_AND_MODEL["imageDigest"]) == ({}, model)
    assert pushed(model=IMAGE_AND_MODEL["model"]) == (image, {})
    assert pushed(**IMAGE_AND_MODEL) == ({}, {})
    assert pushed(enabled=False) == ({}, {})


def test_the_role_of_a_service_without_image_waits_for_the_cluster_alone():
    assert service_waits_for(**SCALED) == {"nodes"}


def test_a_service_waits_for_its_pools():
    assert service_waits_for(**IMAGE_AND_MODEL, **SCALED) == {"nodes", "gpu-a10g"}


@pytest.mark.parametrize(
    ("kind", "charts"),
    [
        ("kubernetes:keda.sh/v1alpha1:ScaledObject", {"keda"}),
        ("kubernetes:networking.k8s.io/v1:Ingress", {"aws-load-balancer-controller", "external-dns"}),
        (MONITOR.replace("PodMonitor", "ServiceMonitor"), {"prometheus-operator-crds"}),
    ],
)
def test_an_object_with_a_finalizer_goes_before_whoever_takes_it_away(kind: str, charts: set[str]):
    """Also where both go in an `up` in which the service stays: what its component waits for says nothing then."""
    assert service_waits_for(kind, **IMAGE_AND_MODEL, **SCALED) & {*CHARTS} == charts
