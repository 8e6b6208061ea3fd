"""EBS volumes for pods that store data, made before there is a cluster."""

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict

from components.volume_claims import BlockVolume, VolumeClaim


class BlockVolumesArgs(TypedDict):
    """What the volumes need."""

    claims: Sequence[VolumeClaim]
    """The claims that they are for."""
    zones: Sequence[str]
    """Zones by name, in which they lie by turns."""
    cluster_name: str
    """Names follow from it."""
    key_arn: pulumi.Input[str]
    """Key that they are encrypted with."""
    keep: bool
    """Whether they are protected from deletion; else they go with the stack, with all data."""


class BlockVolumes(pulumi.ComponentResource):
    """An encrypted volume for each claim. Those of one kind of pod lie in different zones as far as there are enough.

    A volume stays in the zone in which it was made, and its pod follows it.
    """

    volumes: dict[str, BlockVolume]
    """The volumes, by `VolumeClaim.volume`."""

    def __init__(self, name: str, args: BlockVolumesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:BlockVolumes", name, {}, opts)
        child = pulumi.ResourceOptions(
            parent=self,
            protect=args["keep"] or None,
            # With another zone in the settings the turns are others, and to move a volume is to make it anew.
            ignore_changes=["availability_zone"],
        )
        zones = args["zones"]
        self.volumes = {}
        for claim in args["claims"]:
            volume = aws.ebs.Volume(
                claim.volume,
                availability_zone=claim.zone(zones),
                size=claim.gib,
                type="gp3",
                encrypted=True,
                kms_key_id=args["key_arn"],
                tags={
                    "Name": f"{args['cluster_name']}-{claim.volume}",
                    "eksai:claim": f"{claim.namespace}/{claim.name}",
                },
                opts=child,
            )
            self.volumes[claim.volume] = BlockVolume(claim, volume.id, volume.availability_zone)
        self.register_outputs({})
