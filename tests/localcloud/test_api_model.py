"""AWS's own models: what they refuse, that they understand all that the program says, and what asking costs."""

import time

import pytest

from localcloud import api_model, catalog
from localcloud.declaration import Api
from localcloud.model_checks import model_faults
from localcloud.values import UNKNOWN, Secret
from tests.plans import planned
from tools.edges import STACKS

TEMPLATE, CLUSTER = "aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/cluster:Cluster"
GROUP, ROLE = "aws:eks/nodeGroup:NodeGroup", "aws:iam/role:Role"
SCALING = {"minSize": 1, "desiredSize": 1, "maxSize": 1}
NODES = {"clusterName": "x", "nodeGroupName": "x", "nodeRoleArn": "r", "subnetIds": ["s"], "scalingConfig": SCALING}


def faults(token, **inputs):
    return [f"{where}: {reason}" for where, reason in model_faults(catalog.find(token), inputs)]


@pytest.mark.parametrize(
    ("token", "inputs", "where"),
    [
        (GROUP, {**NODES, "amiType": "BOTTLEROCKET_ARM64"}, "amiType"),
        (GROUP, {**NODES, "taints": [{"key": "a", "effect": "NoSchedule"}]}, "taints.effect"),
        (GROUP, {**NODES, "updateConfig": {"maxUnavailable": 0}}, "updateConfig.maxUnavailable"),
        (GROUP, {**NODES, "labels": {"x": "y" * 64}}, "labels.x"),
        (TEMPLATE, {"metadataOptions": {"httpTokens": "yes"}}, "metadataOptions.httpTokens"),
        (TEMPLATE, {"blockDeviceMappings": [{"ebs": {"volumeType": "gp4"}}]}, "blockDeviceMappings.ebs.volumeType"),
        (TEMPLATE, {"blockDeviceMappings": [{"ebs": {"encrypted": "si"}}]}, "blockDeviceMappings.ebs.encrypted"),
        (TEMPLATE, {"placement": {"partitionNumber": "two"}}, "placement.partitionNumber"),
        (TEMPLATE, {"tagSpecifications": [{"resourceType": "disk"}]}, "tagSpecifications.resourceType"),
        (ROLE, {"name": "x", "assumeRolePolicy": "{}", "description": "\u2028"}, "description"),
        (ROLE, {"name": "x", "assumeRolePolicy": "{}", "permissionsBoundary": "x"}, "permissionsBoundary"),
        (CLUSTER, {"name": "x", "roleArn": "r", "vpcConfig": {}, "upgradePolicy": {"supportType": "LONG"}}, "upgrade"),
        (CLUSTER, {"name": "x", "roleArn": "r", "kubernetesNetworkConfig": {"ipFamily": "ipv5"}}, "kubernetes"),
        ("aws:kms/alias:Alias", {"name": "alias/x", "targetKeyId": ""}, "targetKeyId"),
        ("aws:cloudwatch/logGroup:LogGroup", {"name": "a b"}, "name"),
        ("aws:ecr/repository:Repository", {"name": "x1", "imageTagMutability": "NEVER"}, "imageTagMutability"),
    ],
)
def test_what_the_model_forbids_is_told_with_the_programs_own_name(token, inputs, where):
    found = faults(token, **inputs)
    assert found, "AWS would refuse it"
    assert found[0].startswith(where)


def test_unknown_values_pass_and_secret_ones_count():
    assert faults(GROUP, **{**NODES, "amiType": UNKNOWN, "subnetIds": [UNKNOWN]}) == []
    assert faults(GROUP, **{**NODES, "amiType": Secret("OS2")})


def test_strings_stand_for_numbers_and_booleans_as_the_provider_writes_them():
    volume = {"encrypted": "true", "volumeSize": "20", "deleteOnTermination": True}
    assert faults(TEMPLATE, blockDeviceMappings=[{"ebs": volume}]) == []


def test_an_argument_that_nobody_knows_is_told():
    api = Api("eks", "CreateNodegroup", {"nodeRoleArn": "nodeRole"})
    assert api_model.unmapped(api, {"nodeRoleArn": "r", "nodeRole_": 1, "scalingConfig": {"size": 1}}) == [
        "nodeRole_",
        "scalingConfig.size",
    ]


@pytest.mark.parametrize("declared", [d for d in catalog.all_types() if d.api], ids=lambda declared: declared.token)
def test_every_declared_operation_or_shape_exists(declared):
    found = list(api_model.faults(declared.api, {}))
    assert all(reason.split()[1] == "needs" for _, reason in found), "without arguments, some only can be missing"


@pytest.mark.parametrize("stack", STACKS)
def test_the_models_understand_and_accept_all_that_the_program_says(stack):
    for resource in planned(stack).resources:
        declared = catalog.find(resource.type) if resource.custom else None
        if declared and declared.api:
            assert api_model.unmapped(declared.api, resource.inputs) == [], f"{resource.type}: extend its Api"
            assert list(model_faults(declared, resource.inputs)) == []


def test_a_check_costs_little_once_the_model_is_there():
    faults(GROUP, **NODES)
    started = time.perf_counter()
    for _ in range(100):
        faults(GROUP, **NODES)
    assert (time.perf_counter() - started) / 100 < 0.005, "seconds for one; measured: 0.0001"
