"""How large the pods of a Ray cluster are: the groups that every stack can name, and what a stack changes of them.

The numbers follow from hardware: a worker of eight A100s or of sixteen Trainium devices is one whole node, all others
share theirs. Requests fit what kubelet leaves of such a node; Ray counts by the limits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import TypedDict


class Amounts(TypedDict):
    """CPU and memory."""

    cpu: str | None
    """vCPUs; None for the group's own."""
    memory: str | None
    """Memory, a Kubernetes quantity; None for the group's own."""


class RayHeadSettings(TypedDict):
    """The head: it schedules, and shows the dashboard; tasks run on workers only."""

    pools: Sequence[str]
    """Pools that it may run on."""
    requests: Amounts
    """What it asks for."""
    limits: Amounts
    """What it may use at most."""


class RayGroupSettings(TypedDict):
    """Workers of one kind. What is None is as in `GROUPS`, or as in `OTHER` for a name that is not there."""

    pools: Sequence[str]
    """Pools that they may run on."""
    min: int | None
    """Fewest workers."""
    replicas: int | None
    """Workers to begin with; from then on the autoscaler decides."""
    max: int | None
    """Most workers."""
    requests: Amounts
    """What a worker asks for."""
    limits: Amounts
    """What a worker may use at most, and what Ray takes it to have."""
    gpus: int | None
    """NVIDIA GPUs of a worker."""
    neuron_cores: int | None
    """Neuron cores of a worker."""
    image: str | None
    """Image of its own; None for the cluster's."""


@dataclass(frozen=True)
class PodSize:
    """CPU and memory of a pod."""

    cpu: str
    memory: str
    cpu_limit: str
    memory_limit: str

    def changed(self, requests: Amounts, limits: Amounts) -> "PodSize":
        """This size but for what a stack says."""
        return PodSize(
            cpu=requests["cpu"] or self.cpu,
            memory=requests["memory"] or self.memory,
            cpu_limit=limits["cpu"] or self.cpu_limit,
            memory_limit=limits["memory"] or self.memory_limit,
        )


@dataclass(frozen=True)
class GroupSize:
    """How many workers a group has, and how large each is."""

    min: int
    replicas: int
    max: int
    pod: PodSize
    gpus: int = 0
    neuron_cores: int = 0


HEAD = PodSize("4", "16Gi", "8", "32Gi")
"""The head."""

GROUPS: Mapping[str, GroupSize] = {
    "cpu-workers": GroupSize(1, 2, 10, PodSize("4", "16Gi", "8", "32Gi")),
    "gpu-a10g-workers": GroupSize(0, 2, 8, PodSize("4", "32Gi", "8", "64Gi"), gpus=1),
    "gpu-a100-workers": GroupSize(0, 0, 4, PodSize("48", "512Gi", "96", "1024Gi"), gpus=8),
    # Sixteen devices of two cores each. KubeRay tells Ray of cores, and of devices nothing.
    "neuron-workers": GroupSize(0, 0, 4, PodSize("16", "64Gi", "32", "128Gi"), neuron_cores=32),
}
"""The groups of the platform by name."""

OTHER = GroupSize(0, 0, 4, PodSize("4", "16Gi", "8", "32Gi"))
"""A group with a name of its own."""


def head_size(head: RayHeadSettings) -> PodSize:
    """The size of a head."""
    return HEAD.changed(head["requests"], head["limits"])


def group_size(name: str, group: RayGroupSettings) -> GroupSize:
    """The size of a group: what a stack says of it, and for the rest what its name stands for.

    A minimum above the first number of workers raises that, and so does a maximum below it the other way.

    Args:
        name: the group's name.
        group: what the stack says.
    """
    known = GROUPS.get(name, OTHER)
    least = known.min if group["min"] is None else group["min"]
    most = known.max if group["max"] is None else group["max"]
    first = min(max(known.replicas, least), most) if group["replicas"] is None else group["replicas"]
    return GroupSize(
        min=least,
        replicas=first,
        max=most,
        pod=known.pod.changed(group["requests"], group["limits"]),
        gpus=known.gpus if group["gpus"] is None else group["gpus"],
        neuron_cores=known.neuron_cores if group["neuron_cores"] is None else group["neuron_cores"],
    )
