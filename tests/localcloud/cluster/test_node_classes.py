"""What Karpenter finds in the account for a node class, and what conditions say of it."""

import pytest

from localcloud.aws.ec2 import SECURITY_GROUP
from localcloud.aws.iam import ROLE
from localcloud.cluster.conditions import Condition, find, holds, lacking, laid_over, ready
from localcloud.cluster.node_classes import found, judged

NOW, LATER = "2026-07-01T12:00:00Z", "2026-07-01T13:00:00Z"


@pytest.fixture
def network(cloud):
    network = cloud.network()
    network["group"] = cloud.make(SECURITY_GROUP, "nodes", vpcId=network["vpc"]["id"], tags={"for": "nodes"})
    cloud.make(
        "aws:iam/instanceProfile:InstanceProfile", name="nodes", role=cloud.role("n", "ec2.amazonaws.com")["name"]
    )
    return network


def node_class(network, **changes):
    spec = {
        "subnetSelectorTerms": [{"id": each} for each in network["ids"]],
        "securityGroupSelectorTerms": [{"tags": {"for": "*"}}],
        "amiSelectorTerms": [{"alias": "bottlerocket@v1.66.0"}],
        "instanceProfile": "nodes",
    }
    spec = {key: value for key, value in {**spec, **changes}.items() if value is not None}
    return {"metadata": {"name": "x", "generation": 2}, "spec": spec}


def verdict(cloud, item):
    (role, *_) = cloud.account.find(ROLE)
    return judged(cloud.account, role, item, found(cloud.account, item))


def test_subnets_groups_images_and_profile_are_found(cloud, network):
    status = found(cloud.account, node_class(network))
    assert sorted(one["id"] for one in status["subnets"]) == sorted(network["ids"])
    assert {one["zone"] for one in status["subnets"]} == {"us-west-2a", "us-west-2b"}
    assert [one["id"] for one in status["securityGroups"]] == [network["group"]["id"]]
    assert [one["requirements"][0]["values"] for one in status["amis"]] == [["amd64"], ["arm64"]]
    assert status["instanceProfile"] == "nodes"
    assert status == found(cloud.account, node_class(network)), "the same images each time"
    assert verdict(cloud, node_class(network))[-1] == Condition("Ready")


@pytest.mark.parametrize(
    ("changes", "reason", "message"),
    [
        ({"subnetSelectorTerms": [{"id": "subnet-0"}]}, "SubnetsNotFound", "no subnet of the account has id subnet-0"),
        ({"securityGroupSelectorTerms": [{"tags": {"for": "x"}}]}, "SecurityGroupsNotFound", "tags {'for': 'x'}"),
        ({"securityGroupSelectorTerms": [{"name": "nodes-x"}]}, "SecurityGroupsNotFound", "name nodes-x"),
        ({"instanceProfile": "other"}, "InstanceProfileNotFound", "there is no instance profile other"),
        ({"instanceProfile": None, "role": "n"}, "InstanceProfileNotFound", "name one by spec.instanceProfile"),
    ],
)
def test_what_is_missing_is_told(cloud, network, changes, reason, message):
    condition = verdict(cloud, node_class(network, **changes))[-1]
    assert (condition.type, condition.status, condition.reason) == ("Ready", "False", reason)
    assert message in condition.message


def test_a_volume_key_that_karpenter_may_not_use_is_told(cloud, network):
    volumes = [{"ebs": {"kmsKeyID": cloud.key()["arn"]}}]
    condition = verdict(cloud, node_class(network, blockDeviceMappings=volumes))[-1]
    assert condition.reason == "KeyNotUsable"


def test_a_condition_keeps_the_time_of_its_last_change():
    item = {"metadata": {"generation": 1}, "status": {"conditions": laid_over({"metadata": {}}, [Condition("A")], NOW)}}
    (same,) = laid_over(item, [Condition("A")], LATER)
    assert same["lastTransitionTime"] == NOW
    changed, other = laid_over(item, [lacking("A", "Gone", "it is gone"), Condition("B")], LATER)
    assert (changed["lastTransitionTime"], changed["reason"], other["reason"]) == (LATER, "Gone", "B")
    assert holds(item, "A")
    assert find(item, "B") is None


def test_ready_says_why_the_first_condition_does_not_hold():
    assert ready([Condition("A"), Condition("B")]) == Condition("Ready")
    failed = ready([Condition("A"), Condition("B", "Unknown", "NotYet", "wait"), lacking("C", "No", "never")])
    assert failed == Condition("Ready", "Unknown", "NotYet", "B=Unknown: wait")
