"""The names by which Kubernetes knows accelerators: one constant per vendor for resource, taint and labels.

Whatever runs on accelerator nodes tolerates exactly these taints; a second spelling anywhere would leave a
DaemonSet that silently schedules nowhere.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Vendor(StrEnum):
    """Who makes the accelerator; it decides resource, taint and device plug-in."""

    NVIDIA = "nvidia"
    NEURON = "neuron"


@dataclass(frozen=True)
class Accelerator:
    """How one vendor's devices appear in Kubernetes."""

    resource: str
    """The extended resource that a device plug-in reports and a pod requests; also the taint's key."""
    labels: dict[str, str] = field(default_factory=dict[str, str])
    """Node labels that the vendor's DaemonSets select on. Karpenter must know them beforehand: a label that
    appears only after boot never makes a node."""

    @property
    def taint(self) -> dict[str, str]:
        """The taint of every node that carries the accelerator, in Kubernetes' form."""
        return {"key": self.resource, "value": "true", "effect": "NoSchedule"}


ACCELERATORS: dict[Vendor, Accelerator] = {
    Vendor.NVIDIA: Accelerator("nvidia.com/gpu", {"nvidia.com/gpu.present": "true"}),
    Vendor.NEURON: Accelerator("aws.amazon.com/neuron"),
}

EFA_LABEL: dict[str, str] = {"vpc.amazonaws.com/efa.present": "true"}
"""Label of the nodes that are in the EFA group. A pod that needs EFA selects it: Karpenter would attach EFA interfaces
in any pool whose instances have them, and outside that group nothing answers them."""
