"""The kinds of volume that a claim can ask for by name."""

from collections.abc import Collection, Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
from typing_extensions import TypedDict

from components.storage import FILE_OWNER, LUSTRE_VERSION, LustrePlace

DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}

EBS_TYPES: Mapping[str, Mapping[str, str]] = {
    "gp3": {},
    # EC2 wants to be told how fast, and gives 100 operations a second at least.
    "io2": {"iopsPerGB": "50", "allowAutoIOPSPerGBIncrease": "true"},
    "st1": {},
}
"""Classes of EBS volumes, named for their type, with the parameters of each; the first is the default class."""


class StorageClassesArgs(TypedDict):
    """What storage classes need."""

    addons: Collection[str]
    """The add-ons of the cluster: a class is made where the driver behind it is."""
    key_arn: pulumi.Input[str]
    """Key that volumes are encrypted with."""
    efs_id: pulumi.Input[str] | None
    """The EFS file system that volumes are folders of."""
    lustre: LustrePlace | None
    """Where Lustre file systems are made."""


class StorageClasses(pulumi.ComponentResource):
    """`gp3` (the default), `io2`, `st1` on EBS, `efs` on EFS, `lustre` on FSx, as far as their drivers are there."""

    def __init__(self, name: str, args: StorageClassesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:StorageClasses", name, {}, opts)
        self._child = pulumi.ResourceOptions(parent=self)
        if "aws-ebs-csi-driver" in args["addons"]:
            self._ebs(args["key_arn"])
        if "aws-efs-csi-driver" in args["addons"] and args["efs_id"] is not None:
            self._efs(args["efs_id"])
        if "aws-fsx-csi-driver" in args["addons"] and args["lustre"] is not None:
            self._lustre(args["lustre"], args["key_arn"])
        self.register_outputs({})

    def _ebs(self, key_arn: pulumi.Input[str]) -> None:
        for type_, own in EBS_TYPES.items():
            self._class(
                type_,
                "ebs.csi.aws.com",
                {"type": type_, **own, "encrypted": "true", "kmsKeyId": key_arn, "csi.storage.k8s.io/fstype": "ext4"},
                annotations=DEFAULT if type_ == "gp3" else None,
                allow_volume_expansion=True,
                # The volume is made in the zone that its pod has been placed in, and not the pod bound to the volume's.
                volume_binding_mode="WaitForFirstConsumer",
            )

    def _efs(self, file_system_id: pulumi.Input[str]) -> None:
        parameters: dict[str, pulumi.Input[str]] = {
            "provisioningMode": "efs-ap",
            "fileSystemId": file_system_id,
            "directoryPerms": "700",
            "basePath": "/volumes",
            # The same claim finds its folder again, after the cluster was not.
            "subPathPattern": "${.PVC.namespace}/${.PVC.name}",
            "ensureUniqueDirectory": "false",
            "uid": str(FILE_OWNER),
            "gid": str(FILE_OWNER),
        }
        self._class("efs", "efs.csi.aws.com", parameters, mount_options=["tls"], volume_binding_mode="Immediate")

    def _lustre(self, place: LustrePlace, key_arn: pulumi.Input[str]) -> None:
        parameters: dict[str, pulumi.Input[str]] = {
            "subnetId": place.subnet_id,
            "securityGroupIds": place.security_group_id,
            "deploymentType": "PERSISTENT_2",
            "perUnitStorageThroughput": str(place.throughput_mb_per_tib),
            "storageType": "SSD",
            "dataCompressionType": "LZ4",
            "fileSystemTypeVersion": LUSTRE_VERSION,
            "kmsKeyId": key_arn,
        }
        self._class("lustre", "fsx.csi.aws.com", parameters, mount_options=["flock"], volume_binding_mode="Immediate")

    def _class(
        self,
        name: str,
        provisioner: str,
        parameters: Mapping[str, pulumi.Input[str]],
        *,
        annotations: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> None:
        kubernetes.storage.v1.StorageClass(
            name,
            metadata={"name": name, "annotations": annotations},
            provisioner=provisioner,
            parameters=parameters,
            reclaim_policy="Delete",
            opts=self._child,
            **fields,
        )
