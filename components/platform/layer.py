"""The platform layer as one: the charts of the settings in, installed in the order of their needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
from typing_extensions import TypedDict

from components.claimed_volume import ClaimedVolume
from components.domain import Domain
from components.partition import dns_suffix_of, partition_of
from components.platform.catalog import CHARTS, comes_after, in_order
from components.platform.dra import DeviceClaims, resource_api_version
from components.platform.installation import Installation
from components.platform.namespaces import Namespaces, isolate, namespaces_of
from components.platform.pool_values import Surroundings, pool_values
from components.platform.secrets import SecretStore
from components.platform.storage_classes import StorageClasses
from components.platform.systems import SYSTEMS, Prepared, SystemInputs, SystemSettings
from components.release import overlaid, read_chart
from components.sign_in import SignIn
from components.stack import StackFacts
from components.storage import Storage


class ChartSettings(TypedDict):
    """What a stack says of a chart."""

    enabled: bool
    """Whether it is installed."""
    data_version: str | None
    """The version of what it has stored, where that matters."""
    values: Mapping[str, Any]
    """Helm values laid over those of the chart file."""


class PlatformSettings(SystemSettings):
    """The sections of the settings that this layer takes."""

    platform: Mapping[str, ChartSettings]


@dataclass(frozen=True)
class PlatformInputs:
    """What this layer knows of the layers before."""

    cluster_ready: Sequence[pulumi.Resource]
    """Nodes and add-ons: what pods of the platform cannot start without."""
    vpc_id: pulumi.Input[str]
    key_arn: pulumi.Input[str]
    storage: Storage
    domain: Domain | None
    """The domain that applications are published below; None for none."""
    sign_in: SignIn | None
    """Where people sign in; None for nowhere."""
    addons: Sequence[str]
    """Names of the add-ons of the cluster."""


@dataclass(frozen=True)
class PlatformOutputs:
    """What later layers know of this one."""

    namespaces: Mapping[str, pulumi.Resource]
    """Its namespaces, by name."""
    installed: Mapping[str, pulumi.Resource]
    """Its releases, by chart."""
    artifact_bucket: pulumi.Output[str] | None
    """The bucket of what workflows leave; None where there are no workflows."""


def chart_files(platform: Mapping[str, ChartSettings]) -> list[Path]:
    """The chart files of all that a stack installs, each after those that it needs."""
    return [CHARTS[name] for name in in_order(name for name, chart in platform.items() if chart["enabled"])]


def make_platform(
    settings: PlatformSettings,
    inputs: PlatformInputs,
    stack: StackFacts,
    providers: Sequence[pulumi.ProviderResource],
) -> PlatformOutputs:
    """Makes the platform layer.

    A release waits for the cluster, its namespaces, what was prepared for it and the releases that it needs, and for
    nothing else.

    Args:
        settings: the layer's sections of the settings.
        inputs: what the layers before hand over.
        stack: the stack; accelerators' charts are set up by its pools.
        providers: those of AWS and of the cluster.
    """
    region, charts = stack.region, stack.charts
    in_aws_and_cluster = pulumi.ResourceOptions(providers=list(providers))
    classes = StorageClasses(
        "storage-classes",
        {
            "addons": inputs.addons,
            "key_arn": inputs.key_arn,
            "efs_id": inputs.storage.efs_id,
            "lustre": inputs.storage.lustre,
        },
        in_aws_and_cluster,
    )

    def after(*what: pulumi.Resource) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions.merge(
            in_aws_and_cluster, pulumi.ResourceOptions(depends_on=[*inputs.cluster_ready, *what])
        )

    files = {path.stem: read_chart(path) for path in chart_files(settings["platform"])}
    namespaces = Namespaces("namespaces", {"names": namespaces_of(files.values())}, after()).made
    isolate(namespaces, stack.node_ranges, in_aws_and_cluster)
    around = Surroundings(stack.pools, stack.cluster_version, region, charts.image_registry)
    facts = {"cluster_name": stack.cluster_name, "region": region, "vpc_id": inputs.vpc_id}
    places = {
        "partition": partition_of(region),
        "region": region,
        "dns_suffix": dns_suffix_of(region),
        "account_id": stack.account_id,
        "cluster_name": stack.cluster_name,
        "key_arn": inputs.key_arn,
        **({"domain": inputs.domain.name, "zone_id": inputs.domain.zone_id} if inputs.domain else {}),
    }
    installed: dict[str, pulumi.Resource] = {}
    system_inputs = SystemInputs(
        stack=stack,
        opts=in_aws_and_cluster,
        key_arn=inputs.key_arn,
        storage=inputs.storage,
        storage_classes=classes,
        sign_in=inputs.sign_in,
        domain=inputs.domain,
        installed=installed,
    )
    # A StatefulSet takes the claims that it finds, and makes those that it does not.
    claimed = {
        claim: ClaimedVolume(
            claim.volume,
            {"volume": inputs.storage.block[claim.volume], "storage_class": "gp3"},
            after(namespaces[claim.namespace], classes),
        )
        for claim in stack.volume_claims
    }
    store: list[pulumi.Resource] = []
    artifact_bucket = None
    for name, chart in files.items():
        here: list[pulumi.Resource] = [
            *(namespaces[place] for place in (chart.namespace, *chart.works_in) if place in namespaces),
            *(volume for claim, volume in claimed.items() if claim.namespace == chart.namespace),
        ]
        prepared = Prepared({})
        if name in SYSTEMS:
            prepared = SYSTEMS[name](settings, system_inputs, [*inputs.cluster_ready, *here, *store])
            artifact_bucket = artifact_bucket if prepared.bucket is None else prepared.bucket
        needs = [
            *here,
            *(installed[other] for other in comes_after(chart, files)),
            *prepared.made,
        ]
        installed[name] = Installation(
            name,
            {
                "chart_file": str(CHARTS[name]),
                "charts": charts,
                "cluster_name": stack.cluster_name,
                "facts": facts,
                "places": places,
                "values": overlaid(
                    overlaid(pool_values(name, chart, around), prepared.values), settings["platform"][name]["values"]
                ),
            },
            after(*needs),
        )
        if name == "external-secrets":
            reader = pulumi.ResourceOptions(providers=list(providers), depends_on=[installed[name]])
            store.append(SecretStore("secret-store", {"region": region}, reader))
    if "dra-driver-nvidia-gpu" in installed:
        DeviceClaims(
            "device-claims",
            {"api_version": resource_api_version(stack.cluster_version), "namespace": "default"},
            after(installed["dra-driver-nvidia-gpu"]),
        )
    return PlatformOutputs(namespaces, installed, artifact_bucket)
