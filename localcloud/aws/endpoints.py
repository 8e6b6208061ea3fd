"""EC2: private ways to AWS's services, and records of who talked to whom."""

from typing import TYPE_CHECKING

from localcloud.authorization import Request, grants
from localcloud.aws.cloudwatch import LOG_GROUP
from localcloud.aws.ec2 import IN_VPC, SECURITY_GROUP, SUBNET, VPC, zones
from localcloud.aws.gateways import ROUTE_TABLE
from localcloud.aws.iam import ROLE, policies_of, trusts
from localcloud.aws.s3 import BUCKET
from localcloud.checks import matches, one_of
from localcloud.errors import AwsError
from localcloud.resource_type import Api, OnDelete, PolicyKind, Refers, ResourceType, Unique

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
FLOW_LOG = "aws:ec2/flowLog:FlowLog"

_BY_GATEWAY = ("s3", "dynamodb")


def _invalid(message: str) -> AwsError:
    return AwsError("InvalidParameter", message)


def _fits_its_type(account: "Account", endpoint: "Record") -> None:
    service = endpoint["serviceName"].rpartition(".")[2]
    if endpoint["vpcEndpointType"] == "Gateway":
        if endpoint["subnetIds"] or endpoint["securityGroupIds"] or endpoint["privateDnsEnabled"]:
            raise _invalid("subnets, security groups and private DNS are only supported for Interface endpoints")
        if service not in _BY_GATEWAY:
            raise AwsError(
                "InvalidServiceName", f"the Vpc Endpoint Service '{endpoint['serviceName']}' has no Gateway type"
            )
        for other in account.find(ENDPOINT, vpcId=endpoint["vpcId"], serviceName=endpoint["serviceName"]):
            shared = {*(other["routeTableIds"] or ())} & {*(endpoint["routeTableIds"] or ())}
            if other.id != endpoint.id and other["vpcEndpointType"] == "Gateway" and shared:
                raise AwsError(
                    "RouteAlreadyExists", f"route table {min(shared)} already has a route to {endpoint['serviceName']}"
                )
    elif endpoint["routeTableIds"]:
        raise _invalid("route table IDs are only supported for Gateway type VPC Endpoint")


def _one_subnet_a_zone(account: "Account", endpoint: "Record") -> None:
    subnets = [subnet for id in endpoint["subnetIds"] or () for subnet in account.find(SUBNET, id=id)]
    if any(subnet["vpcId"] != endpoint["vpcId"] for subnet in subnets):
        raise _invalid(f"a subnet of {endpoint.name} belongs to another VPC than {endpoint['vpcId']}")
    found = zones(account, endpoint["subnetIds"] or ())
    if len(found) != len(set(found)):
        raise AwsError(
            "DuplicateSubnetsInSameZone",
            f"found another VPC endpoint subnet in the availability zone of a subnet of {endpoint.name}. VPC endpoint "
            "subnets should be in different availability zones",
        )


def _names_resolve(account: "Account", endpoint: "Record") -> None:
    if not endpoint["privateDnsEnabled"]:
        return
    vpc = next(account.find(VPC, id=endpoint["vpcId"]))
    if not (vpc["enableDnsSupport"] and vpc["enableDnsHostnames"]):
        raise _invalid(
            "enabling private DNS requires both enableDnsSupport and enableDnsHostnames VPC attributes set to true "
            f"for {vpc.id}"
        )
    for other in account.find(ENDPOINT, vpcId=vpc.id, serviceName=endpoint["serviceName"], privateDnsEnabled=True):
        if other.id != endpoint.id:
            raise _invalid(
                "private-dns-enabled cannot be set because there is already a conflicting DNS domain for "
                f"{endpoint['serviceName']} in the VPC {vpc.id} ({other.id})"
            )


def _groups_are_of_its_network(account: "Account", endpoint: "Record") -> None:
    for group_id in endpoint["securityGroupIds"] or ():
        for group in account.find(SECURITY_GROUP, id=group_id):
            if group["vpcId"] not in (None, endpoint["vpcId"]):
                raise _invalid(f"{group_id} and {endpoint.name} belong to different networks")


def _may_write_into_the_group(account: "Account", flow_log: "Record") -> None:
    """AWS takes the flow log and then reports an access error; here that is refused."""
    if flow_log["logDestinationType"] != "cloud-watch-logs":
        return
    if flow_log["iamRoleArn"] is None:
        raise AwsError(
            "InvalidParameter", "DeliverLogsPermissionArn can't be empty if LogDestinationType is cloud-watch-logs"
        )
    for role in account.find(ROLE, arn=flow_log["iamRoleArn"]):
        if "sts:AssumeRole" not in trusts(role, "vpc-flow-logs.amazonaws.com"):
            raise AwsError("AccessError", f"role {role.id} does not trust vpc-flow-logs.amazonaws.com")
        group = str(flow_log["logDestination"]).removesuffix(":*")
        for action in ("logs:CreateLogStream", "logs:PutLogEvents"):
            resource = f"{group}:log-stream:eni"
            if not grants(policies_of(account, role), Request(action, resource)):
                raise AwsError(
                    "AccessError", f"role {role.id} may not {action} in {group}: make the flow log after its policy"
                )


TYPES = (
    ResourceType(
        ENDPOINT,
        id="vpce-{hex17}",
        outputs={
            "arn": "arn:{partition}:ec2:{region}:{account}:vpc-endpoint/{id}",
            "ownerId": "{account}",
            "state": "available",
            "prefixListId": "pl-{hex8}",
            "dnsEntries": [{"dnsName": "{id}-{hex8}.vpce.{dns_suffix}", "hostedZoneId": "Z{upper13}"}],
        },
        defaults={"vpcEndpointType": "Gateway", "privateDnsEnabled": False},
        required=("vpcId", "serviceName"),
        replaces=("vpcId", "serviceName", "vpcEndpointType"),
        unordered=("routeTableIds", "subnetIds", "securityGroupIds"),
        checks=(
            matches(
                "serviceName",
                r"(cn\.com|com)\.amazonaws\.{region}\.[a-z0-9.\-]+|aws\.[a-z]+\.{region}\.[a-z0-9.\-]+",
                "an endpoint service of the region {region}",
            ),
            one_of("vpcEndpointType", ("Gateway", "Interface", "GatewayLoadBalancer")),
        ),
        api=Api("ec2", "CreateVpcEndpoint", {"policy": "PolicyDocument", "tags": "", "autoAccept": ""}),
        policies={"policy": PolicyKind.ENDPOINT},
        refers=(
            IN_VPC,
            Refers("routeTableIds", ROUTE_TABLE, "InvalidRouteTableId.NotFound", on_delete=OnDelete.IGNORE),
            Refers("subnetIds", SUBNET, "InvalidSubnetId.NotFound"),
            Refers("securityGroupIds", SECURITY_GROUP, "InvalidGroup.NotFound"),
        ),
        admits=(_fits_its_type, _one_subnet_a_zone, _names_resolve, _groups_are_of_its_network),
        tagged=True,
    ),
    ResourceType(
        FLOW_LOG,
        id="fl-{hex17}",
        outputs={"arn": "arn:{partition}:ec2:{region}:{account}:vpc-flow-log/{id}"},
        defaults={"logDestinationType": "cloud-watch-logs", "maxAggregationInterval": 600},
        required=("vpcId|subnetId|eniId|transitGatewayId", "logDestination"),
        replaces=(
            *("vpcId", "subnetId", "eniId", "logDestination", "logDestinationType", "iamRoleArn", "trafficType"),
            *("logFormat", "maxAggregationInterval", "destinationOptions"),
        ),
        checks=(one_of("maxAggregationInterval", (60, 600)),),
        api=Api(
            "ec2",
            "CreateFlowLogs",
            {"vpcId": "ResourceIds", "iamRoleArn": "DeliverLogsPermissionArn", "tags": ""},
            supplied=("ResourceType",),
        ),
        refers=(
            Refers("vpcId", VPC, "InvalidVpcId.NotFound", on_delete=OnDelete.CASCADE),
            Refers("subnetId", SUBNET, "InvalidSubnetId.NotFound", on_delete=OnDelete.CASCADE),
            Refers("iamRoleArn", ROLE, "InvalidParameter", by=("arn",), on_delete=OnDelete.IGNORE),
            Refers(
                "logDestination",
                LOG_GROUP,
                "LogDestinationNotFound",
                by=("arn",),
                on_delete=OnDelete.IGNORE,
                external=r"(?!arn:[a-z-]+:logs:).*",
            ),
            Refers(
                "logDestination",
                BUCKET,
                "LogDestinationNotFound",
                by=("arn",),
                on_delete=OnDelete.IGNORE,
                external=r"(?!arn:[a-z-]+:s3:::[^/]+$).*",
            ),
        ),
        unique=(
            Unique(
                ("vpcId", "subnetId", "eniId", "trafficType", "logDestination"),
                "FlowLogAlreadyExists",
                "there is an existing flow log with the same configuration and log destination: {id}",
            ),
        ),
        admits=(_may_write_into_the_group,),
        tagged=True,
    ),
)
