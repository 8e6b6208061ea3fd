"""Services and Ingresses get balancers, in a real cluster and the simulated account."""

import pytest

from localcloud.aws.ec2 import SECURITY_GROUP, SUBNET, VPC
from localcloud.aws.load_balancers import LOAD_BALANCER
from localcloud.aws.network_interfaces import NETWORK_INTERFACE
from localcloud.cluster.balancers import INGRESS_FINALIZER, SERVICE_FINALIZER
from localcloud.cluster.kinds import INGRESS, INGRESS_CLASS, SERVICE
from localcloud.cluster.load_balancers import CHART, load_balancers
from tests.localcloud.cluster.stage import Stage

pytestmark = pytest.mark.slow

RIGHTS = ("elasticloadbalancing:*", "ec2:*")
SCHEME = "service.beta.kubernetes.io/aws-load-balancer-scheme"


@pytest.fixture
def stage(cloud, client):
    stage = Stage(cloud, client, load_balancers)
    stage.node("a")
    yield stage
    stage.clear()


def install(stage, *rights):
    stage.release(CHART, f"vpcId: {stage.network['vpc']['id']}\nenableServiceMutatorWebhook: false\n")
    if rights:
        stage.identity(CHART, *rights)


def service(stage, **annotations):
    stage.make(
        SERVICE,
        {
            "metadata": {"name": "front", "namespace": stage.namespace, "annotations": annotations},
            "spec": {
                "type": "LoadBalancer",
                "loadBalancerClass": "service.k8s.aws/nlb",
                "ports": [{"port": 80}],
                "selector": {"app": "x"},
            },
        },
    )


def ingress(stage, name, **annotations):
    backend = {"service": {"name": "front", "port": {"number": 80}}}
    given = {f"alb.ingress.kubernetes.io/{key.replace('_', '.')}": value for key, value in annotations.items()}
    stage.make(
        INGRESS,
        {
            "metadata": {"name": name, "namespace": stage.namespace, "annotations": given},
            "spec": {"ingressClassName": stage.namespace, "defaultBackend": backend},
        },
    )


def ingress_class(stage):
    stage.make(INGRESS_CLASS, {"metadata": {"name": stage.namespace}, "spec": {"controller": "ingress.k8s.aws/alb"}})


def address(stage, kind, name):
    def look():
        balancer = stage.own(kind, name)["status"].get("loadBalancer") or {}
        return [one["hostname"] for one in balancer.get("ingress") or ()]

    return stage.until(look)[0]


def made(stage, token):
    return [*stage.cloud.account.find(token)]


def test_a_service_gets_an_address_and_holds_the_network_until_it_is_gone(stage):
    install(stage, *RIGHTS)
    service(stage)
    hostname = address(stage, SERVICE, "front")
    assert hostname.startswith("k8s-test")
    assert hostname.endswith(".elb.us-west-2.amazonaws.com")
    assert SERVICE_FINALIZER in stage.own(SERVICE, "front")["metadata"]["finalizers"]
    assert len(made(stage, NETWORK_INTERFACE)) == 2
    (group,) = [one for one in made(stage, SECURITY_GROUP) if one["description"].startswith("[k8s]")]
    for token, held in (
        (SUBNET, stage.network["private"][0]),
        (VPC, stage.network["vpc"]),
        (SECURITY_GROUP, {"id": group.id}),
    ):
        with stage.cloud.refused("DependencyViolation"):
            stage.cloud.delete(token, held)

    stage.delete(SERVICE, "front")
    stage.until(lambda: stage.own(SERVICE, "front") is None)
    assert made(stage, LOAD_BALANCER) == made(stage, NETWORK_INTERFACE) == []
    assert not [one for one in made(stage, SECURITY_GROUP) if one.id == group.id]


def test_a_service_outlives_a_controller_that_is_uninstalled_first(stage):
    install(stage, *RIGHTS)
    service(stage)
    address(stage, SERVICE, "front")
    stage.uninstall(CHART)
    stage.delete(SERVICE, "front")
    stage.turns()
    assert "deletionTimestamp" in stage.own(SERVICE, "front")["metadata"]
    assert len(made(stage, LOAD_BALANCER)) == 1


def test_a_service_that_becomes_internal_to_the_cluster_loses_its_balancer(stage):
    install(stage, *RIGHTS)
    service(stage)
    address(stage, SERVICE, "front")
    change = {"spec": {"type": "ClusterIP", "loadBalancerClass": None}}
    stage.client.patch(SERVICE, "front", change, namespace=stage.namespace)
    stage.until(lambda: not stage.own(SERVICE, "front")["metadata"].get("finalizers"))
    assert made(stage, LOAD_BALANCER) == []


def test_another_scheme_is_another_balancer(stage):
    install(stage, *RIGHTS)
    service(stage)
    first = address(stage, SERVICE, "front")
    change = {"metadata": {"annotations": {SCHEME: "internet-facing"}}}
    stage.client.patch(SERVICE, "front", change, namespace=stage.namespace)
    stage.until(lambda: address(stage, SERVICE, "front") != first)
    (balancer,) = made(stage, LOAD_BALANCER)
    assert balancer["subnets"] == [stage.network["public"]["id"]], "without tags the route decides"


def test_without_an_identity_the_reason_is_told(stage):
    install(stage)
    service(stage)
    (message,) = stage.until(lambda: stage.events("FailedDeployModel"))
    assert "Pod Identity association" in message
    assert not stage.own(SERVICE, "front")["status"].get("loadBalancer")


def test_without_a_subnet_the_reason_is_told(stage):
    stage.release(CHART, "vpcId: vpc-elsewhere")
    stage.identity(CHART, *RIGHTS)
    service(stage)
    (message,) = stage.until(lambda: stage.events("FailedBuildModel"))
    assert "unable to resolve at least one subnet" in message


def test_ingresses_of_a_group_share_a_balancer_until_the_last_one_goes(stage):
    install(stage, *RIGHTS)
    ingress_class(stage)
    for name in ("one", "two"):
        ingress(stage, name, group_name="shared")
    assert address(stage, INGRESS, "one") == address(stage, INGRESS, "two")
    stage.delete(INGRESS, "one")
    stage.until(lambda: stage.own(INGRESS, "one") is None)
    assert len(made(stage, LOAD_BALANCER)) == 1
    stage.delete(INGRESS, "two")
    stage.until(lambda: stage.own(INGRESS, "two") is None)
    assert made(stage, LOAD_BALANCER) == []


def test_an_ingress_of_its_own_gets_an_application_balancer(stage):
    install(stage, *RIGHTS)
    ingress_class(stage)
    ingress(stage, "web")
    assert address(stage, INGRESS, "web").startswith("internal-k8s-test")
    assert INGRESS_FINALIZER in stage.own(INGRESS, "web")["metadata"]["finalizers"]
    assert made(stage, LOAD_BALANCER)[0]["loadBalancerType"] == "application"
