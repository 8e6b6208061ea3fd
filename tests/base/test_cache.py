"""ElastiCache for Valkey."""

import pulumi
import pytest

from components.base.cache import Cache, CacheArgs
from localcloud.api_model import unmapped
from localcloud.catalog import find
from localcloud.model_checks import model_faults
from localcloud.values import Secret
from tests.world import Built, run

REPLICATION, SUBNETS, PARAMETERS, GROUP, RULE = (
    "aws:elasticache/replicationGroup:ReplicationGroup",
    "aws:elasticache/subnetGroup:SubnetGroup",
    "aws:elasticache/parameterGroup:ParameterGroup",
    "aws:ec2/securityGroup:SecurityGroup",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
)
KEY = "arn:aws:kms:us-west-2:444455556666:key/1"


def built(replicas: int = 0, opts: pulumi.ResourceOptions | None = None) -> Built[Cache]:
    def build() -> Cache:
        args = CacheArgs(
            node_type="cache.t4g.small",
            replicas=replicas,
            cluster_name="eksai-dev",
            vpc_id="vpc-1",
            ranges={"nodes": "192.168.0.0/16", "pods": "100.64.0.0/16"},
            subnet_ids=["subnet-1", "subnet-2"],
            key_arn=KEY,
            password=pulumi.Output.secret("s" * 32),
            password_version=7,
        )
        return Cache("langfuse", args, opts)

    return run(build)


def test_only_nodes_and_pods_of_the_vpc_reach_it_and_only_its_port():
    found = built()
    group = found.only(GROUP)
    rules = [rule.inputs for rule in found.all(RULE)]
    assert {rule["cidrIpv4"] for rule in rules} == {"192.168.0.0/16", "100.64.0.0/16"}
    assert {(rule["securityGroupId"], rule["fromPort"], rule["toPort"], rule["ipProtocol"]) for rule in rules} == {
        (group.id, 6379, 6379, "tcp")
    }
    assert found.only(REPLICATION).inputs["securityGroupIds"] == [group.id]


def test_it_lies_in_the_given_subnets():
    found = built()
    assert found.only(SUBNETS).inputs["subnetIds"] == ["subnet-1", "subnet-2"]
    assert found.only(REPLICATION).inputs["subnetGroupName"] == found.only(SUBNETS).outputs["name"]


def test_nobody_talks_to_it_without_tls_and_a_password():
    group = built().only(REPLICATION).inputs
    assert (group["transitEncryptionEnabled"], group["transitEncryptionMode"]) == (True, "required")
    assert isinstance(group["authTokenWo"], Secret)
    assert (group["authTokenWo"].value, group["authTokenWoVersion"]) == ("s" * 32, 7)
    assert "authToken" not in group, "state would have it"


def test_what_it_writes_to_disk_is_encrypted_with_the_stacks_key():
    group = built().only(REPLICATION).inputs
    assert group["atRestEncryptionEnabled"] is True
    assert group["kmsKeyId"] == KEY


def test_a_job_in_the_queue_is_never_evicted():
    found = built()
    assert found.only(PARAMETERS).inputs["parameters"] == [{"name": "maxmemory-policy", "value": "noeviction"}]
    assert found.only(REPLICATION).inputs["parameterGroupName"] == found.only(PARAMETERS).outputs["name"]


def test_it_is_a_valkey_whose_version_only_the_stack_raises():
    found = built()
    group = found.only(REPLICATION).inputs
    assert group["engine"] == "valkey"
    assert found.only(PARAMETERS).inputs["family"] == f"valkey{group['engineVersion'].split('.')[0]}"
    assert group["autoMinorVersionUpgrade"] is False


@pytest.mark.parametrize("replicas", [0, 1, 2])
def test_a_replica_takes_over_where_there_is_one(replicas: int):
    group = built(replicas).only(REPLICATION).inputs
    assert group["numCacheClusters"] == 1 + replicas
    assert group["automaticFailoverEnabled"] is group["multiAzEnabled"] is (replicas > 0)


def test_a_queue_is_not_kept_even_among_stores_that_are():
    found = built(opts=pulumi.ResourceOptions(protect=True))
    assert not any(resource.protect for resource in found.resources if resource.custom)
    assert found.only(REPLICATION).inputs["snapshotRetentionLimit"] == 0


def test_it_is_found_at_the_node_that_takes_writes():
    found = built()
    assert found.value(found.result.endpoint.host) == found.only(REPLICATION).outputs["primaryEndpointAddress"]
    assert found.result.endpoint.port == found.only(REPLICATION).inputs["port"] == 6379


@pytest.mark.parametrize("replicas", [0, 1])
def test_awss_own_model_knows_and_allows_every_argument(replicas: int):
    for resource in built(replicas).resources:
        declared = find(resource.type)
        if declared is not None and declared.api is not None:
            assert not [*model_faults(declared, resource.inputs)], resource.name
            assert unmapped(declared.api, resource.inputs) == [], resource.name
