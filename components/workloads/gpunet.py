"""The GPUNet service on the cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pulumi
import pulumi_kubernetes as kubernetes

from components.domain import Domain
from components.load_balancer import INGRESS_CLASS, LoadBalancer, draining
from components.namespace import make_namespace
from components.partition import dns_suffix_of, partition_of
from components.pod_identity import PodIdentity
from components.policy_document import document
from components.pools import Pool, named
from components.shared_volume import SharedVolume
from components.storage import VolumeSource
from components.web_apps import WEB_APPS
from components.workloads.gpunet_network import network_policy_spec
from components.workloads.gpunet_pods import (
    CLAIM,
    LABELS,
    NAME,
    PORT,
    PORT_NAME,
    GpunetSurroundings,
    has_whole_gpus,
    pod_template,
)
from components.workloads.gpunet_scaling import autoscaler_spec, scaled_object_spec
from components.workloads.gpunet_settings import MODELS, GpunetSettings, PublishSettings, is_deployed

VOLUME = "s3-model-pv"
"""The volume of the models, where pods read them from one."""

PROGRESS_S = 900
"""How long a new pod may take before Kubernetes says that the rollout is stuck: a GPU node has to come, and the image
to be pulled, of which CUDA's libraries alone have gigabytes."""
_EACH_S = 60
"""What a rollout takes for each further pod, which comes when nodes and image are there."""
DEREGISTRATION_S = 30
"""How long the load balancer waits for the answers of a pod that goes, which answers for some seconds longer."""
_IDLE_S = 60
"""How long a connection may be silent: less than the 75 seconds after which the service closes it."""
_PUBLISHED: Mapping[str, str] = {
    "/": "Exact",
    "/predict": "Exact",
    "/v1/": "Prefix",
    "/version": "Exact",
    "/openapi.json": "Exact",
}
"""What the load balancer passes on, and how it matches; metrics and probes stay inside."""


class GpunetArgs(GpunetSettings):
    """What the service needs."""

    cluster_name: str
    """The cluster's name."""
    region: str
    """AWS region."""
    all_pools: Mapping[str, Pool]
    """All pools of the stack, by name."""
    vpc_ranges: Sequence[str]
    """Where load balancers are: the ranges of the VPC, but for one that only pods have."""
    repository_url: pulumi.Input[str]
    """The repository of its image."""
    model_bucket: pulumi.Input[str]
    """The bucket of its models."""
    key_arn: pulumi.Input[str]
    """Key that the bucket is encrypted with."""
    volume: VolumeSource
    """The bucket as a volume."""
    domain: Domain | None
    """The platform's domain; None for none."""
    monitored_by: Sequence[pulumi.Resource]
    """What brings ServiceMonitors; empty: the cluster knows none."""
    scaled_by: Sequence[pulumi.Resource]
    """Who carries out what its scaling says, where that is not Kubernetes itself."""
    published_by: Sequence[pulumi.Resource]
    """Who makes a load balancer of its Ingress, and records."""
    prometheus_url: str
    """Prometheus as pods reach it, if there is one."""


class Gpunet(pulumi.ComponentResource):
    """A Deployment with its namespace, its autoscaler, and its ways in.

    Until there are an image and a model, only what reads the model is made: the role of its pods.
    """

    def __init__(self, name: str, args: GpunetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Gpunet", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        identity = [_make_identity(name, args, child)] if args["model_access"] == "download" else []
        if is_deployed(args):
            namespace = _make_namespace(args, child)
            within = pulumi.ResourceOptions(parent=self, depends_on=[namespace])
            before = [namespace, *identity, *_make_grounds(name, args, within)]
            # Not after the pods: how many there are can be changed while they do not come.
            _make_scaling(name, args, within)
            deployment = _make_deployment(name, args, pulumi.ResourceOptions(parent=self, depends_on=before))
            # What finds no pod waits for one, and `up` with it: the rest comes once there is one.
            service = _make_service(name, pulumi.ResourceOptions(parent=self, depends_on=[namespace, deployment]))
            _make_ways_in(name, args, pulumi.ResourceOptions(parent=self, depends_on=[namespace, deployment, service]))
        self.register_outputs({})


def image_to_push(settings: GpunetSettings, repository_url: pulumi.Input[str]) -> pulumi.Output[str] | None:
    """The repository that still waits for an image, None once the stack names one.

    Args:
        settings: the service.
        repository_url: the repository.
    """
    return pulumi.Output.from_input(repository_url) if settings["image_digest"] is None else None


def model_to_push(settings: GpunetSettings, bucket: pulumi.Input[str]) -> pulumi.Output[str] | None:
    """The folder that still waits for a model, None once the stack names one.

    Args:
        settings: the service.
        bucket: the model bucket.
    """
    return pulumi.Output.concat("s3://", bucket, f"/{MODELS}/") if settings["model"] is None else None


def _make_identity(name: str, args: GpunetArgs, opts: pulumi.ResourceOptions) -> PodIdentity:
    """Lets pods read models and nothing else, whoever else's are in the bucket."""
    bucket = pulumi.Output.concat(f"arn:{partition_of(args['region'])}:s3:::", args["model_bucket"])
    names_version = args["model"] is not None and args["model"]["version_id"] is not None
    read = {
        "Effect": "Allow",
        "Action": ["s3:GetObject", *(["s3:GetObjectVersion"] if names_version else [])],
        "Resource": [pulumi.Output.concat(bucket, f"/{MODELS}/*")],
    }
    decrypt = {
        "Effect": "Allow",
        "Action": ["kms:Decrypt"],
        "Resource": [args["key_arn"]],
        "Condition": {"StringEquals": {"kms:ViaService": f"s3.{args['region']}.{dns_suffix_of(args['region'])}"}},
    }
    return PodIdentity(
        name,
        {
            "cluster_name": args["cluster_name"],
            "namespace": NAME,
            "service_account": NAME,
            "policies": {"model": document(read, decrypt)},
        },
        opts,
    )


def _make_namespace(args: GpunetArgs, opts: pulumi.ResourceOptions) -> kubernetes.core.v1.Namespace:
    # Not among the platform's, which are those of charts: it comes and goes with the service.
    # A pod that the load balancer does not send anything to yet is not ready, and no old one goes for it.
    gates = {"elbv2.k8s.aws/pod-readiness-gate-inject": "enabled"} if args["publish"] else {}
    return make_namespace(NAME, "restricted", opts, gates)


def _make_grounds(name: str, args: GpunetArgs, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """What a pod cannot start without, or must not."""
    made: list[pulumi.Resource] = [
        kubernetes.core.v1.ServiceAccount(name, metadata=_metadata(), automount_service_account_token=False, opts=opts),
        kubernetes.networking.v1.NetworkPolicy(
            name,
            metadata=_metadata(),
            spec=cast(
                kubernetes.networking.v1.NetworkPolicySpecArgsDict,
                network_policy_spec(
                    args["vpc_ranges"],
                    is_published=args["publish"] is not None,
                    downloads=args["model_access"] == "download",
                ),
            ),
            opts=opts,
        ),
    ]
    if args["model_access"] == "volume":
        # Pods see the folder and nothing else of the bucket.
        folder = replace(args["volume"], mount_options=(*args["volume"].mount_options, f"prefix {MODELS}/"))
        made.append(
            SharedVolume(
                f"{name}-models",
                {"source": folder, "namespace": NAME, "volume": VOLUME, "claim": CLAIM, "read_only": True},
                opts,
            )
        )
    return made


def _make_deployment(name: str, args: GpunetArgs, opts: pulumi.ResourceOptions) -> kubernetes.apps.v1.Deployment:
    around = GpunetSurroundings(
        pools=_pools(args),
        image=pulumi.Output.concat(args["repository_url"], f"@{args['image_digest']}"),
        bucket=args["model_bucket"],
        region=args["region"],
        vpc_ranges=args["vpc_ranges"],
    )
    spec = {
        # No `replicas`: the autoscaler owns it, and whoever applies none never takes it back. It begins with one.
        "selector": {"matchLabels": dict(LABELS)},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "progressDeadlineSeconds": PROGRESS_S,
        "revisionHistoryLimit": 3,
        "template": pod_template(args, around),
    }
    return kubernetes.apps.v1.Deployment(
        name,
        # `up` waits: a model or an image that does not start is nothing to find out later. There is an end to it, since
        # the engine goes on waiting when Kubernetes says that a rollout is stuck.
        metadata=_metadata({"pulumi.com/timeoutSeconds": str(PROGRESS_S + _EACH_S * args["scaling"]["max"])}),
        spec=cast(kubernetes.apps.v1.DeploymentSpecArgsDict, spec),
        opts=opts,
    )


def _make_scaling(name: str, args: GpunetArgs, opts: pulumi.ResourceOptions) -> None:
    kubernetes.policy.v1.PodDisruptionBudget(
        name,
        metadata=_metadata(),
        spec={
            # Also where there is but one: else no node under it could ever be renewed.
            "max_unavailable": 1,
            "unhealthy_pod_eviction_policy": "AlwaysAllow",
            "selector": {"match_labels": dict(LABELS)},
        },
        opts=opts,
    )
    whole_gpus = has_whole_gpus(args, _pools(args))
    if args["scaling"]["metrics_from"] == "keda":
        kubernetes.apiextensions.CustomResource(
            name,
            api_version="keda.sh/v1alpha1",
            kind="ScaledObject",
            metadata=_metadata(),
            spec=scaled_object_spec(args["scaling"], whole_gpus=whole_gpus, prometheus_url=args["prometheus_url"]),
            opts=_served(opts, args["scaled_by"]),
        )
        return
    kubernetes.autoscaling.v2.HorizontalPodAutoscaler(
        name,
        metadata=_metadata(),
        spec=cast(
            kubernetes.autoscaling.v2.HorizontalPodAutoscalerSpecArgsDict,
            autoscaler_spec(args["scaling"], whole_gpus=whole_gpus),
        ),
        opts=_served(opts, args["scaled_by"]),
    )


def _make_service(name: str, opts: pulumi.ResourceOptions) -> kubernetes.core.v1.Service:
    return kubernetes.core.v1.Service(
        name,
        metadata=_metadata(),
        spec={
            "type": "ClusterIP",
            "selector": dict(LABELS),
            "ports": [{"name": PORT_NAME, "port": WEB_APPS[NAME].port, "target_port": PORT, "protocol": "TCP"}],
        },
        opts=opts,
    )


def _make_ways_in(name: str, args: GpunetArgs, opts: pulumi.ResourceOptions) -> None:
    """Who comes through the Service: Prometheus, and the load balancer."""
    if args["monitored_by"]:
        kubernetes.apiextensions.CustomResource(
            name,
            api_version="monitoring.coreos.com/v1",
            kind="ServiceMonitor",
            metadata=_metadata(),
            spec={
                "selector": {"matchLabels": dict(LABELS)},
                # Scaling goes by the last minute: four scrapes.
                "endpoints": [{"port": PORT_NAME, "path": "/metrics", "interval": "15s"}],
            },
            opts=_served(opts, args["monitored_by"]),
        )
    if args["publish"] is not None:
        host, balancer = _balancer(args["publish"], args["domain"])
        service = {"name": NAME, "port": {"name": PORT_NAME}}
        paths = [{"path": path, "pathType": kind, "backend": {"service": service}} for path, kind in _PUBLISHED.items()]
        spec: dict[str, Any] = {
            "ingressClassName": INGRESS_CLASS,
            "rules": [{"host": host, "http": {"paths": paths}}],
        }
        kubernetes.networking.v1.Ingress(
            name,
            metadata=_metadata({**balancer.annotations("/readyz"), **draining(DEREGISTRATION_S)}),
            spec=cast(kubernetes.networking.v1.IngressSpecArgsDict, spec),
            opts=_served(opts, args["published_by"]),
        )


def _served(opts: pulumi.ResourceOptions, servers: Sequence[pulumi.Resource]) -> pulumi.ResourceOptions:
    """Adds who has to be there for as long as an object is.

    On the object itself, and not on the component: of two that go in the same `up`, the engine asks only what one says
    of the other, and an object with a finalizer would wait for a controller that has gone before it.
    """
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=list(servers)))


def _balancer(publish: PublishSettings, domain: Domain | None) -> tuple[str, LoadBalancer]:
    """The service's host, and the load balancer in front of it."""
    host, certificate = publish["host"], publish["certificate_arn"]
    if host is None or certificate is None:
        assert domain is not None, "without a domain there are a host and its certificate; the settings see to that"
        host, certificate = WEB_APPS[NAME].host(domain.name), domain.certificate_arn
    balancer = LoadBalancer(
        group=NAME,
        scheme=publish["scheme"],
        inbound_cidrs=publish["inbound_cidrs"],
        certificate_arn=certificate,
        idle_s=_IDLE_S,
    )
    return host, balancer


def _pools(args: GpunetArgs) -> list[Pool]:
    return named(args["pools"], args["all_pools"].values())


def _metadata(annotations: Mapping[str, pulumi.Input[str]] | None = None) -> Any:
    given = {} if annotations is None else {"annotations": dict(annotations)}
    return {"name": NAME, "namespace": NAME, "labels": dict(LABELS), **given}
