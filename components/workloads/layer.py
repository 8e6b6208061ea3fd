"""The workloads layer as one: what runs on the platform, each thing after what it needs and after nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from typing_extensions import TypedDict

from components.domain import Domain
from components.shared_volume import SharedVolume, SharedVolumeArgs
from components.stack import StackFacts
from components.storage import VolumeSource
from components.workflows import NAMESPACE as PIPELINE_NAMESPACE
from components.workloads.gpunet import Gpunet, GpunetArgs, image_to_push, model_to_push
from components.workloads.gpunet_settings import GpunetSettings, is_deployed
from components.workloads.ml_pipeline import MlPipeline, MlPipelineArgs
from components.workloads.ml_pipeline_template import MlPipelineSettings
from components.workloads.ray_cluster import NAMESPACE as RAY_NAMESPACE
from components.workloads.ray_cluster import RayCluster, RayClusterArgs
from components.workloads.ray_pods import RayClusterSettings

_OPERATOR = "kuberay-operator"
_MONITOR_CRDS = "prometheus-operator-crds"
_OBSERVABILITY = "kube-prometheus-stack"
# Name and port as that chart gives them.
_PROMETHEUS_URL = "http://kube-prometheus-stack-prometheus.monitoring:9090"
_LOAD_BALANCERS, _RECORDS = "aws-load-balancer-controller", "external-dns"
_RAY_DATA = "ray-shared-data"
"""Claim and volume of what Ray's pods share."""


class WorkloadSettings(TypedDict):
    """The sections of the settings that this layer takes."""

    ray_clusters: Mapping[str, RayClusterSettings]
    ml_pipeline: MlPipelineSettings
    gpunet: GpunetSettings


@dataclass(frozen=True)
class WorkloadInputs:
    """What this layer knows of the layers before."""

    cluster_ready: Sequence[pulumi.Resource]
    """Nodes and add-ons: what pods cannot start without."""
    pools: Mapping[str, pulumi.Resource]
    """The pools by name: a node that is asked to go waits for pods that must not be disturbed."""
    namespaces: Mapping[str, pulumi.Resource]
    """The platform's namespaces, by name."""
    installed: Mapping[str, pulumi.Resource]
    """The platform's releases, by chart."""
    volumes: Mapping[str, VolumeSource]
    """Stores that namespaces can mount, by name."""
    key_arn: pulumi.Input[str]
    """Key that buckets are encrypted with."""
    model_bucket: pulumi.Input[str]
    """The bucket of data sets and models."""
    artifact_bucket: pulumi.Input[str] | None
    """The bucket of what workflows leave; None where there are no workflows."""
    repository_urls: Mapping[str, pulumi.Input[str]]
    """Repositories for images, by name."""
    domain: Domain | None
    """The domain that applications are published below; None for none."""


@dataclass(frozen=True)
class WorkloadOutputs:
    """What people must know of the workloads."""

    images_to_push: Mapping[str, pulumi.Output[str]]
    """By workload, the image that it runs and that nobody but the stack's people pushes; a repository where the stack
    does not name the image yet."""
    models_to_push: Mapping[str, pulumi.Output[str]]
    """By workload, where its model is uploaded; those whose model the stack does not name yet."""


def make_workloads(
    settings: WorkloadSettings,
    inputs: WorkloadInputs,
    stack: StackFacts,
    providers: Sequence[pulumi.ProviderResource],
) -> WorkloadOutputs:
    """Makes the workloads layer.

    Args:
        settings: the layer's sections of the settings.
        inputs: what the layers before hand over.
        stack: the stack.
        providers: those of AWS and of the cluster.
    """

    def after(*what: pulumi.Resource) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(providers=list(providers), depends_on=list(what))

    images: dict[str, pulumi.Output[str]] = {}
    models: dict[str, pulumi.Output[str]] = {}
    if settings["ray_clusters"]:
        data = _make_ray_data(inputs, after(inputs.namespaces[RAY_NAMESPACE]))
        for name, cluster in settings["ray_clusters"].items():
            args = _ray_cluster_args(cluster, inputs, stack, has_data=data is not None)
            RayCluster(name, args, after(*_ray_needs(cluster, inputs), *([data] if data else [])))
    if settings["ml_pipeline"]["enabled"]:
        # Nothing of it runs by itself; whoever starts it finds what it needs.
        needs = [inputs.namespaces[PIPELINE_NAMESPACE], inputs.installed["argo-workflows"], inputs.installed[_OPERATOR]]
        images["ml-pipeline"] = _make_pipeline(settings["ml_pipeline"], inputs, stack, after(*needs))
    gpunet = settings["gpunet"]
    if gpunet["enabled"]:
        Gpunet("gpunet", _gpunet_args(gpunet, inputs, stack), after(*_gpunet_needs(gpunet, inputs)))
        image = image_to_push(gpunet, inputs.repository_urls[gpunet["repository"]])
        model = model_to_push(gpunet, inputs.model_bucket)
        images |= {} if image is None else {"gpunet": image}
        models |= {} if model is None else {"gpunet": model}
    return WorkloadOutputs(images, models)


def _installed(inputs: WorkloadInputs, *charts: str) -> list[pulumi.Resource]:
    """Those of some charts that the stack has."""
    return [inputs.installed[chart] for chart in charts if chart in inputs.installed]


def _ray_needs(cluster: RayClusterSettings, inputs: WorkloadInputs) -> list[pulumi.Resource]:
    """What a Ray cluster comes after: nodes, its namespace, who makes its pods, and who knows its monitors."""
    named = dict.fromkeys(
        [*cluster["head"]["pools"], *(p for group in cluster["groups"].values() for p in group["pools"])]
    )
    return [
        *inputs.cluster_ready,
        *(inputs.pools[name] for name in named),
        inputs.namespaces[RAY_NAMESPACE],
        inputs.installed[_OPERATOR],
        *_installed(inputs, _MONITOR_CRDS),
    ]


def _make_ray_data(inputs: WorkloadInputs, opts: pulumi.ResourceOptions) -> SharedVolume | None:
    """What all Ray clusters share: data that is read, and checkpoints that another worker goes on from."""
    if "shared-datasets" not in inputs.volumes:
        return None
    args = SharedVolumeArgs(
        source=inputs.volumes["shared-datasets"],
        namespace=RAY_NAMESPACE,
        volume=_RAY_DATA,
        claim=_RAY_DATA,
        read_only=False,
    )
    return SharedVolume(_RAY_DATA, args, opts)


def _ray_cluster_args(
    cluster: RayClusterSettings, inputs: WorkloadInputs, stack: StackFacts, *, has_data: bool
) -> RayClusterArgs:
    is_observed = _OBSERVABILITY in inputs.installed
    return RayClusterArgs(
        **cluster,
        pools={pool.name: pool for pool in stack.pools},
        image_registry=stack.charts.image_registry,
        data_claim=_RAY_DATA if has_data else None,
        is_monitored=_MONITOR_CRDS in inputs.installed,
        prometheus_url=_PROMETHEUS_URL if is_observed else None,
        # Prometheus is there for scaling; the chart's Grafana is off.
        grafana_url=None,
        grafana_browser_url=None,
    )


def _make_pipeline(
    settings: MlPipelineSettings, inputs: WorkloadInputs, stack: StackFacts, opts: pulumi.ResourceOptions
) -> pulumi.Output[str]:
    """Makes the training pipeline; returns its image."""
    assert inputs.artifact_bucket is not None, "where there is a pipeline there are workflows; the settings see to that"
    image = pulumi.Output.concat(inputs.repository_urls[settings["repository"]], ":", settings["version"])
    args = MlPipelineArgs(
        **settings,
        cluster_name=stack.cluster_name,
        region=stack.region,
        all_pools={pool.name: pool for pool in stack.pools},
        image=image,
        key_arn=inputs.key_arn,
        model_bucket=inputs.model_bucket,
        runs_bucket=inputs.artifact_bucket,
    )
    MlPipeline("ml-pipeline", args, opts)
    return image


def _gpunet_needs(settings: GpunetSettings, inputs: WorkloadInputs) -> list[pulumi.Resource]:
    """What the service comes after: the cluster, and nodes as soon as it has pods."""
    pools = settings["pools"] if is_deployed(settings) else ()
    return [*inputs.cluster_ready, *(inputs.pools[name] for name in pools)]


def _gpunet_args(settings: GpunetSettings, inputs: WorkloadInputs, stack: StackFacts) -> GpunetArgs:
    return GpunetArgs(
        **settings,
        cluster_name=stack.cluster_name,
        region=stack.region,
        key_arn=inputs.key_arn,
        repository_url=inputs.repository_urls[settings["repository"]],
        model_bucket=inputs.model_bucket,
        volume=inputs.volumes["models"],
        all_pools={pool.name: pool for pool in stack.pools},
        vpc_ranges=stack.node_ranges,
        domain=inputs.domain,
        monitored_by=_installed(inputs, _MONITOR_CRDS),
        scaled_by=_installed(inputs, settings["scaling"]["metrics_from"]),
        published_by=_installed(inputs, _LOAD_BALANCERS, _RECORDS),
        prometheus_url=_PROMETHEUS_URL,
    )
