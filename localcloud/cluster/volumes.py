"""Stands in for the CSI drivers: makes, grows and removes the volumes of claims, in the cluster and in the account."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from lightkube.utils.quantity import parse_quantity

from localcloud.authorization import mentions
from localcloud.aws.eks_nodes import ADDON
from localcloud.aws.iam import attached, policies_of
from localcloud.aws.kms import caller_refusal
from localcloud.catalog import find
from localcloud.cluster.events import warn
from localcloud.cluster.kinds import NODE, STORAGE_CLASS, VOLUME, VOLUME_CLAIM
from localcloud.cluster.pods import can_run, role_of
from localcloud.cluster.storage_drivers import DRIVERS, NAME_TAG, Driver, ProvisioningFailed, Request
from localcloud.cluster.view import Object, View, is_going
from localcloud.errors import AwsError
from localcloud.record import Record

PROVISIONER = "volume.kubernetes.io/storage-provisioner"
"""Annotation by which Kubernetes asks a driver to make a volume for a claim, where need be once its pod has a node."""
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
FINALIZER = "external-provisioner.volume.kubernetes.io/finalizer"
ZONE = "topology.kubernetes.io/zone"

_GIB = 2**30


def volumes(view: View) -> None:
    """Lets each driver that is installed, has an identity and has a node to run on do its work."""
    if not can_run(view):
        return
    for driver in DRIVERS.values():
        role = role_of(view, "kube-system", driver.service_account)
        if role is not None and any(view.account.find(ADDON, clusterName=view.cluster.id, addonName=driver.addon)):
            for claim in _waiting(view, driver):
                _provision(view, driver, role, claim)
            for volume in view.all(VOLUME):
                if annotation(volume, PROVISIONED_BY) == driver.name:
                    _reclaim(view, driver, volume)
                    _grow(view, driver, volume)


def _waiting(view: View, driver: Driver) -> Iterator[Object]:
    """Claims that shall get a volume and have none."""
    for claim in view.all(VOLUME_CLAIM):
        asked = annotation(claim, PROVISIONER) == driver.name and not claim["spec"].get("volumeName")
        if asked and not is_going(claim) and view.find(VOLUME, name_of(claim)) is None:
            yield claim


def _provision(view: View, driver: Driver, role: Record, claim: Object) -> None:
    storage_class = view.find(STORAGE_CLASS, claim["spec"]["storageClassName"])
    if storage_class is None:
        return
    try:
        if claim["spec"].get("selector"):
            raise ProvisioningFailed("InvalidArgument", "claim selector is not supported for volumes to be made")
        node = view.find(NODE, annotation(claim, SELECTED_NODE))
        zone = zone_for(storage_class, node, view.all(NODE))
        made = _made(view, driver, role, request_of(claim, storage_class, zone, view.cluster.id))
    except ProvisioningFailed as failure:
        message = f'failed to provision volume with StorageClass "{storage_class["metadata"]["name"]}": {failure}'
        warn(view, VOLUME_CLAIM, claim, "ProvisioningFailed", message, driver.name)
        return
    view.create(VOLUME, persistent_volume(driver, claim, storage_class, made))


def _made(view: View, driver: Driver, role: Record, request: Request) -> Record:
    """What the driver makes for a request in the account, or has made before.

    Raises:
        ProvisioningFailed: the driver or AWS refuses it.
    """
    made = _backing(view, driver, request.name)
    if made is not None:
        return made
    inputs = driver.inputs(request)
    refusal = refusal_of(view, driver, role, inputs)
    if refusal is not None:
        raise ProvisioningFailed("Internal", f'could not create volume "{request.name}": {refusal}')
    try:
        made_id, _ = view.account.create(driver.token, request.name, inputs, view.identity, seed=request.name)
    except AwsError as error:
        raise ProvisioningFailed("Internal", f'could not create volume "{request.name}": {error}') from error
    made = view.account.get(driver.token, made_id, view.identity)
    assert made is not None, "it was made a moment ago"
    return made


def _backing(view: View, driver: Driver, name: str) -> Record | None:
    return next(view.account.find(driver.token, **{f"tags.{NAME_TAG}": name}), None)


def refusal_of(view: View, driver: Driver, role: Record, inputs: dict[str, Any]) -> str | None:
    """Returns why AWS refuses what a driver asks for, before rules of the account are held; None when it does not."""
    policies = policies_of(view.account, role)
    if not attached(view.account, role) & {*driver.policies} and not mentions(policies, driver.right):
        return f"UnauthorizedOperation: role {role.id} is not authorized to perform {driver.right}"
    service, actions = driver.via
    reason = caller_refusal(view.account, inputs.get("kmsKeyId"), service, role["arn"], policies, actions)
    if reason is not None:
        return f"the volume disappeared while it was made, InvalidVolume.NotFound: {reason}"
    return _fault(view, driver, inputs)


def _fault(view: View, driver: Driver, inputs: dict[str, Any]) -> str | None:
    """What is wrong with the arguments alone."""
    declared = find(driver.token)
    assert declared is not None, f"{driver.token} is declared"
    _, failures = declared.check(inputs, "", None, view.identity)
    return "; ".join(failure.reason for failure in failures) or None


def _reclaim(view: View, driver: Driver, volume: Object) -> None:
    """Follows the reclaim policy once the claim is gone; until then a finalizer keeps what shall be deleted with it."""
    if volume["spec"]["persistentVolumeReclaimPolicy"] != "Delete":
        view.let_go(VOLUME, volume, FINALIZER)
        return
    view.hold(VOLUME, volume, FINALIZER)
    if volume.get("status", {}).get("phase") != "Released":
        return
    backing = _backing(view, driver, volume["metadata"]["name"])
    try:
        if backing is not None:
            view.account.delete(driver.token, backing.id, view.identity)
    except AwsError as error:
        warn(view, VOLUME, volume, "VolumeFailedDelete", str(error), driver.name)
        return
    if is_going(volume):
        view.let_go(VOLUME, volume, FINALIZER)
    else:
        view.delete(VOLUME, volume)


def _grow(view: View, driver: Driver, volume: Object) -> None:
    """Makes a volume as large as its claim asks by now. No kubelet grows the file system, so that is left out."""
    reference = volume["spec"].get("claimRef") or {}
    claim = view.find(VOLUME_CLAIM, reference.get("name", ""), reference.get("namespace"))
    if not driver.size or claim is None or claim["spec"].get("volumeName") != volume["metadata"]["name"]:
        return
    backing = _backing(view, driver, volume["metadata"]["name"])
    asked = gibibytes(claim["spec"]["resources"]["requests"]["storage"])
    if backing is None or asked <= gibibytes(volume["spec"]["capacity"]["storage"]):
        return
    wanted = driver.rounded(backing.inputs, asked)
    inputs = {**backing.inputs, driver.size: wanted}
    try:
        if fault := _fault(view, driver, inputs):
            raise AwsError("InvalidParameterValue", fault)
        view.account.update(driver.token, backing.id, inputs, view.identity)
    except AwsError as error:
        warn(view, VOLUME_CLAIM, claim, "VolumeResizeFailed", str(error), driver.name)
        return
    capacity = {"capacity": {"storage": f"{wanted}Gi"}}
    view.patch(VOLUME, volume, {"spec": capacity})
    view.patch(VOLUME_CLAIM, claim, {"status": capacity}, status=True)


def annotation(item: Object, name: str) -> str:
    """Returns an annotation of an object; empty when it has none of the name."""
    return (item["metadata"].get("annotations") or {}).get(name, "")


def name_of(claim: Object) -> str:
    """Returns the name of the PersistentVolume that a driver makes for a claim."""
    return f"pvc-{claim['metadata']['uid']}"


def gibibytes(quantity: str) -> int:
    """Returns an amount of storage in GiB, rounded up."""
    return math.ceil((parse_quantity(quantity) or 0) / _GIB)


def zone_for(storage_class: Object, node: Object | None, nodes: Sequence[Object]) -> str:
    """Returns the availability zone to make a volume in.

    Args:
        storage_class: may limit the zones.
        node: where the claim's pod will run; None where the class does not wait for one.
        nodes: all nodes of the cluster.

    Raises:
        ProvisioningFailed: no node is in a zone that the class allows.
    """
    terms = storage_class.get("allowedTopologies") or ()
    allowed = [value for term in terms for one in term["matchLabelExpressions"] for value in one["values"]]
    candidates = [node] if node is not None else nodes
    found = {item["metadata"].get("labels", {}).get(ZONE) for item in candidates} - {None}
    fitting = sorted(zone for zone in found if not allowed or zone in allowed)
    if not fitting:
        raise ProvisioningFailed(
            "InvalidArgument", f"no node is in a zone that the class allows ({', '.join(allowed)})"
        )
    return fitting[0]


def request_of(claim: Object, storage_class: Object, zone: str, cluster: str) -> Request:
    """Returns what a claim asks its driver for."""
    spec = claim["spec"]
    return Request(
        name=name_of(claim),
        size=gibibytes(spec["resources"]["requests"]["storage"]),
        modes=tuple(spec["accessModes"]),
        is_block=spec.get("volumeMode") == "Block",
        parameters=storage_class.get("parameters") or {},
        zone=zone,
        cluster=cluster,
    )


def persistent_volume(driver: Driver, claim: Object, storage_class: Object, made: Record) -> dict[str, Any]:
    """Returns the PersistentVolume for what a driver has made for a claim."""
    metadata, spec = claim["metadata"], claim["spec"]
    policy = storage_class.get("reclaimPolicy", "Delete")
    size = made[driver.size] if driver.size else gibibytes(spec["resources"]["requests"]["storage"])
    csi: dict[str, Any] = {"driver": driver.name, "volumeHandle": driver.handle(made)}
    if attributes := driver.attributes(made):
        csi["volumeAttributes"] = attributes
    if driver.name == "ebs.csi.aws.com" and spec.get("volumeMode") != "Block":
        csi["fsType"] = (storage_class.get("parameters") or {}).get("csi.storage.k8s.io/fstype", "ext4")
    wanted = {
        "capacity": {"storage": f"{size}Gi"},
        "accessModes": spec["accessModes"],
        "persistentVolumeReclaimPolicy": policy,
        "storageClassName": spec["storageClassName"],
        "volumeMode": spec.get("volumeMode", "Filesystem"),
        "mountOptions": storage_class.get("mountOptions"),
        "csi": csi,
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        },
        "nodeAffinity": _only_in(made["availabilityZone"]),
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": name_of(claim),
            "annotations": {PROVISIONED_BY: driver.name},
            "finalizers": [FINALIZER] if policy == "Delete" else [],
        },
        "spec": {key: value for key, value in wanted.items() if value is not None},
    }


def _only_in(zone: str | None) -> dict[str, Any] | None:
    """Node affinity for one zone; none for what every zone reaches."""
    if zone is None:
        return None
    term = {"key": ZONE, "operator": "In", "values": [zone]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
