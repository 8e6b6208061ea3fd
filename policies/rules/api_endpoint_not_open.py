"""The Kubernetes API endpoint is not open to the internet.

EKS makes the endpoint public, and open to every address, unless told otherwise; so what is left out counts as open.
Judged is `aws.eks.Cluster`, which pulumi-eks' component makes too.
"""

import ipaddress
from collections.abc import Iterator

from pulumi_policy import PolicyComplianceFramework, Severity

from .judging.properties import Unknown, Value, elements
from .judging.rule import Config, Resource, Verdict, resource_rule

# A company's own IPv4 network is hardly ever broader than /16; a /32 is what the registries allocate for IPv6.
_MIN_PREFIX_LENGTH = 16
_MIN_PREFIX_LENGTH_IPV6 = 32


def _check(resource: Resource, config: Config) -> Iterator[Verdict]:
    public = resource.get("vpcConfig", "endpointPublicAccess")
    if public is False:
        return
    least = {
        4: int(config.get("minPrefixLength", _MIN_PREFIX_LENGTH)),
        6: int(config.get("minPrefixLengthIpv6", _MIN_PREFIX_LENGTH_IPV6)),
    }
    blocks = elements(resource.get("vpcConfig", "publicAccessCidrs"))
    verdicts = list(_judge_blocks(blocks, least)) if blocks else [_NO_BLOCKS]
    # An unknown switch may turn out to be off, which would settle it.
    yield from [public] if verdicts and isinstance(public, Unknown) else verdicts


_NO_BLOCKS = (
    "The public endpoint has no publicAccessCidrs, so it is open to every address. List the networks that need it, or "
    "set endpointPublicAccess to false."
)


def _judge_blocks(blocks: list[Value], least: dict[int, int]) -> Iterator[Verdict]:
    for block in blocks:
        if isinstance(block, Unknown):
            yield block
            continue
        try:
            network = ipaddress.ip_network(str(block), strict=False)
        except ValueError:
            yield f"publicAccessCidrs has {block}, which is not a CIDR block."
            continue
        if network.prefixlen < least[network.version]:
            yield (
                f"publicAccessCidrs has {block}: broader than /{least[network.version]}, it opens the API endpoint to "
                f"networks that are not yours. List narrower blocks, or set endpointPublicAccess to false."
            )


RULE = resource_rule(
    _check,
    name="api-endpoint-not-open",
    description="The Kubernetes API endpoint is private, or public for a few known networks.",
    judges=("aws:eks/cluster:Cluster",),
    severity=Severity.CRITICAL,
    remediation=(
        "Set vpcConfig.endpointPublicAccess to false and endpointPrivateAccess to true, or list the networks that "
        "operate the cluster in publicAccessCidrs."
    ),
    standard=PolicyComplianceFramework(name="CIS Amazon EKS Benchmark", version="1.8.0", reference="5.4.1, 5.4.2"),
    tags=["CKV_AWS_38", "CKV_AWS_39"],
    config={
        "minPrefixLength": {
            "type": "integer",
            "minimum": 0,
            "maximum": 32,
            "default": _MIN_PREFIX_LENGTH,
            "description": "The shortest prefix that an IPv4 block may have.",
        },
        "minPrefixLengthIpv6": {
            "type": "integer",
            "minimum": 0,
            "maximum": 128,
            "default": _MIN_PREFIX_LENGTH_IPV6,
            "description": "The shortest prefix that an IPv6 block may have.",
        },
    },
)
