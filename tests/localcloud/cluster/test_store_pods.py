"""The pods of Milvus, Langfuse and ClickHouse, on the nodes that a stack's pools make for them and with their volumes.

Only what the program registers is judged, and what the charts and ClickHouse's operator make of it: Kubernetes itself
makes the pods from these StatefulSets and Deployments, lets them in, looks for their claims and places them.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import pytest
from lightkube import ApiError
from lightkube.generic_resource import create_namespaced_resource

from automation.plan import Plan
from components.langfuse import LangfuseSettings, keepers
from components.platform import langfuse, milvus
from components.platform.catalog import CHARTS
from components.platform.namespaces import LEVELS
from components.pools import POOL_LABEL
from components.release import read_chart
from localcloud.cluster.clickhouse import keeper_claims, server_claims
from localcloud.cluster.control_plane import ControlPlane
from localcloud.cluster.kinds import (
    EVENT,
    NODE,
    NODE_POOL,
    POD,
    SERVICE_ACCOUNT,
    STORAGE_CLASS,
    VOLUME,
    VOLUME_CLAIM,
)
from localcloud.values import reveal
from policies.rules.judging.quantities import quantity
from schema.pool_charts import described
from settings import Settings
from tests.localcloud.cluster.crds import install_published
from tests.localcloud.cluster.test_workload_pods import PAUSE_S, RELEASE, Cluster
from tests.plans import planned
from tests.platform.pools import STACKS
from tests.platform.pools import stack as settings_of
from tests.platform.rendering import rendered

pytestmark = pytest.mark.slow

NAMESPACES = ("langfuse", "milvus")
BINDING_S = 60.0
"""How long Kubernetes has to bind claims and volumes that name each other: where its own writes to the two collide, it
looks again after 15 s."""

ZONE = "topology.kubernetes.io/zone"

STATEFUL_SET = create_namespaced_resource("apps", "v1", "StatefulSet", "statefulsets")
DEPLOYMENT = create_namespaced_resource("apps", "v1", "Deployment", "deployments")
RUNNING: Mapping[str, Any] = {"StatefulSet": STATEFUL_SET, "Deployment": DEPLOYMENT}
CLASS = "kubernetes:storage.k8s.io/v1:StorageClass"

_CLICKHOUSE = "kubernetes:clickhouse.com/v1alpha1"
_TEMPLATE = "clickhouse-storage-volume"
_DEBUGGING = ["IPC_LOCK", "PERFMON", "SYS_PTRACE"]
"""What ClickHouse's operator lets a container do of which nothing is said."""


@dataclass(frozen=True)
class Workload:
    """What pods are made of."""

    part: str
    """Which part of its system they are: one kind of pod."""
    kind: str
    """`StatefulSet` or `Deployment`."""
    item: Mapping[str, Any]
    pools: tuple[str, ...]
    """The pools that the stack file names for it."""

    @property
    def name(self) -> str:
        return self.item["metadata"]["name"]

    @property
    def namespace(self) -> str:
        return self.item["metadata"]["namespace"]

    @property
    def replicas(self) -> int:
        return self.item["spec"]["replicas"]

    @property
    def spec(self) -> Mapping[str, Any]:
        """The spec of its pods."""
        return self.item["spec"]["template"]["spec"]

    def claims(self) -> set[str]:
        """The claims that its pods look for."""
        templates = self.item["spec"].get("volumeClaimTemplates") or ()
        own = {f"{one['metadata']['name']}-{self.name}-{i}" for one in templates for i in range(self.replicas)}
        return own | claims_of(self.spec)


def claims_of(spec: Mapping[str, Any]) -> set[str]:
    """The claims that a pod's spec names."""
    named = [volume.get("persistentVolumeClaim") for volume in spec.get("volumes") or ()]
    return {one["claimName"] for one in named if one}


def workloads(plan: Plan, settings: Settings) -> tuple[list[Workload], list[dict[str, Any]]]:
    """All that has pods, and the service accounts that the charts make for them."""
    found, accounts = list[Workload](), list[dict[str, Any]]()
    for name, pools in (("milvus", settings.milvus.pools), ("langfuse", settings.langfuse.pools)):
        chart = read_chart(CHARTS[name])
        (release,) = [reveal(one.inputs) for one in plan.made if (one.type, one.name) == (RELEASE, name)]
        for (kind, _), item in rendered(chart, release["values"]).items():
            # Helm installs into the release's namespace what says none of its own.
            placed = {**item, "metadata": {"namespace": chart.namespace, **item["metadata"]}}
            if kind == "ServiceAccount":
                accounts.append(placed)
            elif kind in RUNNING:
                found.append(Workload(item["metadata"]["name"], kind, placed, pools))
    for kind, claims in (("ClickHouseCluster", server_claims), ("KeeperCluster", keeper_claims)):
        for item in _registered(plan, f"{_CLICKHOUSE}:{kind}"):
            for claim in claims(item).values():
                found.append(_of_operator(item, claim, settings.langfuse.pools))
    return found, accounts


def _registered(plan: Plan, type_: str) -> list[dict[str, Any]]:
    return [reveal(one.inputs) for one in plan.made if one.type == type_]


def _of_operator(item: Mapping[str, Any], claim: str, pools: tuple[str, ...]) -> Workload:
    """The StatefulSet of one pod that ClickHouse's operator makes for a server or keeper.

    Args:
        item: the custom resource.
        claim: the claim that its pod looks for.
        pools: the pools that the stack file names.
    """
    spec, name = item["spec"], claim.removeprefix(f"{_TEMPLATE}-").removesuffix("-0")
    app = f"{item['metadata']['name']}-{'keeper' if item['kind'] == 'KeeperCluster' else 'clickhouse'}"
    labels = {"app": app, "test-replica": name}
    template, security = spec["containerTemplate"], spec["containerTemplate"]["securityContext"]
    image = template["image"]
    container = {
        "name": "main",
        "image": f"{image['repository']}:{image['tag']}",
        "resources": template["resources"],
        "securityContext": {**security, "capabilities": {"add": _DEBUGGING, **security.get("capabilities", {})}},
        "volumeMounts": [{"name": _TEMPLATE, "mountPath": "/data"}],
    }
    made = {
        "metadata": {"name": name, "namespace": item["metadata"]["namespace"]},
        "spec": {
            "replicas": 1,
            "serviceName": app,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {**spec["podTemplate"], "containers": [container]}},
            "volumeClaimTemplates": [{"metadata": {"name": _TEMPLATE}, "spec": spec["dataVolumeClaimSpec"]}],
        },
    }
    return Workload(app, "StatefulSet", made, pools)


@dataclass(frozen=True)
class Outcome:
    """What became of a stack's pods."""

    plan: Plan
    settings: Settings
    made: list[Workload]
    beforehand: Mapping[str, str | None]
    """State of each claim before there was a pod, by name."""
    unadmitted: list[str]
    """Why pods were not let in."""
    privileged: Mapping[str, int | None]
    """What the API server answers to a pod with all rights, by namespace; None: it takes it."""
    refused: frozenset[str]
    """Pods that no pool took while those that they name were not there."""
    early: Mapping[str, Any]
    """Nodes by pod at that time."""
    pods: Mapping[str, Any]
    """All pods in the end, by name."""
    placed: Mapping[str, Any]
    """Nodes by pod in the end."""
    claims: Mapping[str, Any]
    """Claims of their namespaces in the end, by name."""
    volumes: Mapping[str, Any]
    pools: Mapping[str, Any]
    nodes: list[Any]

    def of(self, workload: Workload) -> list[str]:
        """The names of a workload's pods."""
        return [name for name, pod in self.pods.items() if _owner(pod) == (workload.kind, workload.name)]

    def with_claims(self) -> Iterator[tuple[str, str]]:
        """Each pod with each of its claims."""
        for name, pod in self.pods.items():
            for claim in claims_of(pod["spec"]):
                yield name, claim

    def nodes_of(self, part: str) -> list[Mapping[str, Any]]:
        """The node of each pod of one kind."""
        return [self.placed[name] for one in self.made if one.part == part for name in self.of(one)]


def _owner(pod: Mapping[str, Any]) -> tuple[str, str]:
    """Kind and name of what a pod was made for."""
    (owner,) = pod["metadata"]["ownerReferences"]
    if owner["kind"] == "ReplicaSet":
        return "Deployment", owner["name"].rpartition("-")[0]
    return owner["kind"], owner["name"]


@pytest.fixture(scope="module")
def plane(kube, tmp_path_factory) -> Iterator[ControlPlane]:
    """A control plane that has each stack in turn."""
    plane = ControlPlane(tmp_path_factory.mktemp("stores"), kube)
    yield plane
    plane.stop()


@pytest.fixture(scope="module", params=STACKS)
def outcome(request: pytest.FixtureRequest, plane: ControlPlane) -> Iterator[Outcome]:
    plan, settings = planned(request.param), settings_of(request.param)
    made, accounts = workloads(plan, settings)
    try:
        plane.start()
        with plane.client() as client:
            install_published(client, "crds/karpenter*.yaml")
            cluster = Cluster(client, plan)
            for item in _registered(plan, CLASS):
                cluster.create(STORAGE_CLASS, item)
            cluster.fill()
            cluster.controllers.start()
            try:
                yield _tried(cluster, plan, settings, made, accounts)
            finally:
                cluster.controllers.stop()
    finally:
        plane.wipe()


def _tried(
    cluster: Cluster, plan: Plan, settings: Settings, made: list[Workload], accounts: list[dict[str, Any]]
) -> Outcome:
    """Starts pods before the pools that they name, and then makes these."""
    named = {pool for one in made for pool in one.pools}
    cluster.add_pools(lambda pool: pool not in named)
    beforehand = _settled(cluster, {claim for one in made for claim in one.claims()})
    for account in accounts:
        cluster.create(SERVICE_ACCOUNT, account)
    cluster.until(
        lambda: all(cluster.view().find(SERVICE_ACCOUNT, "default", where) for where in NAMESPACES), "service accounts"
    )
    privileged = {where: _answer(cluster, where) for where in NAMESPACES}
    for one in made:
        cluster.create(RUNNING[one.kind], one.item)
    count = sum(one.replicas for one in made)
    cluster.until(lambda: len(_pods(cluster)) == count or _unadmitted(cluster), "all pods")
    unadmitted, names = _unadmitted(cluster), _pods(cluster).keys()
    cluster.until(lambda: names <= cluster.refused() | cluster.placed().keys(), "a verdict on every pod")
    time.sleep(PAUSE_S)
    refused, early = cluster.refused(), cluster.placed()
    cluster.add_pools(lambda pool: pool in named)
    cluster.until(lambda: names <= cluster.placed().keys(), "a node for every pod")
    view = cluster.view()
    return Outcome(
        plan=plan,
        settings=settings,
        made=made,
        beforehand=beforehand,
        unadmitted=unadmitted,
        privileged=privileged,
        refused=refused,
        early=early,
        pods=_pods(cluster),
        placed=cluster.placed(),
        claims=_by_name(one for one in view.all(VOLUME_CLAIM) if one["metadata"]["namespace"] in NAMESPACES),
        volumes=_by_name(view.all(VOLUME)),
        pools=_by_name(view.all(NODE_POOL)),
        nodes=view.all(NODE),
    )


def _by_name(items: Iterable[Any]) -> dict[str, Any]:
    return {item["metadata"]["name"]: item for item in items}


def _settled(cluster: Cluster, claims: set[str]) -> dict[str, str | None]:
    """The state of each claim, by name, once those that are wanted are bound or have had the time for it."""
    deadline = time.monotonic() + BINDING_S
    while any(_phases(cluster).get(claim) != "Bound" for claim in claims) and time.monotonic() < deadline:
        time.sleep(0.2)
    return _phases(cluster)


def _phases(cluster: Cluster) -> dict[str, str | None]:
    """The state of each claim, by name."""
    claims = cluster.view().all(VOLUME_CLAIM)
    return {claim["metadata"]["name"]: claim.get("status", {}).get("phase") for claim in claims}


def _pods(cluster: Cluster) -> dict[str, Any]:
    return _by_name(pod for pod in cluster.view().all(POD) if pod["metadata"]["namespace"] in NAMESPACES)


def _unadmitted(cluster: Cluster) -> list[str]:
    """What Kubernetes tells of pods that it could not make."""
    events = cluster.view().all(EVENT)
    return [
        event["message"]
        for event in events
        if event["reason"] == "FailedCreate" and event["metadata"]["namespace"] in NAMESPACES
    ]


def _answer(cluster: Cluster, namespace: str) -> int | None:
    """The status that a pod with all rights gets."""
    kind: Any = POD
    container = {"name": "main", "image": "busybox", "securityContext": {"privileged": True}}
    item: dict[str, Any] = {
        "metadata": {"name": "privileged", "namespace": namespace},
        "spec": {"containers": [container]},
    }
    try:
        cluster.client.create(kind(item), namespace=namespace, dry_run=True)
    except ApiError as error:
        return error.status.code
    return None


def test_there_are_pods_of_every_kind_in_the_numbers_of_the_stack(outcome: Outcome):
    own = cast(Any, outcome.settings.milvus.model_dump())
    traces = cast(LangfuseSettings, cast(Any, outcome.settings.langfuse.model_dump()))
    pools = described(outcome.settings.node_pools)
    short = {"mixCoordinator": "mixcoord"}
    kinds = {f"milvus-{short.get(part, part.lower())}" for part in milvus.pod_specs(own, pools, {})}
    kinds |= {f"langfuse-{part}" for part in langfuse.pod_specs(traces, pools, {})}
    there = Counter(dict.fromkeys(kinds, 0))
    for one in outcome.made:
        assert len(outcome.of(one)) == one.replicas, one.name
        there[one.part] += one.replicas
    assert set(there) == kinds
    assert min(there.values()) >= 1
    assert there["langfuse-web"] == there["langfuse-worker"] == traces["replicas"]
    assert there["langfuse-clickhouse"] == traces["clickhouse"]["replicas"]
    assert there["langfuse-keeper"] == keepers(traces)
    assert there["milvus-etcd"] == (1 if own["mode"] == "standalone" else 3)


def test_pod_security_lets_them_in_and_others_not(outcome: Outcome):
    assert outcome.unadmitted == []
    assert outcome.privileged == dict.fromkeys(NAMESPACES, 403)
    labels = {
        item["metadata"]["name"]: item["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        for item in _registered(outcome.plan, "kubernetes:core/v1:Namespace")
    }
    assert {name: labels[name] for name in NAMESPACES} == {name: LEVELS[name] for name in NAMESPACES}


def test_without_its_pools_a_pod_stays_pending_whatever_other_pools_there_are(outcome: Outcome):
    assert outcome.refused == outcome.pods.keys()
    assert not outcome.early


def test_every_pod_gets_a_node_of_a_pool_that_the_stack_names(outcome: Outcome):
    for one in outcome.made:
        for name in outcome.of(one):
            labels = outcome.placed[name]["metadata"]["labels"]
            assert labels[POOL_LABEL] in one.pools, name
            assert labels["karpenter.sh/nodepool"] == labels[POOL_LABEL], "Karpenter made the node"


def test_all_together_fit_into_what_the_pools_may_have(outcome: Outcome):
    for name in {pool for one in outcome.made for pool in one.pools}:
        nodes = [node for node in outcome.nodes if node["metadata"]["labels"].get(POOL_LABEL) == name]
        limits = outcome.pools[name]["spec"]["limits"]
        assert nodes
        assert {"cpu", "memory"} <= limits.keys()
        for resource in ("cpu", "memory"):
            used = sum(quantity(node["status"]["capacity"][resource]) for node in nodes)
            assert used <= quantity(limits[resource]), (name, resource)


def test_claims_are_bound_before_there_is_a_pod_although_their_class_waits_for_one(outcome: Outcome):
    wanted = {claim for one in outcome.made for claim in one.claims()}
    assert wanted
    classes = {item["metadata"]["name"]: item for item in _registered(outcome.plan, CLASS)}
    for name in wanted:
        assert outcome.beforehand.get(name) == "Bound", name
        class_name = outcome.claims[name]["spec"]["storageClassName"]
        assert classes[class_name]["volumeBindingMode"] == "WaitForFirstConsumer"


def test_pods_find_the_volumes_of_the_stack_and_no_others_are_made(outcome: Outcome):
    registered = {
        item["metadata"]["name"]: item["spec"]["csi"]["volumeHandle"]
        for item in _registered(outcome.plan, "kubernetes:core/v1:PersistentVolume")
    }
    used = {claim for _, claim in outcome.with_claims()}
    assert used == outcome.claims.keys(), "each claim has a pod, and no pod made another"
    for claim in used:
        volume = outcome.volumes[outcome.claims[claim]["spec"]["volumeName"]]
        assert volume["spec"]["csi"]["volumeHandle"] == registered[volume["metadata"]["name"]]


def test_a_pod_with_a_volume_runs_in_the_zone_where_that_lies(outcome: Outcome):
    lies = {one.id: one.outputs["availabilityZone"] for one in outcome.plan.made if one.type == "aws:ebs/volume:Volume"}
    for pod, claim in outcome.with_claims():
        volume = outcome.volumes[outcome.claims[claim]["spec"]["volumeName"]]
        zone = outcome.placed[pod]["metadata"]["labels"][ZONE]
        assert zone == lies[volume["spec"]["csi"]["volumeHandle"]], pod


def test_those_that_share_the_data_run_in_different_zones_as_far_as_there_are_enough(outcome: Outcome):
    zones = outcome.settings.network.availability_zones
    for part in ("milvus-etcd", "langfuse-clickhouse", "langfuse-keeper"):
        found = [node["metadata"]["labels"][ZONE] for node in outcome.nodes_of(part)]
        assert found
        assert len(set(found)) == min(len(found), len(zones)), part


def test_no_node_takes_two_servers_or_two_keepers_along(outcome: Outcome):
    for part in ("langfuse-clickhouse", "langfuse-keeper"):
        found = [node["metadata"]["name"] for node in outcome.nodes_of(part)]
        assert found
        assert len(set(found)) == len(found), part
