"""What the platform knows of EC2 instance types: a table and pure look-ups.

The table, `instance_types.tsv`, holds the families that the platform offers; its header names source and date.
"""

import csv
import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from components.accelerators import Vendor

TABLE = Path(__file__).with_suffix(".tsv")


@dataclass(frozen=True)
class InstanceType:
    """One row of the table."""

    name: str
    architecture: str
    """`amd64` or `arm64`, as Kubernetes spells it."""
    vcpu: int
    memory_mib: int
    accelerator: str
    """The accelerator's name in Karpenter's labels (`a10g`, `trainium`), empty where there is none."""
    accelerators: int
    """Devices that the vendor's plug-in reports on the node."""
    accelerator_memory_mib: int
    """Memory of one device, MiB; 0 where it is not published."""
    efa: int
    """EFA interfaces, 0 where the type has none."""
    local_nvme_gb: int

    @property
    def vendor(self) -> Vendor | None:
        """The accelerator's vendor, None for a type without accelerators."""
        if not self.accelerator:
            return None
        neuron = self.accelerator.startswith(("inferentia", "trainium"))
        return Vendor.NEURON if neuron else Vendor.NVIDIA


@cache
def table() -> dict[str, InstanceType]:
    """Every known instance type by name."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")
        return {row["instance_type"]: _parse(row) for row in rows}


def _parse(row: dict[str, str]) -> InstanceType:
    return InstanceType(
        name=row["instance_type"],
        architecture=row["arch"],
        vcpu=int(row["vcpu"]),
        memory_mib=int(row["memory_mib"]),
        accelerator=row["accelerator"],
        accelerators=int(row["accelerators"] or 0),
        accelerator_memory_mib=int(row["accelerator_memory_mib"] or 0),
        efa=int(row["efa"] or 0),
        local_nvme_gb=int(row["local_nvme_gb"] or 0),
    )


def nearest(name: str) -> list[str]:
    """Known types whose names resemble `name`, best first, at most three."""
    return difflib.get_close_matches(name, table(), n=3, cutoff=0.5)


def vendor_of(names: Iterable[str]) -> Vendor | None:
    """The one vendor of the named types, None when none of them has accelerators.

    Args:
        names: known instance types.

    Raises:
        ValueError: the types have different vendors, or only some of them have accelerators: no single taint
            and limit would be right for such a pool.
    """
    vendors = {table()[name].vendor for name in names}
    if len(vendors) > 1:
        kinds = sorted(vendor or "no accelerator" for vendor in vendors)
        raise ValueError(f"the instance types mix {' and '.join(kinds)}")
    return vendors.pop() if vendors else None


def architectures_of(names: Iterable[str]) -> list[str]:
    """The CPU architectures of the named types, sorted."""
    return sorted({table()[name].architecture for name in names})


def efa_interfaces_of(names: Iterable[str]) -> int:
    """The EFA interfaces that each of the named types has.

    Args:
        names: known instance types.

    Raises:
        ValueError: the types differ in it, or have none: no single launch template would fit them.
    """
    counts = {table()[name].efa for name in names}
    if len(counts) != 1 or counts == {0}:
        raise ValueError(f"the instance types have {' or '.join(map(str, sorted(counts)))} EFA interfaces")
    return counts.pop()
