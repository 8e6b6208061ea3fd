import pytest

CLUSTER, ENTRY = "aws:eks/cluster:Cluster", "aws:eks/accessEntry:AccessEntry"
ACCESS = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
GROUP, ADDON = "aws:eks/nodeGroup:NodeGroup", "aws:eks/addon:Addon"
IDENTITY = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
TEMPLATE, LOGS = "aws:ec2/launchTemplate:LaunchTemplate", "aws:cloudwatch/logGroup:LogGroup"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"


@pytest.fixture
def network(cloud):
    return cloud.network()


@pytest.fixture
def cluster(cloud, network):
    return cloud.cluster(network["ids"])


def test_a_cluster_needs_subnets_in_two_zones(cloud, network):
    with pytest.raises(Exception, match="two different AZs"):
        cloud.cluster([network["ids"][0], network["public"]["id"]])


def test_a_clusters_role_must_serve_eks(cloud, network):
    wrong_trust = cloud.role("a", "ec2.amazonaws.com", "AmazonEKSClusterPolicy")
    no_policy = cloud.role("b", "eks.amazonaws.com")
    for role in (wrong_trust, no_policy):
        with cloud.refused("InvalidParameterException"):
            cloud.make(CLUSTER, name="x", roleArn=role["arn"], vpcConfig={"subnetIds": network["ids"]})


def test_a_cluster_name_is_its_own(cloud, network, cluster):
    with cloud.refused("ResourceInUseException"):
        cloud.make(CLUSTER, name="eksai-dev", roleArn=cluster["roleArn"], vpcConfig={"subnetIds": network["ids"]})


def test_a_cluster_brings_a_security_group_and_takes_it_away(cloud, cluster):
    group_id = cluster["vpcConfig"]["clusterSecurityGroupId"]
    group = cloud.account.get(SECURITY_GROUP, group_id, cloud.identity)
    assert group is not None, "nodes and pools refer to it"
    assert group["tags"] == {"aws:eks:cluster-name": "eksai-dev"}
    cloud.delete(CLUSTER, cluster)
    assert cloud.account.get(SECURITY_GROUP, group_id, cloud.identity) is None


def test_a_cluster_answers_with_wellformed_outputs(cluster):
    assert cluster["arn"] == "arn:aws:eks:us-west-2:111122223333:cluster/eksai-dev"
    assert cluster["endpoint"].startswith("https://")
    assert cluster["identities"][0]["oidcs"][0]["issuer"].startswith("https://oidc.eks.us-west-2.amazonaws.com/id/")
    assert cluster["certificateAuthority"]["data"]
    assert cluster["vpcConfig"]["endpointPublicAccess"] is True, "AWS's default"


def test_a_clusters_subnets_and_role_stay_as_long_as_it(cloud, network, cluster):
    with cloud.refused("DependencyViolation"):
        cloud.delete("aws:ec2/subnet:Subnet", network["private"][0])


def test_a_protected_cluster_is_not_deleted(cloud, network):
    cluster = cloud.cluster(network["ids"], deletionProtection=True)
    with cloud.refused("InvalidRequestException"):
        cloud.delete(CLUSTER, cluster)


@pytest.mark.parametrize(("to", "allowed"), [("1.35", True), ("1.36", True), ("1.37", False), ("1.34", False)])
def test_kubernetes_rises_one_minor_version_at_a_time(cloud, cluster, to, allowed):
    inputs = {"name": "eksai-dev", "version": to, "roleArn": cluster["roleArn"]}
    inputs["vpcConfig"] = {"subnetIds": cluster["vpcConfig"]["subnetIds"]}
    if allowed:
        assert cloud.account.update(CLUSTER, "eksai-dev", inputs, cloud.identity)["version"] == to
    else:
        with cloud.refused("InvalidParameterException"):
            cloud.account.update(CLUSTER, "eksai-dev", inputs, cloud.identity)


def test_a_cluster_stays_in_the_zones_that_it_was_made_in(cloud, network, cluster):
    subnet = cloud.make(
        "aws:ec2/subnet:Subnet", vpcId=network["vpc"]["id"], cidrBlock="192.168.240.0/20", availabilityZone="us-west-2c"
    )
    inputs = {"name": "eksai-dev", "version": "1.35", "roleArn": cluster["roleArn"]}
    inputs["vpcConfig"] = {"subnetIds": [*cluster["vpcConfig"]["subnetIds"], subnet["id"]]}
    with cloud.refused("InvalidParameterException"):
        cloud.account.update(CLUSTER, "eksai-dev", inputs, cloud.identity)


def test_a_principal_has_one_entry_and_needs_it_for_a_policy(cloud, cluster):
    principal = "arn:aws:iam::111122223333:role/PlatformAdmin"
    policy = {
        "clusterName": "eksai-dev",
        "principalArn": principal,
        "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
        "accessScope": {"type": "cluster"},
    }
    with cloud.refused("ResourceNotFoundException"):
        cloud.make(ACCESS, **policy)
    cloud.admin()
    with cloud.refused("ResourceInUseException"):
        cloud.make(ENTRY, clusterName="eksai-dev", principalArn=principal)
    with cloud.refused("ResourceNotFoundException"):
        cloud.make(ENTRY, clusterName="other", principalArn=principal)


def test_an_entry_of_nodes_takes_no_policy(cloud, cluster):
    principal = "arn:aws:iam::111122223333:role/nodes"
    cloud.make(ENTRY, clusterName="eksai-dev", principalArn=principal, type="EC2_LINUX")
    with cloud.refused("InvalidRequestException"):
        cloud.make(
            ACCESS,
            clusterName="eksai-dev",
            principalArn=principal,
            policyArn="arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy",
            accessScope={"type": "cluster"},
        )


def test_entries_need_a_cluster_that_authenticates_by_api(cloud, network):
    cloud.cluster(network["ids"], accessConfig={"authenticationMode": "CONFIG_MAP"})
    with cloud.refused("InvalidRequestException"):
        cloud.make(ENTRY, clusterName="eksai-dev", principalArn="arn:aws:iam::111122223333:role/a")


def test_an_add_on_is_installed_once(cloud, cluster):
    cloud.addon("vpc-cni")
    with cloud.refused("ResourceInUseException"):
        cloud.addon("vpc-cni")


def test_coredns_before_the_nodes_stays_degraded(cloud, network, cluster):
    with cloud.refused("InsufficientNumberOfReplicas"):
        cloud.addon("coredns")
    cloud.addon("vpc-cni")
    cloud.nodes(network["ids"])
    cloud.addon("coredns")


def test_nodes_without_a_network_plug_in_never_join(cloud, network, cluster):
    role = cloud.role("n", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
    with cloud.refused("NodeCreationFailure"):
        cloud.nodes(network["ids"], role)


@pytest.mark.parametrize("policies", [(), ("AmazonEKSWorkerNodePolicy",), ("AmazonEC2ContainerRegistryPullOnly",)])
def test_nodes_whose_role_lacks_a_policy_never_join(cloud, network, cluster, policies):
    cloud.addon("vpc-cni")
    role = cloud.role("n", "ec2.amazonaws.com", *policies)
    with cloud.refused("NodeCreationFailure"):
        cloud.nodes(network["ids"], role)


def test_nodes_without_a_way_out_never_join(cloud, network, cluster):
    cloud.addon("vpc-cni")
    role = cloud.role("n", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
    alone = cloud.subnet(network["vpc"], "b", "192.168.192.0/20")
    with cloud.refused("NodeCreationFailure"):
        cloud.nodes([*network["ids"], alone["id"]], role)


VIA_EC2 = {"StringEquals": {"kms:CallerAccount": "111122223333", "kms:ViaService": "ec2.us-west-2.amazonaws.com"}}
FOR_VOLUMES = {
    "Effect": "Allow",
    "Principal": {"AWS": "*"},
    "Action": ["kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey*"],
    "Resource": "*",
    "Condition": VIA_EC2,
}


@pytest.mark.parametrize(
    ("statements", "starts"),
    [
        ([], False),
        ([{**FOR_VOLUMES, "Action": ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey*"]}], False),
        ([{**FOR_VOLUMES, "Condition": {"StringEquals": {"kms:ViaService": "ec2.us-east-1.amazonaws.com"}}}], False),
        ([FOR_VOLUMES, {**FOR_VOLUMES, "Effect": "Deny", "Action": "kms:CreateGrant"}], False),
        ([FOR_VOLUMES], True),
    ],
)
def test_nodes_start_only_with_a_volume_key_that_ec2_may_use_and_grant(cloud, network, cluster, statements, starts):
    cloud.addon("vpc-cni")
    key = cloud.key(*statements)
    volume = {"deviceName": "/dev/xvda", "ebs": {"encrypted": "true", "kmsKeyId": key["arn"]}}
    template = cloud.make(TEMPLATE, blockDeviceMappings=[volume])
    role = cloud.role("n", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
    if starts:
        cloud.nodes(network["ids"], role, launchTemplate={"id": template["id"], "version": "1"})
        return
    with cloud.refused("AsgInstanceLaunchFailures"):
        cloud.nodes(network["ids"], role, launchTemplate={"id": template["id"], "version": "1"})


def group(cloud, network, template=None, **inputs):
    """A node group from a launch template."""
    cloud.addon("vpc-cni")
    if template is not None:
        made = cloud.make(TEMPLATE, **template)
        inputs["launchTemplate"] = {"id": made["id"], "version": "1"}
    role = cloud.role("n", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
    return lambda: cloud.nodes(network["ids"], role, **inputs)


BLOCK = {"instanceMarketOptions": {"marketType": "capacity-block"}, "instanceType": "p5.48xlarge"}


@pytest.mark.parametrize(
    ("template", "inputs"),
    [
        ({"instanceType": "m7g.large"}, {"instanceTypes": ["m7g.large"]}),
        ({"iamInstanceProfile": {"name": "x"}}, {}),
        ({"networkInterfaces": [{"subnetId": "subnet-1"}]}, {}),
        ({"imageId": "ami-0123456789abcdef0"}, {"amiType": "AL2023_x86_64_STANDARD"}),
        ({"instanceMarketOptions": {"marketType": "spot"}}, {}),
        ({"instanceType": "m7g.large"}, {"amiType": "AL2023_x86_64_STANDARD"}),
        (None, {"instanceTypes": ["m7g.large"], "amiType": "BOTTLEROCKET_x86_64"}),
        (None, {"instanceTypes": ["g5.xlarge"], "amiType": "AL2023_ARM_64_STANDARD"}),
        (None, {"version": "1.36"}),
        (None, {"version": "1.31"}),
        ({}, {"capacityType": "CAPACITY_BLOCK"}),
        (BLOCK, {"capacityType": "CAPACITY_BLOCK"}),
    ],
)
def test_what_eks_does_not_combine_in_a_node_group_is_refused(cloud, network, cluster, template, inputs):
    make = group(cloud, network, template, **inputs)
    with cloud.refused("InvalidParameterException"):
        make()


def test_nodes_of_a_capacity_block_need_reservation_and_type_in_the_template(cloud, network, cluster):
    reservation = cloud.make(
        "aws:ec2/capacityReservation:CapacityReservation",
        instanceType="p5.48xlarge",
        instancePlatform="Linux/UNIX",
        availabilityZone="us-west-2a",
        instanceCount=1,
    )
    target = {"capacityReservationTarget": {"capacityReservationId": reservation["id"]}}
    template = {**BLOCK, "capacityReservationSpecification": target}
    group(cloud, network, template, capacityType="CAPACITY_BLOCK", amiType="AL2023_x86_64_NVIDIA")()


def test_a_launch_template_has_the_version_that_is_asked_for(cloud, network, cluster):
    cloud.addon("vpc-cni")
    template = cloud.make(TEMPLATE)
    role = cloud.role("n", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
    with cloud.refused("InvalidRequestException"):
        cloud.nodes(network["ids"], role, launchTemplate={"id": template["id"], "version": "2"})


def test_nodes_keep_at_most_three_versions_behind_and_never_go_down(cloud, network, cluster):
    made = group(cloud, network, version="1.33")()
    keys = ("clusterName", "nodeGroupName", "nodeRoleArn", "subnetIds", "scalingConfig")
    same = {key: made[key] for key in keys}
    with cloud.refused("InvalidParameterException"):
        cloud.account.update(GROUP, made["id"], {**same, "version": "1.32"}, cloud.identity)
    control_plane = {"name": "eksai-dev", "roleArn": cluster["roleArn"], "vpcConfig": {"subnetIds": network["ids"]}}
    cloud.account.update(CLUSTER, "eksai-dev", {**control_plane, "version": "1.36"}, cloud.identity)
    with cloud.refused("InvalidRequestException"):
        cloud.account.update(CLUSTER, "eksai-dev", {**control_plane, "version": "1.37"}, cloud.identity)
    cloud.account.update(GROUP, made["id"], {**same, "version": "1.36"}, cloud.identity)
    cloud.account.update(CLUSTER, "eksai-dev", {**control_plane, "version": "1.37"}, cloud.identity)


def test_too_many_taints_and_reserved_labels_are_refused(cloud):
    scaling = {"minSize": 1, "desiredSize": 1, "maxSize": 1}
    asked = {"clusterName": "x", "nodeRoleArn": "r", "subnetIds": ["s"], "scalingConfig": scaling}
    taints = [{"key": f"k{number}", "effect": "NO_SCHEDULE"} for number in range(51)]
    assert "at most 50 taints" in cloud.failures(GROUP, **asked, taints=taints)
    assert "keeps to itself" in cloud.failures(GROUP, **asked, labels={"eks.amazonaws.com/nodegroup": "x"})


def test_kube_proxy_belongs_to_the_clusters_version(cloud, network, cluster):
    with cloud.refused("InvalidParameterException"):
        cloud.addon("kube-proxy", addonVersion="v1.34.1-eksbuild.2")
    made = cloud.addon("kube-proxy", addonVersion="v1.35.0-eksbuild.2")
    control_plane = {"name": "eksai-dev", "roleArn": cluster["roleArn"], "vpcConfig": {"subnetIds": network["ids"]}}
    cloud.account.update(CLUSTER, "eksai-dev", {**control_plane, "version": "1.36"}, cloud.identity)
    inputs = {"clusterName": "eksai-dev", "addonName": "kube-proxy"}
    old = {**inputs, "addonVersion": "v1.35.0-eksbuild.2", "resolveConflictsOnUpdate": "OVERWRITE"}
    cloud.account.update(ADDON, made["id"], old, cloud.identity)
    cloud.account.update(ADDON, made["id"], {**inputs, "addonVersion": "v1.36.1-eksbuild.1"}, cloud.identity)


def test_a_control_plane_that_logs_makes_its_group_where_there_is_none(cloud, network):
    cluster = cloud.cluster(network["ids"], enabledClusterLogTypes=["audit"])
    name = "/aws/eks/eksai-dev/cluster"
    with cloud.refused("ResourceAlreadyExistsException"):
        cloud.make(LOGS, name=name)
    cloud.delete(CLUSTER, cluster)
    assert [item.id for item in cloud.account.find(LOGS)] == [name], "and nobody deletes it"


def test_a_control_plane_that_logs_makes_a_deleted_group_again(cloud, network):
    logs = cloud.make(LOGS, name="/aws/eks/eksai-dev/cluster", retentionInDays=7)
    cluster = cloud.cluster(network["ids"], enabledClusterLogTypes=["audit"])
    cloud.delete(LOGS, logs)
    (remade,) = cloud.account.find(LOGS)
    assert remade["retentionInDays"] == 0
    cloud.delete(CLUSTER, cluster)
    cloud.delete(LOGS, logs)
    assert not list(cloud.account.find(LOGS)), "once nothing logs, it stays deleted"


def test_a_cluster_with_nodes_is_not_deleted(cloud, network, cluster):
    cloud.addon("vpc-cni")
    group = cloud.nodes(network["ids"])
    with cloud.refused("ResourceInUseException"):
        cloud.delete(CLUSTER, cluster)
    cloud.delete(GROUP, group)
    cloud.delete(CLUSTER, cluster)
    assert not [record for record in cloud.account.records() if record.token.startswith("aws:eks")]


def test_a_node_group_makes_the_entry_of_its_role_and_takes_it_away(cloud, network, cluster):
    cloud.addon("vpc-cni")
    group = cloud.nodes(network["ids"])
    entry = f"eksai-dev:{group['nodeRoleArn']}"
    with cloud.refused("ResourceInUseException"):
        cloud.make(ENTRY, clusterName="eksai-dev", principalArn=group["nodeRoleArn"], type="EC2_LINUX")
    second = cloud.make(
        GROUP,
        "more",
        **{key: group[key] for key in ("clusterName", "nodeRoleArn", "subnetIds", "scalingConfig")},
    )
    cloud.delete(GROUP, group)
    assert cloud.account.get(ENTRY, entry, cloud.identity), "the second group still needs it"
    cloud.delete(GROUP, second)
    assert cloud.account.get(ENTRY, entry, cloud.identity) is None


def test_a_pods_role_must_trust_pod_identity(cloud, cluster):
    wrong = cloud.role("a", "pods.eks.amazonaws.com")
    right = cloud.role("b", "pods.eks.amazonaws.com", actions=("sts:AssumeRole", "sts:TagSession"))
    pod = {"clusterName": "eksai-dev", "namespace": "kube-system", "serviceAccount": "karpenter"}
    with cloud.refused("InvalidParameterException"):
        cloud.make(IDENTITY, **pod, roleArn=wrong["arn"])
    with cloud.refused("InvalidParameterException"):
        cloud.addon("vpc-cni", podIdentityAssociations=[{"serviceAccount": "aws-node", "roleArn": wrong["arn"]}])
    made = cloud.make(IDENTITY, **pod, roleArn=right["arn"])
    assert made["associationArn"].endswith(made["associationId"])
    with cloud.refused("ResourceInUseException"):
        cloud.make(IDENTITY, **pod, roleArn=right["arn"])
    with cloud.refused("DeleteConflict"):
        cloud.delete("aws:iam/role:Role", right)


def test_an_entry_of_one_cluster_takes_no_rights_on_another_along(cloud, network, cluster):
    cloud.admin()
    other = {"name": "other", "roleArn": cluster["roleArn"], "vpcConfig": {"subnetIds": network["ids"]}}
    cloud.make(CLUSTER, **other, accessConfig={"authenticationMode": "API"})
    entry = cloud.make(ENTRY, clusterName="other", principalArn="arn:aws:iam::111122223333:role/PlatformAdmin")
    cloud.delete(ENTRY, entry)
    assert len(list(cloud.account.find(ACCESS))) == 1
