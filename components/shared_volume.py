"""A store outside the cluster as a volume of one namespace."""

import pulumi
import pulumi_kubernetes as kubernetes
from typing_extensions import TypedDict

from components.storage import VolumeSource


class SharedVolumeArgs(TypedDict):
    """What a shared volume needs."""

    source: VolumeSource
    """The store."""
    namespace: str
    """The namespace whose pods mount it."""
    volume: str
    """Name of the PersistentVolume, one of the whole cluster's."""
    claim: str
    """Name of the PersistentVolumeClaim."""
    read_only: bool
    """Whether this namespace only reads; a store that nobody can write stays so in either case."""


class SharedVolume(pulumi.ComponentResource):
    """A PersistentVolume for a store that exists, and the claim that it belongs to.

    Volume and claim name each other, so that no other claim takes the volume and no other volume the claim. A store is
    mounted in several namespaces through a shared volume in each. What is in it outlives both.
    """

    def __init__(self, name: str, args: SharedVolumeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:SharedVolume", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        source = args["source"]
        modes = ["ReadOnlyMany" if args["read_only"] or source.is_read_only else "ReadWriteMany"]
        # Kubernetes mounts a volume read-only for a pod that says so; this holds for every pod.
        only_read = ["ro"] if args["read_only"] and not source.is_read_only else []
        volume = kubernetes.core.v1.PersistentVolume(
            f"{name}-volume",
            metadata={"name": args["volume"]},
            spec={
                "capacity": {"storage": source.capacity},
                "access_modes": modes,
                "persistent_volume_reclaim_policy": "Retain",
                # The empty class, and not none: a claim without one gets the default class.
                "storage_class_name": "",
                "claim_ref": {
                    "api_version": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": args["namespace"],
                    "name": args["claim"],
                },
                "mount_options": [*source.mount_options, *only_read],
                "csi": {
                    "driver": source.driver,
                    "volume_handle": args["volume"] if source.handle is None else source.handle,
                    "volume_attributes": source.attributes,
                },
            },
            opts=child,
        )
        kubernetes.core.v1.PersistentVolumeClaim(
            f"{name}-claim",
            metadata={"name": args["claim"], "namespace": args["namespace"]},
            spec={
                "access_modes": modes,
                "storage_class_name": "",
                "volume_name": volume.metadata.name,
                "resources": {"requests": {"storage": source.capacity}},
            },
            opts=child,
        )
        self.register_outputs({})
