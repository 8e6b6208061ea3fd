"""Settings of the node pools: what may be declared of one pool."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from components.compute import images
from schema.fields import Duration, GracePeriod, InstanceTypeName, Quantity, Section, Zone, matches, refuse
from schema.gpu_sharing_rules import contradictions
from schema.node_pool_rules import mistakes

Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
CapacityType = Literal["on-demand", "spot", "reserved"]

_NAME = r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)"
_KEY = matches(
    rf"([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?{_NAME}",
    "a key is a name of at most 63 letters, digits, - _ and ., or such a name behind a domain and /",
    "for example role or example.com/role",
)
_RESERVED_DOMAINS = ("kubernetes.io", "k8s.io", "karpenter.sh", "karpenter.k8s.aws", "eks.amazonaws.com")


def _check_label_key(key: str) -> str:
    domain = key.partition("/")[0] if "/" in key else ""
    if any(domain == reserved or domain.endswith(f".{reserved}") for reserved in _RESERVED_DOMAINS):
        raise refuse(
            "Kubernetes, Karpenter and EKS set the labels of their domains themselves and refuse them from others",
            "choose a key without a domain, or with your own",
        )
    return key


def _check_ami(ami: str) -> str:
    try:
        images.parse(ami)
    except ValueError as error:
        raise refuse(
            "an image is bottlerocket@v1.66.0, al2023@v20260714, either @latest, or the path of a public SSM parameter "
            "(/aws/service/bottlerocket/... or /aws/service/eks/optimized-ami/.../amazon-linux-2023/...)",
            "pin a release in production: @latest replaces nodes at every release",
        ) from error
    return ami


LabelKey = Annotated[str, _KEY, AfterValidator(_check_label_key)]
TaintKey = Annotated[str, _KEY]
LabelValue = Annotated[
    str,
    matches(
        rf"{_NAME}?",
        "a value has at most 63 letters, digits, - _ and ., and begins and ends with a letter or digit",
        "shorten it, or leave out what is not allowed",
    ),
]
Ami = Annotated[str, AfterValidator(_check_ami)]
ReleaseVersion = Annotated[
    str,
    matches(
        r"\d+\.\d+\.\d+-(\d{8}|[0-9a-f]{8})",
        "a managed group's release is 1.35.6-20260714 (AL2023) or 1.66.0 and the commit behind it (Bottlerocket)",
        "leave it out for the latest, or take the one that AWS's SSM parameter names (.../release_version for AL2023, "
        ".../image_version for Bottlerocket)",
    ),
]
ReservationId = Annotated[
    str,
    matches(
        r"cr-[0-9a-z]{8,17}",
        "a capacity reservation's id looks like cr-0a1b2c3d4e5f6a7b8",
        "aws ec2 describe-capacity-reservations prints them, blocks too",
    ),
]
BudgetNodes = Annotated[
    str, matches(r"(100|\d{1,2})%|\d+", 'a share such as "10%" or a number of nodes such as "1"', "quote it")
]
Schedule = Annotated[
    str,
    matches(
        r"@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\S+(\s+\S+){4}",
        "a cron line of five fields in UTC, or @daily and its like",
        'for example "0 8 * * mon-fri"',
    ),
]
BudgetDuration = Annotated[
    str, matches(r"(\d+h)?(\d+m)?(?<=[hm])(0s)?", 'a duration in hours and minutes such as "8h30m"', "use h and m")
]


class Taint(Section):
    """A taint on each node of a pool."""

    value: LabelValue = ""
    """The taint's value."""
    effect: Effect = "NoSchedule"
    """What happens to pods that do not tolerate it."""


class Limits(Section):
    """The most that a pool may hold at a time."""

    cpu: Quantity
    """vCPUs."""
    memory: Quantity
    """Memory."""
    accelerators: Annotated[int, Field(ge=1)] | None = None
    """GPUs or Neuron devices; required where the instance types have them."""


class Size(Section):
    """How many nodes a managed group has."""

    min: Annotated[int, Field(ge=0)] = 0
    """Fewest nodes."""
    desired: Annotated[int, Field(ge=0)] = 0
    """Nodes to run; nothing else changes their number."""
    max: Annotated[int, Field(ge=1, le=450)]
    """Most nodes."""

    @model_validator(mode="after")
    def _bounds_are_ordered(self) -> "Size":
        if not self.min <= self.desired <= self.max:
            raise refuse(
                f"min <= desired <= max, here {self.min}, {self.desired}, {self.max}",
                "change the one that is out of line",
            )
        return self


class CapacityReservations(Section):
    """Capacity that is paid for already, named by ids or by tags."""

    kind: Literal["on-demand", "capacity-block"] = "on-demand"
    """A reservation that lasts until it is cancelled, or a capacity block with an end."""
    ids: tuple[ReservationId, ...] = ()
    """The reservations by id."""
    tags: dict[str, str] = {}
    """Tags that the reservations carry, instead of ids."""

    @model_validator(mode="after")
    def _they_are_named_one_way(self) -> "CapacityReservations":
        if bool(self.ids) == bool(self.tags):
            raise refuse("reservations are named by ids or by tags", "give one of the two")
        if not all(self.tags) or not all(self.tags.values()):
            raise refuse("a tag has a key and a value", "fill in both: an empty one matches nothing")
        return self


class Sharing(Section):
    """How the pods of a node share its NVIDIA GPUs."""

    strategy: Literal["time-slicing", "mps", "mig"]
    """Pods take turns (time-slicing), run side by side (mps), or have a partition each (mig). Only mig keeps them out
    of each other's memory and faults."""
    replicas: int | None = None
    """Shares of one GPU, 2 to 48; for time-slicing and mps."""
    profile: str | None = None
    """What each partition is, such as 1g.10gb; for mig."""

    @model_validator(mode="after")
    def _the_strategy_has_what_it_needs(self) -> "Sharing":
        for contradiction in contradictions(self):
            raise contradiction
        return self


class DisruptionBudget(Section):
    """How many nodes Karpenter may take away at a time of its own accord; expiry is not bound by it."""

    nodes: BudgetNodes
    """A share of the pool's nodes, or a number; "0" takes none."""
    schedule: Schedule | None = None
    """When the budget begins to hold, as a cron line in UTC; left out: always."""
    duration: BudgetDuration | None = None
    """How long it then holds."""
    reasons: tuple[Literal["Underutilized", "Empty", "Drifted"], ...] = ()
    """What it holds for; left out: everything."""

    @model_validator(mode="after")
    def _a_schedule_has_an_end(self) -> "DisruptionBudget":
        if (self.schedule is None) != (self.duration is None):
            raise refuse(
                "schedule and duration go together", "give both, or leave both out for a budget that always holds"
            )
        return self


class NodePool(Section):
    """A pool: nodes of one kind that appear on demand and vanish when idle, or a managed group of them."""

    provisioner: Literal["karpenter", "managed"] = "karpenter"
    """Who makes the nodes: Karpenter as pods need them, or an EKS node group of the given size (DRA needs one)."""
    instance_types: Annotated[tuple[InstanceTypeName, ...], Field(min_length=1)]
    """Instance types that nodes may have."""
    capacity_types: Annotated[tuple[Literal["on-demand", "spot", "reserved"], ...], Field(min_length=1)] = (
        "on-demand",
    )
    """How instances are bought; of several, Karpenter takes reserved before spot before on-demand."""
    capacity_reservations: CapacityReservations | None = None
    """Where reserved capacity comes from."""
    zones: tuple[Zone, ...] = ()
    """Zones of the nodes, among the network's; left out: all of them."""
    efa: bool = False
    """Whether nodes talk to each other over EFA: one zone, close together, in the EFA security group."""
    sharing: Sharing | None = None
    """How pods share a GPU; left out: a GPU belongs to one pod."""
    allocation: Literal["device-plugin", "dra"] = "device-plugin"
    """Who hands NVIDIA GPUs to pods: the device plug-in by number, or DRA by claim (needs provisioner: managed)."""
    ami: Ami = "bottlerocket@latest"
    """Node image by family and release, of which Karpenter picks the variant with the right drivers; or the path of a
    public SSM parameter."""
    release_version: ReleaseVersion | None = None
    """Release of a managed group's image in EKS's spelling; left out: the latest of the cluster's version."""
    limits: Limits | None = None
    """The most that the pool may hold; required under Karpenter."""
    size: Size | None = None
    """Nodes of a managed group; required there."""
    labels: dict[LabelKey, LabelValue] = {}
    """Labels on each node."""
    taints: dict[TaintKey, Taint] = {}
    """Taints on each node by key; an accelerator's own taint is always there."""
    startup_taints: dict[TaintKey, Taint] = {}
    """Taints that something takes away once a node is ready for work, by key."""
    disk_gib: Annotated[int, Field(ge=20, le=16384)] = 100
    """Volume that holds images and containers, GiB. GPU images need 100 or more."""
    disk_iops: Annotated[int, Field(ge=3000, le=16000)] | None = None
    """Operations a second of that volume; left out: gp3's 3000."""
    disk_throughput_mib: Annotated[int, Field(ge=125, le=1000)] | None = None
    """MiB a second of that volume; left out: gp3's 125."""
    instance_store_policy: Literal["RAID0"] | None = None
    """RAID0 puts images and containers on the instance's own NVMe disks."""
    max_pods: Annotated[int, Field(ge=10, le=737)] | None = None
    """Most pods on a node; left out: what the node's interfaces allow."""
    consolidation: Literal["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"] = "WhenEmpty"
    """Which nodes Karpenter may remove to save cost."""
    consolidate_after: Duration = "30m"
    """How long a node must be removable before it goes."""
    disruption_budgets: Annotated[tuple[DisruptionBudget, ...], Field(max_length=50)] = ()
    """How many nodes may go at a time; left out: Karpenter's 10 %."""
    expire_after: Duration = "720h"
    """Longest life of a node."""
    termination_grace_period: GracePeriod = "1h"
    """Longest time that draining a node may take; afterwards its pods are ended."""
    weight: Annotated[int, Field(ge=1, le=100)] | None = None
    """Preference among pools that fit; the higher goes first."""
    retire: bool = False
    """Whether the pool goes: `up` drains its nodes and removes it, and the declaration can be deleted afterwards."""

    @model_validator(mode="after")
    def _the_declaration_makes_nodes(self) -> "NodePool":
        for mistake in mistakes(self):
            raise mistake
        return self
