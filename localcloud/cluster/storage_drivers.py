"""What the CSI drivers of EBS, EFS and FSx make of a claim: an EBS volume, an access point, a file system."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from localcloud.aws.file_systems import ACCESS_POINT, LUSTRE
from localcloud.aws.kms import VOLUMES
from localcloud.aws.volumes import BOUNDS, VOLUME
from localcloud.record import Record

NAME_TAG = "CSIVolumeName"
"""Tag by which a driver knows again what it made: the PersistentVolume's name."""

Inputs = dict[str, Any]


class ProvisioningFailed(Exception):
    """A driver or AWS refuses a claim.

    Args:
        code: gRPC's name of what went wrong, such as `InvalidArgument`.
        message: why.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"rpc error: code = {code} desc = {message}")


@dataclass(frozen=True)
class Request:
    """What a claim asks its driver for.

    Attributes:
        name: of the PersistentVolume to be.
        size: in GiB.
        modes: access modes.
        is_block: whether a raw device is wanted.
        parameters: the StorageClass's.
        zone: the availability zone to make it in.
        cluster: the cluster's name.
    """

    name: str
    size: int
    modes: tuple[str, ...]
    is_block: bool
    parameters: Mapping[str, str]
    zone: str
    cluster: str


@dataclass(frozen=True)
class Driver:
    """One CSI driver.

    Attributes:
        name: what a StorageClass calls it.
        addon: the EKS add-on that it comes with.
        service_account: of its controller, in kube-system.
        right: what the controller's role must be allowed.
        policies: AWS's managed policies that allow it.
        via: the service through which it uses keys, and what the service does with them.
        token: type of what it makes.
        inputs: the arguments of that; raises `ProvisioningFailed`.
        handle: name of the made thing in the PersistentVolume.
        attributes: what a node needs to know to mount it.
        size: property that holds its size in GiB; empty where it has none.
        rounded: the size that a thing with some arguments has when so many GiB are asked for.
    """

    name: str
    addon: str
    service_account: str
    right: str
    policies: tuple[str, ...]
    via: tuple[str, tuple[str, ...]]
    token: str
    inputs: Callable[[Request], Inputs]
    handle: Callable[[Record], str]
    attributes: Callable[[Record], dict[str, str]]
    size: str = ""
    rounded: Callable[[Inputs, int], int] = lambda _, size: size


_EBS_PARAMETERS = frozenset(
    (
        *("type", "iops", "iopspergb", "allowautoiopspergbincrease", "allowautoiopsincreaseonmodify", "throughput"),
        *("encrypted", "kmskeyid", "blocksize", "inodesize", "bytesperinode", "numberofinodes", "ext4bigalloc"),
        *("ext4clustersize", "ext4encryptionsupport", "volumeinitializationrate", "csi.storage.k8s.io/fstype"),
    )
)


def ebs_volume(request: Request) -> Inputs:
    """Returns the arguments of the EBS volume for a claim.

    Raises:
        ProvisioningFailed: the driver does not take the class's parameters, or the claim's access modes.
    """
    shared = [mode for mode in request.modes if mode not in ("ReadWriteOnce", "ReadWriteOncePod")]
    if shared and not (request.is_block and shared == ["ReadWriteMany"]):
        raise ProvisioningFailed(
            "InvalidArgument",
            f"volume capabilities not supported: {', '.join(shared)}. An EBS volume is for one node: ReadWriteOnce",
        )
    given = {key.lower(): value for key, value in request.parameters.items()}
    for key in given.keys() - _EBS_PARAMETERS:
        if not key.startswith("tagspecification"):
            raise ProvisioningFailed("InvalidArgument", f"invalid parameter key {key} for CreateVolume")
    extra = [value.partition("=") for key, value in given.items() if key.startswith("tagspecification")]
    inputs: Inputs = {
        "availabilityZone": request.zone,
        "size": request.size,
        "type": given.get("type", "gp3"),
        "encrypted": given.get("encrypted", "").lower() == "true",
        "tags": {
            **{key: value for key, _, value in extra},
            NAME_TAG: request.name,
            "ebs.csi.aws.com/cluster": "true",
            f"kubernetes.io/cluster/{request.cluster}": "owned",
        },
    }
    if iops := _iops(inputs["type"], request.size, given):
        inputs["iops"] = iops
    if "throughput" in given:
        inputs["throughput"] = _number("throughput", given)
    if "kmskeyid" in given:
        inputs |= {"kmsKeyId": given["kmskeyid"], "encrypted": True}
    return inputs


def _iops(kind: str, size: int, given: Mapping[str, str]) -> int | None:
    """The driver caps what is too much; what is too little is AWS's to refuse, unless the class lets it be raised."""
    if "iops" in given and "iopspergb" in given:
        raise ProvisioningFailed("InvalidArgument", "iops and iopsPerGB exclude each other: give one of them")
    bounds = BOUNDS.get(kind)
    wanted = _number("iops", given) or _number("iopspergb", given) * size
    if not wanted or bounds is None or bounds.iops is None:
        return wanted or None
    least, most = bounds.iops
    if given.get("allowautoiopspergbincrease", "").lower() == "true":
        wanted = max(wanted, least)
    return min(wanted, most, max(bounds.iops_per_gib * size, least))


def _number(key: str, given: Mapping[str, str]) -> int:
    text = given.get(key, "0")
    if not text.isdecimal():
        raise ProvisioningFailed("InvalidArgument", f"could not parse {key} {text!r}: give a whole number")
    return int(text)


def efs_access_point(request: Request) -> Inputs:
    """Returns the arguments of the EFS access point for a claim.

    Raises:
        ProvisioningFailed: the class names no file system, or no way to provision that the driver knows.
    """
    mode = request.parameters.get("provisioningMode", "")
    if mode != "efs-ap":
        raise ProvisioningFailed("InvalidArgument", f"provisioning mode {mode!r} is not supported: only efs-ap is")
    system = _required("fileSystemId", request)
    user, group = (int(request.parameters.get(key, 0)) for key in ("uid", "gid"))
    # The driver takes a group of its own for each access point from a range.
    first = int(request.parameters.get("gidRangeStart", 50000))
    user, group = user or first, group or first
    base = request.parameters.get("basePath", "").rstrip("/")
    return {
        "fileSystemId": system,
        "posixUser": {"uid": user, "gid": group},
        "rootDirectory": {
            "path": f"{base}/{request.name}",
            "creationInfo": {
                "ownerUid": user,
                "ownerGid": group,
                "permissions": request.parameters.get("directoryPerms", "0700"),
            },
        },
        "tags": {NAME_TAG: request.name, "efs.csi.aws.com/cluster": "true"},
    }


def lustre_file_system(request: Request) -> Inputs:
    """Returns the arguments of the FSx for Lustre file system for a claim, its size rounded up to what FSx has.

    Raises:
        ProvisioningFailed: the class names no subnet.
    """
    given = request.parameters
    kind = given.get("deploymentType", "SCRATCH_1")
    inputs: Inputs = {
        "subnetIds": _required("subnetId", request),
        "securityGroupIds": [one.strip() for one in given.get("securityGroupIds", "").split(",") if one.strip()],
        "storageCapacity": lustre_capacity(kind, request.size),
        "deploymentType": kind,
        "tags": {NAME_TAG: request.name},
    }
    if "perUnitStorageThroughput" in given:
        inputs["perUnitStorageThroughput"] = _number("perUnitStorageThroughput", given)
    for key in ("kmsKeyId", "storageType", "dataCompressionType", "fileSystemTypeVersion"):
        if key in given:
            inputs[key] = given[key]
    return inputs


def lustre_capacity(deployment_type: str, size: int) -> int:
    """Returns the smallest capacity of a Lustre file system that holds so much, both in GiB."""
    step = 3600 if deployment_type == "SCRATCH_1" else 2400
    if size <= 1200:
        return 1200
    return 2400 if size <= 2400 else step * math.ceil(size / step)


def _required(key: str, request: Request) -> str:
    if not request.parameters.get(key):
        raise ProvisioningFailed("InvalidArgument", f"missing {key} parameter: set it in the StorageClass")
    return request.parameters[key]


DRIVERS: Mapping[str, Driver] = {
    driver.name: driver
    for driver in (
        Driver(
            name="ebs.csi.aws.com",
            addon="aws-ebs-csi-driver",
            service_account="ebs-csi-controller-sa",
            right="ec2:CreateVolume",
            policies=("AmazonEBSCSIDriverPolicy", "AmazonEBSCSIDriverPolicyV2"),
            via=("ec2", VOLUMES),
            token=VOLUME,
            inputs=ebs_volume,
            handle=lambda volume: volume.id,
            attributes=lambda _: {},
            size="size",
        ),
        Driver(
            name="efs.csi.aws.com",
            addon="aws-efs-csi-driver",
            service_account="efs-csi-controller-sa",
            right="elasticfilesystem:CreateAccessPoint",
            policies=("AmazonEFSCSIDriverPolicy",),
            via=("elasticfilesystem", ()),
            token=ACCESS_POINT,
            inputs=efs_access_point,
            handle=lambda point: f"{point['fileSystemId']}::{point.id}",
            attributes=lambda _: {},
        ),
        Driver(
            name="fsx.csi.aws.com",
            addon="aws-fsx-csi-driver",
            service_account="fsx-csi-controller-sa",
            right="fsx:CreateFileSystem",
            policies=("AmazonFSxFullAccess",),
            via=("fsx", ("kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey")),
            token=LUSTRE,
            inputs=lustre_file_system,
            handle=lambda system: system.id,
            attributes=lambda system: {"dnsname": system["dnsName"], "mountname": system["mountName"]},
            size="storageCapacity",
            rounded=lambda inputs, size: lustre_capacity(inputs["deploymentType"], size),
        ),
    )
}
"""The drivers that make volumes for claims, by name. That of S3 makes none: its volumes are written by hand."""
