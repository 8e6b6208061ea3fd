"""Which addresses may be dialled, spelled in every way."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpunet.addresses import AddressRules

RULES = AddressRules()
PUBLIC_4 = st.integers(0, 2**32 - 1).map(IPv4Address).filter(lambda a: a.is_global and not a.is_multicast)
PRIVATE_4 = st.one_of(
    *(
        st.integers(int(net.network_address), int(net.broadcast_address)).map(IPv4Address)
        for net in map(
            ip_network,
            ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "169.254.0.0/16", "100.64.0.0/10",
             "0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", "198.18.0.0/15", "192.88.99.0/24"),
        )
    )
)  # fmt: skip


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "0.0.0.0", "10.0.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "169.254.169.254",
        "169.254.170.23", "169.254.170.2", "169.254.169.253", "192.0.0.1", "192.0.2.1", "192.88.99.1", "198.18.0.1",
        "203.0.113.5", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe",
        "::ffff:0:127.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::a00:1", "64:ff9b:1::8.8.8.8",
        "2002:7f00:1::", "2002:808:808::1", "2001::1", "2001:db8::1", "3fff::1", "5f00::1", "100::1",
        "fc00::1", "fd00:ec2::254", "fd00:ec2::23", "fe80::1", "fe80::1%eth0", "2606:4700::1111%lo", "fec0::1",
        "ff02::1", "ff0e::1", "", "localhost", "1.2.3", "0x7f.1", "2130706433", "127.1",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public_are_refused(address):
    assert not RULES.permit(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8"]
)
def test_public_addresses_are_allowed(address):
    assert RULES.permit(address)


@given(PRIVATE_4)
def test_no_spelling_of_a_private_address_passes(address):
    number = int(address)
    for spelling in (
        str(address),
        f"::ffff:{address}",
        f"::{address}",
        f"::ffff:0:{address}",
        f"64:ff9b::{address}",
        f"64:ff9b:1::{address}",
        str(IPv6Address((0x2002 << 112) | (number << 80))),
        str(IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF))),
    ):
        assert not RULES.permit(spelling), spelling


@given(PUBLIC_4.filter(lambda a: a not in ip_network("192.88.99.0/24")))
def test_public_ipv4_passes_also_through_nat64(address):
    assert RULES.permit(str(address))
    assert RULES.permit(f"64:ff9b::{address}"), "a cluster of IPv6 only reaches all of IPv4 so"


@given(st.integers(0, 2**128 - 1).map(IPv6Address))
def test_only_global_unicast_ipv6_passes(address):
    if RULES.permit(str(address)):
        is_embedding = address.ipv4_mapped is not None or address in ip_network("64:ff9b::/96")
        assert is_embedding or address in ip_network("2000::/3")


@given(st.integers(0, 2**32 - 1))
def test_a_denied_network_wins_in_every_spelling(number):
    address = ip_address(number)
    rules = AddressRules(denied=[ip_network(f"{address}/32")], allowed=[ip_network("0.0.0.0/0")])

    assert not rules.permit(str(address))
    assert not rules.permit(f"::ffff:{address}")
    assert not rules.permit(f"64:ff9b::{address}")


def test_the_vpcs_public_range_can_be_denied():
    rules = AddressRules(denied=[ip_network("2600:1f18::/36")])

    assert not rules.permit("2600:1f18::5")
    assert rules.permit("2606:4700::1111")


def test_a_private_network_can_be_allowed():
    rules = AddressRules(allowed=[ip_network("10.1.0.0/16")])

    assert rules.permit("10.1.2.3")
    assert rules.permit("::ffff:10.1.2.3")
    assert not rules.permit("10.2.2.3")
