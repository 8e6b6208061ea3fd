"""Where subnets lie in a VPC: pure arithmetic.

A VPC is cut into eight equal blocks. Zones 0 to 2 have their public subnets in blocks 0 to 2 and their private ones in
blocks 3 to 5, so that the default 192.168.0.0/16 gives six /19 subnets. Block 6 is the private subnet of a fourth
zone. Block 7 is shared: its first half holds the isolated subnets of all zones, its second half the public subnet of
a fourth zone. Places are fixed: a zone added later moves nothing.
"""

from dataclasses import dataclass
from ipaddress import IPv4Network

MAX_ZONES = 4
_BLOCKS_LOG2 = 3
_HALVES_LOG2 = _BLOCKS_LOG2 + 1
_ISOLATED_LOG2 = _HALVES_LOG2 + 2
"""Each half of block 7 is cut in four, one isolated subnet for each zone."""
_LARGEST_VPC = 16
"""AWS: a VPC's range is /16 at most."""
_SMALLEST_VPC = 20
"""Nodes take addresses in blocks of 16: in less than a /20, four zones have no room for their pods."""
_SMALLEST_PODS = 20
USABLE = tuple(IPv4Network(n) for n in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"))
"""Private address space (RFC 1918) and the one shared behind NAT (RFC 6598)."""


@dataclass(frozen=True)
class ZoneSubnets:
    """The address ranges of one availability zone."""

    public: str
    private: str
    isolated: str


def check_vpc_cidr(cidr: str) -> IPv4Network:
    """The VPC's range as a network.

    Raises:
        ValueError: not an IPv4 range, has host bits set, is public address space, or cannot hold the layout.
    """
    network = IPv4Network(cidr)
    if not _LARGEST_VPC <= network.prefixlen <= _SMALLEST_VPC:
        raise ValueError(f"a VPC with room for nodes and pods is between /{_LARGEST_VPC} and /{_SMALLEST_VPC}")
    _check_private(network)
    return network


def _check_private(network: IPv4Network) -> None:
    if not any(network.subnet_of(usable) for usable in USABLE):
        listed = ", ".join(map(str, USABLE))
        raise ValueError(f"addresses of a VPC are private: of {listed}; others belong to somebody")


def subnets(cidr: str, zones: int) -> list[ZoneSubnets]:
    """The subnets of each zone, in the order of the zones.

    Args:
        cidr: the VPC's IPv4 range, such as `192.168.0.0/16`.
        zones: how many availability zones, at most four.

    Raises:
        ValueError: see `check_vpc_cidr`; or more zones than there are places for.
    """
    if zones > MAX_ZONES:
        raise ValueError(f"at most {MAX_ZONES} zones fit the layout")
    blocks = list(check_vpc_cidr(cidr).subnets(prefixlen_diff=_BLOCKS_LOG2))
    lower, upper = blocks[7].subnets(prefixlen_diff=1)
    public = [*blocks[0:3], upper]
    private = blocks[3:7]
    isolated = lower.subnets(prefixlen_diff=_ISOLATED_LOG2 - _HALVES_LOG2)
    rows = zip(public, private, isolated, strict=True)
    return [ZoneSubnets(public=str(a), private=str(b), isolated=str(c)) for a, b, c in rows][:zones]


def check_pod_cidr(cidr: str, vpc_cidr: str) -> IPv4Network:
    """The secondary range that pods get their addresses from, as a network.

    Raises:
        ValueError: not an IPv4 range, too large or too small, public, or it overlaps the VPC's own range.
    """
    network = IPv4Network(cidr)
    if not _LARGEST_VPC <= network.prefixlen <= _SMALLEST_PODS:
        raise ValueError(f"a secondary range with room for pods is between /{_LARGEST_VPC} and /{_SMALLEST_PODS}")
    _check_private(network)
    if network.overlaps(IPv4Network(vpc_cidr)):
        raise ValueError(f"it overlaps the VPC's own range, {vpc_cidr}")
    return network


def pod_subnets(cidr: str, vpc_cidr: str, zones: int) -> list[str]:
    """The pods' subnet of each zone: the secondary range cut in four, whatever the number of zones.

    Args:
        cidr: the secondary range, such as `100.64.0.0/16`.
        vpc_cidr: the VPC's own range.
        zones: how many availability zones, at most four.

    Raises:
        ValueError: see `check_pod_cidr`; or more zones than there are places for.
    """
    if zones > MAX_ZONES:
        raise ValueError(f"at most {MAX_ZONES} zones fit the layout")
    return [str(subnet) for subnet in check_pod_cidr(cidr, vpc_cidr).subnets(prefixlen_diff=2)][:zones]
