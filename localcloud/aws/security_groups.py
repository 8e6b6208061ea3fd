"""EC2: security groups and their rules."""

from collections.abc import Iterator

from localcloud.aws.ec2 import IN_VPC, SECURITY_GROUP, VPC, default_group_id
from localcloud.checks import ascending, between, cidr, matches, one_of
from localcloud.resource_type import (
    Api,
    AutoName,
    Failure,
    Identity,
    OnDelete,
    Properties,
    Refers,
    ResourceType,
    Unique,
)

_PROTOCOLS = ("-1", "tcp", "udp", "icmp", "icmpv6", "1", "6", "17", "58")
_PEERS = ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")


def _a_rule(direction: str) -> ResourceType:
    """A rule of its own, one direction and one peer."""
    return ResourceType(
        f"aws:vpc/securityGroup{direction}Rule:SecurityGroup{direction}Rule",
        id="sgr-{hex17}",
        outputs={
            "arn": "arn:{partition}:ec2:{region}:{account}:security-group-rule/{id}",
            "securityGroupRuleId": "{id}",
        },
        required=("securityGroupId", "ipProtocol", "|".join(_PEERS)),
        replaces=("securityGroupId",),
        checks=(
            one_of("ipProtocol", _PROTOCOLS),
            cidr("cidrIpv4", 0, 32),
            between("fromPort", -1, 65535),
            between("toPort", -1, 65535),
            ascending("fromPort", "toPort"),
            _ports_fit_protocol,
        ),
        refers=(
            Refers("securityGroupId", SECURITY_GROUP, "InvalidGroup.NotFound", on_delete=OnDelete.CASCADE),
            Refers("referencedSecurityGroupId", SECURITY_GROUP, "InvalidGroup.NotFound"),
        ),
        unique=(
            Unique(
                ("securityGroupId", "ipProtocol", "fromPort", "toPort", *_PEERS),
                "InvalidPermission.Duplicate",
                'the specified rule "{ipProtocol}" of {securityGroupId} already exists: {id}',
            ),
        ),
        tagged=True,
    )


def _ports_fit_protocol(inputs: Properties, _: Identity) -> Iterator[Failure]:
    ported = inputs["ipProtocol"] in ("tcp", "udp", "6", "17")
    if ported and not {"fromPort", "toPort"} <= inputs.keys():
        yield Failure("fromPort", f"InvalidParameterValue: {inputs['ipProtocol']} needs fromPort and toPort")
    if inputs["ipProtocol"] == "-1" and ({"fromPort", "toPort"} & inputs.keys()):
        # AWS drops them, and every later preview would want them back.
        yield Failure("fromPort", "with ipProtocol -1 all ports are meant: leave fromPort and toPort out")


TYPES = (
    ResourceType(
        SECURITY_GROUP,
        id="sg-{hex17}",
        outputs={"arn": "arn:{partition}:ec2:{region}:{account}:security-group/{id}", "ownerId": "{account}"},
        defaults={"description": "Managed by Pulumi"},
        required=("vpcId",),
        auto_name=AutoName(longest=255),
        replaces=("name", "description", "vpcId"),
        checks=(
            matches("name", "(?!sg-).{1,255}", "a group name (AWS keeps the prefix sg- for ids)"),
            one_of("ingress.protocol", _PROTOCOLS),
            one_of("egress.protocol", _PROTOCOLS),
        ),
        api=Api(
            "ec2",
            "CreateSecurityGroup",
            {"name": "GroupName", **dict.fromkeys(("tags", "ingress", "egress", "revokeRulesOnDelete"), "")},
        ),
        refers=(IN_VPC,),
        unique=(Unique(("vpcId", "name"), "InvalidGroup.Duplicate", "the group {name} already exists in {vpcId}"),),
        tagged=True,
    ),
    ResourceType(
        "aws:ec2/securityGroupRule:SecurityGroupRule",
        id="sgrule-{digits10}",
        outputs={"securityGroupRuleId": "sgr-{hex17}"},
        required=("securityGroupId", "type", "protocol", "fromPort", "toPort"),
        replaces=(
            *("securityGroupId", "type", "protocol", "fromPort", "toPort", "self"),
            *("cidrBlocks", "ipv6CidrBlocks", "prefixListIds", "sourceSecurityGroupId"),
        ),
        checks=(one_of("type", ("ingress", "egress")),),
        refers=(
            Refers("securityGroupId", SECURITY_GROUP, "InvalidGroup.NotFound", on_delete=OnDelete.CASCADE),
            Refers("sourceSecurityGroupId", SECURITY_GROUP, "InvalidGroup.NotFound"),
        ),
        unique=(
            Unique(
                (
                    *("securityGroupId", "type", "protocol", "fromPort", "toPort", "self"),
                    *("cidrBlocks", "ipv6CidrBlocks", "prefixListIds", "sourceSecurityGroupId"),
                ),
                "InvalidPermission.Duplicate",
                "the same rule already exists in {securityGroupId}",
            ),
        ),
    ),
    ResourceType(
        "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
        # AWS made the group with the network; this takes it over and gives it back unchanged.
        id=default_group_id,
        outputs={
            "arn": "arn:{partition}:ec2:{region}:{account}:security-group/{id}",
            "ownerId": "{account}",
            "name": "default",
            "description": "default VPC security group",
        },
        required=("vpcId",),
        replaces=("vpcId",),
        refers=(Refers("vpcId", VPC, "InvalidVpcID.NotFound", on_delete=OnDelete.CASCADE),),
        tagged=True,
    ),
    _a_rule("Ingress"),
    _a_rule("Egress"),
)
