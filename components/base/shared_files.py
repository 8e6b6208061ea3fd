"""EFS: the file system that all share."""

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict

from components.policy_document import deny_plain_http, document
from components.readiness import once
from components.storage import FILE_OWNER, VolumeSource

SHARED_VOLUMES: Mapping[str, str] = {"shared-datasets": "2Ti", "shared-models": "500Gi"}
"""Folders of EFS that namespaces share, and what their claims ask for; EFS itself has no size."""


class EfsSettings(TypedDict):
    """The plain part of `SharedFilesArgs`."""

    enabled: bool
    """Whether there is one."""
    backups: bool
    """Whether AWS Backup keeps a copy of every day."""


class SharedFilesArgs(EfsSettings):
    """What an EFS file system needs."""

    cluster_name: str
    """Names follow from it."""
    key_arn: pulumi.Input[str]
    """Key that it is encrypted with."""
    subnet_ids: Mapping[str, pulumi.Input[str]]
    """A subnet of each zone that it is mounted from."""
    security_group_id: pulumi.Input[str]
    """The group that lets nodes in."""
    keep: bool
    """Whether it is protected from deletion; else it goes with the stack, with all files."""


class SharedFiles(pulumi.ComponentResource):
    """An encrypted EFS file system that is mounted over TLS, through access points only.

    An access point shows one folder and writes as one user, so that whoever reaches the file system still does not
    reach the folders of others as root.
    """

    file_system_id: pulumi.Output[str]
    """The file system, once it can be mounted in every zone."""
    volumes: dict[str, VolumeSource]
    """The shared folders, by name."""

    def __init__(self, name: str, args: SharedFilesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:SharedFiles", name, {}, opts)
        self._child = child = pulumi.ResourceOptions(parent=self, protect=args["keep"] or None)
        system = aws.efs.FileSystem(
            name,
            encrypted=True,
            kms_key_id=args["key_arn"],
            # Grows and shrinks with use and is paid by it; the other modes are bought, or earned with stored data.
            throughput_mode="elastic",
            lifecycle_policies=[
                {"transition_to_ia": "AFTER_30_DAYS"},
                {"transition_to_primary_storage_class": "AFTER_1_ACCESS"},
            ],
            tags={"Name": f"{args['cluster_name']}-{name}"},
            opts=child,
        )
        aws.efs.BackupPolicy(
            name,
            file_system_id=system.id,
            backup_policy={"status": "ENABLED" if args["backups"] else "DISABLED"},
            opts=child,
        )
        policy = aws.efs.FileSystemPolicy(
            name,
            file_system_id=system.id,
            policy=document(_mount_through_access_points(system), deny_plain_http("elasticfilesystem", [system.arn])),
            opts=child,
        )
        targets = [
            aws.efs.MountTarget(
                f"{name}-{zone}",
                file_system_id=system.id,
                subnet_id=subnet_id,
                security_groups=[args["security_group_id"]],
                # Nothing is in it, and it would hold on to its subnet.
                opts=pulumi.ResourceOptions(parent=self),
            )
            for zone, subnet_id in args["subnet_ids"].items()
        ]
        self.file_system_id = once(system.id, policy.id, *(target.id for target in targets))
        self.volumes = {what: self._shared_folder(system, what, capacity) for what, capacity in SHARED_VOLUMES.items()}
        self.register_outputs({"file_system_id": self.file_system_id})

    def _shared_folder(self, system: aws.efs.FileSystem, what: str, capacity: str) -> VolumeSource:
        point = aws.efs.AccessPoint(
            what,
            file_system_id=system.id,
            posix_user={"uid": FILE_OWNER, "gid": FILE_OWNER},
            root_directory={
                "path": f"/{what}",
                "creation_info": {"owner_uid": FILE_OWNER, "owner_gid": FILE_OWNER, "permissions": "0755"},
            },
            tags={"Name": what},
            opts=self._child,
        )
        return VolumeSource(
            driver="efs.csi.aws.com",
            capacity=capacity,
            handle=pulumi.Output.concat(self.file_system_id, "::", point.id),
        )


def _mount_through_access_points(system: aws.efs.FileSystem) -> dict[str, object]:
    """The statement that lets nodes mount, and through access points only. Without root's rights: none needs them."""
    access_points = system.arn.apply(lambda arn: f"{arn.rpartition(':')[0]}:access-point/*")
    return {
        "Sid": "MountThroughAccessPoints",
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"],
        "Resource": system.arn,
        "Condition": {
            "Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"},
            "StringLike": {"elasticfilesystem:AccessPointArn": access_points},
        },
    }
