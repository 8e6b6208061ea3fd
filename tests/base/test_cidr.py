"""Where subnets lie."""

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.base.cidr import MAX_ZONES, check_pod_cidr, check_vpc_cidr, pod_subnets, subnets


def test_the_default_range_gives_the_six_subnets_of_8190_hosts():
    layout = subnets("192.168.0.0/16", 3)
    assert [zone.public for zone in layout] == ["192.168.0.0/19", "192.168.32.0/19", "192.168.64.0/19"]
    assert [zone.private for zone in layout] == ["192.168.96.0/19", "192.168.128.0/19", "192.168.160.0/19"]
    assert [zone.isolated for zone in layout] == ["192.168.224.0/22", "192.168.228.0/22", "192.168.232.0/22"]


@pytest.mark.parametrize("zones", [2, 3])
def test_a_further_zone_moves_nothing(zones: int):
    grown = subnets("192.168.0.0/16", zones + 1)
    assert grown[:zones] == subnets("192.168.0.0/16", zones), "moved subnets would be replaced"


@given(prefix=st.integers(16, 20), third=st.integers(0, 255), zones=st.integers(1, MAX_ZONES))
def test_subnets_lie_in_the_vpc_and_never_overlap(prefix: int, third: int, zones: int):
    vpc = IPv4Network((f"10.{third}.{third}.0", prefix), strict=False)
    places = [cidr for zone in subnets(str(vpc), zones) for cidr in (zone.public, zone.private, zone.isolated)]
    found = [IPv4Network(cidr) for cidr in places]
    assert all(subnet.subnet_of(vpc) for subnet in found)
    assert not any(a.overlaps(b) for i, a in enumerate(found) for b in found[i + 1 :])
    assert all(subnet.prefixlen <= 28 for subnet in found), "AWS makes no subnet smaller than /28"


@pytest.mark.parametrize(
    ("cidr", "reason"),
    [
        ("10.0.0.0/15", "between /16 and /20"),
        ("10.0.0.0/21", "between /16 and /20"),
        ("10.0.0.1/16", "host bits"),
        ("8.8.0.0/16", "are private"),
        ("169.254.0.0/16", "are private"),
        ("127.0.0.0/16", "are private"),
        ("fd00::/16", "Expected 4 octets"),
    ],
)
def test_a_range_that_is_no_vpc_is_refused(cidr: str, reason: str):
    with pytest.raises(ValueError, match=reason):
        check_vpc_cidr(cidr)


def test_more_zones_than_places_are_refused():
    for cut in (lambda: subnets("10.0.0.0/16", 5), lambda: pod_subnets("100.64.0.0/16", "10.0.0.0/16", 5)):
        with pytest.raises(ValueError, match="at most 4"):
            cut()


def test_pods_have_a_quarter_of_their_range_in_each_zone_whatever_the_number_of_zones():
    assert pod_subnets("100.64.0.0/16", "192.168.0.0/16", 2) == ["100.64.0.0/18", "100.64.64.0/18"]


@pytest.mark.parametrize(
    ("cidr", "reason"),
    [
        ("192.168.64.0/20", "overlaps the VPC"),
        ("100.64.0.0/15", "between /16 and /20"),
        ("100.64.0.0/21", "between /16 and /20"),
        ("52.0.0.0/16", "are private"),
    ],
)
def test_a_range_that_cannot_be_the_pods_is_refused(cidr: str, reason: str):
    with pytest.raises(ValueError, match=reason):
        check_pod_cidr(cidr, "192.168.0.0/16")
