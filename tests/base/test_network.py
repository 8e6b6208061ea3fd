"""The VPC as a component."""

from typing import Any

import pulumi
import pulumi_random as random
import pytest

from components.base.network import Network, NetworkArgs
from tests.world import Built, run

ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")
SUBNET = "aws:ec2/subnet:Subnet"
ROUTE = "aws:ec2/route:Route"
TABLE = "aws:ec2/routeTable:RouteTable"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"


def arguments(**changes: Any) -> NetworkArgs:
    good: dict[str, Any] = {
        "cidr": "192.168.0.0/16",
        "availability_zones": ZONES,
        "nat": "single",
        "pod_cidr": None,
        "interface_endpoints": (),
        "flow_logs": {"enabled": False, "retention_days": 90},
        "existing": None,
        "region": "us-west-2",
        "cluster_name": "eksai-dev",
        "key_arn": KEY,
    }
    return NetworkArgs(**{**good, **changes})


def network(**changes: Any) -> Built[Network]:
    return run(lambda: Network("network", arguments(**changes)))


def members(built: Built[Any], table: str) -> list[str]:
    """Names of the subnets that a route table serves."""
    names = {subnet.id: subnet.name for subnet in built.all(SUBNET)}
    id_ = built.named(table, TABLE).id
    return [names[a.inputs["subnetId"]] for a in built.all(ASSOCIATION) if a.inputs["routeTableId"] == id_]


def test_each_zone_has_a_public_a_private_and_an_isolated_subnet():
    places = {s.name: (s.inputs["availabilityZone"], s.inputs["cidrBlock"]) for s in network().all(SUBNET)}
    assert places == {
        "network-public-us-west-2a": ("us-west-2a", "192.168.0.0/19"),
        "network-public-us-west-2b": ("us-west-2b", "192.168.32.0/19"),
        "network-public-us-west-2c": ("us-west-2c", "192.168.64.0/19"),
        "network-private-us-west-2a": ("us-west-2a", "192.168.96.0/19"),
        "network-private-us-west-2b": ("us-west-2b", "192.168.128.0/19"),
        "network-private-us-west-2c": ("us-west-2c", "192.168.160.0/19"),
        "network-isolated-us-west-2a": ("us-west-2a", "192.168.224.0/22"),
        "network-isolated-us-west-2b": ("us-west-2b", "192.168.228.0/22"),
        "network-isolated-us-west-2c": ("us-west-2c", "192.168.232.0/22"),
    }


def test_a_third_zone_only_adds_resources():
    two, three = network(availability_zones=ZONES[:2]), network()
    assert {r.urn for r in two.resources} < {r.urn for r in three.resources}
    for resource in two.all(SUBNET):
        assert three.named(resource.name, SUBNET).inputs["cidrBlock"] == resource.inputs["cidrBlock"]


def test_no_subnet_hands_out_public_addresses():
    assert not any(s.inputs["mapPublicIpOnLaunch"] for s in network().all(SUBNET))


def test_load_balancers_find_public_and_private_subnets_by_tag_and_no_others():
    for subnet in network(pod_cidr="100.64.0.0/16").all(SUBNET):
        assert ("kubernetes.io/role/elb" in subnet.inputs["tags"]) is ("public" in subnet.name)
        assert ("kubernetes.io/role/internal-elb" in subnet.inputs["tags"]) is ("private" in subnet.name)


@pytest.mark.parametrize("nat", ["single", "per-zone"])
def test_each_private_subnet_goes_out_through_its_own_table(nat: str):
    built = network(nat=nat)
    gateways = {g.id: g.inputs["subnetId"] for g in built.all("aws:ec2/natGateway:NatGateway")}
    assert len(gateways) == (1 if nat == "single" else 3)
    for index, zone in enumerate(ZONES):
        assert members(built, f"network-private-{zone}") == [f"network-private-{zone}"]
        route = built.named(f"network-private-{zone}", ROUTE)
        behind = built.named(f"network-public-{ZONES[0 if nat == 'single' else index]}", SUBNET)
        assert gateways[route.inputs["natGatewayId"]] == behind.id


def test_a_gateway_in_each_zone_only_adds_gateways_and_turns_routes():
    one, each = ({r.urn for r in network(nat=nat).resources} for nat in ("single", "per-zone"))
    assert one < each
    assert {urn.split("::")[2].rsplit("$", 1)[-1] for urn in each - one} == {
        "aws:ec2/eip:Eip",
        "aws:ec2/natGateway:NatGateway",
    }


def test_isolated_subnets_have_no_way_out():
    built = network()
    assert members(built, "network-isolated") == [f"network-isolated-{zone}" for zone in ZONES]
    table = built.named("network-isolated", TABLE).id
    assert not [route for route in built.all(ROUTE) if route.inputs["routeTableId"] == table]


def test_s3_is_reached_without_nat_from_private_and_isolated_subnets():
    built = network()
    endpoint = built.only("aws:ec2/vpcEndpoint:VpcEndpoint")
    assert endpoint.inputs["serviceName"] == "com.amazonaws.us-west-2.s3"
    tables = [built.named(f"network-private-{zone}", TABLE).id for zone in ZONES]
    assert endpoint.inputs["routeTableIds"] == [*tables, built.named("network-isolated", TABLE).id]


def test_pods_get_subnets_in_the_secondary_range_which_comes_first():
    built = network(pod_cidr="100.64.0.0/16")
    secondary = built.only("aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation")
    pods = [subnet for subnet in built.all(SUBNET) if "pods" in subnet.name]
    assert [p.inputs["cidrBlock"] for p in pods] == ["100.64.0.0/18", "100.64.64.0/18", "100.64.128.0/18"]
    assert all(secondary.urn in pod.dependencies for pod in pods)
    for zone in ZONES:
        assert members(built, f"network-private-{zone}") == [f"network-private-{zone}", f"network-pods-{zone}"]
    assert len(built.result.routed_pod_subnet_ids) == 3
    assert network().result.routed_pod_subnet_ids == []


def test_the_default_security_group_allows_nothing():
    group = network().only("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup")
    assert not {"ingress", "egress"} & group.inputs.keys(), "a default group without rules in it loses AWS's own"


def test_nat_and_address_wait_for_the_internet_gateway():
    built = network()
    gateway = built.only("aws:ec2/internetGateway:InternetGateway").urn
    ways_out = {built.named("network-public", ROUTE).urn, built.named("network-public-us-west-2a", ASSOCIATION).urn}
    assert gateway in built.only("aws:ec2/eip:Eip").dependencies
    assert ways_out <= set(built.only("aws:ec2/natGateway:NatGateway").dependencies)


def test_routed_subnets_carry_their_way_out_as_dependencies_and_plain_ones_do_not():
    def build() -> None:
        made = Network("network", arguments())
        for kind, ids in (("plain", made.private_subnet_ids), ("routed", made.routed_private_subnet_ids)):
            random.RandomString(kind, length=8, keepers={"subnet": ids[0]})

    built = run(build)
    route = built.named("network-private-us-west-2a", ROUTE).urn
    association = built.named("network-private-us-west-2a", ASSOCIATION).urn
    plain, routed = (built.named(kind, "random:index/randomString:RandomString") for kind in ("plain", "routed"))
    assert routed.inputs["keepers"] == plain.inputs["keepers"], "the same ids"
    assert {route, association} <= set(routed.dependencies), "nodes wait for routes"
    assert not {route, association} & set(plain.dependencies), "the control plane does not"


def test_connections_are_recorded_in_an_encrypted_group_that_one_role_writes_to():
    built = network(flow_logs={"enabled": True, "retention_days": 90})
    group = built.only("aws:cloudwatch/logGroup:LogGroup")
    assert (group.inputs["kmsKeyId"], group.inputs["retentionInDays"]) == (KEY, 90)
    log = built.only("aws:ec2/flowLog:FlowLog")
    assert (log.inputs["trafficType"], log.inputs["logDestination"]) == ("ALL", group.outputs["arn"])
    assert built.only("aws:iam/rolePolicy:RolePolicy").urn in log.dependencies
    assert f"{group.outputs['arn']}:*" in built.only("aws:iam/rolePolicy:RolePolicy").inputs["policy"]


def test_flow_logs_can_be_left_out():
    assert not network().all("aws:ec2/flowLog:FlowLog")


def test_everything_belongs_to_the_component():
    built = network()
    component = built.only("eksai:index:Network")
    assert all(r.parent == component.urn for r in built.resources if r is not component)


def test_outputs_are_outputs():
    result = network().result
    assert isinstance(result.vpc_id, pulumi.Output)
    assert len(result.public_subnet_ids) == len(result.private_subnet_ids) == len(result.isolated_subnet_ids) == 3
