"""Node groups and Karpenter against a real API server, scheduler and controller manager, with KWOK for kubelets."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from lightkube import ApiError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.types import CascadeType, PatchType

from components.compute.node_class import node_class_spec
from components.compute.node_pools import NodePoolArgs, node_pool_spec
from localcloud.aws.ec2 import SECURITY_GROUP, SUBNET
from localcloud.aws.network_interfaces import NETWORK_INTERFACE
from localcloud.aws.running_instances import INSTANCE
from localcloud.cluster.conditions import find, holds
from localcloud.cluster.control_plane import ControlPlane
from localcloud.cluster.controllers import Controllers
from localcloud.cluster.draining import DO_NOT_DISRUPT
from localcloud.cluster.karpenter import NODE_CLASS_FINALIZER, controller, karpenter, unplaced
from localcloud.cluster.kinds import (
    CONFIG_MAP,
    EVENT,
    NODE,
    NODE_CLAIM,
    NODE_CLASS,
    NODE_POOL,
    POD,
    SERVICE_ACCOUNT,
)
from localcloud.cluster.node_claims import FINALIZER
from localcloud.cluster.nodes import GROUP_LABEL, nodes
from localcloud.cluster.view import STAND_IN_LABEL, View, cluster_of
from localcloud.errors import AwsError
from tests.compute.pools import CPU, GPU, SURROUNDINGS, declared
from tests.localcloud.cluster.crds import install_published

pytestmark = pytest.mark.slow

BUDGET = create_namespaced_resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")

WAIT_S = 45.0
"""Longest wait for anything; the garbage collector looks for new kinds every 30 s."""

PAUSE_S = 3.0
"""How long nothing must happen where nothing shall."""

GROUP = "aws:eks/nodeGroup:NodeGroup"
INTEL = CPU | {"instanceTypes": ["m7i.large", "m7i.xlarge", "m7i.2xlarge"], "taints": {}, "consolidateAfter": "Never"}
TO_EC2 = {"StringLike": {"kms:ViaService": "ec2.*.amazonaws.com"}}


@pytest.fixture(scope="module")
def plane(kube, tmp_path_factory) -> Iterator[ControlPlane]:
    """A control plane with Karpenter's CRDs and no nodes: these tests are about nodes."""
    plane = ControlPlane(tmp_path_factory.mktemp("nodes"), kube)
    try:
        plane.start()
        with plane.client() as client:
            install_published(client, "crds/karpenter*.yaml")
        yield plane
    finally:
        plane.stop()


def holds_account(client: Any) -> bool:
    """Whether the namespace `default` has its service account."""
    return any(account.metadata.name == "default" for account in client.list(SERVICE_ACCOUNT, namespace="default"))


class World:
    """A cluster whose controllers act, and the account around it."""

    def __init__(self, cloud, client) -> None:
        self.cloud, self.client = cloud, client
        self.network = cloud.network()
        self.cluster = cloud.cluster(self.network["ids"])
        cloud.addon("vpc-cni")
        cloud.admin()
        cloud.karpenter_identity()
        self.system = cloud.nodes(self.network["ids"], instanceTypes=["m7i.xlarge"])
        self.role = cloud.role(
            "pool", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"
        )
        cloud.make("aws:iam/instanceProfile:InstanceProfile", name="nodes", role=self.role["name"])
        self.entry = cloud.make(
            "aws:eks/accessEntry:AccessEntry", clusterName="eksai-dev", principalArn=self.role["arn"], type="EC2_LINUX"
        )
        self.group = cloud.make(SECURITY_GROUP, "nodes", vpcId=self.network["vpc"]["id"])
        statement = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "kms:*", "Resource": "*"}
        self.key = cloud.key(statement | {"Condition": TO_EC2})
        cloud.enter(self.cluster)
        self.controllers = Controllers(client, cloud.account, (nodes, karpenter))

    def args(self, declaration: dict[str, Any], **changes: Any) -> NodePoolArgs:
        given = declared(declaration, **changes)
        subnets = {"us-west-2a": self.network["ids"][0], "us-west-2b": self.network["ids"][1]}
        own = {"subnet_ids": subnets, "security_group_id": self.group["id"], "key_arn": self.key["arn"]}
        return NodePoolArgs(**given, **(SURROUNDINGS | own), instance_profile="nodes")

    def pool(self, name: str, declaration: dict[str, Any], profile: str = "nodes", **changes: Any) -> None:
        """A node class and a pool as the program declares them."""
        args = self.args(declaration, **changes)
        spec = node_class_spec(name, args, profile)
        version = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": name}}
        self.client.create(NODE_CLASS({**version, "spec": spec}))
        version = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}}
        self.client.create(NODE_POOL({**version, "spec": node_pool_spec(name, args)}))

    def install(self) -> None:
        """Installs what the stand-in chart of Karpenter installs."""
        metadata = {"name": "karpenter", "namespace": "kube-system", "labels": {STAND_IN_LABEL: "karpenter"}}
        data = {"values.yaml": "settings: {clusterName: eksai-dev}\n"}
        self.client.create(CONFIG_MAP({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}))

    def uninstall(self) -> None:
        self.client.delete(CONFIG_MAP, "karpenter", namespace="kube-system")

    def pod(
        self, name: str, requests: dict[str, str], labels: Any = None, annotations: Any = None, **spec: Any
    ) -> None:
        metadata = {"name": name, "namespace": "default", "labels": labels or {}, "annotations": annotations or {}}
        container = {
            "name": "main",
            "image": "example.com/x:1",
            "resources": {"requests": requests, "limits": requests},
        }
        item = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}
        # A pod is refused before there is the account that it has by default, which a controller makes.
        self.until(lambda: holds_account(self.client), "the default service account")
        self.client.create(POD(item))

    def all(self, kind: Any) -> list[Any]:
        return View(self.client, self.cloud.account, cluster_of(self.cloud.account)).all(kind)

    def get(self, kind: Any, name: str, namespace: str | None = None) -> Any:
        view = View(self.client, self.cloud.account, cluster_of(self.cloud.account))
        return view.find(kind, name, namespace)

    def own(self) -> list[Any]:
        """The nodes that Karpenter has made."""
        return [node for node in self.all(NODE) if "karpenter.sh/nodepool" in node["metadata"]["labels"]]

    def runs(self, name: str) -> bool:
        return self.get(POD, name, "default")["status"].get("phase") == "Running"

    def until(self, check: Callable[[], Any], what: str) -> Any:
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            if found := check():
                return found
            time.sleep(0.2)
        claims = [(one["metadata"]["name"], one.get("status")) for one in self.all(NODE_CLAIM)]
        pods = [(one["metadata"]["name"], one["status"]) for one in self.all(POD)]
        nodes_told = [(one["metadata"]["name"], one["spec"], one["status"]["conditions"]) for one in self.all(NODE)]
        why = controller(View(self.client, self.cloud.account, cluster_of(self.cloud.account)))
        told = [(one["metadata"]["name"], one["spec"], one.get("status")) for one in self.all(NODE_POOL)]
        raise AssertionError(
            f"{what} did not happen: {why}; nodes {nodes_told}, pools {told}, claims {claims}, pods {pods}"
        )

    def running_on_own_node(self, name: str = "work", **requests: str) -> Any:
        """Runs a pod on a node of Karpenter's; returns the node."""
        self.pod(name, requests or {"cpu": "1"}, nodeSelector={"karpenter.sh/nodepool": "general"})
        self.until(lambda: self.runs(name), "a running pod")
        return self.get(NODE, self.get(POD, name, "default")["spec"]["nodeName"])

    def system_is_up(self) -> None:
        self.until(lambda: sum(holds(node, "Ready") for node in self.all(NODE)) == 2, "two ready system nodes")

    def instances(self) -> list[Any]:
        return [*self.cloud.account.find(INSTANCE)]


@pytest.fixture
def world(plane, cloud) -> Iterator[World]:
    with plane.client() as client:
        world = World(cloud, client)
        world.controllers.start()
        yield world
        world.controllers.stop()
        _wipe(client)


def _wipe(client) -> None:
    """Takes everything away that a test has made, whatever holds it."""
    namespaced = [(POD, "default"), (CONFIG_MAP, "kube-system"), (BUDGET, "default"), (EVENT, "default")]
    kinds = [*namespaced, *((kind, None) for kind in (NODE_POOL, NODE_CLAIM, NODE_CLASS, NODE))]
    for kind, namespace in kinds:
        for item in client.list(kind, namespace=namespace) if namespace else client.list(kind):
            name = item["metadata"]["name"]
            if kind is CONFIG_MAP and name != "karpenter":
                continue
            with suppress(ApiError):
                client.delete(kind, name, namespace=namespace, grace_period=0)
            with suppress(ApiError):
                change = {"metadata": {"finalizers": None}}
                client.patch(kind, name, change, namespace=namespace, patch_type=PatchType.MERGE)
    deadline = time.monotonic() + WAIT_S
    while any(client.list(NODE)) and time.monotonic() < deadline:
        time.sleep(0.1)


@pytest.fixture
def ready(world) -> World:
    """A world in which Karpenter runs and has one pool without accelerators, `general`."""
    world.install()
    world.pool("general", INTEL)
    world.system_is_up()
    world.until(lambda: holds(world.get(NODE_POOL, "general"), "Ready"), "a ready pool")
    return world


def test_a_node_group_has_as_many_nodes_as_it_wants_in_its_zones(world):
    world.system_is_up()
    found = world.all(NODE)
    assert {node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in found} == {"us-west-2a", "us-west-2b"}
    for node in found:
        labels = node["metadata"]["labels"]
        assert labels[GROUP_LABEL] == world.system["nodeGroupName"]
        assert labels["eks.amazonaws.com/capacityType"] == "ON_DEMAND"
        assert labels["node.kubernetes.io/instance-type"] == "m7i.xlarge"
        assert labels["topology.kubernetes.io/region"] == "us-west-2"
        assert node["spec"]["providerID"].startswith(f"aws:///{labels['topology.kubernetes.io/zone']}/i-")
        assert node["metadata"]["name"].endswith(".us-west-2.compute.internal")
        assert node["status"]["capacity"]["cpu"] == "4"
        assert node["status"]["allocatable"]["cpu"] == "3920m"
        assert node["status"]["capacity"]["pods"] == "110"


def test_a_node_group_that_shrinks_or_goes_loses_its_nodes(world):
    world.system_is_up()
    world.pod("work", {"cpu": "100m"})
    world.until(lambda: world.runs("work"), "a running pod")
    record = next(world.cloud.account.find(GROUP))
    scaling = {"minSize": 1, "desiredSize": 1, "maxSize": 3}
    world.cloud.account.update(GROUP, record.id, {**record.inputs, "scalingConfig": scaling}, world.cloud.identity)
    world.until(lambda: len(world.all(NODE)) == 1, "one node less")
    world.cloud.account.delete(GROUP, record.id, world.cloud.identity)
    world.until(lambda: not world.all(NODE), "no nodes")


def test_a_pending_pod_gets_a_node_and_the_account_an_instance(ready):
    node = ready.running_on_own_node(cpu="3")
    labels, (claim,), (instance,) = node["metadata"]["labels"], ready.all(NODE_CLAIM), ready.instances()
    assert labels["node.kubernetes.io/instance-type"] == "m7i.xlarge"
    assert labels["karpenter.sh/capacity-type"] == "on-demand"
    assert labels["karpenter.sh/registered"] == "true"
    assert FINALIZER in node["metadata"]["finalizers"]
    assert node["spec"]["providerID"] == f"aws:///{labels['topology.kubernetes.io/zone']}/{instance.id}"
    ready.until(lambda: holds(ready.all(NODE_CLAIM)[0], "Ready"), "a ready claim")
    for condition in ("Launched", "Registered", "Initialized"):
        assert holds(ready.all(NODE_CLAIM)[0], condition)
    assert ready.own()[0]["metadata"]["labels"]["karpenter.sh/initialized"] == "true"
    assert claim["metadata"]["ownerReferences"][0]["name"] == "general"
    assert instance["iamInstanceProfile"] == "nodes"
    (interface,) = ready.cloud.account.find(NETWORK_INTERFACE, id=instance["primaryNetworkInterfaceId"])
    addresses = {one["type"]: one["address"] for one in node["status"]["addresses"]}
    assert interface["privateIp"] == addresses["InternalIP"]
    status = ready.get(NODE_POOL, "general")["status"]
    assert (status["nodes"], status["resources"]["cpu"]) == (1, "4")


def test_a_subnet_and_a_group_in_use_by_a_node_cannot_be_deleted(ready):
    ready.running_on_own_node()
    (instance,) = ready.instances()
    for token, held in ((SUBNET, instance["subnetId"]), (SECURITY_GROUP, ready.group["id"])):
        with pytest.raises(AwsError) as refusal:
            ready.cloud.account.delete(token, held, ready.cloud.identity)
        assert refusal.value.code == "DependencyViolation"


def test_an_accelerator_pod_gets_a_node_with_accelerators(ready):
    ready.pool("gpu", GPU)
    ready.pod("model", {"nvidia.com/gpu": "1"})
    ready.until(lambda: ready.runs("model"), "a running pod")
    (node,) = ready.own()
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "1"
    assert node["metadata"]["labels"]["karpenter.k8s.aws/instance-gpu-name"] == "a10g"
    assert node["metadata"]["labels"]["nvidia.com/gpu.present"] == "true"
    assert {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"} in node["spec"]["taints"]


def test_pods_that_come_together_share_nodes_and_none_is_made_too_many(ready):
    for number in range(4):
        ready.pod(f"work-{number}", {"cpu": "1"}, nodeSelector={"karpenter.sh/nodepool": "general"})
    ready.until(lambda: all(ready.runs(f"work-{number}") for number in range(4)), "four running pods")
    time.sleep(PAUSE_S)
    assert len(ready.own()) <= 2
    assert len(ready.instances()) == len(ready.own())


def test_startup_taints_go_once_the_node_is_ready(ready):
    taint = {"example.com/starting": {"value": "", "effect": "NoSchedule"}}
    ready.pool("slow", INTEL, startupTaints=taint, labels={"fleet": "slow"})
    ready.pod("work", {"cpu": "1"}, nodeSelector={"fleet": "slow"})
    ready.until(lambda: ready.runs("work"), "a running pod")
    (node,) = ready.own()
    assert not any(taint["key"] == "example.com/starting" for taint in node["spec"].get("taints", []))


def test_a_pod_that_fits_no_pool_stays_pending_and_is_told_why(ready):
    ready.pod("lost", {"cpu": "1"}, nodeSelector={"fleet": "nowhere"})

    def told() -> Any:
        return [one for one in ready.all(EVENT) if one["source"].get("component") == "karpenter"]

    (event,) = ready.until(told, "an event")
    assert event["message"] == "Failed to schedule pod: general: None of its nodes has fleet In [nowhere]."
    assert (event["type"], event["reason"], event["involvedObject"]["name"]) == ("Warning", "FailedScheduling", "lost")
    time.sleep(PAUSE_S)
    assert len(told()) == 1, "it is told once"
    assert not ready.all(NODE_CLAIM)
    view = View(ready.client, ready.cloud.account, cluster_of(ready.cloud.account))
    assert unplaced(view) == {"default/lost": {"general": "None of its nodes has fleet In [nowhere]."}}


def test_a_pool_makes_no_more_than_its_limits(ready):
    ready.pool("small", INTEL, labels={"fleet": "small"}, limits={"cpu": "4", "memory": "64Gi"})
    for number in range(2):
        ready.pod(f"work-{number}", {"cpu": "3"}, nodeSelector={"fleet": "small"})
    ready.until(lambda: any(ready.runs(f"work-{number}") for number in range(2)), "one running pod")
    time.sleep(PAUSE_S)
    assert len(ready.own()) == 1
    assert sum(ready.runs(f"work-{number}") for number in range(2)) == 1


def test_a_node_class_says_what_its_account_lacks_and_its_pool_is_not_ready(ready):
    ready.pool("wrong", INTEL, profile="missing")
    condition = ready.until(lambda: find(ready.get(NODE_POOL, "wrong"), "Ready"), "a condition")
    ready.until(lambda: find(ready.get(NODE_POOL, "wrong"), "Ready")["status"] == "False", "a verdict")
    condition = find(ready.get(NODE_CLASS, "wrong"), "Ready")
    assert (condition["status"], condition["reason"]) == ("False", "InstanceProfileNotFound")
    assert "there is no instance profile missing" in find(ready.get(NODE_POOL, "wrong"), "Ready")["message"]


def test_an_instance_that_may_not_join_becomes_no_node(ready):
    ready.cloud.delete("aws:eks/accessEntry:AccessEntry", ready.entry)
    ready.pod("work", {"cpu": "1"}, nodeSelector={"karpenter.sh/nodepool": "general"})

    def failed() -> Any:
        return [one for one in ready.all(NODE_CLAIM) if (find(one, "Registered") or {}).get("status") == "False"]

    (claim,) = ready.until(failed, "a claim that does not register")
    assert "no EC2_LINUX access entry" in find(claim, "Registered")["message"]
    assert len(ready.instances()) == 1
    assert not ready.own()


def test_a_pool_takes_its_nodes_and_instances_along(ready):
    ready.running_on_own_node()
    ready.client.delete(NODE_CLASS, "general")
    ready.client.delete(NODE_POOL, "general", cascade=CascadeType.FOREGROUND)
    ready.until(lambda: ready.get(NODE_POOL, "general") is None, "the pool's end")
    assert not ready.all(NODE_CLAIM)
    assert not ready.own()
    assert not ready.instances()
    assert not [one for one in ready.cloud.account.find(NETWORK_INTERFACE) if one["privateIp"]]
    ready.until(lambda: ready.get(NODE_CLASS, "general") is None, "the class' end")
    ready.cloud.account.delete(SECURITY_GROUP, ready.group["id"], ready.cloud.identity)


def test_a_node_class_waits_for_the_claims_that_refer_to_it(ready):
    ready.running_on_own_node()
    ready.client.delete(NODE_CLASS, "general")
    time.sleep(PAUSE_S)
    assert NODE_CLASS_FINALIZER in ready.get(NODE_CLASS, "general")["metadata"]["finalizers"]


def test_without_its_controller_nothing_of_it_goes_away(ready):
    ready.running_on_own_node()
    ready.uninstall()
    time.sleep(1)
    ready.client.delete(NODE_POOL, "general", cascade=CascadeType.FOREGROUND)
    ready.client.delete(NODE_CLASS, "general")
    ready.until(lambda: all("deletionTimestamp" in one["metadata"] for one in ready.all(NODE_CLAIM)), "a stuck claim")
    time.sleep(PAUSE_S)
    assert ready.get(NODE_POOL, "general")
    assert ready.get(NODE_CLASS, "general")
    (instance,) = ready.instances()
    with pytest.raises(AwsError) as refusal:
        ready.cloud.account.delete(SUBNET, instance["subnetId"], ready.cloud.identity)
    assert refusal.value.code == "DependencyViolation"


def test_karpenter_does_nothing_without_a_node_that_it_has_not_made(ready):
    ready.running_on_own_node()
    ready.cloud.delete(GROUP, ready.system)
    ready.until(lambda: len(ready.all(NODE)) == 1, "an end of system nodes")
    ready.client.delete(NODE_CLASS, "general")
    ready.client.delete(NODE_CLAIM, ready.all(NODE_CLAIM)[0]["metadata"]["name"])
    time.sleep(PAUSE_S)
    assert len(ready.instances()) == 1


def test_an_empty_node_goes_after_a_while_and_a_busy_one_stays(ready):
    ready.pool("brief", INTEL, labels={"fleet": "brief"}, consolidateAfter="2s")
    ready.pod("work", {"cpu": "1"}, nodeSelector={"fleet": "brief"})
    ready.until(lambda: ready.runs("work"), "a running pod")
    time.sleep(PAUSE_S)
    assert len(ready.own()) == 1
    ready.client.delete(POD, "work", namespace="default")
    ready.until(lambda: not ready.own() and not ready.instances(), "an end of the empty node")


def test_a_node_deleted_by_hand_takes_its_claim_and_instance_along(ready):
    node = ready.running_on_own_node()
    ready.client.delete(NODE, node["metadata"]["name"])
    ready.until(lambda: not ready.all(NODE_CLAIM) and not ready.instances(), "an end of claim and instance")


def test_a_pod_that_must_not_be_disrupted_holds_its_node_until_the_grace_period_ends(ready):
    ready.pool("stubborn", INTEL, labels={"fleet": "x"}, terminationGracePeriod="8s")
    ready.pod("work", {"cpu": "1"}, annotations={DO_NOT_DISRUPT: "true"}, nodeSelector={"fleet": "x"})
    ready.until(lambda: ready.runs("work"), "a running pod")
    ready.client.delete(NODE_CLAIM, ready.all(NODE_CLAIM)[0]["metadata"]["name"])
    time.sleep(PAUSE_S)
    assert ready.runs("work")
    assert len(ready.instances()) == 1
    ready.until(lambda: not ready.all(NODE_CLAIM), "the claim's end")


def test_a_disruption_budget_holds_a_node(ready):
    node = ready.running_on_own_node()
    pod = ready.get(POD, "work", "default")
    ready.client.patch(POD, "work", {"metadata": {"labels": {"app": "x"}}}, namespace="default")
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    metadata = {"name": "x", "namespace": "default"}
    ready.client.create(
        BUDGET({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})
    )
    ready.until(lambda: ready.get(BUDGET, "x", "default").get("status", {}).get("observedGeneration"), "a budget")
    ready.client.delete(NODE_CLAIM, ready.all(NODE_CLAIM)[0]["metadata"]["name"])
    time.sleep(PAUSE_S)
    assert ready.get(POD, "work", "default")["metadata"]["uid"] == pod["metadata"]["uid"]
    assert any(
        taint["key"] == "karpenter.sh/disrupted"
        for taint in ready.get(NODE, node["metadata"]["name"])["spec"]["taints"]
    )
    ready.client.delete(BUDGET, "x", namespace="default")
    ready.until(lambda: not ready.all(NODE_CLAIM), "the claim's end")
