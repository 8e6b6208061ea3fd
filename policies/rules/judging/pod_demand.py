"""What a pod asks of its node: resources, labels, tolerance of taints."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .label_selection import Requirement
from .properties import at, elements, entries
from .quantities import quantity

Object = Mapping[str, Any]

_NATIVE = ("cpu", "memory", "ephemeral-storage")


@dataclass(frozen=True)
class Demand:
    """What a pod asks of its node.

    Attributes:
        resources: amounts by resource, cores and bytes and pieces.
        terms: alternatives of which one has to hold, each a list of requirements that hold together; at least one.
        tolerations: what it tolerates, as in the pod.
    """

    resources: Mapping[str, float]
    terms: tuple[tuple[Requirement, ...], ...]
    tolerations: tuple[Object, ...]

    def tolerates(self, taint: Object) -> bool:
        """Tells whether the pod may run in spite of a taint."""
        return any(_tolerates(toleration, taint) for toleration in self.tolerations)


def demand_of(pod: Object) -> Demand:
    """Returns what a pod asks of its node.

    Args:
        pod: a Pod, or the pod template of a Deployment or Job.
    """
    spec: Object = pod["spec"]
    resources = _resources(spec)
    return Demand(
        resources=resources,
        terms=tuple(_terms(spec)),
        tolerations=(*elements(spec.get("tolerations")), *_own_tolerations(resources)),
    )


def _resources(spec: Object) -> dict[str, float]:
    """Adds up containers and sidecars; an init container counts where it alone asks for more."""
    total: dict[str, float] = dict(_amounts(entries(spec.get("overhead"))))
    starting: list[Mapping[str, float]] = []
    for container in elements(spec.get("initContainers")):
        if container.get("restartPolicy") == "Always":
            _add(total, _requests(container))
        else:
            starting.append(_requests(container))
    for container in elements(spec.get("containers")):
        _add(total, _requests(container))
    for requests in starting:
        for resource, amount in requests.items():
            total[resource] = max(total.get(resource, 0.0), amount)
    return {resource: amount for resource, amount in total.items() if amount}


def _requests(container: Object) -> dict[str, float]:
    """Returns a container's requests; where it only has a limit, Kubernetes takes that."""
    resources = entries(container.get("resources"))
    return {**_amounts(entries(resources.get("limits"))), **_amounts(entries(resources.get("requests")))}


def _amounts(quantities: Object) -> dict[str, float]:
    return {resource: quantity(value) for resource, value in quantities.items()}


def _add(total: dict[str, float], more: Mapping[str, float]) -> None:
    for resource, amount in more.items():
        total[resource] = total.get(resource, 0.0) + amount


def _terms(spec: Object) -> Iterable[tuple[Requirement, ...]]:
    selected = tuple(
        {"key": key, "operator": "In", "values": [value]} for key, value in entries(at(spec, "nodeSelector")).items()
    )
    required = at(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        yield selected
        return
    for term in elements(at(required, "nodeSelectorTerms")):
        yield (*selected, *elements(at(term, "matchExpressions")))


def _own_tolerations(resources: Mapping[str, float]) -> Iterable[Object]:
    """Yields what EKS's admission adds (ExtendedResourceToleration): whoever asks for a device tolerates its taint."""
    for resource in resources:
        if resource not in _NATIVE and "/" in resource:
            yield {"key": resource, "operator": "Exists"}


def _tolerates(toleration: Object, taint: Object) -> bool:
    key = toleration.get("key") or ""
    if (toleration.get("effect") or taint["effect"]) != taint["effect"]:
        return False
    if (toleration.get("operator") or "Equal") == "Exists":
        return key in ("", taint["key"])
    return key == taint["key"] and (toleration.get("value") or "") == (taint.get("value") or "")
