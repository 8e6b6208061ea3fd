"""Emptying a node before it goes: pods are evicted, and those of DaemonSets stay."""

from collections.abc import Iterable
from datetime import datetime

from lightkube import ApiError
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import PodEviction

from localcloud.cluster.kinds import POD
from localcloud.cluster.provisioning import is_of_daemon_set
from localcloud.cluster.view import Object, View, is_going

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"

_ENDED = ("Succeeded", "Failed")
_TOO_MANY_REQUESTS = 429


def pods_on(pods: Iterable[Object], node_name: str) -> list[Object]:
    """Returns the pods on a node that have work to do and keep it from being empty."""
    return [
        pod
        for pod in pods
        if pod["spec"].get("nodeName") == node_name
        and pod.get("status", {}).get("phase") not in _ENDED
        and not is_of_daemon_set(pod)
    ]


def is_drained(view: View, node_name: str, deadline: datetime | None, now: datetime) -> bool:
    """Evicts what is left on a node, and tells whether nothing is.

    Args:
        view: the cluster.
        node_name: the node.
        deadline: from then on pods are deleted that must not be disrupted or that a budget protects; None for never.
        now: the time.
    """
    left = pods_on(view.all(POD), node_name)
    for pod in left:
        if is_going(pod):
            continue
        if deadline is not None and now >= deadline:
            view.delete(POD, pod)
        elif (pod["metadata"].get("annotations") or {}).get(DO_NOT_DISRUPT) != "true":
            _evict(view, pod)
    return not left


def _evict(view: View, pod: Object) -> None:
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    try:
        view.client.create(PodEviction(metadata=ObjectMeta(name=name, namespace=namespace)), name, namespace=namespace)
    except ApiError as error:
        # A PodDisruptionBudget says: not yet.
        if error.status.code not in (404, _TOO_MANY_REQUESTS):
            raise
