"""The whole program, both stacks, in process."""

import re
from pathlib import Path

import pytest

from automation.plan import Plan
from localcloud.values import Secret
from tests.plans import planned
from tools.golden import GOLDEN, STACKS, urn_list

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module", params=STACKS)
def plan(request: pytest.FixtureRequest) -> Plan:
    return planned(request.param)


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_registers_what_its_golden_list_says(stack: str):
    golden = (GOLDEN / f"{stack}.txt").read_text(encoding="utf-8")
    assert urn_list(stack) == golden, "if the change is meant, run `make golden` and look at every line that vanishes"


def test_no_policy_has_anything_to_say(plan: Plan):
    assert plan.findings == ()


def test_every_aws_and_kubernetes_resource_uses_an_explicit_provider(plan: Plan):
    without = [r.urn for r in plan.made if r.type.startswith(("aws:", "kubernetes:")) and not r.provider]
    assert not without, "a default provider would use whatever account and cluster the environment names"


def test_every_resource_belongs_to_a_component(plan: Plan):
    components = {c.urn for c in plan.components}
    assert not [r.urn for r in plan.made if r.parent not in components]


def test_components_are_named_by_noun_in_our_package(plan: Plan):
    tokens = {c.type for c in plan.components} - {"eks:index:Cluster", "eks:index:ServiceRole"}
    assert all(re.fullmatch(r"eksai:index:[A-Z][A-Za-z]+", token) for token in tokens), tokens


def test_the_kubeconfig_is_exported_as_a_secret_and_nothing_else_is_one(plan: Plan):
    assert {name for name, value in plan.exports.items() if isinstance(value, Secret)} == {"kubeconfig"}
    assert len(plan.exports) <= 12


UNTAGGABLE = {
    # AWS gives these no tags, or they are part of something that has them.
    "aws:acm/certificateValidation:CertificateValidation",
    "aws:cloudwatch/eventTarget:EventTarget",
    "aws:cognito/userGroup:UserGroup",
    "aws:cognito/userPoolClient:UserPoolClient",
    "aws:cognito/userPoolDomain:UserPoolDomain",
    "aws:ec2/route:Route",
    "aws:ec2/routeTableAssociation:RouteTableAssociation",
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation",
    "aws:ecr/lifecyclePolicy:LifecyclePolicy",
    "aws:efs/backupPolicy:BackupPolicy",
    "aws:efs/fileSystemPolicy:FileSystemPolicy",
    "aws:efs/mountTarget:MountTarget",
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    "aws:kms/alias:Alias",
    "aws:route53/record:Record",
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
    "aws:s3/bucketPolicy:BucketPolicy",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    "aws:s3/bucketVersioning:BucketVersioning",
    "aws:secretsmanager/secretVersion:SecretVersion",
    "aws:sqs/queuePolicy:QueuePolicy",
}


def test_every_taggable_resource_is_tagged(plan: Plan):
    taggable = [r for r in plan.made if r.type.startswith("aws:") and r.type not in UNTAGGABLE]
    untagged = [r.urn for r in taggable if "eksai:cluster" not in (r.outputs.get("tagsAll") or {})]
    assert not untagged


def test_what_nodes_are_made_of_is_tagged_too(plan: Plan):
    """The provider's default tags reach neither what a launch template makes nor what Karpenter makes."""
    templates = [r.inputs for r in plan.made if r.type == "aws:ec2/launchTemplate:LaunchTemplate"]
    classes = [r.inputs for r in plan.made if r.type == "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"]
    assert templates
    assert classes
    assert all("eksai:cluster" in s["tags"] for template in templates for s in template["tagSpecifications"])
    assert all("eksai:cluster" in node_class["spec"]["tags"] for node_class in classes)


def test_kubernetes_objects_go_before_routes_and_rights(plan: Plan):
    """What an object's provider depends on is still there when the object is deleted."""
    by_urn = {r.urn: r for r in plan.resources}

    def needed(urn: str) -> set[str]:
        found: set[str] = set()
        waiting = [urn]
        while waiting:
            resource = by_urn[waiting.pop()]
            more = {
                *resource.dependencies,
                *([resource.parent] if resource.parent in by_urn else []),
                resource.provider,
            }
            waiting += [u for u in more & by_urn.keys() if u not in found]
            found |= more & by_urn.keys()
        return found

    objects = [r for r in plan.made if r.type.startswith("kubernetes:")]
    assert objects
    for resource in objects:
        types = {by_urn[urn].type for urn in needed(resource.urn)}
        assert {"aws:ec2/route:Route", "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"} <= types


def test_destruction_goes_pools_karpenter_add_ons_nodes_cluster(plan: Plan):
    """A component waits for everything inside the one that it depends on, and the engine deletes in reverse."""
    waits_for = {f"{r.type}::{r.name}": " ".join(r.dependencies) for r in plan.resources}
    pools = [key for key in waits_for if key.startswith("eksai:index:NodePool")]
    assert pools
    order = [
        *((pool, "helm.sh/v3:Release::karpenter") for pool in pools),
        ("eksai:index:Release::karpenter", "aws:eks/addon:Addon::coredns"),
        ("eksai:index:Addons::cluster-addons", "aws:eks/nodeGroup:NodeGroup::system-nodes"),
        ("aws:eks/nodeGroup:NodeGroup::system-nodes", "aws:eks/addon:Addon::vpc-cni"),
        ("eksai:index:Addons::node-addons", "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"),
    ]
    for resource, needed in order:
        assert needed in waits_for[resource], f"{resource} waits for {needed}"
