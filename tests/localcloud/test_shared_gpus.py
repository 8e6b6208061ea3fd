"""Pools with shared GPUs on the local cloud: their overlays are objects of Karpenter's like the pools themselves."""

import pytest

from components.compute.node_pools import node_pool_spec
from components.compute.shared_capacity import overlay_specs
from tests.compute.pools import GPU, karpenter

OVERLAY = "kubernetes:karpenter.sh/v1alpha1:NodeOverlay"
RELEASE = "kubernetes:helm.sh/v3:Release"
SHARED = karpenter(GPU, sharing={"strategy": "time-slicing", "replicas": 4})


@pytest.fixture
def cluster(cloud):
    network = cloud.network()
    cluster = cloud.cluster(network["ids"])
    cloud.addon("vpc-cni")
    cloud.nodes(network["ids"])
    cloud.admin()
    cloud.karpenter_identity()
    cloud.enter(cluster)
    return cluster


def release(cloud, name, **inputs):
    chart = f"oci://public.ecr.aws/karpenter/{name}"
    return cloud.make(RELEASE, name, chart=chart, version="1.14.1", namespace="kube-system", name=name, **inputs)


def overlay(cloud):
    (spec,) = overlay_specs("shared", SHARED).values()
    metadata = {"name": "shared-1-gpu"}
    return cloud.make(
        OVERLAY, "shared", apiVersion="karpenter.sh/v1alpha1", kind="NodeOverlay", metadata=metadata, spec=spec
    )


def test_an_overlay_comes_after_karpenter_and_goes_before_it(cloud, cluster):
    with cloud.refused("NoKindMatch"):
        overlay(cloud)
    release(cloud, "karpenter-crd")
    with cloud.refused("Timeout"):
        overlay(cloud)
    controller = release(cloud, "karpenter", skipCrds=True)
    made = overlay(cloud)
    with cloud.refused("ReleaseInUse"):
        cloud.delete(RELEASE, controller)
    cloud.delete(OVERLAY, made)
    cloud.delete(RELEASE, controller)


def test_an_overlay_names_the_pool_that_it_is_for():
    (spec,) = overlay_specs("shared", SHARED).values()
    labels = {requirement["key"]: requirement["values"] for requirement in spec["requirements"]}
    assert labels["karpenter.sh/nodepool"] == ["shared"]
    pool = node_pool_spec("shared", SHARED)["template"]["spec"]["requirements"]
    assert labels["node.kubernetes.io/instance-type"] == pool[0]["values"]
