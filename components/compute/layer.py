"""The compute layer as one: settings and the base layer's outputs in, flat outputs for the next layer out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes
from typing_extensions import TypedDict

from components.compute.addon_facts import ADDONS, is_installed
from components.compute.addons import Addons, AddonsArgs, AddonSettings
from components.compute.cluster import Cluster, ClusterArgs, ClusterSettings
from components.compute.karpenter import CHART_FILES as KARPENTER_CHARTS
from components.compute.karpenter import Karpenter, KarpenterArgs
from components.compute.managed_pool import ManagedPool, ManagedPoolArgs
from components.compute.node_pools import NodePool, NodePoolArgs
from components.compute.pool_declaration import NodePoolSettings, PoolArgs
from components.compute.system_nodes import SystemNodes, SystemNodesArgs, SystemNodesSettings
from components.stack import StackFacts

CHART_FILES = KARPENTER_CHARTS
"""The chart files of all that this layer installs."""


class ComputeSettings(TypedDict):
    """The sections of the settings that this layer takes."""

    cluster: ClusterSettings
    addons: Mapping[str, AddonSettings]
    system_nodes: SystemNodesSettings
    node_pools: Mapping[str, NodePoolSettings]


@dataclass(frozen=True)
class ComputeOutputs:
    """What later layers know of this one."""

    cluster_endpoint: pulumi.Output[str]
    cluster_security_group_id: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]
    kubernetes: kubernetes.Provider
    ready: Sequence[pulumi.Resource]
    """Nodes and add-ons: what pods cannot start without."""
    pools: Mapping[str, pulumi.Resource]
    """The pools by name; what runs on their nodes goes before them, or they would wait for it."""
    addons: Sequence[str]
    """Names of the add-ons that are installed."""


@dataclass(frozen=True)
class ComputeInputs:
    """What this layer knows of the base layer; each list has one id for each zone, in the order of the zones."""

    vpc_id: pulumi.Input[str]
    zones: Sequence[str]
    private_subnet_ids: Sequence[pulumi.Input[str]]
    routed_private_subnet_ids: Sequence[pulumi.Output[str]]
    """The private subnets once their way out exists."""
    routed_pod_subnet_ids: Sequence[pulumi.Input[str]]
    """The pods' own subnets once their way out exists, empty where pods share the nodes'."""
    efa_security_group_id: pulumi.Input[str]
    key_arn: pulumi.Input[str]
    """Key for secrets, logs, volumes and messages."""
    model_bucket_arn: pulumi.Input[str]


def make_compute(
    settings: ComputeSettings,
    base: ComputeInputs,
    stack: StackFacts,
    *,
    deployer_role_arn: str | None,
    aws_provider: pulumi.ProviderResource,
) -> ComputeOutputs:
    """Makes the compute layer, in the order that both ways need.

    Up: control plane, add-ons of nodes, system nodes, other add-ons, Karpenter, pools. Down: the other way round.

    Args:
        settings: the layer's sections of the settings.
        base: what the base layer hands over.
        stack: the stack; the charts that are taken from its source are CHART_FILES.
        deployer_role_arn: role that deploys, None for the caller's own.
        aws_provider: the AWS provider.
    """
    cluster_name, region, account_id = stack.cluster_name, stack.region, stack.account_id
    cluster = Cluster(
        "cluster",
        ClusterArgs(
            **settings["cluster"],
            region=region,
            deployer_role_arn=deployer_role_arn,
            vpc_id=base.vpc_id,
            private_subnet_ids=base.private_subnet_ids,
            routed_private_subnet_ids=base.routed_private_subnet_ids,
            key_arn=base.key_arn,
        ),
        pulumi.ResourceOptions(providers=[aws_provider]),
    )

    def after(*what: pulumi.Resource) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(providers=[aws_provider, cluster.provider], depends_on=list(what))

    unsaid = AddonSettings(enabled=None, version=None)
    wanted = {name: settings["addons"].get(name, unsaid) for name in ADDONS}
    installed = {name: addon for name, addon in wanted.items() if is_installed(name, addon["enabled"])}

    def addons(*, needs_nodes: bool) -> AddonsArgs:
        return AddonsArgs(
            cluster_name=cluster_name,
            region=region,
            account_id=account_id,
            key_arn=base.key_arn,
            model_bucket_arn=base.model_bucket_arn,
            security_group_id=cluster.security_group_id,
            pod_subnet_ids=dict(zip(base.zones, base.routed_pod_subnet_ids, strict=False)),
            addons={name: addon for name, addon in installed.items() if ADDONS[name].needs_nodes is needs_nodes},
        )

    node_addons = Addons("node-addons", addons(needs_nodes=False), after(cluster))
    system_nodes = SystemNodes(
        "system-nodes",
        SystemNodesArgs(
            **settings["system_nodes"],
            cluster_name=cluster_name,
            nodes_after=[node_addons],
            cluster_version=stack.cluster_version,
            tags=stack.tags,
            region=region,
            subnet_ids=base.routed_private_subnet_ids,
            security_group_id=cluster.security_group_id,
            key_arn=base.key_arn,
        ),
        after(cluster),
    )
    cluster_addons = Addons("cluster-addons", addons(needs_nodes=True), after(system_nodes))
    karpenter = Karpenter(
        "karpenter",
        KarpenterArgs(
            cluster_name=cluster_name,
            cluster_endpoint=cluster.endpoint,
            region=region,
            account_id=account_id,
            key_arn=base.key_arn,
            controller_after=[cluster_addons],
            charts=stack.charts,
            pods_have_own_subnets=bool(base.routed_pod_subnet_ids),
        ),
        after(cluster),
    )
    pools: dict[str, pulumi.Resource] = {}
    for name, pool in settings["node_pools"].items():
        if pool["retire"]:
            continue
        args = PoolArgs(
            **pool,
            cluster_name=cluster_name,
            subnet_ids=dict(zip(base.zones, base.routed_private_subnet_ids, strict=True)),
            security_group_id=cluster.security_group_id,
            efa_security_group_id=base.efa_security_group_id,
            key_arn=base.key_arn,
            tags=stack.tags,
        )
        if pool["provisioner"] == "karpenter":
            made = NodePool(name, NodePoolArgs(**args, instance_profile=karpenter.instance_profile), after(karpenter))
        else:
            managed = ManagedPoolArgs(**args, cluster_version=stack.cluster_version, region=region)
            made = ManagedPool(name, managed, after(node_addons))
        pools[name] = made
    return ComputeOutputs(
        cluster_endpoint=cluster.endpoint,
        cluster_security_group_id=cluster.security_group_id,
        kubeconfig=cluster.kubeconfig,
        kubernetes=cluster.provider,
        ready=[system_nodes, cluster_addons],
        pools=pools,
        addons=list(installed),
    )
