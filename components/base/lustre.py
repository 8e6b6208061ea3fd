"""FSx for Lustre: the file system that training reads."""

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict

from components.readiness import once
from components.storage import LUSTRE_VERSION, VolumeSource

LINKED_FOLDER = "/models"
"""The folder of a Lustre file system that shows the model bucket."""


class LustreSettings(TypedDict):
    """The plain part of `LustreArgs`."""

    zone: str
    """The one zone that it lies in."""
    capacity_gib: int
    """Size, GiB: 1200, 2400 or a multiple of 2400."""
    throughput_mb_per_tib: int
    """MB a second for each TiB."""


class LustreArgs(LustreSettings):
    """What a Lustre file system needs."""

    cluster_name: str
    """Names follow from it."""
    key_arn: pulumi.Input[str]
    """Key that it is encrypted with."""
    subnet_id: pulumi.Input[str]
    """A subnet of its zone."""
    security_group_id: pulumi.Input[str]
    """The group that lets nodes in."""
    bucket: pulumi.Input[str]
    """The bucket that its folder `/models` shows."""
    keep: bool
    """Whether it is protected from deletion; else it goes with the stack, with all files."""


class Lustre(pulumi.ComponentResource):
    """An FSx for Lustre file system that shows the model bucket in a folder.

    What is new or changed in the bucket appears in the folder and the other way round; what is deleted in the bucket
    vanishes from the folder, and never the other way round. FSx takes no backups of a file system with such a link.
    """

    volume: VolumeSource
    """The file system, once it shows the bucket."""

    def __init__(self, name: str, args: LustreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Lustre", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self, protect=args["keep"] or None)
        system = aws.fsx.LustreFileSystem(
            name,
            deployment_type="PERSISTENT_2",
            file_system_type_version=LUSTRE_VERSION,
            storage_type="SSD",
            storage_capacity=args["capacity_gib"],
            per_unit_storage_throughput=args["throughput_mb_per_tib"],
            data_compression_type="LZ4",
            kms_key_id=args["key_arn"],
            subnet_ids=args["subnet_id"],
            security_group_ids=[args["security_group_id"]],
            tags={"Name": f"{args['cluster_name']}-{name}"},
            opts=child,
        )
        link = aws.fsx.DataRepositoryAssociation(
            name,
            file_system_id=system.id,
            file_system_path=LINKED_FOLDER,
            data_repository_path=pulumi.Output.concat("s3://", args["bucket"]),
            batch_import_meta_data_on_create=True,
            s3={
                "auto_import_policy": {"events": ["NEW", "CHANGED", "DELETED"]},
                "auto_export_policy": {"events": ["NEW", "CHANGED"]},
            },
            opts=child,
        )
        self.volume = VolumeSource(
            driver="fsx.csi.aws.com",
            capacity=f"{args['capacity_gib']}Gi",
            handle=once(system.id, link.id),
            attributes={"dnsname": system.dns_name, "mountname": system.mount_name},
            mount_options=("flock",),
        )
        self.register_outputs({})
