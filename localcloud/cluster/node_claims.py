"""NodeClaims: from an instance by way of its node to Ready, and back until nothing of them is left."""

import secrets
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from localcloud.aws.ec2 import SUBNET
from localcloud.aws.running_instances import INSTANCE, free_address
from localcloud.cluster import conditions
from localcloud.cluster.conditions import Condition, lacking
from localcloud.cluster.draining import is_drained
from localcloud.cluster.kinds import NODE, NODE_CLAIM, NODE_CLASS
from localcloud.cluster.node_classes import as_record
from localcloud.cluster.node_lifetime import duration
from localcloud.cluster.node_objects import INSTANCE_TYPE, REGION, ZONE, node, node_name, quantities
from localcloud.cluster.nodes import internal_addresses
from localcloud.cluster.provisioning import CAPACITY_TYPE, NODE_POOL_LABEL, Launch
from localcloud.cluster.view import Object, View, as_read, is_going
from localcloud.errors import AwsError
from localcloud.karpenter import join_refusal
from localcloud.record import Record

FINALIZER = "karpenter.sh/termination"
REGISTERED, INITIALIZED = "karpenter.sh/registered", "karpenter.sh/initialized"
DISRUPTED = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}

AWAITED = "eksai.dev/awaited-pods"
"""Annotation of a NodeClaim: uids of the pods that it was made for."""

_CLAIM_TAG = "karpenter.sh/nodeclaim"
_REQUIRED = ("kubernetes.io/arch", "kubernetes.io/os", INSTANCE_TYPE, ZONE, CAPACITY_TYPE, NODE_POOL_LABEL)


def claim_of(launch: Launch, pool: Object) -> dict[str, Any]:
    """Returns the NodeClaim for a node to make.

    Args:
        launch: the node.
        pool: its NodePool, which the claim does not outlive.
    """
    template = pool["spec"]["template"]
    spec: Mapping[str, Any] = template["spec"]
    name = pool["metadata"]["name"]
    kept = ("nodeClassRef", "taints", "startupTaints", "expireAfter", "terminationGracePeriod")
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
            "name": f"{name}-{secrets.token_hex(3)[:5]}",
            "labels": dict(launch.labels),
            "annotations": {**template.get("metadata", {}).get("annotations", {}), AWAITED: " ".join(launch.pods)},
            "finalizers": [FINALIZER],
            "ownerReferences": [
                {
                    "apiVersion": "karpenter.sh/v1",
                    "kind": "NodePool",
                    "name": name,
                    "uid": pool["metadata"]["uid"],
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            **{key: spec[key] for key in kept if key in spec},
            "requirements": [
                {"key": key, "operator": "In", "values": [launch.labels[key]]}
                for key in _REQUIRED
                if key in launch.labels
            ],
            "resources": {"requests": quantities(launch.requests)},
        },
        "status": {"capacity": quantities(launch.capacity), "allocatable": quantities(launch.allocatable)},
    }


def make(view: View, launch: Launch, pool: Object) -> None:
    """Makes the NodeClaim for a node, with what the node will have."""
    claim = claim_of(launch, pool)
    view.create(NODE_CLAIM, claim)
    # A status is not taken at creation.
    view.patch(NODE_CLAIM, claim, {"status": claim["status"]}, status=True)


def awaited(claim: Object) -> list[str]:
    """Returns the uids of the pods that a NodeClaim was made for."""
    return (claim["metadata"].get("annotations") or {}).get(AWAITED, "").split()


def await_more(view: View, claim: Object, pods: tuple[str, ...]) -> None:
    """Notes further pods that a NodeClaim's node is for."""
    listed = " ".join([*awaited(claim), *pods])
    view.patch(NODE_CLAIM, claim, as_read(claim, {"metadata": {"annotations": {AWAITED: listed}}}))


def node_of(view: View, claim: Object) -> Object | None:
    """Returns the Node of a NodeClaim; None while it has none."""
    provider_id = (claim.get("status") or {}).get("providerID")
    named = (item for item in view.all(NODE) if provider_id and item["spec"].get("providerID") == provider_id)
    return next(named, None)


def advance(view: View, claim: Object, now: datetime) -> None:
    """Brings a NodeClaim one step nearer to a node that pods can use."""
    instance = _instance_of(view, claim)
    ended_by_others = instance is None and conditions.holds(claim, "Launched")
    if ended_by_others or "allocatable" not in (claim.get("status") or {}):
        view.delete(NODE_CLAIM, claim)
        return
    life = duration(claim["spec"].get("expireAfter"))
    if life is not None and now - datetime.fromisoformat(claim["metadata"]["creationTimestamp"]) >= life:
        view.delete(NODE_CLAIM, claim)
        return
    try:
        instance = instance or _launched(view, claim)
    except AwsError as error:
        _tell(view, claim, {}, [lacking("Launched", "LaunchFailed", str(error))])
        return
    zone, address = instance["availabilityZone"], instance["privateIp"]
    status = {
        "providerID": f"aws:///{zone}/{instance.id}",
        "imageID": instance["ami"],
        "nodeName": node_name(address, view.cluster.scope),
    }
    _tell(view, claim, status, [Condition("Launched"), *_registration(view, claim, status, instance)])


def _registration(view: View, claim: Object, status: Mapping[str, str], instance: Record) -> Iterator[Condition]:
    """Registers and initializes the node of an instance, and yields how far that is."""
    present = next((item for item in view.all(NODE) if item["spec"].get("providerID") == status["providerID"]), None)
    if present is None:
        if refusal := _join_refusal(view, claim):
            yield lacking("Registered", "NodeNotJoined", refusal)
        else:
            view.create(NODE, _node(view, claim, status["providerID"], instance["privateIp"]))
            yield Condition("Registered", "Unknown", "NodeNotFound", "the node has not registered yet")
        yield Condition("Initialized", "Unknown", "NodeNotFound", "there is no node yet")
        return
    yield Condition("Registered")
    yield _initialization(view, claim, present)


def _initialization(view: View, claim: Object, present: Object) -> Condition:
    starting = claim["spec"].get("startupTaints") or []
    keys = {taint["key"] for taint in starting}
    taints = present["spec"].get("taints") or []
    if conditions.holds(claim, "Initialized"):
        return Condition("Initialized")
    if not conditions.holds(present, "Ready"):
        return Condition("Initialized", "Unknown", "NodeNotReady", f"node {present['metadata']['name']} is not ready")
    if any(taint["key"] in keys for taint in taints):
        # Who would take these away does not run here.
        left = [taint for taint in taints if taint["key"] not in keys]
        view.patch(NODE, present, as_read(present, {"spec": {"taints": left or None}}))
        return Condition("Initialized", "Unknown", "StartupTaintsExist", f"the node has {', '.join(sorted(keys))}")
    if INITIALIZED not in present["metadata"]["labels"]:
        view.patch(NODE, present, {"metadata": {"labels": {INITIALIZED: "true"}}})
    return Condition("Initialized")


def terminate(view: View, claim: Object, now: datetime) -> None:
    """Brings a NodeClaim that is being deleted one step nearer to its end: drains, ends the instance, lets go."""
    present = node_of(view, claim)
    if present is not None:
        _cordon(view, present)
        if not is_going(present):
            view.delete(NODE, present)
        if not is_drained(view, present["metadata"]["name"], _deadline(claim), now):
            return
    instance = _instance_of(view, claim)
    if instance is not None:
        view.account.delete(INSTANCE, instance.id, view.identity)
    if present is not None:
        view.let_go(NODE, present, FINALIZER)
        return
    view.let_go(NODE_CLAIM, claim, FINALIZER)


def end_strays(view: View, claims: list[Object]) -> None:
    """Ends the instances of the cluster whose NodeClaim is gone, as after a finalizer was taken off by hand."""
    names = {claim["metadata"]["name"] for claim in claims}
    for instance in view.account.find(INSTANCE):
        tags: Mapping[str, str] = instance["tags"] or {}
        ours = tags.get(f"kubernetes.io/cluster/{view.cluster.id}") == "owned" and _CLAIM_TAG in tags
        if ours and tags[_CLAIM_TAG] not in names:
            view.account.delete(INSTANCE, instance.id, view.identity)


def end_deleted_nodes(view: View, claims: list[Object]) -> None:
    """Ends the NodeClaims of nodes that somebody has deleted, and lets nodes go whose claim is gone."""
    of_claims: dict[str, Object] = {}
    for claim in claims:
        node = node_of(view, claim)
        if node is not None:
            of_claims[node["metadata"]["name"]] = claim
    for node in filter(is_going, view.all(NODE)):
        claim = of_claims.get(node["metadata"]["name"])
        if claim is None:
            view.let_go(NODE, node, FINALIZER)
        elif not is_going(claim):
            view.delete(NODE_CLAIM, claim)


def _instance_of(view: View, claim: Object) -> Record | None:
    name = claim["metadata"]["name"]
    instances = view.account.find(INSTANCE)
    return next((one for one in instances if (one["tags"] or {}).get(_CLAIM_TAG) == name), None)


def _launched(view: View, claim: Object) -> Record:
    """Starts the instance of a NodeClaim.

    Raises:
        AwsError: the account refuses it, or its node class is not ready.
    """
    labels = claim["metadata"]["labels"]
    node_class = view.find(NODE_CLASS, claim["spec"]["nodeClassRef"]["name"])
    if node_class is None or not conditions.holds(node_class, "Ready"):
        raise AwsError("NodeClassNotReady", f"EC2NodeClass {claim['spec']['nodeClassRef']['name']} is not ready")
    selected = node_class["status"]
    in_zone = [one["id"] for one in selected["subnets"] if one["zone"] == labels[ZONE]]
    subnet = next((subnet for id in in_zone for subnet in view.account.find(SUBNET, id=id)), None)
    if subnet is None:
        raise AwsError("InvalidSubnetID.NotFound", f"the node class has no subnet in {labels[ZONE]} (any more)")
    taken = {address for item in view.all(NODE) for address in internal_addresses(item)}
    architecture = labels["kubernetes.io/arch"]
    images = [one["id"] for one in selected["amis"] if architecture in one["requirements"][0]["values"]]
    inputs = {
        "instanceType": labels[INSTANCE_TYPE],
        "ami": images[0],
        "availabilityZone": labels[ZONE],
        "subnetId": subnet.id,
        "privateIp": free_address(view.account, subnet, taken),
        "vpcSecurityGroupIds": [group["id"] for group in selected["securityGroups"]],
        "iamInstanceProfile": selected["instanceProfile"],
        "tags": {
            **node_class["spec"].get("tags", {}),
            "eks:eks-cluster-name": view.cluster.id,
            f"kubernetes.io/cluster/{view.cluster.id}": "owned",
            NODE_POOL_LABEL: labels[NODE_POOL_LABEL],
            "karpenter.k8s.aws/ec2nodeclass": node_class["metadata"]["name"],
            _CLAIM_TAG: claim["metadata"]["name"],
        },
    }
    instance_id, _ = view.account.create(INSTANCE, "", inputs, view.identity)
    return next(view.account.find(INSTANCE, id=instance_id))


def _join_refusal(view: View, claim: Object) -> str | None:
    node_class = view.find(NODE_CLASS, claim["spec"]["nodeClassRef"]["name"])
    return join_refusal(view.account, view.cluster, as_record(node_class, "")) if node_class else None


def _node(view: View, claim: Object, provider_id: str, address: str) -> dict[str, Any]:
    spec, status, metadata = claim["spec"], claim["status"], claim["metadata"]
    labels = {
        **metadata["labels"],
        REGION: view.cluster.scope,
        "karpenter.k8s.aws/ec2nodeclass": spec["nodeClassRef"]["name"],
        REGISTERED: "true",
    }
    taints = [*(spec.get("taints") or []), *(spec.get("startupTaints") or [])]
    made = node(address, provider_id, labels, taints, status["capacity"], status["allocatable"])
    made["metadata"] |= {
        "annotations": {key: value for key, value in metadata.get("annotations", {}).items() if key != AWAITED},
        "finalizers": [FINALIZER],
        "ownerReferences": [
            {
                "apiVersion": "karpenter.sh/v1",
                "kind": "NodeClaim",
                "name": metadata["name"],
                "uid": metadata["uid"],
                "blockOwnerDeletion": True,
            }
        ],
    }
    return made


def _cordon(view: View, present: Object) -> None:
    taints = present["spec"].get("taints") or []
    if not any(taint["key"] == DISRUPTED["key"] for taint in taints):
        view.patch(NODE, present, as_read(present, {"spec": {"taints": [*taints, DISRUPTED]}}))


def _deadline(claim: Object) -> datetime | None:
    grace = duration(claim["spec"].get("terminationGracePeriod"))
    if grace is None:
        return None
    # The API server counts an object's own grace period into this time, and NodeClaims have none.
    asked: datetime = datetime.fromisoformat(claim["metadata"]["deletionTimestamp"])
    return asked + grace


def _tell(view: View, claim: Object, status: Mapping[str, Any], told: list[Condition]) -> None:
    conditions.tell(view, NODE_CLAIM, claim, status, [*told, conditions.ready(told)])
