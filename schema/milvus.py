"""Settings of Milvus, and the rules between them and the rest of a stack."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, cast

import yaml
from pydantic import Field

from components.accelerators import Vendor
from components.gpu_sharing import MIG, resource_of
from components.milvus import MilvusSettings
from components.platform.catalog import CHARTS
from components.platform.milvus import CLUSTER, ON_GPUS, STANDALONE, VERSION, pod_specs
from components.platform.pool_values import value_at
from components.pools import Pool
from components.release import read_chart
from schema.fields import PoolName, Section
from schema.node_pools import NodePool
from schema.platform import PlatformChart, is_installed, misshapen
from schema.pod_room import missing_pools, without_room
from schema.pool_charts import described
from schema.problems import NAMESPACE, Problem

CHART = "milvus"
"""The chart that reads this section."""
_KEY = f"{NAMESPACE}:milvus"

_TAG = "image.all.tag"
_PLACE = ("affinity", "nodeSelector", "tolerations")
_SAID_HERE = (
    "cluster",
    "replicaResourceGroups",
    "etcd.replicaCount",
    "image.all.repository",
    "pulsarv3.enabled",
    "standalone.messageQueue",
    *_PLACE,
    "volumes",
    "volumeMounts",
    *(f"{part}.{what}" for part in ("etcd", *STANDALONE, *CLUSTER) for what in _PLACE),
)
"""Values that follow from this section and from where images come from."""
_STORES = (
    "externalS3",
    "externalEtcd",
    "externalKafka",
    "externalPulsar",
    "minio",
    "kafka",
    "pulsar",
    "woodpecker",
    "streaming",
    "nameOverride",
    "fullnameOverride",
    "log.persistence",
    "standalone.persistence",
    "etcd.enabled",
    "etcd.name",
    "etcd.nameOverride",
    "etcd.fullnameOverride",
    "etcd.persistence",
    "etcd.removeMemberOnContainerTermination",
    "etcd.initialClusterState",
    *(f"etcd.{what}" for what in ("extraEnvVars", "extraEnvVarsCM", "extraEnvVarsSecret")),
    *(f"etcd.image.{what}" for what in ("tag", "digest", "registry", "repository")),
    *(f"etcd.{what}" for what in ("startFromSnapshot", "disasterRecovery", "configuration", "existingConfigmap")),
    *(f"etcd.{what}" for what in ("command", "args", "initContainers", "sidecars")),
    "pulsarv3.name",
    "pulsarv3.nameOverride",
    "pulsarv3.fullnameOverride",
    "pulsarv3.persistence",
    "pulsarv3.volumes",
    *(f"pulsarv3.{part}.{what}" for part in ("zookeeper", "bookkeeper") for what in ("replicaCount", "volumes")),
)
"""Values by which data would be kept elsewhere, and not be there again when the stack is."""
_WAYS_IN = (
    "customConfigMap",
    "serviceAccount",
    "ingress",
    "service.type",
    "service.externalIPs",
    "attu.ingress",
    "attu.route",
    "attu.service.type",
    "etcd.service.type",
    "etcd.extraDeploy",
    "pulsarv3.proxy.service.type",
    *(f"{part}.extraEnv" for part in (*STANDALONE, *CLUSTER)),
)
"""Values by which somebody would get in from outside, or without a password."""
_FILES, _FILE = "extraConfigFiles", "user.yaml"
"""The chart's value with Milvus's own settings, and the one file of it that Milvus reads."""
_QUANTITIES = "write CPUs such as 2 or 500m, and memory such as 8Gi"
_SETTINGS = (
    *("common.security", "common.storageType"),
    *("etcd", "kafka", "metastore", "minio", "mq", "pulsar", "tikv", "woodpecker"),
)
"""Milvus's own settings that say the same; a name stands for all below it."""


class MilvusGpu(Section):
    """GPUs for searching and building indexes."""

    pools: Annotated[tuple[PoolName, ...], Field(min_length=1)]
    """Names of the pools with them; what searches and builds indexes runs there."""
    count: Annotated[int, Field(ge=1)] = 1
    """GPUs of each pod that searches or builds indexes."""


class Milvus(Section):
    """Vector search."""

    mode: Literal["standalone", "cluster"] = "standalone"
    """All in one pod, or each part in pods of its own."""
    message_queue: Literal["woodpecker", "pulsar"] = "woodpecker"
    """What keeps new data until it is in S3: a log in S3 itself, or (cluster) Pulsar, with volumes of 960 GiB."""
    pools: tuple[PoolName, ...] = ()
    """Names of the pools that its pods run on; left out: any node without taints."""
    gpu: MilvusGpu | None = None
    """GPUs for searching and building indexes; left out: none."""
    etcd_gib: Annotated[int, Field(ge=10, le=16384)] = 50
    """Size of each volume of etcd, GiB; it can grow later, and not shrink."""


def settings_have_their_chart(milvus: Milvus, platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """What is said of Milvus is said of something that is there."""
    if milvus.model_fields_set and not is_installed(CHART, platform):
        yield Problem(
            _KEY,
            "",
            "these settings are for a Milvus that is not installed",
            "remove enabled: false, or this section"
            if CHART in platform
            else f'add the line {CHART}: {{dataVersion: "{_minor()}"}} to {NAMESPACE}:platform, or remove this section',
        )


def pulsar_goes_with_a_cluster(milvus: Milvus) -> Iterator[Problem]:
    """Pulsar is for many pods, and its own chart knows one pool at most."""
    if milvus.message_queue != "pulsar":
        return
    if milvus.mode == "standalone":
        yield Problem(
            f"{_KEY}.messageQueue",
            "pulsar",
            "one pod needs no queue of a dozen pods",
            "remove the line, or set mode: cluster",
        )
    if len(milvus.pools) > 1:
        yield Problem(
            f"{_KEY}.pools",
            ", ".join(milvus.pools),
            "Pulsar's pods can be told one pool, and not several",
            "name one pool, or remove messageQueue: pulsar",
        )


def pods_have_nodes(
    milvus: Milvus, platform: dict[str, PlatformChart], node_pools: dict[str, NodePool]
) -> Iterator[Problem]:
    """Each pod of Milvus can run on some node that one of its pools makes."""
    wrong = [*missing_pools(f"{_KEY}.pools", milvus.pools, node_pools)]
    if milvus.gpu is not None:
        wrong += missing_pools(f"{_KEY}.gpu.pools", milvus.gpu.pools, node_pools)
        wrong += [] if wrong else _wrong_gpus(milvus.gpu, described(node_pools))
    yield from wrong
    if wrong or not is_installed(CHART, platform) or misshapen(CHART, platform[CHART]):
        return
    settings = cast(MilvusSettings, cast(Any, milvus.model_dump()))
    for part, spec in pod_specs(settings, described(node_pools), platform[CHART].values).items():
        on_gpus = milvus.gpu is not None and part in ON_GPUS
        pools = milvus.gpu.pools if milvus.gpu is not None and on_gpus else milvus.pools
        try:
            refused = without_room({"spec": spec}, pools, node_pools) if pools else None
        except ValueError as error:
            yield Problem(f"{NAMESPACE}:platform.{CHART}.values", part, str(error), _QUANTITIES)
            continue
        if refused:
            yield Problem(
                f"{_KEY}.{'gpu.pools' if on_gpus else 'pools'}",
                ", ".join(pools),
                f"{part} gets no node of {refused}",
                f"name a pool whose nodes have it, or change what {part} asks for in the chart's values",
            )


def values_leave_data_and_doors_alone(milvus: Milvus, platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """Where data is, who gets in and what runs is said in one place, and no value of the chart says otherwise."""
    if not is_installed(CHART, platform):
        return
    values = platform[CHART].values
    for paths, rule, fix in (
        (_SAID_HERE, f"this follows from {_KEY} and eksai:charts", "remove it, and say it there"),
        (_STORES, "where Milvus keeps data follows from the stack, which finds it there again", "remove it"),
        (_WAYS_IN, "Milvus is reached from within the cluster, by those who have a password", "remove it"),
    ):
        for path in paths:
            if value_at(values, path) is not None:
                yield Problem(f"{NAMESPACE}:platform.{CHART}.values.{path}", "", rule, fix)
    yield from _wrong_files(values)
    tag = value_at(values, _TAG)
    if tag is None:
        return
    end = "-gpu" if milvus.gpu is not None else ""
    if not re.fullmatch(rf"v{re.escape(_minor())}\.[0-9]+{end}", str(tag)):
        yield Problem(
            f"{NAMESPACE}:platform.{CHART}.values.{_TAG}",
            str(tag),
            f"another image is one of Milvus {_minor()}{', with CUDA' if end else ''}: a later version migrates data",
            f"write a tag such as {VERSION}{end}, or remove the line",
        )


RULES = (
    settings_have_their_chart,
    pulsar_goes_with_a_cluster,
    pods_have_nodes,
    values_leave_data_and_doors_alone,
)
"""Rules between Milvus and other sections; each names the sections that it needs as its parameters."""


def _wrong_files(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with Milvus's own settings, which hold over those that the chart writes."""
    files = values.get(_FILES, {})
    key = f"{NAMESPACE}:platform.{CHART}.values.{_FILES}"
    if not isinstance(files, Mapping):
        yield Problem(key, "", "a mapping of files", f"write {_FILE}: | and Milvus's settings below it")
        return
    for name, text in cast(Mapping[str, Any], files).items():
        if name != _FILE:
            # The chart has a file of its own beside it, and a second one of that name would take its place.
            yield Problem(f"{key}.{name}", "", f"the file with settings of a stack's own is {_FILE}", "put them there")
            continue
        settings = _read(text)
        if settings is None:
            rule = "Milvus's settings as text, which is a YAML mapping"
            yield Problem(f"{key}.{name}", "", rule, 'for example "proxy: {maxNameLength: 128}"')
            continue
        for said in _SETTINGS:
            paths = [path for path in _paths(settings) if _compared(path).startswith(_compared(said))]
            if paths:
                rule = f"{said}: where Milvus keeps data and whom it lets in follow from the stack"
                yield Problem(f"{key}.{name}", ", ".join(paths), rule, "remove it")


def _read(text: object) -> Mapping[str, Any] | None:
    """What a file of settings says, None if it is none."""
    try:
        said: object = yaml.safe_load(text) if isinstance(text, str) else None
        settings = cast(Mapping[str, Any], said) if isinstance(said, Mapping) else None
        # YAML can hold itself, which shows when it is gone through.
        _ = [*_paths(settings or {})]
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return settings


def _paths(settings: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The dotted path of each setting."""
    for key, value in settings.items():
        path = f"{above}.{key}" if above else str(key)
        if isinstance(value, Mapping):
            yield from _paths(cast(Mapping[str, Any], value), path)
        else:
            yield path


def _compared(path: str) -> str:
    """A setting's path as Milvus compares it, whatever the separators and the case."""
    return re.sub("[/_.]", "", path).lower()


def _wrong_gpus(gpu: MilvusGpu, pools: Sequence[Pool]) -> Iterator[Problem]:
    """What is wrong with GPU pools that are there."""
    named = {pool.name: pool for pool in pools if pool.name in gpu.pools}
    usable = True
    for index, name in enumerate(gpu.pools):
        pool = named[name]
        if pool.vendor is not Vendor.NVIDIA or pool.allocation != "device-plugin":
            usable = False
            yield Problem(
                f"{_KEY}.gpu.pools[{index}]",
                name,
                "Milvus asks the device plug-in for NVIDIA GPUs",
                "name a pool of instances with NVIDIA GPUs, and without allocation: dra",
            )
    resources = sorted({resource_of(pool.sharing) for pool in named.values()}) if usable else []
    if len(resources) > 1:
        yield Problem(
            f"{_KEY}.gpu.pools",
            ", ".join(gpu.pools),
            f"a pod asks for one kind of device, and these pools announce {' and '.join(resources)}",
            "keep the pools whose GPUs are shared alike",
        )
    shared = [name for name, pool in named.items() if pool.sharing is not None and pool.sharing["strategy"] != MIG]
    if usable and shared and gpu.count > 1:
        yield Problem(
            f"{_KEY}.gpu.count",
            str(gpu.count),
            f"a pod gets one share of a GPU of {', '.join(shared)}",
            "set it to 1, or name pools whose GPUs are not shared",
        )


def _minor() -> str:
    """The version of the data, and so of every image that may read it."""
    version = read_chart(CHARTS[CHART]).data_version
    assert version is not None, "the chart file says it"
    return version
