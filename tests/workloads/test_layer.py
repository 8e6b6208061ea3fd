"""What of the workloads is made, and after what."""

from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components.release import ChartSource
from components.stack import StackFacts
from components.storage import VolumeSource
from components.workloads.layer import WorkloadInputs, WorkloadSettings, make_workloads
from schema import ray_clusters
from schema.ml_pipeline import MlPipeline
from tests.workloads.ray import PROD_POOLS, RAY, SMALL, by_name
from tests.world import Built, run

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


def made(*names: str, charts: tuple[str, ...] = (), volumes: dict[str, VolumeSource] | None = None) -> Built[None]:
    clusters: Any = {name: ray_clusters.RayCluster.model_validate(DECLARATION).model_dump() for name in names}

    def build() -> None:
        inputs = WorkloadInputs(
            cluster_ready=[_earlier("nodes")],
            pools={name: _earlier(name) for name in PROD_POOLS},
            namespaces={name: _earlier(name) for name in ("ray-system", "argo")},
            installed={name: _earlier(name) for name in ("kuberay-operator", "argo-workflows", *charts)},
            volumes=volumes or {},
            key_arn="arn:aws:kms:us-west-2:111122223333:key/k",
            model_bucket="models",
            artifact_bucket=None,
            repository_urls={},
        )
        pipeline: Any = MlPipeline().model_dump()
        make_workloads(WorkloadSettings(ray_clusters=clusters, ml_pipeline=pipeline), inputs, STACK, [])

    return run(build)


def after(built: Built[None], name: str) -> set[str]:
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
