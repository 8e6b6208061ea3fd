"""EC2: what leads out of a network, and the routes to it."""

from typing import TYPE_CHECKING, Any

from localcloud.aws.ec2 import IN_VPC, SUBNET, VPC
from localcloud.checks import cidr, one_of
from localcloud.errors import AwsError
from localcloud.resource_type import OnDelete, Properties, Refers, ResourceType, Unique
from localcloud.templates import Draws

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

INTERNET_GATEWAY = "aws:ec2/internetGateway:InternetGateway"
EIP = "aws:ec2/eip:Eip"
NAT_GATEWAY = "aws:ec2/natGateway:NatGateway"
ROUTE_TABLE = "aws:ec2/routeTable:RouteTable"
ROUTE = "aws:ec2/route:Route"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"

_TARGETS = (
    *("gatewayId", "natGatewayId", "networkInterfaceId", "transitGatewayId", "vpcEndpointId"),
    *("vpcPeeringConnectionId", "egressOnlyGatewayId", "coreNetworkArn", "carrierGatewayId", "localGatewayId"),
)
_DESTINATIONS = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")


def reaches_internet(account: "Account", subnet_id: str) -> bool:
    """Tells whether the subnet's default route leads out: to an internet gateway, or to a NAT gateway that does."""
    for association in account.find(ASSOCIATION, subnetId=subnet_id):
        for route in account.find(ROUTE, routeTableId=association["routeTableId"], destinationCidrBlock="0.0.0.0/0"):
            if route["gatewayId"]:
                return True
            for nat in account.find(NAT_GATEWAY, id=route["natGatewayId"]):
                # One that sits in a subnet routed to a NAT gateway, itself perhaps, leads nowhere.
                return _is_public(account, nat["subnetId"])
    return False


def _is_public(account: "Account", subnet_id: str) -> bool:
    return any(
        route["gatewayId"] is not None
        for association in account.find(ASSOCIATION, subnetId=subnet_id)
        for route in account.find(ROUTE, routeTableId=association["routeTableId"])
    )


def _vpc_of(account: "Account", subnet_id: str) -> str:
    return next(account.find(SUBNET, id=subnet_id))["vpcId"]


def _network_has_a_gateway(account: "Account", nat: "Record") -> None:
    if nat["connectivityType"] == "private":
        return
    if nat["allocationId"] is None:
        raise AwsError("MissingParameter", f"the public NAT gateway {nat.name} needs an allocationId")
    vpc_id = _vpc_of(account, nat["subnetId"])
    if not any(account.find(INTERNET_GATEWAY, vpcId=vpc_id)):
        raise AwsError("Gateway.NotAttached", f"network {vpc_id} of {nat.name} has no Internet gateway attached")


def _no_public_address_is_mapped(account: "Account", gateway: "Record") -> None:
    for nat in account.find(NAT_GATEWAY):
        if nat["allocationId"] is not None and _vpc_of(account, nat["subnetId"]) == gateway["vpcId"]:
            raise AwsError(
                "DependencyViolation",
                f"network {gateway['vpcId']} has some mapped public address(es): delete {nat.name} ({nat.id}) first",
            )


def _leads_out_of_its_own_network(account: "Account", route: "Record") -> None:
    table = next(account.find(ROUTE_TABLE, id=route["routeTableId"]))
    vpc = next(account.find(VPC, id=table["vpcId"]))
    destination = route["destinationCidrBlock"]
    if destination is not None and destination == vpc["cidrBlock"]:
        raise AwsError("RouteAlreadyExists", f"{table.id} has the local route {destination} already")
    targets = [gateway["vpcId"] for gateway in account.find(INTERNET_GATEWAY, id=route["gatewayId"])]
    for nat in account.find(NAT_GATEWAY, id=route["natGatewayId"]):
        targets.append(_vpc_of(account, nat["subnetId"]))
    if any(target != vpc.id for target in targets):
        raise AwsError(
            "InvalidParameterValue",
            f"{table.id} and the target of {route.name} belong to different networks ({vpc.id}, {targets[0]})",
        )


def _joins_one_network(account: "Account", association: "Record") -> None:
    table = next(account.find(ROUTE_TABLE, id=association["routeTableId"]))
    if association["subnetId"] and _vpc_of(account, association["subnetId"]) != table["vpcId"]:
        raise AwsError(
            "InvalidParameterValue",
            f"{table.id} and {association['subnetId']} belong to different networks",
        )


def _address(properties: Properties, _: Draws) -> Any:
    """An address of 198.51.100.0/24, which RFC 5737 keeps for documentation."""
    allocation = properties["id"]
    return f"198.51.100.{int(allocation[-2:], 16)}" if isinstance(allocation, str) else allocation


TYPES = (
    ResourceType(
        INTERNET_GATEWAY,
        id="igw-{hex17}",
        outputs={"arn": "arn:{partition}:ec2:{region}:{account}:internet-gateway/{id}", "ownerId": "{account}"},
        refers=(IN_VPC,),
        unique=(Unique(("vpcId",), "Resource.AlreadyAssociated", "{vpcId} has an Internet gateway attached: {id}"),),
        releases=(_no_public_address_is_mapped,),
        tagged=True,
    ),
    ResourceType(
        EIP,
        id="eipalloc-{hex17}",
        outputs={
            "arn": "arn:{partition}:ec2:{region}:{account}:elastic-ip/{id}",
            "allocationId": "{id}",
            "publicIp": _address,
        },
        defaults={"domain": "vpc"},
        replaces=("domain", "address", "publicIpv4Pool"),
        checks=(one_of("domain", ("vpc",)),),
        tagged=True,
    ),
    ResourceType(
        NAT_GATEWAY,
        id="nat-{hex17}",
        outputs={"networkInterfaceId": "eni-{hex17}"},
        defaults={"connectivityType": "public"},
        required=("subnetId",),
        replaces=("subnetId", "allocationId", "connectivityType", "privateIp"),
        checks=(one_of("connectivityType", ("public", "private")),),
        refers=(
            Refers("subnetId", SUBNET, "InvalidSubnetID.NotFound"),
            Refers("allocationId", EIP, "InvalidAllocationID.NotFound", in_use="InvalidIPAddress.InUse"),
        ),
        unique=(
            Unique(
                ("allocationId",),
                "Resource.AlreadyAssociated",
                "the Elastic IP address {allocationId} is already associated with {id}",
            ),
        ),
        admits=(_network_has_a_gateway,),
        tagged=True,
    ),
    ResourceType(
        ROUTE_TABLE,
        id="rtb-{hex17}",
        outputs={"arn": "arn:{partition}:ec2:{region}:{account}:route-table/{id}", "ownerId": "{account}"},
        required=("vpcId",),
        replaces=("vpcId",),
        refers=(IN_VPC,),
        tagged=True,
    ),
    ResourceType(
        ROUTE,
        id="r-{routeTableId}{digits10}",
        outputs={"origin": "CreateRoute", "state": "active"},
        required=("routeTableId", "|".join(_DESTINATIONS), "|".join(_TARGETS)),
        replaces=("routeTableId", *_DESTINATIONS),
        checks=(cidr("destinationCidrBlock", 0, 32),),
        refers=(
            Refers("routeTableId", ROUTE_TABLE, "InvalidRouteTableID.NotFound", on_delete=OnDelete.CASCADE),
            Refers(
                "gatewayId",
                INTERNET_GATEWAY,
                "InvalidGatewayID.NotFound",
                on_delete=OnDelete.IGNORE,
                external="local|vgw-.*",
            ),
            Refers("natGatewayId", NAT_GATEWAY, "InvalidNatGatewayID.NotFound", on_delete=OnDelete.IGNORE),
        ),
        unique=(
            Unique(
                ("routeTableId", *_DESTINATIONS),
                "RouteAlreadyExists",
                "the route table {routeTableId} has a route to that destination already",
            ),
        ),
        admits=(_leads_out_of_its_own_network,),
    ),
    ResourceType(
        ASSOCIATION,
        id="rtbassoc-{hex17}",
        required=("routeTableId", "subnetId|gatewayId"),
        replaces=("subnetId", "gatewayId"),
        refers=(
            Refers("routeTableId", ROUTE_TABLE, "InvalidRouteTableID.NotFound"),
            Refers("subnetId", SUBNET, "InvalidSubnetID.NotFound", on_delete=OnDelete.CASCADE),
            Refers("gatewayId", INTERNET_GATEWAY, "InvalidGatewayID.NotFound"),
        ),
        unique=(
            Unique(
                ("subnetId",),
                "Resource.AlreadyAssociated",
                "the specified association for {subnetId} conflicts with an existing one: {id}",
            ),
        ),
        admits=(_joins_one_network,),
    ),
)
