"""Who can reach the Kubernetes API endpoint."""

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

RULE = "api-endpoint-not-open"
CLUSTER = "aws:eks/cluster:Cluster"


def cluster(**vpc):
    return {"vpcConfig": {"subnetIds": ["subnet-1"], **vpc}}


@pytest.mark.parametrize(
    "properties",
    [
        cluster(endpointPublicAccess=False, endpointPrivateAccess=True),
        cluster(endpointPublicAccess=True, publicAccessCidrs=["198.51.100.7/32", "203.0.113.0/24"]),
        cluster(publicAccessCidrs=["198.51.0.0/16", "2001:db8::/48"]),
        cluster(endpointPublicAccess=False, publicAccessCidrs=["0.0.0.0/0"]),
    ],
)
def test_a_closed_endpoint_passes(judge, properties):
    outcome = judge(RULE, CLUSTER, properties)
    assert (outcome.violations, outcome.unknown) == ([], "")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({}, "no publicAccessCidrs"),
        (cluster(), "no publicAccessCidrs"),
        (cluster(endpointPublicAccess=True), "no publicAccessCidrs"),
        (cluster(endpointPublicAccess=True, publicAccessCidrs=[]), "no publicAccessCidrs"),
        (cluster(publicAccessCidrs=["0.0.0.0/0"]), "has 0.0.0.0/0: broader than /16"),
        (cluster(publicAccessCidrs=["198.51.100.7/32", "::/0"]), "has ::/0: broader than /32"),
        (cluster(publicAccessCidrs=["0.0.0.0/1"]), "has 0.0.0.0/1"),
        (cluster(publicAccessCidrs=["128.0.0.0/15"]), "has 128.0.0.0/15"),
        (cluster(publicAccessCidrs=["here"]), "has here, which is not a CIDR block"),
    ],
)
def test_an_open_endpoint_is_refused(judge, properties, message):
    violations = judge(RULE, CLUSTER, properties).violations
    assert len(violations) == 1
    assert message in violations[0]


@pytest.mark.parametrize(
    ("properties", "violations", "unknown"),
    [
        (cluster(publicAccessCidrs=UNKNOWN), 0, "vpcConfig.publicAccessCidrs"),
        (cluster(publicAccessCidrs=["0.0.0.0/0", UNKNOWN]), 1, "vpcConfig.publicAccessCidrs.1"),
        (cluster(endpointPublicAccess=UNKNOWN), 0, "vpcConfig.endpointPublicAccess"),
        (cluster(endpointPublicAccess=UNKNOWN, publicAccessCidrs=["198.51.100.7/32"]), 0, ""),
        (cluster(endpointPublicAccess=False, publicAccessCidrs=UNKNOWN), 0, ""),
        ({"vpcConfig": UNKNOWN}, 0, "vpcConfig"),
    ],
)
def test_an_unknown_endpoint_is_reported_where_it_matters(judge, properties, violations, unknown):
    outcome = judge(RULE, CLUSTER, properties)
    assert (len(outcome.violations), outcome.unknown) == (violations, unknown)


@pytest.mark.parametrize(
    ("config", "block", "passes"),
    [
        ({"minPrefixLength": 24.0}, "198.51.0.0/20", False),
        ({"minPrefixLength": 8.0}, "198.0.0.0/8", True),
        ({"minPrefixLengthIpv6": 48}, "2001:db8::/40", False),
        ({"minPrefixLengthIpv6": 0, "minPrefixLength": 0}, "::/0", True),
    ],
)
def test_configuration_sets_how_broad_a_block_may_be(judge, config, block, passes):
    assert (judge(RULE, CLUSTER, cluster(publicAccessCidrs=[block]), **config).violations == []) is passes
