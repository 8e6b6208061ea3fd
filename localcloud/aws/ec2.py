"""EC2: networks and their subnets. What leads out of them is in `gateways`, who may pass in `security_groups`."""

import ipaddress
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from localcloud.checks import cidr, matches, one_of
from localcloud.errors import AwsError
from localcloud.resource_type import Api, Owned, Properties, Refers, ResourceType
from localcloud.templates import Draws

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
CIDR_ASSOCIATION = "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation"

IN_VPC = Refers("vpcId", to=VPC, error="InvalidVpcID.NotFound")
"""What most resources of a network hold on to."""


# Of a subnet, AWS takes these in calls of their own.
_SET_LATER = (
    *("tags", "mapPublicIpOnLaunch", "assignIpv6AddressOnCreation", "enableDns64"),
    *("enableResourceNameDnsARecordOnLaunch", "privateDnsHostnameTypeOnLaunch"),
)
# Private ranges that do not go together in one network with the first range of it, AWS says.
_PRIVATE = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "198.19.0.0/16")))
_MOST_RANGES = 5


def default_group_id(properties: Properties, _: Draws) -> Any:
    """The default group's id follows from the network's, so that adopting it needs no look-up."""
    vpc_id = properties.get("vpcId", properties.get("id"))
    return vpc_id.replace("vpc-", "sg-") if isinstance(vpc_id, str) else vpc_id


def ranges(account: "Account", vpc_id: str) -> list[ipaddress.IPv4Network]:
    """Returns the address ranges of a network, the first one first."""
    holders = (*account.find(VPC, id=vpc_id), *account.find(CIDR_ASSOCIATION, vpcId=vpc_id))
    return [ipaddress.IPv4Network(holder["cidrBlock"]) for holder in holders]


def zones(account: "Account", subnet_ids: Iterable[str]) -> list[str]:
    """Returns the availability zone of each subnet that exists."""
    return [subnet["availabilityZone"] for id in subnet_ids for subnet in account.find(SUBNET, id=id)]


def same_network(account: "Account", subnet_ids: Iterable[str], group_ids: Iterable[str]) -> set[str]:
    """Returns the networks of some subnets and security groups, of those that exist; one, when all is well."""
    subnets = {subnet["vpcId"] for id in subnet_ids for subnet in account.find(SUBNET, id=id)}
    return subnets | {group["vpcId"] for id in group_ids for group in account.find(SECURITY_GROUP, id=id)}


def _lies_in_its_vpc(account: "Account", subnet: "Record") -> None:
    block = ipaddress.IPv4Network(subnet["cidrBlock"])
    if not any(block.subnet_of(network) for network in ranges(account, subnet["vpcId"])):
        raise AwsError(
            "InvalidSubnet.Range", f"the CIDR {block} of {subnet.name} lies in no range of {subnet['vpcId']}"
        )
    for other in account.find(SUBNET, vpcId=subnet["vpcId"]):
        if other.id != subnet.id and block.overlaps(ipaddress.IPv4Network(other["cidrBlock"])):
            raise AwsError(
                "InvalidSubnet.Conflict",
                f"the CIDR {block} of {subnet.name} conflicts with {other['cidrBlock']} of {other.name} ({other.id})",
            )


def _goes_with_the_other_ranges(account: "Account", association: "Record") -> None:
    block = ipaddress.IPv4Network(association["cidrBlock"])
    others = ranges(account, association["vpcId"])
    if any(block.overlaps(other) for other in others):
        raise AwsError("InvalidVpc.Range", f"the CIDR {block} overlaps another range of {association['vpcId']}")
    home = next((private for private in _PRIVATE if others[0].subnet_of(private)), None)
    if any(block.overlaps(private) for private in _PRIVATE if private != home):
        raise AwsError(
            "InvalidVpc.Range",
            f"the CIDR '{block}' is restricted. Use a CIDR from the same private address range as the current VPC "
            "CIDR, or use a publicly-routable CIDR (100.64.0.0/10 counts as one)",
        )
    if len(others) >= _MOST_RANGES:
        raise AwsError(
            "CidrLimitExceeded",
            f"network '{association['vpcId']}' has met its maximum number of allowed CIDRs: {_MOST_RANGES}",
        )


def _no_subnet_lies_in_it(account: "Account", association: "Record") -> None:
    block = ipaddress.IPv4Network(association["cidrBlock"])
    for subnet in account.find(SUBNET, vpcId=association["vpcId"]):
        if ipaddress.IPv4Network(subnet["cidrBlock"]).subnet_of(block):
            raise AwsError(
                "InvalidCidrBlock.InUse",
                f"the vpc {association['vpcId']} currently has a subnet within CIDR block {block} ({subnet.id})",
            )


TYPES = (
    ResourceType(
        VPC,
        id="vpc-{hex17}",
        outputs={
            "arn": "arn:{partition}:ec2:{region}:{account}:vpc/{id}",
            "ownerId": "{account}",
            "defaultSecurityGroupId": default_group_id,
            "defaultRouteTableId": "rtb-{hex17:default}",
            "mainRouteTableId": "{defaultRouteTableId}",
            "defaultNetworkAclId": "acl-{hex17:default}",
            "dhcpOptionsId": "dopt-{hex17:default}",
        },
        defaults={"enableDnsSupport": True, "enableDnsHostnames": False, "instanceTenancy": "default"},
        required=("cidrBlock",),
        replaces=("cidrBlock", "instanceTenancy"),
        checks=(cidr("cidrBlock", 16, 28), one_of("instanceTenancy", ("default", "dedicated"))),
        api=Api("ec2", "CreateVpc", dict.fromkeys(("tags", "enableDnsSupport", "enableDnsHostnames"), "")),
        owns=(
            Owned(
                SECURITY_GROUP,
                id="{defaultSecurityGroupId}",
                inputs={"name": "default", "vpcId": "{id}", "description": "default VPC security group"},
            ),
        ),
        tagged=True,
    ),
    ResourceType(
        SUBNET,
        id="subnet-{hex17}",
        outputs={"arn": "arn:{partition}:ec2:{region}:{account}:subnet/{id}", "ownerId": "{account}"},
        defaults={"mapPublicIpOnLaunch": False, "assignIpv6AddressOnCreation": False},
        required=("vpcId", "cidrBlock", "availabilityZone|availabilityZoneId"),
        replaces=("vpcId", "cidrBlock", "availabilityZone", "availabilityZoneId"),
        checks=(
            cidr("cidrBlock", 16, 28),
            matches("availabilityZone", "{region}[a-f]", "a zone of the region {region}"),
        ),
        api=Api("ec2", "CreateSubnet", dict.fromkeys(_SET_LATER, "")),
        refers=(IN_VPC,),
        admits=(_lies_in_its_vpc,),
        tagged=True,
    ),
    ResourceType(
        CIDR_ASSOCIATION,
        id="vpc-cidr-assoc-{hex17}",
        required=("vpcId", "cidrBlock|ipv4IpamPoolId"),
        replaces=("vpcId", "cidrBlock", "ipv4IpamPoolId", "ipv4NetmaskLength"),
        checks=(cidr("cidrBlock", 16, 28),),
        api=Api("ec2", "AssociateVpcCidrBlock"),
        refers=(IN_VPC,),
        admits=(_goes_with_the_other_ranges,),
        releases=(_no_subnet_lies_in_it,),
    ),
)
