"""Ray clusters and their pods, as the API server judges them."""

from typing import Any

import pytest
from lightkube import ApiError, Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.core_v1 import Namespace, Pod, ServiceAccount
from lightkube.types import PatchType

from components.namespace import MODES
from tests.workloads.ray import ALL_GROUPS, DEV_POOLS, PROD_POOLS, RAY, SMALL, cluster, pods_of

RAY_CLUSTER = create_namespaced_resource("ray.io", "v1", "RayCluster", "rayclusters")
NAMESPACE = "ray-system"
DECLARED = [(ALL_GROUPS, PROD_POOLS), (SMALL, DEV_POOLS)]
both = pytest.mark.parametrize(("declaration", "pools"), DECLARED, ids=["prod", "dev"])


@pytest.fixture(scope="module")
def ray_system(control_plane, published_crds) -> None:
    """The namespace of Ray clusters, at the strictest level of Pod Security."""
    published_crds("crds/ray.io_raycluster.yaml")
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in MODES}
    with control_plane.client() as client:
        client.create(Namespace.from_dict({"metadata": {"name": NAMESPACE, "labels": labels}}))
        for account in ("ml-cluster", "ml-cluster-workers"):
            client.create(ServiceAccount.from_dict({"metadata": {"name": account, "namespace": NAMESPACE}}))


def registered(declaration: dict[str, Any] = ALL_GROUPS, pools: Any = PROD_POOLS) -> dict[str, Any]:
    inputs = cluster(declaration, pools).only(RAY).inputs
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": inputs["metadata"], "spec": inputs["spec"]}


def covers(kept: Any, given: Any) -> bool:
    """Whether what a server keeps has all that it was given; it adds defaults, and drops what it does not know."""
    if isinstance(given, dict):
        return all(key in kept and covers(kept[key], value) for key, value in given.items())
    if isinstance(given, list):
        return len(kept) == len(given) and all(covers(k, g) for k, g in zip(kept, given, strict=True))
    return str(kept) == str(given)


@both
def test_a_cluster_is_taken_and_nothing_of_it_is_dropped(
    ray_system: None, client: Client, declaration: dict[str, Any], pools: Any
):
    given = registered(declaration, pools)
    taken = client.create(RAY_CLUSTER(given))
    client.delete(RAY_CLUSTER, "ml-cluster", namespace=NAMESPACE)
    assert covers(taken["spec"], given["spec"])


@both
def test_every_pod_is_admitted_at_the_strictest_level(
    ray_system: None, client: Client, declaration: dict[str, Any], pools: Any
):
    for who, template in pods_of(registered(declaration, pools)["spec"]).items():
        _admit(client, who, template)


def test_a_pod_with_a_privilege_more_is_not_admitted(ray_system: None, client: Client):
    template = pods_of(registered()["spec"])["head"]
    template["spec"]["containers"][0]["securityContext"] = {"allowPrivilegeEscalation": True}
    with pytest.raises(ApiError, match="restricted"):
        _admit(client, "head", template)


def _admit(client: Client, who: str, template: dict[str, Any]) -> None:
    spec = template["spec"]
    # What KubeRay gives the containers that it adds beside names and sizes: the cluster's own image.
    containers = {key: [_filled(c, spec) for c in spec.get(key, [])] for key in ("initContainers", "containers")}
    metadata = {**template["metadata"], "name": who, "namespace": NAMESPACE}
    client.create(Pod.from_dict({"metadata": metadata, "spec": {**spec, **containers}}))
    client.delete(Pod, who, namespace=NAMESPACE, grace_period=0)


def _filled(container: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    known = {"name", "image", "resources", "securityContext", "volumeMounts", "ports", "env", "lifecycle"}
    image = spec["containers"][0]["image"]
    return {"image": image, **{key: value for key, value in container.items() if key in known}}


def test_up_has_its_way_after_the_autoscaler_has_changed_numbers(ray_system: None, client: Client):
    """Groups are one list with one owner: without force every later `up` would be a conflict."""
    given = registered()
    client.apply(RAY_CLUSTER(given), field_manager="pulumi", namespace=NAMESPACE)
    change = [{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 7}]
    client.patch(RAY_CLUSTER, "ml-cluster", change, namespace=NAMESPACE, patch_type=PatchType.JSON)
    given["spec"]["workerGroupSpecs"][0]["maxReplicas"] = 12
    with pytest.raises(ApiError, match="conflict"):
        client.apply(RAY_CLUSTER(given), field_manager="pulumi", namespace=NAMESPACE)
    forced = client.apply(RAY_CLUSTER(given), field_manager="pulumi", namespace=NAMESPACE, force=True)
    client.delete(RAY_CLUSTER, "ml-cluster", namespace=NAMESPACE)
    assert forced["spec"]["workerGroupSpecs"][0]["maxReplicas"] == 12
    assert given["metadata"]["annotations"]["pulumi.com/patchForce"] == "true"
