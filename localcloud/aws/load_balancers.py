"""Elastic Load Balancing: balancers, with the network interfaces that AWS makes for them."""

from typing import TYPE_CHECKING, Any

from localcloud.aws.ec2 import SECURITY_GROUP, SUBNET, zones
from localcloud.aws.network_interfaces import NETWORK_INTERFACE
from localcloud.checks import matches, one_of
from localcloud.errors import AwsError
from localcloud.resource_type import Api, AutoName, Identity, Properties, Refers, ResourceType, Unique
from localcloud.templates import Draws
from localcloud.values import UNKNOWN

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

LOAD_BALANCER = "aws:lb/loadBalancer:LoadBalancer"


def add_interfaces(account: "Account", balancer: "Record", identity: Identity) -> None:
    """Makes the interfaces of a balancer that are still missing, one in each of its subnets."""
    present = {interface["subnetId"] for interface in account.find(NETWORK_INTERFACE, requester=balancer["arn"])}
    for subnet in balancer["subnets"]:
        if subnet not in present:
            inputs = {
                "subnetId": subnet,
                "securityGroups": balancer["securityGroups"] or [],
                "description": f"ELB {balancer['arnSuffix']}",
                "requester": balancer["arn"],
            }
            account.create(NETWORK_INTERFACE, "", inputs, identity)


def _kind(properties: Properties, _: Draws) -> str:
    return {"network": "net", "gateway": "gwy"}.get(str(properties["loadBalancerType"]), "app")


def _dns_name(properties: Properties, draws: Draws) -> Any:
    if draws.withheld:
        return UNKNOWN
    _, partition, _, region, _, _ = properties["arn"].split(":")
    suffix = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
    name = properties["name"]
    if properties["loadBalancerType"] == "network":
        return f"{name}-{draws.field('hex16', '')}.elb.{region}.{suffix}"
    first = "internal-" if properties["internal"] else ""
    return f"{first}{name}-{draws.field('digits10', '')}.{region}.elb.{suffix}"


def _fits_its_subnets(account: "Account", balancer: "Record") -> None:
    found = zones(account, balancer["subnets"] or ())
    if len(found) != len(set(found)):
        raise AwsError(
            "InvalidConfigurationRequest",
            f"a load balancer cannot be attached to multiple subnets in the same Availability Zone ({balancer.name})",
        )
    if balancer["loadBalancerType"] == "application" and len(found) < 2:
        raise AwsError(
            "ValidationError", f"at least two subnets in two different zones must be given for {balancer.name}"
        )
    subnets = [subnet for id in balancer["subnets"] or () for subnet in account.find(SUBNET, id=id)]
    networks = {subnet["vpcId"] for subnet in subnets}
    groups = [group for id in balancer["securityGroups"] or () for group in account.find(SECURITY_GROUP, id=id)]
    if len(networks | {group["vpcId"] for group in groups}) > 1:
        raise AwsError(
            "InvalidConfigurationRequest", f"subnets and security groups of {balancer.name} are of different networks"
        )


def _is_not_protected(_: "Account", balancer: "Record") -> None:
    if balancer["enableDeletionProtection"]:
        raise AwsError(
            "OperationNotPermitted",
            f"load balancer {balancer['arn']} cannot be deleted because deletion protection is enabled",
        )


TYPES = (
    ResourceType(
        LOAD_BALANCER,
        # The provider takes the ARN for it, which a template cannot spell before the kind is known.
        id="loadbalancer/{name}/{hex16}",
        outputs={
            "kind": _kind,
            "arnSuffix": "{kind}/{name}/{hex16}",
            "arn": "arn:{partition}:elasticloadbalancing:{region}:{account}:loadbalancer/{arnSuffix}",
            "dnsName": _dns_name,
            "zoneId": "Z{upper13}",
        },
        defaults={"loadBalancerType": "application", "internal": False, "enableDeletionProtection": False},
        required=("subnets|subnetMappings",),
        auto_name=AutoName(longest=32),
        replaces=("name", "internal", "loadBalancerType"),
        unordered=("subnets", "securityGroups"),
        checks=(
            matches(
                "name",
                "(?!internal-)[a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?",
                "a load balancer's name: 1 to 32 letters, digits and -, not at the ends, not beginning with internal-",
            ),
            one_of("loadBalancerType", ("application", "network", "gateway")),
            one_of("ipAddressType", ("ipv4", "dualstack", "dualstack-without-public-ipv4")),
        ),
        api=Api(
            "elbv2",
            "CreateLoadBalancer",
            {
                "loadBalancerType": "Type",
                **dict.fromkeys(("internal", "enableDeletionProtection", "idleTimeout", "accessLogs", "tags"), ""),
                **dict.fromkeys(("dropInvalidHeaderFields", "enableHttp2", "desyncMitigationMode"), ""),
            },
        ),
        refers=(
            Refers("subnets", SUBNET, "SubnetNotFound"),
            Refers("securityGroups", SECURITY_GROUP, "InvalidSecurityGroup"),
        ),
        unique=(Unique(("name",), "DuplicateLoadBalancerName", "a load balancer with the name {name} already exists"),),
        admits=(_fits_its_subnets,),
        releases=(_is_not_protected,),
        tagged=True,
    ),
)
