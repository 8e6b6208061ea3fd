"""What only Kubernetes itself refuses, in its own words."""

import uuid

import pytest
from lightkube import ApiError
from lightkube.generic_resource import create_global_resource

from localcloud.cluster.kinds import NAMESPACE, NODE_CLASS, NODE_POOL, POD, SERVICE_ACCOUNT

pytestmark = pytest.mark.slow

DEVICE_CLASS_BETA = create_global_resource("resource.k8s.io", "v1beta1", "DeviceClass", "deviceclasses")
DEVICE_CLASS = create_global_resource("resource.k8s.io", "v1", "DeviceClass", "deviceclasses")


@pytest.fixture
def namespace(client):
    """A namespace of the test's own, in which pods can be made."""

    def make(**labels):
        name = f"test-{uuid.uuid4().hex[:8]}"
        client.create(
            NAMESPACE({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        )
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "own", "namespace": name}}
        client.create(SERVICE_ACCOUNT(account))
        return name

    return make


@pytest.fixture
def karpenter_crds(published_crds):
    """Karpenter's CRDs as it publishes them."""
    published_crds("crds/karpenter*.yaml")


def pod(namespace, container):
    return POD(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "pod", "namespace": namespace},
            "spec": {"serviceAccountName": "own", "containers": [{"name": "main", "image": "image:1", **container}]},
        }
    )


def node_pool(operator="In"):
    requirement = {"key": "karpenter.sh/capacity-type", "operator": operator, "values": ["spot"]}
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "x"}
    return NODE_POOL(
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": f"pool-{uuid.uuid4().hex[:8]}"},
            "spec": {"template": {"spec": {"nodeClassRef": reference, "requirements": [requirement]}}},
        }
    )


def node_class(**spec):
    terms = {
        "amiSelectorTerms": [{"alias": "al2023@v20260801"}],
        "subnetSelectorTerms": [{"id": "subnet-0123456789abcdef0"}],
        "securityGroupSelectorTerms": [{"id": "sg-0123456789abcdef0"}],
        "instanceProfile": "nodes",
    }
    return NODE_CLASS(
        {
            "apiVersion": "karpenter.k8s.aws/v1",
            "kind": "EC2NodeClass",
            "metadata": {"name": f"class-{uuid.uuid4().hex[:8]}"},
            "spec": {key: value for key, value in {**terms, **spec}.items() if value is not None},
        }
    )


def test_half_a_gpu_is_refused_and_a_whole_one_is_taken(client, namespace):
    place = namespace()
    with pytest.raises(ApiError, match="must be an integer"):
        client.create(pod(place, {"resources": {"limits": {"nvidia.com/gpu": "0.5"}}}))
    made = client.create(pod(place, {"resources": {"limits": {"nvidia.com/gpu": "1"}}}))
    tolerated = {toleration.get("key") for toleration in made["spec"]["tolerations"]}
    assert "nvidia.com/gpu" in tolerated, "ExtendedResourceToleration is on, as on EKS"


def test_a_privileged_pod_is_refused_in_a_restricted_namespace_and_taken_in_a_privileged_one(client, namespace):
    privileged = {"securityContext": {"privileged": True}}
    with pytest.raises(ApiError, match=r'violates PodSecurity "restricted:latest".*privileged'):
        client.create(pod(namespace(**{"pod-security.kubernetes.io/enforce": "restricted"}), privileged))
    client.create(pod(namespace(**{"pod-security.kubernetes.io/enforce": "privileged"}), privileged))


def test_a_dra_object_in_a_version_that_is_not_served_is_refused_and_in_a_served_one_taken(client):
    def device_class(version):
        name = f"class-{uuid.uuid4().hex[:8]}"
        return {"apiVersion": version, "kind": "DeviceClass", "metadata": {"name": name}, "spec": {}}

    with pytest.raises(ApiError, match="could not find the requested resource"):
        client.create(DEVICE_CLASS_BETA(device_class("resource.k8s.io/v1beta1")))
    client.create(DEVICE_CLASS(device_class("resource.k8s.io/v1")))


def test_a_pool_with_an_operator_that_does_not_exist_is_refused(client, karpenter_crds):
    with pytest.raises(ApiError, match='Unsupported value: "Within": supported values: '):
        client.create(node_pool("Within"))
    client.create(node_pool())


@pytest.mark.parametrize(
    ("terms", "words"),
    [("amiSelectorTerms", "Required value"), ("subnetSelectorTerms", "Required value")],
)
def test_a_node_class_without_terms_is_refused(client, karpenter_crds, terms, words):
    with pytest.raises(ApiError, match=rf"{terms}: {words}"):
        client.create(node_class(**{terms: None}))
    with pytest.raises(ApiError, match=f"{terms} cannot be empty|{terms} in body should have at least 1 items"):
        client.create(node_class(**{terms: []}))
    client.create(node_class())


def test_a_published_crd_of_two_megabytes_is_taken(published_crds):
    published_crds("crds-gz/argoproj.io_workflow.yaml.gz")
