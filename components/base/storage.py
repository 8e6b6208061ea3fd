"""The stores that pods can mount: the model bucket, and the file systems that a stack asks for."""

from collections.abc import Mapping

import pulumi
from typing_extensions import TypedDict

from components.base.lustre import Lustre, LustreArgs, LustreSettings
from components.base.shared_files import EfsSettings, SharedFiles, SharedFilesArgs
from components.storage import LustrePlace, Storage, VolumeSource


class StorageSettings(TypedDict):
    """The file systems."""

    efs: EfsSettings
    """The one that all share."""
    lustre: LustreSettings | None
    """The one for training, None for none."""


class StorageArgs(TypedDict):
    """What the stores need."""

    region: str
    """AWS region."""
    cluster_name: str
    """Names follow from it."""
    key_arn: pulumi.Input[str]
    """Key that file systems are encrypted with."""
    subnet_ids: Mapping[str, pulumi.Input[str]]
    """The private subnet of each zone."""
    nfs_security_group_id: pulumi.Input[str]
    """The group of EFS."""
    lustre_security_group_id: pulumi.Input[str]
    """The group of FSx for Lustre."""
    bucket: pulumi.Input[str]
    """Name of the model bucket."""
    keep: bool
    """Whether file systems are protected from deletion; else they go with the stack, with all files."""


def make_storage(settings: StorageSettings, args: StorageArgs, opts: pulumi.ResourceOptions) -> Storage:
    """Makes the file systems that a stack asks for.

    Args:
        settings: which ones.
        args: what they need.
        opts: carries the AWS provider.

    Returns:
        These and the model bucket, as what pods can mount.
    """
    volumes = {"models": _models(args["bucket"], args["region"])}
    efs_id, place = None, None
    if settings["efs"]["enabled"]:
        shared = _shared_files(settings["efs"], args, opts)
        efs_id = shared.file_system_id
        volumes |= shared.volumes
    if settings["lustre"] is not None:
        place = LustrePlace(
            subnet_id=args["subnet_ids"][settings["lustre"]["zone"]],
            security_group_id=args["lustre_security_group_id"],
            throughput_mb_per_tib=settings["lustre"]["throughput_mb_per_tib"],
        )
        volumes["lustre"] = _lustre(settings["lustre"], place, args, opts).volume
    return Storage(volumes, efs_id, place)


def _models(bucket: pulumi.Input[str], region: str) -> VolumeSource:
    """The model bucket. Mountpoint's identity may read and no more; it runs as root, and pods as somebody else."""
    return VolumeSource(
        driver="s3.csi.aws.com",
        capacity="5Gi",
        attributes={"bucketName": bucket},
        mount_options=("allow-other", "read-only", f"region {region}"),
        is_read_only=True,
    )


def _shared_files(settings: EfsSettings, args: StorageArgs, opts: pulumi.ResourceOptions) -> SharedFiles:
    return SharedFiles(
        "shared-files",
        SharedFilesArgs(
            **settings,
            cluster_name=args["cluster_name"],
            key_arn=args["key_arn"],
            subnet_ids=args["subnet_ids"],
            security_group_id=args["nfs_security_group_id"],
            keep=args["keep"],
        ),
        opts,
    )


def _lustre(settings: LustreSettings, place: LustrePlace, args: StorageArgs, opts: pulumi.ResourceOptions) -> Lustre:
    return Lustre(
        "lustre",
        LustreArgs(
            **settings,
            cluster_name=args["cluster_name"],
            key_arn=args["key_arn"],
            subnet_id=place.subnet_id,
            security_group_id=place.security_group_id,
            bucket=args["bucket"],
            keep=args["keep"],
        ),
        opts,
    )
