"""RDS for PostgreSQL."""

from typing import Any

import pulumi
import pytest

from components.base.database import Database, DatabaseArgs, database_identifier
from localcloud.api_model import unmapped
from localcloud.catalog import find
from localcloud.model_checks import model_faults
from localcloud.values import Secret
from tests.world import Built, run

INSTANCE, SUBNETS, PARAMETERS, LOGS, GROUP, RULE = (
    "aws:rds/instance:Instance",
    "aws:rds/subnetGroup:SubnetGroup",
    "aws:rds/parameterGroup:ParameterGroup",
    "aws:cloudwatch/logGroup:LogGroup",
    "aws:ec2/securityGroup:SecurityGroup",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
)
KEY = "arn:aws:kms:us-west-2:444455556666:key/1"


def built(**changed: Any) -> Built[Database]:
    def build() -> Database:
        args = DatabaseArgs(
            instance_class="db.t4g.medium",
            storage_gib=20,
            max_storage_gib=100,
            backup_days=7,
            multi_az=False,
            cluster_name="eksai-dev",
            vpc_id="vpc-1",
            ranges={"nodes": "192.168.0.0/16", "pods": "100.64.0.0/16"},
            subnet_ids=["subnet-1", "subnet-2"],
            key_arn=KEY,
            database="langfuse",
            username="langfuse",
            password=pulumi.Output.secret("s" * 32),
            password_version=7,
            keep=True,
        )
        return Database("langfuse", DatabaseArgs(**{**args, **changed}))  # pyright: ignore[reportArgumentType]

    return run(build)


def test_only_nodes_and_pods_of_the_vpc_reach_it_and_only_its_port():
    found = built()
    group = found.only(GROUP)
    rules = [rule.inputs for rule in found.all(RULE)]
    assert {rule["cidrIpv4"] for rule in rules} == {"192.168.0.0/16", "100.64.0.0/16"}
    assert {(rule["securityGroupId"], rule["fromPort"], rule["toPort"], rule["ipProtocol"]) for rule in rules} == {
        (group.id, 5432, 5432, "tcp")
    }
    assert found.only(INSTANCE).inputs["vpcSecurityGroupIds"] == [group.id]
    assert found.only(INSTANCE).inputs["publiclyAccessible"] is False


def test_it_lets_the_vpc_in_before_it_is_used():
    found = built()
    assert {rule.urn for rule in found.all(RULE)} <= set(found.only(INSTANCE).dependencies)


def test_it_lies_in_the_given_subnets():
    found = built()
    assert found.only(SUBNETS).inputs["subnetIds"] == ["subnet-1", "subnet-2"]
    assert found.only(INSTANCE).inputs["dbSubnetGroupName"] == found.only(SUBNETS).outputs["name"]


def test_nobody_talks_to_it_without_tls():
    found = built()
    parameters = {p["name"]: p["value"] for p in found.only(PARAMETERS).inputs["parameters"]}
    assert parameters["rds.force_ssl"] == "1"
    assert found.only(INSTANCE).inputs["parameterGroupName"] == found.only(PARAMETERS).outputs["name"]
    assert found.only(INSTANCE).inputs["caCertIdentifier"] == "rds-ca-rsa2048-g1"


def test_its_time_is_what_langfuse_expects():
    parameters = {p["name"]: p["value"] for p in built().only(PARAMETERS).inputs["parameters"]}
    assert parameters["timezone"] == "UTC"


def test_data_statistics_and_logs_are_encrypted_with_the_stacks_key():
    found = built()
    instance = found.only(INSTANCE).inputs
    assert instance["storageEncrypted"] is True
    assert instance["kmsKeyId"] == instance["performanceInsightsKmsKeyId"] == KEY
    assert {group.inputs["kmsKeyId"] for group in found.all(LOGS)} == {KEY}


def test_the_password_is_only_written_and_nobody_signs_in_otherwise():
    instance = built().only(INSTANCE).inputs
    password = instance["passwordWo"]
    assert isinstance(password, Secret)
    assert password.value == "s" * 32
    assert instance["passwordWoVersion"] == 7
    assert not {"password", "manageMasterUserPassword"} & instance.keys(), "state would have the one, AWS change both"
    assert instance["iamDatabaseAuthenticationEnabled"] is False


def test_minor_versions_come_by_themselves_and_major_ones_do_not():
    found = built()
    instance = found.only(INSTANCE).inputs
    assert (instance["engine"], instance["engineVersion"]) == ("postgres", "17")
    assert instance["autoMinorVersionUpgrade"] is True
    assert not instance.get("allowMajorVersionUpgrade")
    assert found.only(PARAMETERS).inputs["family"] == "postgres17"


def test_changes_wait_for_the_maintenance_window():
    assert built().only(INSTANCE).inputs["applyImmediately"] is False


def test_size_grows_by_itself_as_far_as_the_stack_says():
    instance = built(storage_gib=50, max_storage_gib=500).only(INSTANCE).inputs
    assert (instance["allocatedStorage"], instance["maxAllocatedStorage"]) == (50, 500)
    assert instance["storageType"] == "gp3"


@pytest.mark.parametrize("multi_az", [True, False])
def test_a_second_zone_and_backups_are_the_stacks_choice(multi_az: bool):
    instance = built(multi_az=multi_az, backup_days=14).only(INSTANCE).inputs
    assert (instance["multiAz"], instance["backupRetentionPeriod"]) == (multi_az, 14)
    assert instance["copyTagsToSnapshot"] is True


def test_one_that_is_kept_is_protected_by_pulumi_and_by_aws_with_all_that_it_stands_on():
    found = built(keep=True)
    assert all(resource.protect for resource in found.resources if resource.custom)
    instance = found.only(INSTANCE).inputs
    assert instance["deletionProtection"] is True
    assert (instance["skipFinalSnapshot"], instance["finalSnapshotIdentifier"]) == (False, "eksai-dev-langfuse-final")
    assert instance["deleteAutomatedBackups"] is False


def test_one_that_is_not_kept_goes_with_the_stack_and_leaves_nothing():
    found = built(keep=False)
    assert not any(resource.protect for resource in found.resources)
    instance = found.only(INSTANCE).inputs
    assert (instance["deletionProtection"], instance["skipFinalSnapshot"]) == (False, True)
    assert "finalSnapshotIdentifier" not in instance
    assert instance["deleteAutomatedBackups"] is True


def test_logs_end_and_their_groups_are_there_before_rds_makes_them():
    found = built()
    instance, groups = found.only(INSTANCE), found.all(LOGS)
    assert {group.inputs["name"] for group in groups} == {
        f"/aws/rds/instance/{instance.inputs['identifier']}/{log}"
        for log in instance.inputs["enabledCloudwatchLogsExports"]
    }
    assert all(group.inputs["retentionInDays"] == 30 for group in groups)
    assert {group.urn for group in groups} <= set(instance.dependencies)


def test_statistics_cost_nothing():
    instance = built().only(INSTANCE).inputs
    assert instance["performanceInsightsEnabled"] is True
    assert (instance["performanceInsightsRetentionPeriod"], instance["databaseInsightsMode"]) == (7, "standard")


def test_it_is_found_at_its_own_address():
    found = built()
    assert found.value(found.result.endpoint.host) == found.only(INSTANCE).outputs["address"]
    assert found.result.endpoint.port == found.only(INSTANCE).inputs["port"] == 5432


@pytest.mark.parametrize("cluster", ["eksai-dev", "Team_A", "9-lives", "a--b", "ends-", "9_", "x" * 100])
def test_every_clusters_name_makes_an_identifier_that_rds_takes(cluster: str):
    identifier = database_identifier(cluster, "langfuse")
    assert len(identifier) <= 63
    assert identifier[0].isalpha()
    assert "--" not in identifier
    assert identifier == identifier.lower()
    assert identifier.replace("-", "").isalnum()
    assert identifier.endswith("-langfuse")


def test_two_clusters_have_two_databases():
    clusters = ("eksai-dev", "eksai_dev", "Eksai-dev", "eksai--dev", "x" * 99, "x" * 100)
    assert len({database_identifier(cluster, "langfuse") for cluster in clusters}) == len(clusters)
    assert database_identifier("eksai-dev", "langfuse") == "eksai-dev-langfuse"


def test_awss_own_model_knows_and_allows_every_argument():
    for resource in (*built(keep=True).resources, *built(keep=False).resources):
        declared = find(resource.type)
        if declared is not None and declared.api is not None:
            assert not [*model_faults(declared, resource.inputs)], resource.name
            assert unmapped(declared.api, resource.inputs) == [], resource.name
