"""Karpenter, its rights and its queue."""

import json
from typing import Any

from components.compute.interruption_queue import EVENTS
from components.compute.karpenter import Karpenter, KarpenterArgs
from components.release import ChartSource
from tests.world import Built, run

KEY = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"
RELEASE = "kubernetes:helm.sh/v3:Release"


def karpenter() -> Built[Karpenter]:
    args = KarpenterArgs(
        cluster_name="eksai-dev",
        cluster_endpoint="https://x.eks.amazonaws.com",
        region="us-west-2",
        account_id="111122223333",
        key_arn=KEY,
        pods_have_own_subnets=False,
        controller_after=[],
        charts=ChartSource(),
    )
    return run(lambda: Karpenter("karpenter", args))


def statements(built: Built[Karpenter], policy: str) -> dict[str, dict[str, Any]]:
    text = built.named(f"karpenter-{policy}", "aws:iam/rolePolicy:RolePolicy").inputs["policy"]
    return {statement["Sid"]: statement for statement in json.loads(text)["Statement"]}


def test_the_controller_ends_only_what_carries_the_clusters_tag():
    owned = {"aws:ResourceTag/kubernetes.io/cluster/eksai-dev": "owned"}
    assert statements(karpenter(), "nodes")["EndOwnInstances"]["Condition"]["StringEquals"] == owned


def test_the_controller_hands_over_the_node_role_and_no_other():
    built = karpenter()
    passed = statements(built, "nodes")["HandTheNodeRoleToInstances"]
    assert passed["Resource"] == built.named("karpenter-nodes", "aws:iam/role:Role").outputs["arn"]
    assert "ec2.amazonaws.com" in passed["Condition"]["StringEquals"]["iam:PassedToService"]


def test_the_controller_may_not_make_instance_profiles():
    built = karpenter()
    actions = [
        action
        for policy in ("nodes", "discovery")
        for statement in statements(built, policy).values()
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    ]
    assert {action for action in actions if action.startswith("iam:")} == {
        "iam:PassRole",
        "iam:ListInstanceProfiles",
        "iam:GetInstanceProfile",
    }


def test_inline_policies_fit_into_a_role():
    built = karpenter()
    texts = [r.inputs["policy"] for r in built.all("aws:iam/rolePolicy:RolePolicy")]
    assert sum(len("".join(text.split())) for text in texts) <= 10240, "IAM's limit for a role, without white space"


def test_the_controller_reads_its_encrypted_queue():
    built = karpenter()
    found = statements(built, "discovery")
    assert found["ReadInterruptions"]["Resource"] == built.only("aws:sqs/queue:Queue").outputs["arn"]
    assert found["DecryptInterruptions"]["Resource"] == KEY


def test_the_queue_takes_events_from_its_own_rules_and_over_tls_only():
    built = karpenter()
    policy = json.loads(built.only("aws:sqs/queuePolicy:QueuePolicy").inputs["policy"])
    allow, deny = policy["Statement"]
    rules = [rule.outputs["arn"] for rule in built.all("aws:cloudwatch/eventRule:EventRule")]
    assert sorted(allow["Condition"]["ArnEquals"]["aws:SourceArn"]) == sorted(rules)
    assert (deny["Effect"], deny["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def test_all_five_events_arrive_and_none_before_the_queue_lets_it_in():
    built = karpenter()
    targets = built.all("aws:cloudwatch/eventTarget:EventTarget")
    policy = built.only("aws:sqs/queuePolicy:QueuePolicy").urn
    assert len(targets) == len(EVENTS) == 5
    assert all(policy in target.dependencies for target in targets)


def test_crds_are_a_release_of_their_own_and_come_first():
    built = karpenter()
    crds, controller = built.named("karpenter-crd", RELEASE), built.named("karpenter", RELEASE)
    assert crds.urn in built.named("karpenter", "eksai:index:Release").dependencies
    assert controller.inputs["skipCrds"] is True, "Helm would install them once and never upgrade them"
    assert crds.inputs["version"] == controller.inputs["version"]


def test_the_controller_outlives_nothing_that_it_needs_to_end_its_nodes():
    built = karpenter()
    needed = {
        built.only("aws:sqs/queue:Queue").urn,
        built.only("aws:eks/podIdentityAssociation:PodIdentityAssociation").urn,
        built.only("aws:eks/accessEntry:AccessEntry").urn,
        built.only("aws:iam/instanceProfile:InstanceProfile").urn,
    }
    release = built.named("karpenter", "eksai:index:Release")
    assert needed <= set(release.dependencies)


def test_the_chart_gets_cluster_endpoint_and_queue():
    built = karpenter()
    values = built.named("karpenter", RELEASE).inputs["values"]["settings"]
    assert values["clusterName"] == "eksai-dev"
    assert values["clusterEndpoint"] == "https://x.eks.amazonaws.com"
    assert values["interruptionQueue"] == built.only("aws:sqs/queue:Queue").outputs["name"]


def test_nodes_join_by_an_access_entry_of_their_own_role():
    built = karpenter()
    entry = built.only("aws:eks/accessEntry:AccessEntry").inputs
    assert entry["type"] == "EC2_LINUX"
    assert entry["principalArn"] == built.named("karpenter-nodes", "aws:iam/role:Role").outputs["arn"]
