"""An EBS volume that the stack has made, as the claim that a StatefulSet looks for."""

import pulumi
import pulumi_kubernetes as kubernetes
from typing_extensions import TypedDict

from components.volume_claims import BlockVolume

_MODES = ["ReadWriteOnce"]


class ClaimedVolumeArgs(TypedDict):
    """What a claimed volume needs."""

    volume: BlockVolume
    """The volume, and the claim that it is for."""
    storage_class: str
    """A class of the EBS driver that lets claims grow."""


class ClaimedVolume(pulumi.ComponentResource):
    """A PersistentVolume for an EBS volume, and the claim that it belongs to.

    Both are objects of the cluster only: they go with it and are made anew, and the EBS volume stays as it is. Each
    names the other, so Kubernetes binds the claim within seconds, whatever its class says of waiting for a pod. The
    class is named all the same, by both: Kubernetes lets only claims of a class that allows it grow.
    """

    def __init__(self, name: str, args: ClaimedVolumeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:ClaimedVolume", name, {}, opts)
        volume, claim = args["volume"], args["volume"].claim
        size = {"storage": f"{claim.gib}Gi"}
        persistent = kubernetes.core.v1.PersistentVolume(
            f"{name}-volume",
            metadata={"name": claim.volume},
            spec={
                "capacity": size,
                "access_modes": _MODES,
                "persistent_volume_reclaim_policy": "Retain",
                "storage_class_name": args["storage_class"],
                "claim_ref": {
                    "api_version": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": claim.namespace,
                    "name": claim.name,
                },
                "csi": {"driver": "ebs.csi.aws.com", "volume_handle": volume.volume_id, "fs_type": "ext4"},
                "node_affinity": {
                    "required": {
                        "node_selector_terms": [
                            {
                                "match_expressions": [
                                    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [volume.zone]}
                                ]
                            }
                        ]
                    }
                },
            },
            # When the claim asks for more than this, the driver grows the file system and writes the new size here.
            # Written here first, it would look as if that had been done.
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=["spec.capacity"]),
        )
        kubernetes.core.v1.PersistentVolumeClaim(
            f"{name}-claim",
            metadata={
                "name": claim.name,
                "namespace": claim.namespace,
                # Of a claim whose class waits for a pod, Pulumi expects that it is pending. This one is bound.
                "annotations": {"pulumi.com/skipAwait": "true"},
            },
            spec={
                "access_modes": _MODES,
                "storage_class_name": args["storage_class"],
                "volume_name": persistent.metadata.name,
                "resources": {"requests": size},
            },
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({})
