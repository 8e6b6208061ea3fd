"""Which network addresses may be fetched from: pure look-ups.

`ipaddress` alone is not enough: `is_global` lets multicast, NAT64, 6to4 and others pass that end at a private address.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# What is left of global unicast (2000::/3) and IPv4 when `ipaddress` has judged.
_UNICAST = IPv6Network("2000::/3")
_NEVER: tuple[Network, ...] = tuple(
    ip_network(network)
    for network in (
        # Anycast of 6to4's relays: retired, but some networks still route it.
        "192.88.99.0/24",
        # 6to4: an IPv4 address of anybody's choice, behind a relay.
        "2002::/16",
        # Teredo and ORCHID: tunnels and identifiers, not hosts that serve images.
        "2001::/23",
        # Documentation's second range.
        "3fff::/20",
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True)
class AddressRules:
    """Exceptions from "every public address".

    Attributes:
        denied: networks that are refused although public, as the VPC's own (its IPv6 range always is public).
        allowed: networks that are not refused although private. `denied` wins.
    """

    denied: Sequence[Network] = ()
    allowed: Sequence[Network] = ()

    def permit(self, address: str) -> bool:
        """Tells whether a numeric address, as a socket has it (with or without a scope), may be dialled."""
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        # A scope, as in fe80::1%eth0, names an interface of this machine: never public.
        if isinstance(parsed, IPv6Address) and parsed.scope_id is not None:
            return False
        target = _target(parsed)
        if _within(target, self.denied) or _within(parsed, self.denied):
            return False
        return _within(target, self.allowed) or _is_public(target)


def _target(address: Address) -> Address:
    """Where a packet would end: the inner address of those that hold another."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _is_public(address: Address) -> bool:
    # Not global are, among others, private and shared ranges, loopback, and the link-local ones of instance metadata
    # (169.254.169.254, fd00:ec2::254) and Pod Identity's agent (169.254.170.23, fd00:ec2::23).
    if isinstance(address, IPv6Address) and address not in _UNICAST:
        # Site-local, local NAT64 (64:ff9b:1::/48), IPv4-compatible and -translated, reserved: `is_global` says yes.
        return False
    return address.is_global and not address.is_multicast and not _within(address, _NEVER)


def _within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)
