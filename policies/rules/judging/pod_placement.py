"""`fits`: which pools a pod can run on, and why not on the others.

A pure function over plain data as a program registers it, so that rules, the local cloud and tests ask the same
question. It stands in this package, beside what the rules share, because the engine runs the policy pack as a folder of
its own: a module beside `rules` could not be imported from there.

Not judged: affinity between pods, topology spread, volumes bound to a zone, ports of the host, what DaemonSets take of
a node, ephemeral storage, and resource claims (DRA).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .label_selection import in_words, narrowed_by_all
from .node_offer import EFA, Object, Offer, Pool, read_pool
from .pod_demand import Demand, demand_of
from .quantities import readable

EFA_GROUP_LABEL = "vpc.amazonaws.com/efa.present"
"""Label of the nodes that are in the security group in which EFA traffic passes."""

_REPELLING = ("NoSchedule", "NoExecute")
_NOT_JUDGED = ("ephemeral-storage",)


@dataclass(frozen=True)
class Placement:
    """Where a pod can run.

    Attributes:
        fitting: the pools that can run it, in the order given.
        refused: for each other pool, the reason in one sentence.
    """

    fitting: tuple[str, ...]
    refused: Mapping[str, str]


def fits(
    pod: Object,
    pools: Mapping[str, Object],
    instance_types: Mapping[str, Mapping[str, Any]],
    overlays: Iterable[Object] = (),
) -> Placement:
    """Returns the pools that can run a pod.

    Args:
        pod: a Pod, or the pod template of a Deployment or Job.
        pools: registered NodePools (`spec`) and EKS node groups (`scalingConfig`), by the pool's name.
        instance_types: the table of instance types; see `node_offer.read_pool`.
        overlays: registered NodeOverlays.

    Raises:
        ValueError: a quantity or operator is none.
    """
    demand, listed = demand_of(pod), tuple(overlays)
    reasons = {
        name: _refusal(demand, read_pool(name, properties, instance_types, listed))
        for name, properties in pools.items()
    }
    return Placement(
        fitting=tuple(name for name, reason in reasons.items() if reason is None),
        refused={name: reason for name, reason in reasons.items() if reason is not None},
    )


def _refusal(demand: Demand, pool: Pool) -> str | None:
    """Returns why a pool cannot run a pod, None if it can."""
    for taint in pool.taints:
        if taint["effect"] in _REPELLING and not demand.tolerates(taint):
            value = f"={taint['value']}" if taint.get("value") else ""
            return f"The pod does not tolerate the taint {taint['key']}{value}:{taint['effect']}."
    if not pool.offers:
        return "None of its instance types is in the table of instance types."
    offers = [offer for offer in pool.offers if _selected(demand, offer)]
    if not offers:
        return _why_none_is_selected(demand, pool)
    if EFA in demand.resources and not any(EFA_GROUP_LABEL in offer.labels for offer in offers):
        return f"Its nodes are outside the EFA group (no label {EFA_GROUP_LABEL}), where EFA traffic goes nowhere."
    large = [offer for offer in offers if _holds(demand, offer)]
    if not large:
        return _why_none_is_large_enough(demand, offers)
    if not any(_within(offer, pool.limits) for offer in large):
        return _why_none_is_within(large, pool.limits)
    return None


def _selected(demand: Demand, offer: Offer) -> bool:
    return any(narrowed_by_all(offer.labels, term) is not None for term in demand.terms)


def _why_none_is_selected(demand: Demand, pool: Pool) -> str:
    for term in demand.terms:
        for requirement in term:
            if all(narrowed_by_all(offer.labels, [requirement]) is None for offer in pool.offers):
                return f"None of its nodes has {in_words(requirement)}."
    return "No one kind of its nodes has all the labels that the pod asks for."


def _holds(demand: Demand, offer: Offer) -> bool:
    return all(
        amount <= offer.allocatable.get(resource, 0.0)
        for resource, amount in demand.resources.items()
        if resource not in _NOT_JUDGED
    )


def _why_none_is_large_enough(demand: Demand, offers: list[Offer]) -> str:
    for resource, amount in demand.resources.items():
        if resource in _NOT_JUDGED:
            continue
        largest = max(offers, key=lambda offer: offer.allocatable.get(resource, 0.0))
        most = largest.allocatable.get(resource, 0.0)
        if not most:
            return f"The pod asks for {readable(resource, amount)}, of which its nodes announce none."
        if most < amount:
            there = f"{readable(resource, most)} on {largest.instance_type}"
            return f"The pod asks for {readable(resource, amount)}, and the most that a node has for pods is {there}."
    return "No one instance type has everything together that the pod asks for."


def _within(offer: Offer, limits: Mapping[str, float]) -> bool:
    return all(offer.capacity.get(resource, 0.0) <= limit for resource, limit in limits.items())


def _why_none_is_within(offers: list[Offer], limits: Mapping[str, float]) -> str:
    smallest = min(offers, key=lambda offer: offer.capacity["cpu"])
    for resource, limit in limits.items():
        if smallest.capacity.get(resource, 0.0) > limit:
            amount = readable(resource, smallest.capacity[resource])
            return f"Its limit of {readable(resource, limit)} is below one {smallest.instance_type}, with {amount}."
    return "Its limits allow none of the instance types that are large enough."
