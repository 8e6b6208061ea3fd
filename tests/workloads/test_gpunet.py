"""The GPUNet service on the cluster: what is made of it, in which order, and with which rights."""

import json
import re
from functools import cache
from typing import Any

import pulumi
import pytest

from components.domain import Domain
from components.storage import VolumeSource
from components.web_apps import WEB_APPS
from components.workloads.gpunet import (
    DEREGISTRATION_S,
    PROGRESS_S,
    Gpunet,
    GpunetArgs,
    image_to_push,
    model_to_push,
)
from components.workloads.gpunet_pods import DRAIN_S, GRACE_S, PRE_STOP_S, SHUTDOWN_S, START_S
from localcloud.authorization import Request, grants
from localcloud.world import Registration
from schema.pool_charts import described
from tests.compute.crds import violations
from tests.workloads.test_gpunet_pods import PROD, SERVING, declared, text_of
from tests.workloads.test_gpunet_scaling import definition
from tests.world import Built, run

REPOSITORY = "444455556666.dkr.ecr.us-west-2.amazonaws.com/gpunet-inference-app"
KEY = "arn:aws:kms:us-west-2:444455556666:key/11111111-2222-3333-4444-555555555555"
CERTIFICATE = "arn:aws:acm:us-west-2:444455556666:certificate/1"
BUCKET = VolumeSource(
    driver="s3.csi.aws.com",
    capacity="5Gi",
    attributes={"bucketName": "models-1"},
    mount_options=("allow-other", "read-only", "region us-west-2"),
    is_read_only=True,
)
PUBLISHED: dict[str, Any] = {"publish": {"inboundCidrs": ["198.51.100.0/24"]}}
NOTHING_YET: dict[str, Any] = {"imageDigest": None, "model": None}

NAMESPACE = "kubernetes:core/v1:Namespace"
ACCOUNT = "kubernetes:core/v1:ServiceAccount"
VOLUME = "kubernetes:core/v1:PersistentVolume"
CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
SERVICE = "kubernetes:core/v1:Service"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
NETWORK_POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
INGRESS = "kubernetes:networking.k8s.io/v1:Ingress"
BUDGET = "kubernetes:policy/v1:PodDisruptionBudget"
AUTOSCALER = "kubernetes:autoscaling/v2:HorizontalPodAutoscaler"
SCALED_OBJECT = "kubernetes:keda.sh/v1alpha1:ScaledObject"
MONITOR = "kubernetes:monitoring.coreos.com/v1:ServiceMonitor"
ASSOCIATION = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
RIGHTS = "aws:iam/rolePolicy:RolePolicy"
ROLE = "aws:iam/role:Role"

ALB = "alb.ingress.kubernetes.io"
TIMEOUT = "pulumi.com/timeoutSeconds"


def built(around: dict[str, Any] | None = None, **changes: Any) -> Built[Gpunet]:
    """The service on pools of prod.

    Args:
        around: args that differ, but for settings.
        changes: settings that differ, in a stack file's spelling.
    """

    def make() -> Gpunet:
        given: dict[str, Any] = {
            "cluster_name": "eksai-prod",
            "region": "us-west-2",
            "all_pools": {pool.name: pool for pool in described(PROD.node_pools)},
            "vpc_ranges": ("10.1.0.0/16",),
            "repository_url": REPOSITORY,
            "model_bucket": "models-1",
            "key_arn": KEY,
            "volume": BUCKET,
            "domain": Domain("ml.example.com", "Z1", pulumi.Output.from_input(CERTIFICATE), ("192.0.2.0/24",)),
            "monitored_by": [pulumi.ComponentResource("chart", "monitors")],
            "scaled_by": [],
            "published_by": [],
            "prometheus_url": "http://kube-prometheus-stack-prometheus.monitoring:9090",
            **(around or {}),
        }
        return Gpunet("gpunet", GpunetArgs(**declared(**changes), **given))

    return run(make)


@cache
def usual() -> Built[Gpunet]:
    """As a stack declares it that says nothing of what may be left out."""
    return built()


@cache
def published() -> Built[Gpunet]:
    return built(**PUBLISHED)


def comes_after(later: Registration, earlier: Registration) -> bool:
    return earlier.urn in later.dependencies


def annotations(of: Registration) -> dict[str, str]:
    return of.inputs["metadata"].get("annotations", {})


# What there is.


def test_before_image_and_model_there_is_only_what_will_read_the_model():
    early = built(**NOTHING_YET)
    assert early.only(ASSOCIATION).inputs["serviceAccount"] == "gpunet"
    assert not [made.type for made in early.resources if made.type.startswith("kubernetes:")]
    for half in ({"imageDigest": None}, {"model": None}):
        assert not built(**half).all(DEPLOYMENT)


def test_a_volume_needs_no_role_and_so_nothing_at_all_is_there_before():
    made = built(**NOTHING_YET, modelAccess="volume").resources
    assert {one.type for one in made} == {"eksai:index:Gpunet", "chart"}


def test_what_is_still_to_push_is_told():
    def told() -> list[pulumi.Output[str] | None]:
        return [
            image_to_push(declared(**NOTHING_YET), REPOSITORY),
            model_to_push(declared(**NOTHING_YET), "models-1"),
            image_to_push(declared(), REPOSITORY),
            model_to_push(declared(), "models-1"),
        ]

    made = run(told)
    image, model, *pushed = made.result
    assert image is not None
    assert model is not None
    assert made.value(image) == REPOSITORY
    assert made.value(model) == "s3://models-1/models/gpunet/"
    assert pushed == [None, None]


def test_everything_has_one_name_in_one_namespace():
    for made in published().resources:
        if made.type.startswith("kubernetes:") and made.type != NAMESPACE:
            assert (made.inputs["metadata"]["name"], made.inputs["metadata"]["namespace"]) == ("gpunet", "gpunet")
    assert published().only(NAMESPACE).inputs["metadata"]["name"] == "gpunet"


def test_the_namespace_lets_pods_do_the_least():
    labels = usual().only(NAMESPACE).inputs["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_the_image_is_named_by_its_digest():
    (container,) = usual().only(DEPLOYMENT).inputs["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"{REPOSITORY}@{SERVING['imageDigest']}"


def test_pods_run_as_the_account_that_has_the_rights():
    pod = usual().only(DEPLOYMENT).inputs["spec"]["template"]["spec"]
    association = usual().only(ASSOCIATION).inputs
    assert usual().only(ACCOUNT).inputs["metadata"]["name"] == pod["serviceAccountName"]
    assert (association["namespace"], association["serviceAccount"]) == ("gpunet", pod["serviceAccountName"])


# The order.


def test_the_first_pod_has_all_that_it_needs_and_no_more_than_it_may():
    deployment = usual().only(DEPLOYMENT)
    for first in (NAMESPACE, ACCOUNT, NETWORK_POLICY, ASSOCIATION):
        assert comes_after(deployment, usual().only(first)), first
    with_volume = built(modelAccess="volume")
    for first in (VOLUME, CLAIM):
        assert comes_after(with_volume.only(DEPLOYMENT), with_volume.only(first)), first


def test_the_namespace_comes_before_and_goes_after_everything_in_it():
    namespace = published().only(NAMESPACE)
    for made in published().resources:
        if made.type.startswith("kubernetes:") and made.type != NAMESPACE:
            assert comes_after(made, namespace), made.type


@pytest.mark.parametrize("kind", [SERVICE, MONITOR, INGRESS])
def test_what_looks_for_pods_comes_once_there_are_some(kind: str):
    assert comes_after(published().only(kind), published().only(DEPLOYMENT))


def test_how_many_pods_there_are_can_be_changed_while_they_do_not_come():
    for made, kind in ((published(), AUTOSCALER), (built(scaling={"metricsFrom": "keda"}), SCALED_OBJECT)):
        for one in (made.only(kind), made.only(BUDGET)):
            assert not comes_after(one, made.only(DEPLOYMENT))


def test_the_load_balancer_comes_after_the_service_that_it_asks():
    assert comes_after(published().only(INGRESS), published().only(SERVICE))


# Rollouts and scaling.


def test_no_pod_goes_before_another_has_come():
    spec = usual().only(DEPLOYMENT).inputs["spec"]
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


def test_how_many_pods_there_are_is_up_to_the_autoscaler():
    assert "replicas" not in usual().only(DEPLOYMENT).inputs["spec"]
    assert usual().only(AUTOSCALER).inputs["spec"]["scaleTargetRef"]["name"] == "gpunet"


def test_up_waits_until_kubernetes_has_judged_a_rollout():
    deployment = usual().only(DEPLOYMENT)
    waits = [int(annotations(built(scaling={"max": most}).only(DEPLOYMENT))[TIMEOUT]) for most in (1, 10)]
    assert deployment.inputs["spec"]["progressDeadlineSeconds"] == PROGRESS_S
    assert START_S < PROGRESS_S < waits[0] < waits[1], "pods are replaced one after the other"


def test_the_selector_does_not_change_with_what_is_served():
    other = built(model={**SERVING["model"], "sha256": "3" * 64}, cpu="4", **PUBLISHED).only(DEPLOYMENT)
    selector = usual().only(DEPLOYMENT).inputs["spec"]["selector"]
    assert other.inputs["spec"]["selector"] == selector
    labels = other.inputs["spec"]["template"]["metadata"]["labels"]
    assert selector["matchLabels"].items() <= labels.items()


def test_all_that_selects_pods_selects_these():
    labels = usual().only(DEPLOYMENT).inputs["spec"]["template"]["metadata"]["labels"]
    assert usual().only(SERVICE).inputs["spec"]["selector"] == labels
    assert usual().only(BUDGET).inputs["spec"]["selector"]["matchLabels"] == labels


def test_a_node_can_be_renewed_even_under_the_only_pod_or_one_that_fails():
    spec = usual().only(BUDGET).inputs["spec"]
    assert spec["maxUnavailable"] == 1
    assert "minAvailable" not in spec
    assert spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_there_is_one_autoscaler_whoever_makes_it():
    for teller in ("metrics-server", "prometheus-adapter"):
        own = built(scaling={"metricsFrom": teller})
        assert own.only(AUTOSCALER)
        assert not own.all(SCALED_OBJECT)
    theirs = built(scaling={"metricsFrom": "keda"})
    assert theirs.only(SCALED_OBJECT)
    assert not theirs.all(AUTOSCALER)


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({"pools": ["gpu-a10g"]}, True),
        ({"pools": ["gpu-a10g-shared"]}, False),
        ({"pools": ["general"], "device": "cpu"}, False),
    ],
)
def test_how_busy_gpus_are_counts_where_they_are_whole(changes: dict[str, Any], counts: bool):
    own = built(scaling={"metricsFrom": "prometheus-adapter"}, **changes).only(AUTOSCALER).inputs["spec"]["metrics"]
    names = {metric["pods"]["metric"]["name"] for metric in own if metric["type"] == "Pods"}
    assert ("gpu_utilization" in names) == counts
    theirs = built(scaling={"metricsFrom": "keda"}, **changes).only(SCALED_OBJECT).inputs["spec"]["triggers"]
    assert ("gpu" in {trigger.get("name") for trigger in theirs}) == counts


# Ways in.


def test_the_service_is_where_others_look_for_it():
    (port,) = usual().only(SERVICE).inputs["spec"]["ports"]
    app = WEB_APPS["gpunet"]
    assert (app.namespace, app.service, app.port) == ("gpunet", "gpunet", port["port"]) == ("gpunet", "gpunet", 80)
    (container,) = usual().only(DEPLOYMENT).inputs["spec"]["template"]["spec"]["containers"]
    assert port["targetPort"] in {one["containerPort"] for one in container["ports"]}


def test_metrics_are_scraped_at_the_service_four_times_a_minute():
    spec = usual().only(MONITOR).inputs["spec"]
    assert violations(definition("monitoring.coreos.com_servicemonitor"), spec) == []
    service = usual().only(SERVICE).inputs
    assert spec["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (endpoint,) = spec["endpoints"]
    assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
    assert endpoint["interval"] == "15s"
    assert f'"{endpoint["path"]}"' in text_of("routes/health.py")


def test_a_cluster_that_does_not_know_monitors_gets_none():
    assert not built({"monitored_by": []}).all(MONITOR)


def test_it_stays_in_the_cluster_unless_it_is_published():
    assert not usual().all(INGRESS)
    assert usual().only(SERVICE).inputs["spec"]["type"] == "ClusterIP"
    gate = "elbv2.k8s.aws/pod-readiness-gate-inject"
    assert gate not in usual().only(NAMESPACE).inputs["metadata"]["labels"]
    assert published().only(NAMESPACE).inputs["metadata"]["labels"][gate] == "enabled"


def test_its_load_balancer_is_its_own():
    told = annotations(published().only(INGRESS))
    assert told[f"{ALB}/group.name"] == "gpunet"
    assert told[f"{ALB}/inbound-cidrs"] == "198.51.100.0/24", "not those of the platform"
    assert told[f"{ALB}/scheme"] == "internet-facing"
    assert f'"{told[f"{ALB}/healthcheck-path"]}"' in text_of("routes/health.py")
    inside = built(publish={"inboundCidrs": ["10.0.0.0/8"], "scheme": "internal"}).only(INGRESS)
    assert annotations(inside)[f"{ALB}/scheme"] == "internal"


def passes(path: str) -> bool:
    """Whether the load balancer passes a path on to the service."""
    (rule,) = published().only(INGRESS).inputs["spec"]["rules"]
    return any(
        path == one["path"] if one["pathType"] == "Exact" else path.startswith(one["path"])
        for one in rule["http"]["paths"]
    )


@pytest.mark.parametrize("path", ["/", "/predict", "/v1/classify", "/version", "/openapi.json"])
def test_what_is_for_clients_is_published(path: str):
    assert passes(path)


@pytest.mark.parametrize("path", ["/metrics", "/livez", "/readyz", "/startupz", "/docs", "/anything"])
def test_metrics_and_probes_stay_inside(path: str):
    assert not passes(path)


def test_every_route_of_the_service_is_either_published_or_known_to_stay_inside():
    files = ("routes/classify.py", "routes/health.py", "routes/page.py")
    routes = {path for file in files for path in re.findall(r"@router\.\w+\(\s*\"(/[^\"]*)\"", text_of(file))}
    assert {path for path in routes if not passes(path)} == {"/metrics", "/livez", "/readyz", "/startupz"}


def test_the_page_asks_for_published_paths_only():
    asked = re.findall(r"fetch\(\"([^\"]+)\"", text_of("page.html"))
    assert asked
    assert all(passes(f"/{path}") for path in asked)


def test_its_host_is_below_the_domain_or_one_of_its_own():
    def host_and_certificate(made: Built[Gpunet]) -> tuple[str, str]:
        ingress = made.only(INGRESS)
        (rule,) = ingress.inputs["spec"]["rules"]
        return rule["host"], annotations(ingress)[f"{ALB}/certificate-arn"]

    assert host_and_certificate(published()) == ("gpunet.ml.example.com", CERTIFICATE)
    own = {"host": "images.example.org", "certificateArn": f"{CERTIFICATE[:-1]}2"}
    made = built({"domain": None}, publish={**PUBLISHED["publish"], **own})
    assert host_and_certificate(made) == tuple(own.values())


def test_the_load_balancer_closes_silent_connections_before_the_service_does():
    kept = re.search(r"_KEEP_ALIVE_S = (\d+)", text_of("server.py"))
    idle = re.search(
        r"idle_timeout\.timeout_seconds=(\d+)",
        annotations(published().only(INGRESS))[f"{ALB}/load-balancer-attributes"],
    )
    assert kept is not None
    assert idle is not None
    assert int(idle[1]) < int(kept[1])


def test_the_load_balancer_has_all_answers_before_a_pod_is_gone():
    told = annotations(published().only(INGRESS))[f"{ALB}/target-group-attributes"]
    assert told == f"deregistration_delay.timeout_seconds={DEREGISTRATION_S}"
    assert DEREGISTRATION_S <= PRE_STOP_S + DRAIN_S + SHUTDOWN_S < GRACE_S


# Rights.


def may(made: Built[Gpunet], action: str, key: str) -> bool:
    (policy,) = (json.loads(rights.inputs["policy"]) for rights in made.all(RIGHTS))
    return grants([policy], Request(action, f"arn:aws:s3:::{key}"))


def test_pods_read_models_of_the_service_and_nothing_else():
    key = "models-1/models/gpunet/gpunet-0-fp16.onnx"
    assert may(usual(), "s3:GetObject", key)
    for action in ("s3:PutObject", "s3:DeleteObject", "s3:GetObjectVersion"):
        assert not may(usual(), action, key), action
    for other in ("models-1/models/digits/1/model.npz", "models-1/datasets/x", "other/models/gpunet/x"):
        assert not may(usual(), "s3:GetObject", other), other
    assert not may(usual(), "s3:ListBucket", "models-1")


def test_who_names_a_version_may_read_it():
    versioned = built(model={**SERVING["model"], "versionId": "v1"})
    assert may(versioned, "s3:GetObjectVersion", "models-1/models/gpunet/gpunet-0-fp16.onnx")


def test_the_key_opens_objects_of_s3_alone():
    (policy,) = (json.loads(rights.inputs["policy"]) for rights in usual().all(RIGHTS))
    (statement,) = (one for one in policy["Statement"] if "kms:Decrypt" in one["Action"])
    assert statement["Action"] == ["kms:Decrypt"]
    assert statement["Resource"] == [KEY]
    assert statement["Condition"] == {"StringEquals": {"kms:ViaService": "s3.us-west-2.amazonaws.com"}}


def test_in_another_partition_names_are_others():
    china = built({"region": "cn-north-1"})
    (policy,) = (json.loads(rights.inputs["policy"]) for rights in china.all(RIGHTS))
    assert policy["Statement"][0]["Resource"] == ["arn:aws-cn:s3:::models-1/models/gpunet/*"]
    assert policy["Statement"][1]["Condition"]["StringEquals"]["kms:ViaService"] == "s3.cn-north-1.amazonaws.com.cn"


def test_pods_with_a_volume_are_nobody_in_aws():
    made = built(modelAccess="volume")
    assert not [one.type for one in made.resources if one.type.startswith("aws:")]


def test_a_volume_shows_the_services_folder_and_nothing_else_of_the_bucket():
    made = built(modelAccess="volume")
    volume, claim = made.only(VOLUME).inputs, made.only(CLAIM).inputs
    assert volume["metadata"]["name"] == "s3-model-pv"
    assert (claim["metadata"]["namespace"], claim["metadata"]["name"]) == ("gpunet", "s3-model-pvc")
    assert set(volume["spec"]["mountOptions"]) == {*BUCKET.mount_options, "prefix models/gpunet/"}
    (used,) = (
        one["persistentVolumeClaim"]["claimName"]
        for one in made.only(DEPLOYMENT).inputs["spec"]["template"]["spec"]["volumes"]
        if "persistentVolumeClaim" in one
    )
    assert used == claim["metadata"]["name"]


def test_only_pods_with_an_identity_reach_the_agent_that_hands_it_out():
    def agent_is_reached(made: Built[Gpunet]) -> bool:
        return "169.254.170.23/32" in json.dumps(made.only(NETWORK_POLICY).inputs["spec"]["egress"])

    assert agent_is_reached(usual())
    assert not agent_is_reached(built(modelAccess="volume"))


def test_the_load_balancer_gets_in_where_there_is_one():
    def ranges(made: Built[Gpunet]) -> list[str]:
        openings = made.only(NETWORK_POLICY).inputs["spec"]["ingress"]
        return [peer["ipBlock"]["cidr"] for one in openings for peer in one["from"] if "ipBlock" in peer]

    assert ranges(published()) == ["10.1.0.0/16"]
    assert ranges(usual()) == []


def test_nothing_of_it_may_do_anything_in_the_cluster():
    assert not [one.type for one in published().resources if "rbac" in one.type]
    assert usual().only(ACCOUNT).inputs["automountServiceAccountToken"] is False
