"""The pods of notebooks, Ray clusters, the pipeline and GPUNet, on the nodes that a stack's pools make for them.

All that is judged is what the program registers: the account, the node pools, and the pods that JupyterHub, KubeRay and
Argo make of what they are told.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import pytest
import yaml
from lightkube import Client

from automation.plan import Plan
from components.accelerators import ACCELERATORS
from components.compute import instance_types
from components.platform.notebook_profiles import profile
from components.pools import POOL_LABEL
from components.workloads.ml_pipeline_template import WORKFLOW_ACCOUNT
from localcloud.account import Account
from localcloud.catalog import Identity
from localcloud.cluster.conditions import holds
from localcloud.cluster.control_plane import ControlPlane
from localcloud.cluster.controllers import Controllers
from localcloud.cluster.karpenter import karpenter, unplaced
from localcloud.cluster.kinds import (
    CONFIG_MAP,
    NAMESPACE,
    NODE,
    NODE_CLASS,
    NODE_OVERLAY,
    NODE_POOL,
    POD,
    SERVICE_ACCOUNT,
    VOLUME,
    VOLUME_CLAIM,
)
from localcloud.cluster.nodes import nodes
from localcloud.cluster.view import STAND_IN_LABEL, View, cluster_of
from localcloud.values import reveal
from settings import Settings
from tests.localcloud.cluster.crds import install_published
from tests.platform.pools import STACKS
from tests.serving import serving_plan, serving_settings
from tests.workloads.argo_dag import walk
from tests.workloads.ray import RAY, pods_of

pytestmark = pytest.mark.slow

WAIT_S = 60.0
"""Longest wait for anything."""

PAUSE_S = 3.0
"""How long no pod must get a node where none shall."""

TEMPLATE = "kubernetes:argoproj.io/v1alpha1:WorkflowTemplate"
RELEASE = "kubernetes:helm.sh/v3:Release"
POOL_TYPE = "kubernetes:karpenter.sh/v1:NodePool"
KINDS: Mapping[str, Any] = {
    "kubernetes:core/v1:Namespace": NAMESPACE,
    "kubernetes:core/v1:ServiceAccount": SERVICE_ACCOUNT,
    "kubernetes:core/v1:PersistentVolume": VOLUME,
    "kubernetes:core/v1:PersistentVolumeClaim": VOLUME_CLAIM,
    "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass": NODE_CLASS,
    "kubernetes:karpenter.sh/v1alpha1:NodeOverlay": NODE_OVERLAY,
}
"""What a stack makes before its pools, in an order that works."""

DEPLOYMENT = "kubernetes:apps/v1:Deployment"

NOTEBOOK, SERVICE_POD = "notebook-", "gpunet"
EXECUTOR_IMAGE = "quay.io/argoproj/argoexec:v4.0.6"
OUTPUTS = {"validate": {"data-version": "abc"}, "evaluate": {"accuracy": "1.0"}}
"""What steps of a run put out, by step."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class Workload:
    """A pod, and where its declaration puts it."""

    name: str
    namespace: str
    pools: tuple[str, ...]
    """Pools that the stack file names for it."""
    spec: Mapping[str, Any]

    @property
    def devices(self) -> dict[str, str]:
        """What it asks for of accelerators."""
        known = tuple(accelerator.resource.partition("/")[0] for accelerator in ACCELERATORS.values())
        limits = [container["resources"].get("limits", {}) for container in self.spec["containers"]]
        return {key: amount for own in limits for key, amount in own.items() if key.startswith(known)}


def workloads(plan: Plan, settings: Settings) -> list[Workload]:
    """One of each kind of pod that people, Ray, the pipeline and GPUNet's Deployment start."""
    return [
        *_notebooks(plan, settings),
        *_ray(plan, settings),
        *_pipeline(plan, settings),
        *_gpunet(plan, settings),
    ]


def _registered(plan: Plan, type_: str) -> dict[str, Any]:
    """What a stack registers of a type, by name."""
    return {one.name: reveal(one.inputs) for one in plan.made if one.type == type_}


def _notebooks(plan: Plan, settings: Settings) -> Iterator[Workload]:
    """Notebooks as KubeSpawner makes them of the hub's values, but for their volumes, which are each user's own."""
    release = _registered(plan, RELEASE)["jupyterhub"]
    spawner = release["values"]["hub"]["config"]["KubeSpawner"]
    # User, group and escalation are the chart's own.
    pod_security = {"fsGroup": 100, **spawner["pod_security_context"]}
    security = {"runAsUser": 1000, "allowPrivilegeEscalation": False, **spawner["container_security_context"]}
    for listed in release["values"]["singleuser"]["profileList"]:
        slug, said = listed["slug"], listed["kubespawner_override"]
        sizes = {
            # JupyterHub's G is 1024^3.
            "requests": {"cpu": str(said["cpu_guarantee"]), "memory": f"{said['mem_guarantee']}i"},
            "limits": {
                "cpu": str(said["cpu_limit"]),
                "memory": f"{said['mem_limit']}i",
                **said["extra_resource_limits"],
            },
        }
        spec = {
            "securityContext": pod_security,
            "affinity": {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": said["node_affinity_required"]}}},
            "tolerations": said["tolerations"],
            "containers": [
                {"name": "notebook", "image": said["image"], "resources": sizes, "securityContext": security}
            ],
        }
        yield Workload(f"{NOTEBOOK}{slug}", release["namespace"], settings.jupyterhub.profiles[slug].pools, spec)


def _ray(plan: Plan, settings: Settings) -> Iterator[Workload]:
    """Heads and workers of the Ray clusters that stand by themselves."""
    for registered in _registered(plan, RAY).values():
        name, namespace = registered["metadata"]["name"], registered["metadata"]["namespace"]
        declared = settings.ray_clusters[name]
        for who, pod in pods_of(registered["spec"]).items():
            pools = declared.head.pools if who == "head" else declared.groups[who].pools
            yield Workload(f"ray-{name}-{who}", namespace, pools, _with_images(pod["spec"]))


def _pipeline(plan: Plan, settings: Settings) -> Iterator[Workload]:
    """The steps of a run, and heads and workers of the Ray clusters that two of them start."""
    argo = _registered(plan, RELEASE)["argo-workflows"]["values"]
    for registered in _registered(plan, TEMPLATE).values():
        workflow, namespace = registered["spec"], registered["metadata"]["namespace"]
        declared = settings.ml_pipeline
        steps = walk(workflow, lambda step: OUTPUTS.get(step["name"], {})).templates
        for name, step in steps.items():
            yield Workload(f"pipeline-{name}", namespace, declared.pools, _step(step, workflow, argo))
            if "resource" not in step:
                continue
            cluster = yaml.safe_load(step["resource"]["manifest"])["spec"]["rayClusterSpec"]
            for who, pod in pods_of({"enableInTreeAutoscaling": False, **cluster}).items():
                pools = declared.pools if who == "head" else declared.ray_pools
                yield Workload(f"pipeline-{name}-{who}", namespace, pools, _with_images(pod["spec"]))


def _gpunet(plan: Plan, settings: Settings) -> Iterator[Workload]:
    """A pod of the service."""
    for registered in _registered(plan, DEPLOYMENT).values():
        spec = registered["spec"]["template"]["spec"]
        yield Workload(SERVICE_POD, registered["metadata"]["namespace"], settings.gpunet.pools, spec)


def _with_images(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A pod of Ray's in which the containers that KubeRay adds have the cluster's own image, as it gives them."""
    image = spec["containers"][0]["image"]
    parts = {key: [{"image": image, **one} for one in spec.get(key, [])] for key in ("initContainers", "containers")}
    return {**spec, **parts}


def _step(step: Mapping[str, Any], workflow: Mapping[str, Any], argo: Mapping[str, Any]) -> dict[str, Any]:
    """The pod that Argo makes of a step: a container of its own beside the step's, or alone where it makes an object.

    Args:
        step: the step's template, filled in.
        workflow: the spec that it stands in.
        argo: values of Argo's chart.
    """
    own = {key: argo["executor"][key] for key in ("resources", "securityContext")} | {"image": EXECUTOR_IMAGE}
    return {
        "serviceAccountName": step.get("serviceAccountName", workflow["serviceAccountName"]),
        "securityContext": workflow["securityContext"],
        "volumes": step.get("volumes", []),
        **{key: step[key] for key in ("nodeSelector", "affinity", "tolerations")},
        "containers": [{"name": "main", **step.get("container", own)}, {"name": "wait", **own}],
    }


class Cluster:
    """A stack's cluster with its system nodes, Karpenter, and pools as far as they have been made.

    Args:
        client: speaks to an API server that knows Karpenter's kinds and nothing else.
        plan: what the stack registers.
    """

    def __init__(self, client: Client, plan: Plan) -> None:
        self.client, self._plan = client, plan
        self._account = _account_of(plan)
        self.controllers = Controllers(client, self._account, (nodes, karpenter))

    def view(self) -> View:
        """A fresh look."""
        cluster = cluster_of(self._account)
        assert cluster is not None, "a stack has a cluster"
        return View(self.client, self._account, cluster)

    def fill(self) -> None:
        """Makes what is there before pools and pods."""
        for type_, kind in KINDS.items():
            for item in _registered(self._plan, type_).values():
                self.create(kind, item)
        release = _registered(self._plan, RELEASE)["karpenter"]
        metadata = {"name": "karpenter", "namespace": release["namespace"], "labels": {STAND_IN_LABEL: "karpenter"}}
        self.create(CONFIG_MAP, {"metadata": metadata, "data": {"values.yaml": yaml.safe_dump(release["values"])}})

    def create(self, kind: Any, item: Mapping[str, Any]) -> None:
        self.client.create(kind(item), namespace=item["metadata"].get("namespace"))

    def add_pools(self, wanted: Callable[[str], bool]) -> None:
        """Makes some of the stack's pools, and waits until nodes can come of them."""
        for name, item in _registered(self._plan, POOL_TYPE).items():
            if wanted(name):
                self.create(NODE_POOL, item)
        self.until(lambda: all(holds(pool, "Ready") for pool in self.view().all(NODE_POOL)), "ready pools")

    def start(self, pods: list[Workload]) -> None:
        """Makes pods, once their service accounts are there."""
        accounts = {(one.namespace, one.spec.get("serviceAccountName", "default")) for one in pods}
        for namespace, name in accounts:
            if name == WORKFLOW_ACCOUNT:
                # Argo's chart makes it.
                self.create(SERVICE_ACCOUNT, {"metadata": {"name": name, "namespace": namespace}})
        self.until(
            lambda: all(self.view().find(SERVICE_ACCOUNT, name, namespace) for namespace, name in accounts),
            "service accounts",
        )
        for one in pods:
            self.create(POD, {"metadata": {"name": one.name, "namespace": one.namespace}, "spec": one.spec})

    def placed(self) -> dict[str, Any]:
        """The nodes of the pods that have one, by the pod's name."""
        view = self.view()
        by_name = {node["metadata"]["name"]: node for node in view.all(NODE)}
        bound = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in view.all(POD)}
        return {pod: by_name[node] for pod, node in bound.items() if node in by_name}

    def refused(self) -> frozenset[str]:
        """The pods that no pool takes."""
        return frozenset(pod.partition("/")[2] for pod in unplaced(self.view()))

    def until(self, check: Callable[[], Any], what: str) -> None:
        deadline = time.monotonic() + WAIT_S
        while not check():
            assert time.monotonic() < deadline, f"{what} did not come; no pool takes {dict(unplaced(self.view()))}"
            time.sleep(0.2)


def _account_of(plan: Plan) -> Account:
    """The account as the stack makes it; ids are drawn as in the plan, so that objects of Kubernetes refer to it."""
    account = Account(None)
    arn = next(one for one in plan.made if one.type == "aws:eks/cluster:Cluster").outputs["arn"]
    _, _, _, region, account_id, _ = arn.split(":")
    for one in plan.made:
        if one.type.startswith("aws:"):
            account.create(one.type, one.name, one.inputs, Identity(account_id, region), seed=one.urn)
    return account


@dataclass(frozen=True)
class Outcome:
    """What became of a stack's pods."""

    settings: Settings
    pods: list[Workload]
    refused: frozenset[str]
    """Pods that no pool took while those that they name were not there."""
    early: Mapping[str, Any]
    """Nodes by pod at that time."""
    placed: Mapping[str, Any]
    """Nodes by pod, once these pools were there too."""

    def asking(self) -> list[Workload]:
        """The pods that ask for accelerators."""
        return [one for one in self.pods if one.devices]


@pytest.fixture(scope="module")
def plane(kube, tmp_path_factory) -> Iterator[ControlPlane]:
    """A control plane that has each stack in turn."""
    plane = ControlPlane(tmp_path_factory.mktemp("workloads"), kube)
    yield plane
    plane.stop()


@pytest.fixture(scope="module", params=STACKS)
def outcome(request: pytest.FixtureRequest, plane: ControlPlane) -> Iterator[Outcome]:
    plan, settings = serving_plan(request.param), serving_settings(request.param)
    pods = workloads(plan, settings)
    try:
        plane.start()
        with plane.client() as client:
            install_published(client, "crds/karpenter*.yaml")
            cluster = Cluster(client, plan)
            cluster.fill()
            cluster.controllers.start()
            try:
                yield _tried(cluster, settings, pods)
            finally:
                cluster.controllers.stop()
    finally:
        plane.wipe()


def _tried(cluster: Cluster, settings: Settings, pods: list[Workload]) -> Outcome:
    """Starts pods before the pools that they name, and then makes these."""
    named = {pool for one in pods for pool in one.pools}
    names = {one.name for one in pods}
    cluster.add_pools(lambda pool: pool not in named)
    cluster.start(pods)
    cluster.until(lambda: names <= cluster.refused() | cluster.placed().keys(), "a verdict on every pod")
    time.sleep(PAUSE_S)
    refused, early = cluster.refused(), cluster.placed()
    cluster.add_pools(lambda pool: pool in named)
    cluster.until(lambda: names <= cluster.placed().keys(), "a node for every pod")
    return Outcome(settings, pods, refused, early, cluster.placed())


def test_there_are_pods_of_every_kind_and_some_ask_for_accelerators(outcome: Outcome):
    for kind in (NOTEBOOK, "ray-", "pipeline-", SERVICE_POD):
        assert any(one.name.startswith(kind) for one in outcome.pods)
    for kind in (NOTEBOOK, "ray-", SERVICE_POD):
        assert any(one.name.startswith(kind) for one in outcome.asking())


def test_without_its_pools_a_pod_stays_pending_whatever_other_pools_there_are(outcome: Outcome):
    assert outcome.refused == {one.name for one in outcome.pods}
    assert not outcome.early


def test_every_pod_gets_a_node_of_a_pool_that_its_declaration_names(outcome: Outcome):
    for one in outcome.pods:
        labels = outcome.placed[one.name]["metadata"]["labels"]
        assert labels[POOL_LABEL] in one.pools, one.name
        assert labels["karpenter.sh/nodepool"] == labels[POOL_LABEL], "Karpenter made the node"


def test_who_asks_for_accelerators_is_where_they_are_and_nobody_else_is(outcome: Outcome):
    for one in outcome.pods:
        node = outcome.placed[one.name]
        type_ = instance_types.table()[node["metadata"]["labels"]["node.kubernetes.io/instance-type"]]
        assert bool(type_.accelerators) is bool(one.devices), one.name
        for device, amount in one.devices.items():
            assert int(node["status"]["allocatable"][device]) >= int(amount), one.name


def test_a_notebook_has_the_gpu_that_its_profile_promises(outcome: Outcome):
    for slug, declared in outcome.settings.jupyterhub.profiles.items():
        promised = profile(slug, cast(Any, declared.model_dump())).accelerator
        labels = outcome.placed[f"{NOTEBOOK}{slug}"]["metadata"]["labels"]
        assert labels.get("karpenter.k8s.aws/instance-gpu-name") == promised
