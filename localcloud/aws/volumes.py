"""EBS: volumes."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from localcloud.aws.kms import caller_refusal, encrypts_with
from localcloud.checks import matches, one_of
from localcloud.errors import AwsError
from localcloud.resource_type import Api, Failure, Identity, Properties, ResourceType
from localcloud.values import contains_unknown

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

VOLUME = "aws:ebs/volume:Volume"


class Bounds(NamedTuple):
    """What a type of volume allows.

    Attributes:
        size: in GiB, smallest and largest.
        iops: smallest and largest; None where they are not given but follow from the size.
        iops_per_gib: most for each GiB.
        throughput: in MiB/s, smallest and largest; None where it is not given.
    """

    size: tuple[int, int]
    iops: tuple[int, int] | None = None
    iops_per_gib: int = 0
    throughput: tuple[int, int] | None = None


BOUNDS: Mapping[str, Bounds] = {
    "gp3": Bounds((1, 65536), (3000, 80000), 500, (125, 2000)),
    "gp2": Bounds((1, 16384)),
    "io1": Bounds((4, 16384), (100, 64000), 50),
    "io2": Bounds((4, 65536), (100, 256000), 1000),
    "st1": Bounds((125, 16384)),
    "sc1": Bounds((125, 16384)),
    "standard": Bounds((1, 1024)),
}
"""What each type of volume allows (Amazon EBS User Guide, volume types)."""


def faults(volume: Properties) -> Iterator[Failure]:
    """Yields why EC2 would refuse a volume's size and speed.

    Args:
        volume: `type`, `size` in GiB, `iops` and `throughput`, as given.
    """
    kind = volume.get("type", "gp2")
    bounds = BOUNDS.get(kind)
    numbers = [volume.get(name) for name in ("size", "iops", "throughput")]
    if bounds is None or contains_unknown(numbers):
        return
    size, iops, throughput = numbers
    if size is not None and not bounds.size[0] <= size <= bounds.size[1]:
        yield Failure("size", f"volume of {size}GiB is outside of {_range(bounds.size)}GiB for volume type {kind}")
    if iops is None and kind in ("io1", "io2"):
        yield Failure("iops", f"the parameter iops must be specified for {kind} volumes")
    if iops is not None:
        yield from _iops_faults(kind, bounds, size, iops)
    if throughput is not None and bounds.throughput is None:
        yield Failure("throughput", f"the parameter throughput is not supported for {kind} volumes")
    elif throughput is not None and bounds.throughput and not _within(throughput, bounds.throughput):
        yield Failure("throughput", f"throughput of {throughput} MiB/s is outside of {_range(bounds.throughput)}")


def _iops_faults(kind: str, bounds: Bounds, size: int | None, iops: int) -> Iterator[Failure]:
    if bounds.iops is None:
        yield Failure("iops", f"the parameter iops is not supported for {kind} volumes")
    elif not _within(iops, bounds.iops):
        yield Failure("iops", f"volume iops of {iops} is outside of {_range(bounds.iops)}")
    elif size is not None and iops > max(bounds.iops_per_gib * size, bounds.iops[0]):
        ratio = bounds.iops_per_gib
        yield Failure("iops", f"iops to volume size ratio of {iops}:{size} is too high; maximum is {ratio}:1")


def _within(number: int, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= number <= bounds[1]


def _range(bounds: tuple[int, int]) -> str:
    return f"{bounds[0]}-{bounds[1]}"


def _speed_fits(inputs: Properties, _: Identity) -> Iterator[Failure]:
    for failure in faults(inputs):
        yield Failure(failure.property, f"InvalidParameterValue: {failure.reason}")


def _has_size_or_snapshot(inputs: Properties, _: Identity) -> Iterator[Failure]:
    if "size" not in inputs and "snapshotId" not in inputs:
        yield Failure("size", "MissingParameter: give size, or snapshotId")


def _key_goes_with_encryption(inputs: Properties, _: Identity) -> Iterator[Failure]:
    if "kmsKeyId" in inputs and inputs.get("encrypted") in (None, False):
        yield Failure("kmsKeyId", "InvalidParameterDependency: kmsKeyId is for encrypted volumes: set encrypted")


def _key_may_be_used(account: "Account", volume: "Record") -> None:
    if reason := caller_refusal(account, volume["kmsKeyId"], "ec2"):
        raise AwsError("InvalidVolume.NotFound", f"volume {volume.id} would disappear: {reason}")


def _only_grows(account: "Account", volume: "Record") -> None:
    for old in account.find(VOLUME, id=volume.id):
        if volume["size"] < old["size"]:
            raise AwsError(
                "InvalidParameterValue",
                f"new size cannot be smaller than existing size ({volume.id}: {volume['size']} GiB instead of "
                f"{old['size']} GiB)",
            )


TYPES: tuple[ResourceType, ...] = (
    ResourceType(
        VOLUME,
        id="vol-{hex17}",
        outputs={
            "arn": "arn:{partition}:ec2:{region}:{account}:volume/{id}",
            "createTime": "2026-01-01T00:00:00Z",
        },
        defaults={"type": "gp2", "encrypted": False, "multiAttachEnabled": False},
        required=("availabilityZone",),
        replaces=("availabilityZone", "encrypted", "kmsKeyId", "snapshotId", "outpostArn", "multiAttachEnabled"),
        checks=(
            matches("availabilityZone", "{region}[a-f]", "a zone of the region {region}"),
            one_of("type", BOUNDS),
            _has_size_or_snapshot,
            _key_goes_with_encryption,
            _speed_fits,
        ),
        api=Api("ec2", "CreateVolume", {"type": "VolumeType", "finalSnapshot": "", "tags": ""}),
        refers=(encrypts_with("kmsKeyId", "InvalidKmsKey.NotFound"),),
        admits=(_key_may_be_used, _only_grows),
        tagged=True,
    ),
)
