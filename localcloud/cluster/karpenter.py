"""Karpenter: nodes for pods that have none, and the end of nodes that have no pods."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from localcloud.cluster import conditions
from localcloud.cluster.conditions import Condition, lacking
from localcloud.cluster.draining import DO_NOT_DISRUPT, pods_on
from localcloud.cluster.events import warn
from localcloud.cluster.kinds import (
    DAEMON_SET,
    NODE,
    NODE_CLAIM,
    NODE_CLASS,
    NODE_OVERLAY,
    NODE_POOL,
    POD,
    VOLUME,
    VOLUME_CLAIM,
)
from localcloud.cluster.node_claims import (
    advance,
    await_more,
    awaited,
    end_deleted_nodes,
    end_strays,
    make,
    node_of,
    terminate,
)
from localcloud.cluster.node_classes import found, judged
from localcloud.cluster.node_lifetime import EMPTY, idle_claims
from localcloud.cluster.node_objects import INSTANCE_TYPES, disk, quantities, room_for_pods
from localcloud.cluster.node_room import Room, room_left
from localcloud.cluster.pods import takes_controllers
from localcloud.cluster.provisioning import (
    NODE_POOL_LABEL,
    Plan,
    Supply,
    awaiting,
    full_name,
    is_of_daemon_set,
    plan,
)
from localcloud.cluster.releases import values_of
from localcloud.cluster.view import Object, View, is_going
from localcloud.cluster.volume_places import beside_its_volumes
from localcloud.errors import AwsError
from localcloud.karpenter import controller_role, queue_is_there
from localcloud.record import Record
from policies.rules.judging.quantities import quantity

NODE_CLASS_FINALIZER = "karpenter.k8s.aws/termination"

CHART = "karpenter"

SETTLED = timedelta(seconds=10)
"""How long after its node is ready the scheduler has had the time to put the awaited pods on it."""


def karpenter(view: View) -> None:
    """Does what Karpenter's controller does in one turn; nothing while that could not run, so that objects stay."""
    role = controller(view)
    if not isinstance(role, Record):
        return
    now = datetime.now(UTC)
    claims = view.all(NODE_CLAIM)
    for node_class in view.all(NODE_CLASS):
        _keep_class(view, role, node_class, claims)
    for overlay in view.all(NODE_OVERLAY):
        told = [Condition("ValidationSucceeded")]
        conditions.tell(view, NODE_OVERLAY, overlay, {}, [*told, conditions.ready(told)])
    for pool in view.all(NODE_POOL):
        _keep_pool(view, pool, claims)
    for claim in claims:
        (terminate if is_going(claim) else advance)(view, claim, now)
    end_strays(view, claims)
    end_deleted_nodes(view, claims)
    _provide(view, claims, now)
    _end_idle(view, claims, now)


def controller(view: View) -> Record | str:
    """Returns the role of Karpenter's controller while that can run, else why it cannot."""
    installed = view.release(CHART)
    if installed is None:
        return f"chart {CHART} is not installed"
    if not any(takes_controllers(node) and not _is_own(node) for node in view.all(NODE)):
        return "there is no ready node that its controller could run on: it does not run on its own"
    try:
        release = _as_release(installed)
        queue_is_there(view.account, release)
        return controller_role(view.account, view.cluster, release)
    except AwsError as error:
        return str(error)


def _is_own(node: Object) -> bool:
    return NODE_POOL_LABEL in (node["metadata"].get("labels") or {})


def _as_release(installed: Object) -> Record:
    """Returns what a stand-in chart has installed as the account would hold its release."""
    metadata = installed["metadata"]
    outputs = {"namespace": metadata["namespace"], "values": values_of(installed)}
    return Record("kubernetes:helm.sh/v3:Release", "", f"{metadata['namespace']}/{CHART}", CHART, {}, outputs, seed="")


def _keep_class(view: View, role: Record, node_class: Object, claims: list[Object]) -> None:
    name = node_class["metadata"]["name"]
    if is_going(node_class):
        if not any(claim["spec"]["nodeClassRef"]["name"] == name for claim in claims):
            view.let_go(NODE_CLASS, node_class, NODE_CLASS_FINALIZER)
        return
    view.hold(NODE_CLASS, node_class, NODE_CLASS_FINALIZER)
    status = found(view.account, node_class)
    conditions.tell(view, NODE_CLASS, node_class, status, judged(view.account, role, node_class, status))


def _keep_pool(view: View, pool: Object, claims: list[Object]) -> None:
    if is_going(pool):
        return
    own = _of_pool(claims, pool)
    held = _together(own)
    # What is no more counts zero: a patch leaves out nothing.
    before = dict.fromkeys((pool.get("status") or {}).get("resources") or (), "0")
    status = {"resources": {**before, **quantities(held)}, "nodes": len(own)}
    condition = _class_condition(view, pool)
    told = [condition, Condition("ValidationSucceeded")]
    failed = [
        one for one in (conditions.find(claim, "Registered") for claim in own) if one and one["status"] == "False"
    ]
    if failed:
        health = lacking("NodeRegistrationHealthy", "RegistrationFailed", failed[0]["message"])
    elif any(conditions.holds(claim, "Registered") for claim in own):
        health = Condition("NodeRegistrationHealthy")
    else:
        health = Condition("NodeRegistrationHealthy", "Unknown", "NoNodesYet", "no node has registered yet")
    conditions.tell(view, NODE_POOL, pool, status, [*told, conditions.ready(told), health])


def _class_condition(view: View, pool: Object) -> Condition:
    name = pool["spec"]["template"]["spec"]["nodeClassRef"]["name"]
    node_class = view.find(NODE_CLASS, name)
    if node_class is None:
        return lacking("NodeClassReady", "NodeClassNotFound", f"there is no EC2NodeClass {name}")
    if is_going(node_class):
        return lacking("NodeClassReady", "NodeClassTerminating", f"EC2NodeClass {name} is being deleted")
    ready = conditions.find(node_class, "Ready")
    if ready is None:
        return Condition("NodeClassReady", "Unknown", "NodeClassNotReady", f"EC2NodeClass {name} is not judged yet")
    if ready["status"] != "True":
        return lacking("NodeClassReady", "NodeClassNotReady", ready["message"])
    return Condition("NodeClassReady")


def _of_pool(claims: list[Object], pool: Object) -> list[Object]:
    name = pool["metadata"]["name"]
    return [claim for claim in claims if claim["metadata"]["labels"].get(NODE_POOL_LABEL) == name]


def _amounts(claim: Object, key: str) -> dict[str, float]:
    return {resource: quantity(amount) for resource, amount in ((claim.get("status") or {}).get(key) or {}).items()}


def _together(claims: list[Object]) -> dict[str, float]:
    """Returns what nodes have together, and how many they are: a pool may limit that too."""
    total = {"nodes": float(len(claims))}
    for claim in claims:
        for resource, amount in _amounts(claim, "capacity").items():
            total[resource] = total.get(resource, 0.0) + amount
    return total


@dataclass(frozen=True)
class _Inventory:
    """Nodes as the planner sees them, and the pods that wait for one under way."""

    rooms: list[Room]
    promised: set[str]
    attempts: Mapping[str, int]


def planned(view: View, now: datetime) -> Plan:
    """Returns what Karpenter would do about pending pods, and why it does nothing for the others.

    Args:
        view: the cluster.
        now: the time.
    """
    claims, volumes = view.all(VOLUME_CLAIM), view.all(VOLUME)
    waiting = [beside_its_volumes(pod, claims, volumes) for pod in awaiting(view.all(POD))]
    daemons = [daemon["spec"]["template"] for daemon in view.all(DAEMON_SET)]
    inventory = _inventory(view, waiting, daemons, now)
    left = [pod for pod in waiting if pod["metadata"]["uid"] not in inventory.promised]
    supplies = [_supply(view, pool) for pool in view.all(NODE_POOL)]
    overlays = view.all(NODE_OVERLAY)
    return plan(left, supplies, inventory.rooms, daemons, overlays, inventory.attempts, now)


def unplaced(view: View) -> Mapping[str, Mapping[str, str]]:
    """Returns the pods that wait for a node which no pool gives them (`namespace/name`), with the reason by pool."""
    return planned(view, datetime.now(UTC)).refused


def _provide(view: View, claims: list[Object], now: datetime) -> None:
    if not awaiting(view.all(POD)):
        return
    wanted = planned(view, now)
    pools = {pool["metadata"]["name"]: pool for pool in view.all(NODE_POOL)}
    for launch in wanted.launches:
        make(view, launch, pools[launch.pool])
    for claim in claims:
        if more := wanted.promises.get(claim["metadata"]["name"]):
            await_more(view, claim, more)
    for pod in view.all(POD):
        if (reasons := wanted.refused.get(full_name(pod))) is not None:
            warn(view, POD, pod, "FailedScheduling", _told(reasons), CHART)


def _told(reasons: Mapping[str, str]) -> str:
    if not reasons:
        return "Failed to schedule pod: there is no NodePool"
    return "Failed to schedule pod: " + " ".join(f"{pool}: {reason}" for pool, reason in reasons.items())


def _supply(view: View, pool: Object) -> Supply:
    name, spec = pool["metadata"]["name"], pool["spec"]["template"]["spec"]
    held = _together(_of_pool(view.all(NODE_CLAIM), pool))
    if is_going(pool):
        return Supply(name, pool, view.cluster.scope, refusal="It is being deleted.")
    if not conditions.holds(pool, "Ready"):
        message = (conditions.find(pool, "Ready") or {}).get("message", "not judged yet")
        return Supply(name, pool, view.cluster.scope, refusal=f"It is not ready: {message}.")
    node_class = view.find(NODE_CLASS, spec["nodeClassRef"]["name"])
    assert node_class is not None, "a pool without a class is not ready"
    zones = tuple(sorted({subnet["zone"] for subnet in node_class["status"]["subnets"]}))
    return Supply(name, pool, view.cluster.scope, zones, _added(node_class), held)


def _added(node_class: Object) -> dict[str, dict[str, float]]:
    """Returns what nodes of a class have beside what their instance types say."""
    spec = node_class["spec"]
    sizes = [(mapping.get("ebs") or {}).get("volumeSize") for mapping in spec.get("blockDeviceMappings") or ()]
    most = (spec.get("kubelet") or {}).get("maxPods")
    own_disks = spec.get("instanceStorePolicy") == "RAID0"
    return {
        name: {**room_for_pods(name, most), **disk(sizes, row["local_nvme_gb"] if own_disks else 0)}
        for name, row in INSTANCE_TYPES.items()
    }


def _inventory(view: View, waiting: list[Object], daemons: list[Object], now: datetime) -> _Inventory:
    pods = view.all(POD)
    by_uid = {pod["metadata"]["uid"]: pod for pod in waiting}
    rooms, promised = [], set[str]()
    attempts: dict[str, int] = {}
    for claim in view.all(NODE_CLAIM):
        expected = [by_uid[uid] for uid in awaited(claim) if uid in by_uid]
        for pod in expected:
            attempts[pod["metadata"]["uid"]] = attempts.get(pod["metadata"]["uid"], 0) + 1
        if is_going(claim):
            continue
        node = node_of(view, claim)
        settled = _is_settled(claim, now)
        there = [] if node is None else _holding(pods, node)
        if not settled:
            promised.update(pod["metadata"]["uid"] for pod in expected)
            # Pods of DaemonSets come by themselves, if late.
            there = [*(pod for pod in there if not is_of_daemon_set(pod)), *expected]
        overhead = [] if settled else daemons
        left = room_left(_amounts(claim, "allocatable"), [*there, *overhead])
        labels, taints = claim["metadata"]["labels"], claim["spec"].get("taints") or ()
        rooms.append(Room(claim["metadata"]["name"], labels, taints, left, there, settled))
    for node in view.all(NODE):
        if not _is_own(node) and conditions.holds(node, "Ready") and not is_going(node):
            rooms.append(_managed_room(node, _holding(pods, node)))
    return _Inventory(rooms, promised, attempts)


def _managed_room(node: Object, pods: list[Object]) -> Room:
    allocatable = {resource: quantity(amount) for resource, amount in node["status"]["allocatable"].items()}
    taints = node["spec"].get("taints") or ()
    labels = node["metadata"].get("labels") or {}
    return Room(node["metadata"]["name"], labels, taints, room_left(allocatable, pods), pods)


def _holding(pods: list[Object], node: Object) -> list[Object]:
    name = node["metadata"]["name"]
    ended = ("Succeeded", "Failed")
    return [
        pod for pod in pods if pod["spec"].get("nodeName") == name and pod.get("status", {}).get("phase") not in ended
    ]


def _is_settled(claim: Object, now: datetime) -> bool:
    initialized = conditions.since(claim, "Initialized")
    return conditions.holds(claim, "Initialized") and initialized is not None and now - initialized >= SETTLED


def _end_idle(view: View, claims: list[Object], now: datetime) -> None:
    pods = view.all(POD)
    waiting = {pod["metadata"]["uid"] for pod in awaiting(pods)}
    kept: dict[str, bool] = {}
    for claim in claims:
        node = node_of(view, claim)
        if is_going(claim) or node is None or not conditions.holds(claim, "Initialized"):
            continue
        annotations = {**(claim["metadata"].get("annotations") or {}), **(node["metadata"].get("annotations") or {})}
        kept[claim["metadata"]["name"]] = annotations.get(DO_NOT_DISRUPT) == "true"
        expecting = not _is_settled(claim, now) and any(uid in waiting for uid in awaited(claim))
        if pods_on(pods, node["metadata"]["name"]) or expecting:
            told = lacking(EMPTY, "NotEmpty", "")
        else:
            told = Condition(EMPTY)
        conditions.tell(view, NODE_CLAIM, claim, {}, [told])
    for claim in idle_claims(view.all(NODE_POOL), claims, kept, now):
        view.delete(NODE_CLAIM, claim)
