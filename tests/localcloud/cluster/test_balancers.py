"""Which balancers Services and Ingresses ask for, without a cluster."""

import pytest

from localcloud.cluster.balancers import (
    BuildFailed,
    ingress_front,
    is_served_service,
    service_front,
    stack_of,
    subnets_for,
)
from localcloud.record import Record

CLUSTER = "eksai-dev"
_LB = "service.beta.kubernetes.io/aws-load-balancer-"
_ALB = "alb.ingress.kubernetes.io/"
INSTALLED = "2026-01-02T00:00:00Z"


def service(spec=None, created="2026-01-03T00:00:00Z", **annotations):
    return {
        "metadata": {
            "name": "hub-proxy-public",
            "namespace": "jupyter-hub",
            "uid": "1",
            "creationTimestamp": created,
            "annotations": {_LB + key.replace("_", "-"): value for key, value in annotations.items()},
        },
        "spec": {"type": "LoadBalancer", **(spec or {})},
    }


def ingress(**annotations):
    given = {_ALB + key.replace("_", "."): value for key, value in annotations.items()}
    return {"metadata": {"name": "web", "namespace": "lab", "uid": "1", "annotations": given}, "spec": {}}


def subnet(name, zone, **tags):
    outputs = {
        "availabilityZone": f"us-west-2{zone}",
        "tagsAll": {key.replace("__", "/"): value for key, value in tags.items()},
    }
    return Record("aws:ec2/subnet:Subnet", "us-west-2", name, "", {}, outputs, "")


INTERNAL = {"kubernetes.io__role__internal-elb": "1"}
PUBLIC = {"kubernetes.io__role__elb": "1"}


def chosen(front, *candidates, public=()):
    return [one.id for one in subnets_for(front, candidates, CLUSTER, lambda subnet_id: subnet_id in public)]


def test_a_balancer_is_named_for_its_service_within_what_aws_allows():
    front = service_front(service(), CLUSTER)
    assert front.name.startswith("k8s-jupyterh-hubproxy-")
    assert len(front.name) == 32
    assert front.name == service_front(service(), CLUSTER).name, "each look sees the same one"
    assert front.name != service_front(service(scheme="internet-facing"), CLUSTER).name


def test_a_balancer_is_internal_unless_it_is_asked_to_face_the_internet():
    assert service_front(service(), CLUSTER).is_internal
    assert not service_front(service(scheme="internet-facing"), CLUSTER).is_internal
    assert not ingress_front(ingress(scheme="internet-facing"), {}, CLUSTER).is_internal


def test_parameters_of_the_class_come_before_annotations():
    assert ingress_front(ingress(scheme="internet-facing"), {"scheme": "internal"}, CLUSTER).is_internal


def test_ingresses_of_a_group_share_a_balancer_and_its_finalizer():
    front = ingress_front(ingress(group_name="shared"), {}, CLUSTER)
    assert (front.stack, front.finalizer) == ("shared", "group.ingress.k8s.aws/shared")
    assert front.name.startswith("k8s-shared-")
    assert stack_of(ingress(), front.finalizer) == "shared"
    assert stack_of(ingress(), "ingress.k8s.aws/resources") == "lab/web"


@pytest.mark.parametrize(
    ("given", "since", "served"),
    [
        (service({"loadBalancerClass": "service.k8s.aws/nlb"}), None, True),
        (service({"loadBalancerClass": "somebody/else"}), INSTALLED, False),
        (service(), INSTALLED, True),
        (service(), None, False),
        (service(created="2026-01-01T00:00:00Z"), INSTALLED, False),
        (service(type="external", nlb_target_type="ip"), None, True),
        (service({"type": "ClusterIP", "loadBalancerClass": "service.k8s.aws/nlb"}), INSTALLED, False),
    ],
)
def test_a_service_is_served_by_its_class_which_the_webhook_gives_to_newer_ones(given, since, served):
    assert is_served_service(given, "service.k8s.aws/nlb", since) is served


def test_an_internal_balancer_is_in_the_subnets_that_are_tagged_for_it():
    front = service_front(service(), CLUSTER)
    assert chosen(front, subnet("a", "a", **INTERNAL), subnet("b", "b", **INTERNAL), subnet("c", "a", **PUBLIC)) == [
        "a",
        "b",
    ]


def test_without_tags_a_balancer_is_where_its_scheme_wants():
    facing = service_front(service(scheme="internet-facing"), CLUSTER)
    assert chosen(facing, subnet("a", "a"), subnet("b", "b"), public=("b",)) == ["b"]
    assert chosen(service_front(service(), CLUSTER), subnet("a", "a"), subnet("b", "b"), public=("b",)) == ["a"]


def test_a_balancer_has_one_subnet_in_a_zone_its_own_cluster_s_first():
    front = service_front(service(), CLUSTER)
    own = subnet("z", "a", **INTERNAL, **{f"kubernetes.io__cluster__{CLUSTER}": "shared"})
    assert chosen(front, subnet("a", "a", **INTERNAL), own) == ["z"]


def test_subnets_of_other_clusters_are_left_alone_and_counted():
    front = service_front(service(), CLUSTER)
    other = subnet("a", "a", **INTERNAL, **{"kubernetes.io__cluster__other": "owned"})
    with pytest.raises(BuildFailed, match="Evaluated 1 subnets: 1 are tagged for other clusters"):
        chosen(front, other)


def test_without_any_subnet_the_reason_names_the_missing_tag():
    with pytest.raises(BuildFailed, match=r"unable to resolve at least one subnet.*role/internal-elb"):
        chosen(service_front(service(), CLUSTER), subnet("a", "a"), public=("a",))


def test_an_application_balancer_needs_two_zones():
    with pytest.raises(BuildFailed, match="1 < 2"):
        chosen(ingress_front(ingress(), {}, CLUSTER), subnet("a", "a", **INTERNAL))


def test_subnets_can_be_asked_for_by_id_or_name():
    front = service_front(service(subnets="one, subnet-2"), CLUSTER)
    assert chosen(front, subnet("subnet-1", "a", Name="one"), subnet("subnet-2", "b")) == ["subnet-1", "subnet-2"]
    with pytest.raises(BuildFailed, match="has no one"):
        chosen(front, subnet("subnet-2", "b"))
