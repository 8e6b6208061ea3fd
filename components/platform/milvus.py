"""What Milvus needs beside its chart: an identity for its bucket, its password, and pools for its pods.

Read 2026-12-01: Milvus 2.6 takes EKS Pod Identity's credentials everywhere that it talks to S3. Its Go parts and its
log Woodpecker do by minio-go 7.0.73; its C++ parts by the AWS SDK, since that is 1.11.352 (milvus-io/milvus#43916).
Query nodes of 2.5 did not start with them (#42547).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pulumi

from components.bucket import owner_statements
from components.delivered_secret import DeliveredSecret
from components.gpu_sharing import resource_of
from components.milvus import ACCOUNT, NAMESPACE, ROOT_PASSWORD, MilvusSettings, MilvusStores
from components.partition import dns_suffix_of
from components.platform.catalog import CHARTS
from components.platform.pool_values import value_at
from components.pod_identity import PodIdentity
from components.policy_document import document
from components.pools import POOL_LABEL, Pool, apart, named, placement
from components.release import overlaid, read_chart

SECRET = "milvus-root"
"""The Secret with the password of the user `root`."""
VERSION = "v2.6.15"
"""The version of the chart file's images."""

STANDALONE = ("standalone",)
CLUSTER = ("proxy", "mixCoordinator", "queryNode", "dataNode", "streamingNode")
"""Milvus's own pods in either mode, as the chart names them."""
ON_GPUS = frozenset({"standalone", "queryNode", "dataNode"})
"""Those that search and build indexes."""
_COORDINATORS = frozenset({"standalone", "mixCoordinator"})
_PULSAR = ("pulsar_metadata", "zookeeper", "bookkeeper", "autorecovery", "broker", "proxy")
_ETCD = {"app.kubernetes.io/name": "etcd", "app.kubernetes.io/instance": "milvus"}
"""Labels of etcd's pods. With the node of two of its three members etcd would be gone."""
_LOCAL = "/var/lib/milvus"
"""Where a pod keeps copies."""


class MilvusArgs(MilvusSettings):
    """What Milvus needs."""

    cluster_name: pulumi.Input[str]
    """The cluster's name."""
    region: str
    """AWS region."""
    key_arn: pulumi.Input[str]
    """Key that the bucket is encrypted with."""
    stores: MilvusStores
    """Its stores outside the cluster."""
    stack_pools: Sequence[Pool]
    """All pools of the stack."""


class Milvus(pulumi.ComponentResource):
    """What Milvus's release needs beforehand, and what it is told.

    Attributes:
        values: Helm values laid over those of the chart file.
    """

    def __init__(self, name: str, args: MilvusArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Milvus", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        stores, region = args["stores"], args["region"]
        s3 = f"s3.{region}.{dns_suffix_of(region)}"
        PodIdentity(
            name,
            {
                "cluster_name": args["cluster_name"],
                "namespace": NAMESPACE,
                "service_account": ACCOUNT,
                "policies": {"data": document(*owner_statements(stores.bucket_arn, args["key_arn"], region))},
            },
            child,
        )
        DeliveredSecret(
            name,
            {
                "source": stores.secret_name,
                "namespace": NAMESPACE,
                "secret": SECRET,
                "keys": {ROOT_PASSWORD: ROOT_PASSWORD},
            },
            child,
        )
        bucket = {"host": s3, "region": region, "bucketName": stores.bucket}
        self.values: dict[str, Any] = {**plain_values(args, args["stack_pools"]), "externalS3": bucket}
        self.register_outputs({})


def plain_values(settings: MilvusSettings, stack_pools: Sequence[Pool]) -> dict[str, Any]:
    """The Helm values that follow from the stack alone.

    Args:
        settings: what the stack says of Milvus.
        stack_pools: all pools of the stack, those that the settings name among them.
    """
    cluster, pulsar, gpu = settings["mode"] == "cluster", settings["message_queue"] == "pulsar", settings["gpu"]
    pools = named(settings["pools"], stack_pools)
    values: dict[str, Any] = {
        "cluster": {"enabled": cluster},
        "etcd": {"replicaCount": 3 if cluster else 1, "pdb": {"create": cluster}},
        "pulsarv3": {"enabled": pulsar},
    }
    for part in components(settings):
        values = overlaid(values, {part: {"extraEnv": list(_environment(part, settings))}})
    if cluster:
        # The chart gives standalone such a folder, and the others none that their user may write to.
        values |= {
            "volumes": [{"name": "local", "emptyDir": {}}],
            "volumeMounts": [{"name": "local", "mountPath": _LOCAL}],
        }
    values = overlaid(values, {"etcd": apart(_ETCD, pools)})
    if pools:
        values = overlaid(values, placement(pools))
    if pools and pulsar:
        # Its chart knows no other affinity than that between pods, so there is one pool.
        where = {"nodeSelector": {POOL_LABEL: pools[0].name}, "tolerations": placement(pools)["tolerations"]}
        values = overlaid(values, {"pulsarv3": dict.fromkeys(_PULSAR, where)})
    if gpu is not None:
        on = named(gpu["pools"], stack_pools)
        devices = {resource_of(on[0].sharing): str(gpu["count"])}
        own = {**placement(on), "resources": {"requests": devices, "limits": devices}}
        values = overlaid(values, {part: own for part in components(settings) if part in ON_GPUS})
        # All of Milvus's pods have one image; the one with CUDA is for amd64.
        values |= {
            "image": {"all": {"tag": f"{VERSION}-gpu"}},
            "nodeSelector": {"kubernetes.io/arch": "amd64"},
        }
    return values


def components(settings: MilvusSettings) -> tuple[str, ...]:
    """Milvus's own pods, as the chart names them.

    Args:
        settings: what the stack says of Milvus.
    """
    return CLUSTER if settings["mode"] == "cluster" else STANDALONE


def pod_specs(
    settings: MilvusSettings, stack_pools: Sequence[Pool], own_values: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """What decides where each kind of pod runs, by the chart's name for it: those of Milvus, of etcd and of Pulsar.

    Args:
        settings: what the stack says of Milvus.
        stack_pools: all pools of the stack, those that the settings name among them.
        own_values: the stack's own Helm values.
    """
    values = overlaid(
        overlaid(read_chart(CHARTS["milvus"]).values, plain_values(settings, stack_pools)),
        own_values,
    )
    pulsar = [f"pulsarv3.{part}" for part in _PULSAR] if settings["message_queue"] == "pulsar" else []
    specs = {part: _spec(values, part, values) for part in components(settings)}
    return specs | {part: _spec(values, part, {}) for part in ("etcd", *pulsar)}


def _spec(values: Mapping[str, Any], part: str, common: Mapping[str, Any]) -> dict[str, Any]:
    """A pod's spec as the chart makes it, with what is common to all unless the part says its own."""
    own = cast(Mapping[str, Any], value_at(values, part))
    places = {key: own.get(key) or common.get(key) for key in ("affinity", "nodeSelector", "tolerations")}
    return {
        **{key: place for key, place in places.items() if place},
        "containers": [{"name": part, "resources": own["resources"]}],
    }


def _environment(part: str, settings: MilvusSettings) -> Iterator[dict[str, Any]]:
    """What a part reads before its configuration file, and so holds whatever the file says."""
    yield {"name": "COMMON_SECURITY_AUTHORIZATIONENABLED", "value": "true"}
    # By itself Milvus would take Pulsar in a cluster, whether there is one or not.
    yield {"name": "MQ_TYPE", "value": settings["message_queue"]}
    if part in _COORDINATORS:
        reference = {"secretKeyRef": {"name": SECRET, "key": ROOT_PASSWORD}}
        yield {"name": "COMMON_SECURITY_DEFAULTROOTPASSWORD", "valueFrom": reference}
