"""Load balancers as Services and Ingresses ask for them: whether, of which name, where."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from localcloud.cluster.view import Object
from localcloud.properties import value_at
from localcloud.record import Record

SERVICE_FINALIZER = "service.k8s.aws/resources"
INGRESS_FINALIZER = "ingress.k8s.aws/resources"
GROUP_FINALIZER = "group.ingress.k8s.aws/"
"""Followed by the name of the group: that of an Ingress which shares its balancer."""

SERVICE_CLASS = "service.k8s.aws/nlb"
INGRESS_CONTROLLER = "ingress.k8s.aws/alb"

_SERVICE = "service.beta.kubernetes.io/aws-load-balancer-"
_INGRESS = "alb.ingress.kubernetes.io/"
_ROLE_TAGS = {True: "kubernetes.io/role/internal-elb", False: "kubernetes.io/role/elb"}
_CLUSTER_TAG = "kubernetes.io/cluster/"
_LONGEST_NAME = 32


class BuildFailed(Exception):
    """No balancer can be made of what objects ask for."""


@dataclass(frozen=True)
class Front:
    """A balancer as the object in front of which it stands asks for it.

    Attributes:
        stack: what it belongs to: `<namespace>/<name>`, or a group of Ingresses.
        finalizer: what keeps the object while the balancer exists.
        kind: `network` or `application`.
        name: its name.
        is_internal: whether it is reached from within the network only.
        subnets: ids or names of the subnets that are asked for; empty to look for some.
    """

    stack: str
    finalizer: str
    kind: str
    name: str
    is_internal: bool
    subnets: tuple[str, ...]


def service_front(service: Object, cluster: str) -> Front:
    """Returns the network balancer of a Service."""
    metadata = service["metadata"]
    given = _annotations(service, _SERVICE)
    is_internal = given.get("scheme", "internal") == "internal"
    if given.get("internal") in ("true", "false") and "scheme" not in given:
        is_internal = given["internal"] == "true"
    return Front(
        stack=f"{metadata['namespace']}/{metadata['name']}",
        finalizer=SERVICE_FINALIZER,
        kind="network",
        name=given.get("name") or _own_name(metadata, cluster, metadata["uid"], is_internal),
        is_internal=is_internal,
        subnets=_listed(given.get("subnets", "")),
    )


def ingress_front(ingress: Object, parameters: Object, cluster: str) -> Front:
    """Returns the application balancer of an Ingress.

    Args:
        ingress: the Ingress.
        parameters: `spec` of its class's IngressClassParams, which comes before annotations; may be empty.
        cluster: the cluster's name.
    """
    metadata = ingress["metadata"]
    given = _annotations(ingress, _INGRESS)
    group = value_at(parameters, "group.name") or given.get("group.name", "")
    is_internal = (parameters.get("scheme") or given.get("scheme", "internal")) == "internal"
    stack = group or f"{metadata['namespace']}/{metadata['name']}"
    explicit = parameters.get("loadBalancerName") or given.get("load-balancer-name")
    shared = _shared_name(group, cluster, is_internal)
    return Front(
        stack=stack,
        finalizer=f"{GROUP_FINALIZER}{group}" if group else INGRESS_FINALIZER,
        kind="application",
        name=explicit or (shared if group else _own_name(metadata, cluster, stack, is_internal)),
        is_internal=is_internal,
        subnets=tuple(value_at(parameters, "subnets.ids") or ()) or _listed(given.get("subnets", "")),
    )


def stack_of(item: Object, finalizer: str) -> str:
    """Returns the stack that a finalizer keeps an object for."""
    if finalizer.startswith(GROUP_FINALIZER):
        return finalizer.removeprefix(GROUP_FINALIZER)
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


def is_served_service(service: Object, own_class: str, mutated_since: str | None) -> bool:
    """Whether the controller makes a balancer for a Service.

    Args:
        service: the Service.
        own_class: the loadBalancerClass that it serves.
        mutated_since: since when its webhook has given that class to new Services that have none; None when it does
            not. An older Service without a class is nobody's.
    """
    spec, metadata = service["spec"], service["metadata"]
    if spec.get("type") != "LoadBalancer" or "deletionTimestamp" in metadata:
        return False
    if spec.get("loadBalancerClass"):
        return spec["loadBalancerClass"] == own_class
    asked = _annotations(service, _SERVICE)
    by_annotation = asked.get("type") == "nlb-ip" or (
        asked.get("type") == "external" and asked.get("nlb-target-type") in ("ip", "instance")
    )
    return by_annotation or (mutated_since is not None and metadata["creationTimestamp"] >= mutated_since)


def _own_name(metadata: Mapping[str, Any], cluster: str, unique: str, is_internal: bool) -> str:
    """Name of the balancer of one object; it changes with the scheme, which makes another balancer."""
    namespace, name = (re.sub("[^a-zA-Z0-9]", "", metadata[key])[:8] for key in ("namespace", "name"))
    return f"k8s-{namespace}-{name}-{_digest(cluster, unique, is_internal)}"


def _shared_name(group: str, cluster: str, is_internal: bool) -> str:
    return f"k8s-{re.sub('[^a-zA-Z0-9]', '', group)[:17]}-{_digest(cluster, group, is_internal)}"


def _digest(cluster: str, unique: str, is_internal: bool) -> str:
    scheme = "internal" if is_internal else "internet-facing"
    return hashlib.sha256(f"{cluster}{unique}{scheme}".encode()).hexdigest()[:10]


def _annotations(item: Object, prefix: str) -> dict[str, str]:
    given = item["metadata"].get("annotations") or {}
    return {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}


def _listed(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


def subnets_for(
    front: Front, candidates: Sequence[Record], cluster: str, is_public: Callable[[str], bool]
) -> list[Record]:
    """Returns the subnets of a balancer, one in each zone.

    Args:
        front: the balancer.
        candidates: subnets of the controller's network.
        cluster: the cluster's name, for tags that keep a subnet for clusters.
        is_public: whether a subnet, by its id, leads to an internet gateway: asked where no subnet has a role's tag.

    Raises:
        BuildFailed: there are none, or too few.
    """
    if len(front.name) > _LONGEST_NAME:
        raise BuildFailed(f"load balancer name {front.name!r} is longer than {_LONGEST_NAME} characters")
    chosen = _named(front.subnets, candidates) if front.subnets else _found(front, candidates, cluster, is_public)
    least = 2 if front.kind == "application" else 1
    if len(chosen) < least:
        raise BuildFailed(f"subnets count less than minimal required count: {len(chosen)} < {least}")
    return chosen


def _named(wanted: Iterable[str], candidates: Sequence[Record]) -> list[Record]:
    chosen: dict[str, Record] = {}
    for name in wanted:
        fitting = [subnet for subnet in candidates if name in (subnet.id, _tags(subnet).get("Name"))]
        if not fitting:
            raise BuildFailed(f"couldn't find all subnets: the network has no {name}")
        zone = fitting[0]["availabilityZone"]
        if zone in chosen:
            raise BuildFailed(f"multiple subnets in same Availability Zone {zone}: {chosen[zone].id}, {fitting[0].id}")
        chosen[zone] = fitting[0]
    return list(chosen.values())


def _found(front: Front, candidates: Sequence[Record], cluster: str, is_public: Callable[[str], bool]) -> list[Record]:
    """Subnets with the role's tag, else those that lead where the scheme wants; those of other clusters left out."""
    role = _ROLE_TAGS[front.is_internal]
    tagged = [subnet for subnet in candidates if _tags(subnet).get(role) in ("", "1")]
    evaluated = tagged or [subnet for subnet in candidates if is_public(subnet.id) != front.is_internal]
    eligible = [subnet for subnet in evaluated if _is_free_for(subnet, cluster)]
    if not eligible:
        others = len(evaluated)
        raise BuildFailed(
            f"unable to resolve at least one subnet. Evaluated {len(evaluated)} subnets: {others} are tagged for other "
            f"clusters, and 0 have insufficient available IP addresses (looked for the tag {role})"
        )
    by_zone: dict[str, Record] = {}
    for subnet in sorted(eligible, key=lambda one: (f"{_CLUSTER_TAG}{cluster}" not in _tags(one), one.id)):
        by_zone.setdefault(subnet["availabilityZone"], subnet)
    return sorted(by_zone.values(), key=lambda one: one.id)


def _is_free_for(subnet: Record, cluster: str) -> bool:
    kept_for = {key.removeprefix(_CLUSTER_TAG) for key in _tags(subnet) if key.startswith(_CLUSTER_TAG)}
    return not kept_for or cluster in kept_for


def _tags(subnet: Record) -> Mapping[str, str]:
    return subnet["tagsAll"] or {}
