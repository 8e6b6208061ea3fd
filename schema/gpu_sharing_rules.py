"""The rules of how a pool's GPUs are shared and allocated: what hardware, image and provisioner can do of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

from components.accelerators import Vendor
from components.compute import images, instance_types
from components.compute.instance_types import InstanceType
from components.gpu_sharing import MIG, MIG_PROFILES, MOST_REPLICAS, profiles_of
from schema.fields import refuse

if TYPE_CHECKING:
    from schema.node_pools import NodePool, Sharing

Mistakes = Iterator[PydanticCustomError]


def contradictions(sharing: "Sharing") -> Mistakes:
    """What of a way of sharing does not go together, whatever the pool."""
    if sharing.strategy == MIG:
        if sharing.profile is None:
            yield refuse("mig partitions a GPU by a profile", "set profile, for example 1g.10gb")
        if sharing.replicas is not None:
            yield refuse("with mig the profile says how many partitions there are", "remove replicas")
        return
    if sharing.profile is not None:
        yield refuse("a profile is one of mig's", "remove profile, or set strategy: mig")
    if sharing.replicas is None:
        yield refuse(f"{sharing.strategy} has a number of shares", "set replicas, for example 4")
    elif sharing.replicas < 2:
        yield refuse(
            f"a GPU is shared by two or more, here by {sharing.replicas}",
            "raise replicas, or remove sharing: a whole GPU is nvidia.com/gpu",
        )
    elif sharing.replicas > MOST_REPLICAS:
        yield refuse(
            f"a GPU has at most {MOST_REPLICAS} shares, here {sharing.replicas}: more clients than that an MPS server "
            "does not take, and less of the memory is of no use",
            "lower replicas; 2 to 10 is usual",
        )


def sharing_mistakes(pool: "NodePool") -> Mistakes:
    """What the pool's hardware, image and provisioner cannot do of how its GPUs are shared and allocated."""
    if instance_types.vendor_of(pool.instance_types) is not Vendor.NVIDIA:
        if pool.sharing:
            yield refuse(
                "only NVIDIA GPUs are shared, and these instance types have none",
                "remove sharing, or name types with GPUs",
            )
        if pool.allocation == "dra":
            yield refuse(
                "allocation is of NVIDIA GPUs, and these instance types have none",
                "remove allocation, or name types with GPUs",
            )
        return
    if pool.allocation == "dra":
        yield from _dra_serves_the_pool(pool)
    elif pool.sharing:
        yield from _sharing_serves_the_pool(pool, pool.sharing)


def _dra_serves_the_pool(pool: "NodePool") -> Mistakes:
    if pool.sharing:
        yield refuse(
            "with DRA the claim says how a GPU is shared, not the pool",
            "remove sharing, or set allocation: device-plugin",
        )
    if pool.provisioner != "managed":
        yield refuse(
            "Karpenter makes no node for a claim: up to 1.14 it ignores pods that have one",
            "set provisioner: managed and a size, or allocation: device-plugin",
        )
    if images.parse(pool.ami).family == "bottlerocket":
        yield refuse(
            "Bottlerocket runs the device plug-in itself, which never shares a node with the DRA driver",
            "set ami: al2023@latest, or allocation: device-plugin",
        )


def _sharing_serves_the_pool(pool: "NodePool", sharing: "Sharing") -> Mistakes:
    if pool.efa:
        yield refuse(
            "nodes with EFA are for training over several nodes, which takes whole GPUs",
            "remove sharing, or make a pool without efa for it",
        )
    yield from _image_shares(pool, sharing)
    if sharing.strategy == MIG:
        yield from _every_gpu_has_the_profile(pool, str(sharing.profile))


def _image_shares(pool: "NodePool", sharing: "Sharing") -> Mistakes:
    image = images.parse(pool.ami)
    if image.family != "bottlerocket":
        return
    if sharing.strategy == MIG:
        yield refuse(
            "Bottlerocket's device plug-in announces partitions only under the name of a whole GPU, nvidia.com/gpu "
            "(MIG's single strategy, since 1.34.0; mixed is bottlerocket#4483), so a pod that needs a whole one would "
            "get a part",
            "take ami: al2023@... for this pool, or another strategy",
        )
        return
    first = images.FIRST_SHARING_RELEASE[sharing.strategy]
    release = image.release or (pool.release_version or "").partition("-")[0]
    if release and images.is_before(release, first):
        yield refuse(
            f"Bottlerocket {release} has no {sharing.strategy}: its device plug-in has it from {first} on",
            f"take {first} or a later one, or al2023",
        )


def _every_gpu_has_the_profile(pool: "NodePool", profile: str) -> Mistakes:
    rows = [instance_types.table()[name] for name in pool.instance_types]
    without = [row for row in rows if not _profiles(row)]
    if without:
        able = sorted({gpu for gpu, _ in MIG_PROFILES})
        yield refuse(
            f"the GPU of {without[0].name}, {without[0].accelerator}, cannot be partitioned; MIG is in "
            f"{', '.join(able)}",
            "set strategy: time-slicing or mps, or name other types",
        )
        return
    for row in rows:
        if profile not in _profiles(row):
            yield refuse(
                f"{_gpu(row)} has no profile {profile}: {_alike(row, profile)}",
                f"choose among {', '.join(_profiles(row))}",
            )
            return
    counts = {_profiles(row)[profile] for row in rows}
    if len(counts) > 1:
        parts = " and ".join(sorted({f"{_profiles(row)[profile]} of {_gpu(row)}" for row in rows}))
        yield refuse(
            f"a pool has as many partitions of each GPU, and {profile} makes {parts}", "split the pool by kind of GPU"
        )


def _profiles(row: InstanceType) -> dict[str, int]:
    return dict(profiles_of(row.accelerator, row.accelerator_memory_mib))


def _gpu(row: InstanceType) -> str:
    return f"the GPU of {row.name}, {row.accelerator} with {row.accelerator_memory_mib // 1024} GB,"


def _alike(row: InstanceType, profile: str) -> str:
    """What a GPU has instead of a profile: the same part of its processors."""
    part = profile.partition(".")[0]
    alike = [name for name in _profiles(row) if name.startswith(f"{part}.")]
    return f"its {part} is {' or '.join(alike)}" if alike else f"it is not divided into {part or 'that'}"
