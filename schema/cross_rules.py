"""Rules that join several sections of a stack file."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any

from components.compute.addon_facts import ADDONS
from components.partition import partition_of
from components.platform.catalog import missing_needs
from schema.argo_workflows import RULES as ARGO_WORKFLOWS_RULES
from schema.base import Aws, Encryption, Network
from schema.compute import Addon, Cluster
from schema.domain import RULES as DOMAIN_RULES
from schema.fields import DOCUMENTATION_NETWORKS
from schema.gpunet_rules import RULES as GPUNET_RULES
from schema.jupyterhub import RULES as JUPYTERHUB_RULES
from schema.langfuse import RULES as LANGFUSE_RULES
from schema.metrics import RULES as METRICS_RULES
from schema.milvus import RULES as MILVUS_RULES
from schema.ml_pipeline import RULES as ML_PIPELINE_RULES
from schema.node_pools_in_stack import RULES as NODE_POOL_RULES
from schema.platform import RULES as PLATFORM_RULES
from schema.platform import PlatformChart
from schema.pool_charts import pools_have_their_charts
from schema.problems import NAMESPACE, Problem
from schema.ray_clusters import RULES as RAY_CLUSTERS_RULES
from schema.sign_in import RULES as SIGN_IN_RULES
from schema.storage import RULES as STORAGE_RULES
from schema.volume_zones import RULES as VOLUME_ZONE_RULES

DOCUMENTATION_ACCOUNTS = frozenset({"111122223333", "444455556666", "123456789012", "777788889999"})
"""Account ids that AWS uses in its documentation."""


def _zones_lie_in_the_region(aws: Aws, network: Network) -> Iterator[Problem]:
    for index, zone in enumerate(network.availability_zones):
        if zone[:-1] != aws.region:
            key = f"{NAMESPACE}:network.availabilityZones[{index}]"
            yield Problem(key, zone, f"zones lie in eksai:aws.region, {aws.region}", "change the zone or the region")
    if len(set(network.availability_zones)) < len(network.availability_zones):
        key = f"{NAMESPACE}:network.availabilityZones"
        yield Problem(key, ", ".join(network.availability_zones), "each zone once", "name different zones")


def _kube_proxy_follows_the_cluster(cluster: Cluster, addons: dict[str, Addon]) -> Iterator[Problem]:
    version = addons["kube-proxy"].version if "kube-proxy" in addons else None
    if version and not version.startswith(f"v{cluster.version}."):
        yield Problem(
            f"{NAMESPACE}:addons.kube-proxy.version",
            version,
            f"kube-proxy has the cluster's minor version, {cluster.version}",
            "pin a matching build or leave the version out",
        )


def _charts_have_what_they_need(platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    for name, needs in missing_needs(name for name, chart in platform.items() if chart.enabled).items():
        rule = f"{name} cannot run without {', '.join(needs)}"
        yield Problem(
            f"{NAMESPACE}:platform", "", rule, f"add {', '.join(f'{need}: {{}}' for need in needs)} beside it"
        )


def _roles_belong_to_the_account(aws: Aws, cluster: Cluster) -> Iterator[Problem]:
    roles = {f"{NAMESPACE}:cluster.admins[{i}]": role for i, role in enumerate(cluster.admins)}
    if aws.role_arn:
        roles[f"{NAMESPACE}:aws.roleArn"] = aws.role_arn
    owner = (partition_of(aws.region), aws.account_id)
    for key, role in roles.items():
        if (role.split(":")[1], role.split(":")[4]) != owner:
            rule = f"the role is one of account {aws.account_id} in partition {owner[0]}"
            yield Problem(key, role, rule, "name a role of eksai:aws.accountId")
    if aws.role_arn and aws.role_arn not in cluster.admins:
        yield Problem(
            f"{NAMESPACE}:cluster.admins",
            "",
            f"the deploying role is one of them, and {aws.role_arn} is not: Kubernetes would refuse every object",
            "add it",
        )


def _the_endpoint_is_reachable_by_somebody(network: Network, cluster: Cluster) -> Iterator[Problem]:
    if not cluster.public_access_cidrs and network.existing is None:
        yield Problem(
            f"{NAMESPACE}:cluster.publicAccessCidrs",
            "[]",
            "a cluster that only its VPC reaches needs a VPC that you reach already",
            "list your addresses, or name a connected network under eksai:network.existing",
        )


def _images_come_through_both_endpoints(network: Network) -> Iterator[Problem]:
    registry = [service for service in network.interface_endpoints if service.startswith("ecr.")]
    if len(registry) == 1:
        key, rule = f"{NAMESPACE}:network.interfaceEndpoints", "images are pulled through ecr.api and ecr.dkr"
        yield Problem(key, registry[0], rule, "list both or neither")


def _what_a_cluster_needs_stays_on(addons: dict[str, Addon]) -> Iterator[Problem]:
    for name, addon in addons.items():
        if addon.enabled is False and ADDONS[name].presence == "always":
            key = f"{NAMESPACE}:addons.{name}.enabled"
            yield Problem(key, "false", "a cluster without it does not work", "remove the line")


def _the_key_is_of_this_region_and_account(aws: Aws, encryption: Encryption) -> Iterator[Problem]:
    if encryption.key_arn is None:
        return
    partition, region, account = (encryption.key_arn.split(":")[i] for i in (1, 3, 4))
    if (partition, region, account) != (partition_of(aws.region), aws.region, aws.account_id):
        yield Problem(
            f"{NAMESPACE}:encryption.keyArn",
            encryption.key_arn,
            f"the key lies in region {aws.region} of account {aws.account_id}",
            "name a key of eksai:aws.region and eksai:aws.accountId",
        )


def _documentation_values_stay_local(aws: Aws, cluster: Cluster, local: bool) -> Iterator[Problem]:
    if local:
        return
    if aws.account_id in DOCUMENTATION_ACCOUNTS:
        rule = "an account of AWS's documentation works on the local cloud only"
        yield Problem(f"{NAMESPACE}:aws.accountId", aws.account_id, rule, "put in your account's id")
    for index, cidr in enumerate(cluster.public_access_cidrs):
        if any(IPv4Network(cidr).subnet_of(known) for known in DOCUMENTATION_NETWORKS):
            rule = "a documentation range works on the local cloud only"
            key = f"{NAMESPACE}:cluster.publicAccessCidrs[{index}]"
            yield Problem(key, cidr, rule, "put in the public address that you go out with")


_CROSS_RULES: tuple[Callable[..., Iterator[Problem]], ...] = (
    _zones_lie_in_the_region,
    _kube_proxy_follows_the_cluster,
    _charts_have_what_they_need,
    _roles_belong_to_the_account,
    _the_endpoint_is_reachable_by_somebody,
    _images_come_through_both_endpoints,
    _what_a_cluster_needs_stays_on,
    _the_key_is_of_this_region_and_account,
    *NODE_POOL_RULES,
    pools_have_their_charts,
    *PLATFORM_RULES,
    *STORAGE_RULES,
    *DOMAIN_RULES,
    *SIGN_IN_RULES,
    *JUPYTERHUB_RULES,
    *ARGO_WORKFLOWS_RULES,
    *RAY_CLUSTERS_RULES,
    *ML_PIPELINE_RULES,
    *GPUNET_RULES,
    *METRICS_RULES,
    *MILVUS_RULES,
    *LANGFUSE_RULES,
    *VOLUME_ZONE_RULES,
    _documentation_values_stay_local,
)
"""Rules across sections; each names the sections that it needs as its parameters."""


def cross_check(parts: Mapping[str, Any], local: bool) -> Iterator[Problem]:
    """The rules across sections, as far as the sections that they need are sound themselves.

    Args:
        parts: checked sections by field name.
        local: whether the stack runs on the local cloud.
    """
    given = {**parts, "local": local}
    for rule in _CROSS_RULES:
        needed = inspect.signature(rule).parameters.keys()
        if needed <= given.keys():
            yield from rule(**{name: given[name] for name in needed})
