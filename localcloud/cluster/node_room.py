"""Room on nodes: what pods take of it, and which pods can share it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from localcloud.cluster.node_objects import HOSTNAME
from localcloud.cluster.view import Object
from policies.rules.judging.label_selection import Labels, narrowed_by_all
from policies.rules.judging.pod_demand import Demand, demand_of

_REPELLING = ("NoSchedule", "NoExecute")


@dataclass
class Room:
    """A node that is there or under way, and what is left on it.

    Attributes:
        name: the node's name; its NodeClaim's while there is no node yet.
        labels: its labels.
        taints: the taints that stay on it.
        left: what further pods can have, by resource.
        pods: the pods on it, and those that it was made for.
        settled: whether it has been ready for so long that the scheduler has given it all that it would.
    """

    name: str
    labels: Mapping[str, str]
    taints: Sequence[Object]
    left: dict[str, float]
    pods: list[Object] = field(default_factory=list[Object])
    settled: bool = True

    def takes(self, pod: Object, demand: Demand) -> bool:
        """Puts a pod on the node if it can run there."""
        labels = {key: frozenset({value}) for key, value in self.labels.items()}
        taken = asked(demand)
        if not tolerates(demand, self.taints) or selected(demand, labels) is None or not holds(self.left, taken):
            return False
        if any(repel(pod, other) for other in self.pods):
            return False
        self.left = less(self.left, taken)
        self.pods.append(pod)
        return True


def asked(demand: Demand) -> dict[str, float]:
    """Returns what a pod takes of a node, its place among the pods too."""
    return {**demand.resources, "pods": 1.0}


def tolerates(demand: Demand, taints: Iterable[Object]) -> bool:
    """Tells whether a pod may run in spite of all taints."""
    return all(taint["effect"] not in _REPELLING or demand.tolerates(taint) for taint in taints)


def selected(demand: Demand, labels: Labels) -> Labels | None:
    """Returns the labels with what the first of a pod's terms that can hold leaves of them; None if none can."""
    return next((left for term in demand.terms if (left := narrowed_by_all(labels, term)) is not None), None)


def holds(room: Mapping[str, float], amounts: Mapping[str, float]) -> bool:
    """Tells whether amounts fit into a room, but for what floating-point numbers lose."""
    return all(amount <= room.get(resource, 0.0) + 1e-6 for resource, amount in amounts.items() if amount)


def plus(*amounts: Mapping[str, float]) -> dict[str, float]:
    """Adds amounts up, by resource."""
    total: dict[str, float] = {}
    for one in amounts:
        for resource, amount in one.items():
            total[resource] = total.get(resource, 0.0) + amount
    return total


def less(room: Mapping[str, float], taken: Mapping[str, float]) -> dict[str, float]:
    """Returns what is left of a room."""
    return {resource: amount - taken.get(resource, 0.0) for resource, amount in room.items()}


def room_left(allocatable: Mapping[str, float], pods: Iterable[Object]) -> dict[str, float]:
    """Returns what pods leave of a node, by resource."""
    return less(allocatable, plus(*(asked(demand_of(pod)) for pod in pods)))


def repel(one: Object, other: Object) -> bool:
    """Tells whether one of two pods refuses to share a node with the other."""
    return _refuses(one, other) or _refuses(other, one)


def _refuses(one: Object, other: Object) -> bool:
    anti = (one["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    labels = {key: frozenset({value}) for key, value in (other["metadata"].get("labels") or {}).items()}
    own = one["metadata"].get("namespace")
    for term in anti.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        selector = term.get("labelSelector") or {}
        wanted = [{"key": key, "operator": "In", "values": [v]} for key, v in selector.get("matchLabels", {}).items()]
        wanted += selector.get("matchExpressions") or []
        there = other["metadata"].get("namespace") in (term.get("namespaces") or [own])
        if term["topologyKey"] == HOSTNAME and there and narrowed_by_all(labels, wanted) is not None:
            return True
    return False
