"""Milvus as the layers hand it on: what a stack says of it, the volumes of its pods, and the stores that it has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pulumi
from typing_extensions import TypedDict

from components.volume_claims import VolumeClaim

NAMESPACE = "milvus"
ACCOUNT = "milvus"
"""The service account of its pods."""
ROOT_PASSWORD = "root-password"
"""Key of its secret, in Secrets Manager (JSON) and in Kubernetes: the password of the user `root`."""


class MilvusGpuSettings(TypedDict):
    """GPUs for searching and building indexes."""

    pools: Sequence[str]
    """Names of the pools with them."""
    count: int
    """GPUs of each pod that searches or builds indexes."""


class MilvusSettings(TypedDict):
    """What a stack says of Milvus."""

    mode: Literal["standalone", "cluster"]
    """All in one pod, or each part in pods of its own."""
    message_queue: Literal["woodpecker", "pulsar"]
    """What keeps new data until it is in S3: a log in S3 itself, or Pulsar with a dozen pods and volumes of its own."""
    pools: Sequence[str]
    """Names of the pools that its pods run on; none: any node without taints."""
    gpu: MilvusGpuSettings | None
    """GPUs; None for none."""
    etcd_gib: int
    """Size of each volume of etcd, GiB."""


@dataclass(frozen=True)
class MilvusStores:
    """The stores of Milvus outside the cluster."""

    bucket: pulumi.Output[str]
    bucket_arn: pulumi.Output[str]
    secret_name: pulumi.Output[str]
    """Name of its secret in Secrets Manager, JSON with `ROOT_PASSWORD`, once it has a value."""


_PULSAR = (
    ("milvus-pulsarv3-zookeeper-data-milvus-pulsarv3-zookeeper", "pulsarv3.zookeeper", 20),
    ("milvus-pulsarv3-bookie-journal-milvus-pulsarv3-bookie", "pulsarv3.bookkeeper", 100),
    ("milvus-pulsarv3-bookie-ledgers-milvus-pulsarv3-bookie", "pulsarv3.bookkeeper", 200),
)
"""Claims of each of Pulsar's servers that keep data, whose they are, and their sizes in GiB, as the chart file has
them."""
_SERVERS = 3
"""Servers of what agrees by a majority."""


def claims(settings: MilvusSettings) -> list[VolumeClaim]:
    """The claims of Milvus's pods, by the names that the chart gives them.

    Args:
        settings: what the stack says.
    """
    members = 1 if settings["mode"] == "standalone" else _SERVERS
    etcd = [VolumeClaim(NAMESPACE, f"data-milvus-etcd-{i}", "etcd", settings["etcd_gib"], i) for i in range(members)]
    if settings["message_queue"] != "pulsar":
        return etcd
    # The volumes of one server lie in one zone: a pod has them all.
    return [
        *etcd,
        *(VolumeClaim(NAMESPACE, f"{of}-{i}", pod, gib, i) for of, pod, gib in _PULSAR for i in range(_SERVERS)),
    ]
