"""Settings of the file systems."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator

from schema.base import Network
from schema.compute import Addon
from schema.fields import Section, Zone, refuse
from schema.problems import NAMESPACE, Problem


def _check_capacity(gib: int) -> int:
    if gib != 1200 and (gib < 2400 or gib % 2400):
        larger = max(1200, -(-gib // 2400) * 2400) if gib > 1200 else 1200
        raise refuse("a Lustre file system has 1200 GiB, 2400 GiB or a multiple of 2400 GiB", f"write {larger}")
    return gib


class Efs(Section):
    """The file system that all share."""

    enabled: bool = False
    """Whether there is one; its driver is the add-on aws-efs-csi-driver."""
    backups: bool = True
    """Whether AWS Backup keeps a copy of every day for five weeks."""


class Lustre(Section):
    """The file system for training, FSx for Lustre; its driver is the add-on aws-fsx-csi-driver."""

    zone: Zone
    """The one zone that it lies in: that of the pools that train."""
    capacity_gib: Annotated[int, AfterValidator(_check_capacity)] = 1200
    """Size, GiB: 1200, 2400 or a multiple of 2400. It can grow later, and not shrink."""
    throughput_mb_per_tib: Literal[125, 250, 500, 1000] = 500
    """MB a second for each TiB."""


class Storage(Section):
    """File systems outside the cluster."""

    efs: Efs = Efs()
    """The file system that all share."""
    lustre: Lustre | None = None
    """The file system for training; left out: none."""


def lustre_lies_in_the_network(network: Network, storage: Storage) -> Iterator[Problem]:
    """The Lustre file system lies in a zone of the network."""
    if storage.lustre and storage.lustre.zone not in network.availability_zones:
        yield Problem(
            f"{NAMESPACE}:storage.lustre.zone",
            storage.lustre.zone,
            f"a file system lies in a zone of the network: {', '.join(network.availability_zones)}",
            "name one of these, or add the zone at the end of eksai:network.availabilityZones",
        )


def file_systems_have_their_drivers(storage: Storage, addons: dict[str, Addon]) -> Iterator[Problem]:
    """A file system that is paid for can be mounted."""
    drivers = {"efs": ("aws-efs-csi-driver", storage.efs.enabled), "lustre": ("aws-fsx-csi-driver", storage.lustre)}
    for what, (driver, wanted) in drivers.items():
        if wanted and not (driver in addons and addons[driver].enabled):
            yield Problem(
                f"{NAMESPACE}:storage.{what}",
                "",
                f"no pod can mount it without the add-on {driver}",
                f"set eksai:addons.{driver}.enabled to true",
            )


RULES = (lustre_lies_in_the_network, file_systems_have_their_drivers)
"""Rules between the file systems and other sections; each names the sections that it needs as its parameters."""
