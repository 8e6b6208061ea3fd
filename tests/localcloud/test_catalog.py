import json

import pytest

from localcloud import catalog
from localcloud.catalog import Identity, find
from localcloud.values import UNKNOWN, Secret

HERE = Identity("111122223333", "us-west-2", {"team": "ml", "stage": "dev"})
ROLE = "aws:iam/role:Role"
TRUST = (
    '{"Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}'
)


def role(**inputs):
    return find(ROLE).check({"assumeRolePolicy": TRUST, **inputs}, "node", None, HERE, b"seed")


def test_a_missing_argument_is_refused_before_anything_is_made():
    _, failures = find("aws:ec2/subnet:Subnet").check({"vpcId": "vpc-1"}, "a", None, HERE)
    assert [failure.property for failure in failures] == ["cidrBlock", "availabilityZone"]


def test_alternatives_exclude_each_other():
    route = {"routeTableId": "rtb-1", "destinationCidrBlock": "0.0.0.0/0", "gatewayId": "a", "natGatewayId": "b"}
    _, failures = find("aws:ec2/route:Route").check(route, "out", None, HERE)
    assert "conflicts with gatewayId" in failures[0].reason


def test_an_unknown_argument_counts_as_given_and_passes_every_check():
    unknown = {"vpcId": UNKNOWN, "cidrBlock": UNKNOWN, "availabilityZone": UNKNOWN}
    assert find("aws:ec2/subnet:Subnet").check(unknown, "a", None, HERE) == (unknown, [])
    assert role(assumeRolePolicy=UNKNOWN)[1] == []


def test_a_name_is_made_up_from_the_logical_one_and_kept():
    first, _ = role()
    assert first["name"].startswith("node-")
    assert len(first["name"]) == len("node-") + 7
    again, _ = find(ROLE).check({"assumeRolePolicy": TRUST}, "node", first, HERE, b"another seed")
    assert again["name"] == first["name"], "the next deployment keeps the name"


def test_a_name_once_given_by_the_program_is_not_kept_when_the_program_drops_it():
    checked, _ = find(ROLE).check({"assumeRolePolicy": TRUST}, "node", {"name": "legacy"}, HERE, b"seed")
    assert checked["name"].startswith("node-")


def test_a_long_logical_name_is_cut_to_what_aws_allows():
    checked, failures = find(ROLE).check({"assumeRolePolicy": TRUST}, "n" * 100, None, HERE, b"seed")
    assert len(checked["name"]) == 64
    assert not failures


def test_what_follows_from_inputs_is_known_in_a_preview_and_the_rest_is_not():
    _, outputs = find(ROLE).computed({"assumeRolePolicy": TRUST, "name": "node", "path": "/eks/"}, HERE, None)
    assert outputs["arn"] == "arn:aws:iam::111122223333:role/eks/node"
    assert outputs["uniqueId"] is UNKNOWN
    _, outputs = find("aws:ec2/vpc:Vpc").computed({"cidrBlock": "10.0.0.0/16"}, HERE, None)
    assert outputs["arn"] is UNKNOWN, "it ends in the id, which creation draws"
    assert outputs["enableDnsSupport"] is True


def test_made_up_values_look_like_those_of_aws_and_follow_from_the_seed():
    vpc = find("aws:ec2/vpc:Vpc")
    made_id, outputs = vpc.computed({"cidrBlock": "10.0.0.0/16"}, HERE, "one")
    assert len(made_id) == len("vpc-0123456789abcdef0")
    assert outputs["arn"] == f"arn:aws:ec2:us-west-2:111122223333:vpc/{made_id}"
    assert vpc.computed({"cidrBlock": "10.0.0.0/16"}, HERE, "one")[0] == made_id
    assert vpc.computed({"cidrBlock": "10.0.0.0/16"}, HERE, "two")[0] != made_id


@pytest.mark.parametrize(
    ("region", "start"),
    [("us-west-2", "arn:aws:"), ("cn-north-1", "arn:aws-cn:"), ("us-gov-west-1", "arn:aws-us-gov:")],
)
def test_the_partition_follows_from_the_region(region, start):
    _, outputs = find(ROLE).computed({"name": "node"}, Identity("111122223333", region), None)
    assert outputs["arn"].startswith(start)


def test_own_tags_lie_over_the_default_ones():
    _, outputs = find(ROLE).computed({"name": "node", "tags": {"stage": "prod"}}, HERE, "seed")
    assert outputs["tagsAll"] == {"team": "ml", "stage": "prod"}
    _, outputs = find(ROLE).computed({"name": "node", "tags": UNKNOWN}, HERE, None)
    assert outputs["tagsAll"] is UNKNOWN


def test_what_is_made_of_a_secret_is_secret():
    _, outputs = find(ROLE).computed({"name": Secret("node")}, HERE, "seed")
    assert outputs["arn"] == Secret("arn:aws:iam::111122223333:role/node")


def test_a_replacing_change_is_told_from_an_update():
    subnet = find("aws:ec2/subnet:Subnet")
    old = {"vpcId": "vpc-1", "cidrBlock": "10.0.0.0/20", "tags": {"Name": "a"}}
    found = subnet.differences(old, {**old, "cidrBlock": "10.0.16.0/20", "tags": {"Name": "b"}})
    assert {(each.path, each.replaces) for each in found} == {("cidrBlock", True), ("tags.Name", False)}


def test_a_replacing_property_may_lie_deep_and_its_neighbours_do_not_replace():
    cluster = find("aws:eks/cluster:Cluster")
    old = {"accessConfig": {"authenticationMode": "CONFIG_MAP", "bootstrapClusterCreatorAdminPermissions": False}}
    mode = cluster.differences(old, {"accessConfig": {**old["accessConfig"], "authenticationMode": "API"}})
    assert [each.replaces for each in mode] == [False]
    admin = {**old["accessConfig"], "bootstrapClusterCreatorAdminPermissions": True}
    assert [each.replaces for each in cluster.differences(old, {"accessConfig": admin})] == [True]
    assert [each.replaces for each in cluster.differences(old, {})] == [True], "the whole map went"


def test_a_fixed_name_makes_the_old_one_go_first_and_a_made_up_one_does_not():
    queue = find("aws:sqs/queue:Queue")
    assert queue.must_go_first("events", {"name": "fixed"}, {"name": "fixed"})
    assert not queue.must_go_first("events", {"name": "events-0123abc"}, {"name": "events-0123abc"})
    assert not queue.must_go_first("events", {"name": "old"}, {"name": "new"})


@pytest.mark.parametrize(
    ("token", "inputs", "what"),
    [
        ("ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/8"}, "/16 to /28"),
        ("ec2/vpc:Vpc", {"cidrBlock": "10.0.0.1/16"}, "host bits"),
        ("ec2/subnet:Subnet", {"vpcId": "v", "cidrBlock": "10.0.0.0/29", "availabilityZone": "us-west-2a"}, "/28"),
        ("ec2/subnet:Subnet", {"vpcId": "v", "cidrBlock": "10.0.0.0/20", "availabilityZone": "us-east-1a"}, "a zone"),
        ("ec2/vpcEndpoint:VpcEndpoint", {"vpcId": "v", "serviceName": "com.amazonaws.us-east-1.s3"}, "us-west-2"),
        ("ec2/launchTemplate:LaunchTemplate", {"metadataOptions": {"httpTokens": "maybe"}}, "required"),
        ("ec2/launchTemplate:LaunchTemplate", {"metadataOptions": {"httpPutResponseHopLimit": 65}}, "1 to 64"),
        ("iam/role:Role", {"assumeRolePolicy": "{"}, "MalformedPolicyDocument"),
        ("iam/role:Role", {"assumeRolePolicy": '{"Statement": []}'}, "no Statement"),
        ("iam/role:Role", {"assumeRolePolicy": TRUST, "name": "a b"}, "role name"),
        ("iam/role:Role", {"assumeRolePolicy": TRUST.replace("Principal", "Nobody")}, "Nobody"),
        ("iam/rolePolicy:RolePolicy", {"role": "r", "policy": json.dumps({"Statement": [
            {"Effect": "Allow", "Action": "s3:Get" + "x" * 10240, "Resource": "*"}]})}, "10240"),
        ("iam/rolePolicyAttachment:RolePolicyAttachment", {"role": "r", "policyArn": "AdministratorAccess"}, "ARN"),
        ("kms/key:Key", {"deletionWindowInDays": 6}, "7 to 30"),
        ("kms/alias:Alias", {"name": "mine", "targetKeyId": "k"}, "alias/"),
        ("s3/bucket:Bucket", {"bucket": "Upper"}, "bucket name"),
        ("s3/bucket:Bucket", {"bucket": "10.0.0.1"}, "bucket name"),
        ("sqs/queue:Queue", {"messageRetentionSeconds": 59}, "60 to"),
        ("sqs/queue:Queue", {"sqsManagedSseEnabled": True, "kmsMasterKeyId": "k"}, "conflicts"),
        ("cloudwatch/eventRule:EventRule", {}, "scheduleExpression"),
        ("cloudwatch/logGroup:LogGroup", {"retentionInDays": 31}, "30"),
        ("eks/cluster:Cluster", {"roleArn": "r", "vpcConfig": {"subnetIds": ["a"]}, "version": "1.9"}, "1.35"),
        ("eks/nodeGroup:NodeGroup", {"clusterName": "c", "nodeRoleArn": "r", "subnetIds": ["a"], "scalingConfig": {
            "minSize": 3, "desiredSize": 2, "maxSize": 4}}, "exceeds"),
        ("eks/addon:Addon", {"clusterName": "c", "addonName": "vpc-cnI"}, "vpc-cni"),
        ("eks/addon:Addon", {"clusterName": "c", "addonName": "vpc-cni", "addonVersion": "1.20"}, "eksbuild"),
        ("eks/accessEntry:AccessEntry", {"clusterName": "c", "principalArn": "Admin"}, "IAM ARN"),
    ],
)  # fmt: skip
def test_a_value_that_aws_would_refuse_shows_in_a_preview(token, inputs, what):
    _, failures = find(f"aws:{token}").check(inputs, "x", None, HERE)
    assert what in "; ".join(failure.reason for failure in failures)


def test_an_unknown_type_is_not_made_up():
    assert find("aws:redshift/cluster:Cluster") is None


@pytest.mark.parametrize("token", sorted(catalog._TYPES))
def test_every_template_can_be_filled_in(token):
    declared = find(token)
    inputs = {"name": "x", "length": 8, "metadata": {"name": "x"}}
    for path in (*declared.required, *([declared.auto_name.path] if declared.auto_name else [])):
        head, _, rest = path.partition("|")[0].partition(".")
        inputs[head] = {rest: "x"} if rest else inputs.get(head, "x")
    for seed in (None, "seed"):
        made_id, outputs = declared.computed(inputs, HERE, seed)
        assert "{" not in f"{made_id}", "a field was left in the id"
        if declared.tagged:
            assert outputs["tagsAll"] == HERE.default_tags
