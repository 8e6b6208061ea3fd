"""Where the volumes of a pod let it run: Karpenter asks that of a node too, beside what the pod itself asks."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from localcloud.cluster.view import Object

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def beside_its_volumes(pod: Object, claims: Iterable[Object], volumes: Iterable[Object]) -> Object:
    """Returns a pod that asks its node for what its volumes ask, too; as it is where they ask for nothing.

    Args:
        pod: the pod.
        claims: all claims of the cluster; one without a volume can have one anywhere.
        volumes: all volumes of the cluster.
    """
    spec: Mapping[str, Any] = pod["spec"]
    by_place = {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in claims}
    by_name = {one["metadata"]["name"]: one for one in volumes}
    named = [by_place.get((pod["metadata"]["namespace"], name)) for name in _claims_of(spec)]
    bound = [by_name.get(claim["spec"].get("volumeName")) for claim in named if claim is not None]
    own = [expression for volume in bound if volume is not None for expression in _asked_by(volume)]
    if not own:
        return pod
    affinity = spec.get("affinity") or {}
    nodes = affinity.get("nodeAffinity") or {}
    terms = (nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    narrowed = [{**term, "matchExpressions": [*(term.get("matchExpressions") or ()), *own]} for term in terms]
    required = {_REQUIRED: {"nodeSelectorTerms": narrowed}}
    return {**pod, "spec": {**spec, "affinity": {**affinity, "nodeAffinity": {**nodes, **required}}}}


def _claims_of(spec: Mapping[str, Any]) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield volume["persistentVolumeClaim"]["claimName"]


def _asked_by(volume: Object) -> list[Mapping[str, Any]]:
    """What a volume asks of nodes; of alternatives Karpenter reads the first only."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required") or {}
    return next((term.get("matchExpressions") or [] for term in required.get("nodeSelectorTerms") or ()), [])
