import pytest

RELEASE, POOL = "kubernetes:helm.sh/v3:Release", "kubernetes:karpenter.sh/v1:NodePool"
CLASS, MAP = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", "kubernetes:core/v1:ConfigMap"
CHARTS = "oci://public.ecr.aws/karpenter"


def release(cloud, name, **inputs):
    inputs = {"chart": f"{CHARTS}/{name}", "version": "1.14.1", "namespace": "kube-system", "name": name, **inputs}
    return cloud.make(RELEASE, name, **inputs)


def node_class(cloud, network, name="gpu"):
    return cloud.make(
        CLASS,
        name,
        apiVersion="karpenter.k8s.aws/v1",
        kind="EC2NodeClass",
        metadata={"name": name},
        spec={"subnetSelectorTerms": [{"id": each} for each in network["ids"]]},
    )


def pool(cloud, node_class_name="gpu", name="gpu"):
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": node_class_name}
    return cloud.make(
        POOL,
        name,
        apiVersion="karpenter.sh/v1",
        kind="NodePool",
        metadata={"name": name},
        spec={"template": {"spec": {"nodeClassRef": ref}}},
    )


@pytest.fixture
def network(cloud):
    return cloud.network()


@pytest.fixture
def cluster(cloud, network):
    """A cluster with nodes and an administrator."""
    cluster = cloud.cluster(network["ids"])
    cloud.addon("vpc-cni")
    cluster["nodes"] = cloud.nodes(network["ids"])
    cluster["admin"] = cloud.admin()
    cluster["identity"] = cloud.karpenter_identity()
    cloud.enter(cluster)
    return cluster


@pytest.fixture
def karpenter(cloud, cluster):
    return {"crds": release(cloud, "karpenter-crd"), "controller": release(cloud, "karpenter", skipCrds=True)}


def config_map(cloud):
    return cloud.make(MAP, apiVersion="v1", kind="ConfigMap", metadata={"name": "x", "namespace": "default"})


def test_objects_need_a_cluster_that_answers(cloud):
    cloud.enter({"endpoint": "https://nowhere.example"})
    with cloud.refused("ClusterUnreachable"):
        config_map(cloud)


def test_objects_need_somebody_who_may_make_them(cloud, network):
    cloud.enter(cloud.cluster(network["ids"]))
    with cloud.refused("Unauthorized"):
        config_map(cloud)
    cloud.admin()
    config_map(cloud)


def test_objects_go_before_the_right_to_delete_them(cloud, cluster):
    made = config_map(cloud)
    assert made["id"] == "default/x"
    cloud.delete("aws:eks/accessPolicyAssociation:AccessPolicyAssociation", cluster["admin"])
    with cloud.refused("Unauthorized"):
        cloud.delete(MAP, made)


def test_objects_go_before_their_cluster(cloud, cluster):
    made = config_map(cloud)
    cloud.delete("aws:eks/nodeGroup:NodeGroup", cluster["nodes"])
    cloud.delete("aws:eks/cluster:Cluster", cluster)
    with cloud.refused("ClusterUnreachable"):
        cloud.delete(MAP, made)


def test_a_name_in_a_namespace_is_taken_once(cloud, cluster):
    config_map(cloud)
    with cloud.refused("AlreadyExists"):
        config_map(cloud)


def test_a_release_name_is_taken_once_in_a_namespace(cloud, cluster):
    release(cloud, "karpenter-crd")
    with cloud.refused("ReleaseExists"):
        release(cloud, "karpenter-crd")


def test_a_release_needs_its_namespace(cloud, cluster):
    with cloud.refused("NotFound"):
        release(cloud, "karpenter-crd", namespace="karpenter")
    cloud.make("kubernetes:core/v1:Namespace", apiVersion="v1", kind="Namespace", metadata={"name": "karpenter"})
    release(cloud, "karpenter-crd", namespace="karpenter")


def test_a_release_waits_in_vain_without_nodes(cloud, network):
    cluster = cloud.cluster(network["ids"])
    cloud.admin()
    cloud.enter(cluster)
    release(cloud, "karpenter-crd")
    with cloud.refused("Timeout"):
        release(cloud, "karpenter", skipCrds=True)
    release(cloud, "karpenter", skipCrds=True, skipAwait=True)


@pytest.mark.parametrize("missing", ["chart", "version", "namespace"])
def test_a_release_names_chart_version_and_namespace(cloud, missing):
    inputs = {"chart": "oci://x/karpenter", "version": "1.2.3", "namespace": "kube-system"}
    del inputs[missing]
    assert missing in cloud.failures(RELEASE, **inputs)
    assert "exact version" in cloud.failures(RELEASE, **{**inputs, missing: "x", "version": "^1.2"})


def test_a_controller_needs_its_crds(cloud, cluster):
    with cloud.refused("Timeout"):
        release(cloud, "karpenter", skipCrds=True)


def test_a_kind_is_known_once_its_crds_are_installed(cloud, network, cluster):
    with cloud.refused("NoKindMatch"):
        node_class(cloud, network)
    release(cloud, "karpenter-crd")
    with cloud.refused("Timeout"):
        node_class(cloud, network)
    release(cloud, "karpenter", skipCrds=True)
    node_class(cloud, network)


def test_a_kind_that_no_known_chart_brings_is_refused_with_the_way_out(cloud, cluster):
    with pytest.raises(Exception, match="add it to CRDS"):
        cloud.make("kubernetes:acme.dev/v1:Gadget", apiVersion="acme.dev/v1", kind="Gadget", metadata={"name": "x"})


def test_a_chart_that_brings_kinds_and_serves_them_needs_nodes(cloud, network, cluster):
    cloud.delete("aws:eks/nodeGroup:NodeGroup", cluster["nodes"])
    release(cloud, "karpenter-crd")
    with cloud.refused("Timeout"):
        release(cloud, "kuberay-operator")


def test_a_chart_is_known_wherever_it_comes_from(cloud, network, cluster):
    release(cloud, "karpenter-crd", chart="/srv/charts/karpenter-crd-1.14.1.tgz")
    release(cloud, "karpenter", chart="oci://registry.example.com:5000/mirror/karpenter", skipCrds=True)
    node_class(cloud, network)


def test_a_chart_of_a_repository_is_known_by_its_name(cloud, cluster):
    repository = {"repo": "https://ray-project.github.io/kuberay-helm"}
    release(cloud, "kuberay-operator", chart="kuberay-operator", version="1.7.0", repositoryOpts=repository)
    cloud.make("kubernetes:ray.io/v1:RayCluster", apiVersion="ray.io/v1", kind="RayCluster", metadata={"name": "x"})


def test_a_pool_needs_its_node_class_and_holds_it(cloud, network, karpenter):
    with cloud.refused("NodeClassNotFound"):
        pool(cloud)
    made = node_class(cloud, network)
    pool(cloud)
    with cloud.refused("Timeout"):
        cloud.delete(CLASS, made)


def test_a_node_class_names_subnets_and_a_profile_that_exist(cloud, network, karpenter):
    with cloud.refused("NodeClassNotReady"):
        node_class(cloud, {"ids": ["subnet-0"]})
    spec = {"instanceProfile": "none"}
    with cloud.refused("NodeClassNotReady"):
        cloud.make(CLASS, apiVersion="karpenter.k8s.aws/v1", kind="EC2NodeClass", metadata={"name": "x"}, spec=spec)


@pytest.mark.parametrize("which", ["crds", "controller"])
def test_karpenter_goes_after_its_pools(cloud, network, karpenter, which):
    made = node_class(cloud, network)
    with cloud.refused("ReleaseInUse"):
        cloud.delete(RELEASE, karpenter[which])
    cloud.delete(CLASS, made)
    cloud.delete(RELEASE, karpenter[which])


def test_pools_go_before_the_nodes_that_karpenter_runs_on(cloud, network, cluster, karpenter):
    made = node_class(cloud, network)
    cloud.delete("aws:eks/nodeGroup:NodeGroup", cluster["nodes"])
    with cloud.refused("Timeout"):
        cloud.delete(CLASS, made)


def test_karpenter_does_nothing_without_an_identity_that_has_rights(cloud, cluster):
    release(cloud, "karpenter-crd")
    cloud.delete("aws:eks/podIdentityAssociation:PodIdentityAssociation", cluster["identity"])
    with cloud.refused("Timeout"):
        release(cloud, "karpenter", skipCrds=True)


def test_karpenter_keeps_its_rights_until_its_pools_are_gone(cloud, network, karpenter):
    made = node_class(cloud, network)
    rights = next(cloud.account.find("aws:iam/rolePolicy:RolePolicy"))
    cloud.account.delete(rights.token, rights.id, cloud.identity)
    with cloud.refused("Timeout"):
        cloud.delete(CLASS, made)


def test_karpenter_ends_at_its_start_when_its_queue_is_missing(cloud, cluster):
    release(cloud, "karpenter-crd")
    settings = {"settings": {"interruptionQueue": "events"}}
    with cloud.refused("Timeout"):
        release(cloud, "karpenter", skipCrds=True, values=settings)
    cloud.make("aws:sqs/queue:Queue", name="events")
    release(cloud, "karpenter", skipCrds=True, values=settings)


def profiled_class(cloud, network):
    """Makes a node class whose nodes have a role of their own; returns the role."""
    role = cloud.role("pool", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
    cloud.make("aws:iam/instanceProfile:InstanceProfile", name="nodes", role=role["name"])
    cloud.make(
        CLASS,
        apiVersion="karpenter.k8s.aws/v1",
        kind="EC2NodeClass",
        metadata={"name": "gpu"},
        spec={"instanceProfile": "nodes", "subnetSelectorTerms": [{"id": network["ids"][0]}]},
    )
    return role


def test_nodes_of_a_pool_join_only_with_an_access_entry(cloud, network, karpenter):
    role = profiled_class(cloud, network)
    with cloud.refused("NodeCreationFailure"):
        pool(cloud)
    entry = {"clusterName": "eksai-dev", "principalArn": role["arn"], "type": "EC2_LINUX"}
    cloud.make("aws:eks/accessEntry:AccessEntry", **entry)
    pool(cloud)


def test_nodes_of_a_pool_start_only_with_a_volume_key_that_karpenter_may_use(cloud, network, karpenter):
    def volumes(*statements):
        return [{"ebs": {"encrypted": True, "kmsKeyID": cloud.key(*statements)["arn"]}}]

    closed = volumes()
    role = cloud.role("pool", "ec2.amazonaws.com")
    cloud.make("aws:iam/instanceProfile:InstanceProfile", name="nodes", role=role["name"])
    spec = {"instanceProfile": "nodes", "subnetSelectorTerms": [{"id": network["ids"][0]}]}
    made = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "gpu"}}
    with cloud.refused("NodeClassNotReady"):
        cloud.make(CLASS, **made, spec={**spec, "blockDeviceMappings": closed})
    via = {"StringLike": {"kms:ViaService": "ec2.*.amazonaws.com"}}
    open_to_ec2 = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "kms:*", "Resource": "*", "Condition": via}
    cloud.make(CLASS, **made, spec={**spec, "blockDeviceMappings": volumes(open_to_ec2)})
