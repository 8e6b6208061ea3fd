"""The platform layer as one: the charts of the settings in, installed in the order of their needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
from typing_extensions import TypedDict

from components.partition import dns_suffix_of, partition_of
from components.platform.catalog import CHARTS, in_order
from components.platform.dra import DeviceClaims, resource_api_version
from components.platform.installation import Installation
from components.platform.namespaces import Namespaces
from components.platform.pool_values import Surroundings, pool_values
from components.platform.secrets import SecretStore
from components.platform.storage_classes import StorageClasses
from components.pools import Pool
from components.release import ChartSource, overlaid, read_chart
from components.storage import Storage


class ChartSettings(TypedDict):
    """What a stack says of a chart."""

    enabled: bool
    """Whether it is installed."""
    values: Mapping[str, Any]
    """Helm values laid over those of the chart file."""


class PlatformSettings(TypedDict):
    """The sections of the settings that this layer takes."""

    platform: Mapping[str, ChartSettings]


@dataclass(frozen=True)
class PlatformInputs:
    """What this layer knows of the layers before."""

    cluster_name: str
    cluster_ready: Sequence[pulumi.Resource]
    """Nodes and add-ons: what pods of the platform cannot start without."""
    vpc_id: pulumi.Input[str]
    key_arn: pulumi.Input[str]
    storage: Storage
    addons: Sequence[str]
    """Names of the add-ons of the cluster."""


def chart_files(platform: Mapping[str, ChartSettings]) -> list[Path]:
    """The chart files of all that a stack installs, each after those that it needs."""
    return [CHARTS[name] for name in in_order(name for name, chart in platform.items() if chart["enabled"])]


def make_platform(
    settings: PlatformSettings,
    inputs: PlatformInputs,
    *,
    region: str,
    account_id: str,
    cluster_version: str,
    pools: Sequence[Pool],
    charts: ChartSource,
    providers: Sequence[pulumi.ProviderResource],
) -> None:
    """Makes the platform layer.

    A release waits for the cluster, its namespace, its identity and the releases that it needs, and for nothing else.

    Args:
        settings: the layer's section of the settings.
        inputs: what the layers before hand over.
        region: AWS region.
        account_id: the account.
        cluster_version: Kubernetes version.
        pools: all pools of the stack, by which accelerators' charts are set up.
        charts: where charts come from.
        providers: those of AWS and of the cluster.
    """
    StorageClasses(
        "storage-classes",
        {
            "addons": inputs.addons,
            "key_arn": inputs.key_arn,
            "efs_id": inputs.storage.efs_id,
            "lustre": inputs.storage.lustre,
        },
        pulumi.ResourceOptions(providers=list(providers)),
    )
    opts = pulumi.ResourceOptions(providers=list(providers), depends_on=list(inputs.cluster_ready))
    files = {path.stem: read_chart(path) for path in chart_files(settings["platform"])}
    namespaces = Namespaces("namespaces", {"names": [chart.namespace for chart in files.values()]}, opts).made
    facts = {"cluster_name": inputs.cluster_name, "region": region, "vpc_id": inputs.vpc_id}
    places = {
        "partition": partition_of(region),
        "region": region,
        "dns_suffix": dns_suffix_of(region),
        "account_id": account_id,
        "cluster_name": inputs.cluster_name,
        "key_arn": inputs.key_arn,
    }
    around = Surroundings(pools, cluster_version, region, charts.image_registry)
    installed: dict[str, pulumi.Resource] = {}
    for name, chart in files.items():
        needs = [installed[need] for need in chart.needs]
        place = [namespaces[chart.namespace]] if chart.namespace in namespaces else []
        installed[name] = Installation(
            name,
            {
                "chart_file": str(CHARTS[name]),
                "charts": charts,
                "cluster_name": inputs.cluster_name,
                "facts": facts,
                "places": places,
                "values": overlaid(pool_values(name, chart, around), settings["platform"][name]["values"]),
            },
            pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[*needs, *place])),
        )
    if "external-secrets" in installed:
        reader = pulumi.ResourceOptions(providers=list(providers), depends_on=[installed["external-secrets"]])
        SecretStore("secret-store", {"region": region}, reader)
    if "dra-driver-nvidia-gpu" in installed:
        DeviceClaims(
            "device-claims",
            {"api_version": resource_api_version(cluster_version), "namespace": "default"},
            pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[installed["dra-driver-nvidia-gpu"]])),
        )
