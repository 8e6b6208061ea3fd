"""Which nodes pending pods need: what Karpenter decides, from plain objects."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from localcloud.cluster.node_objects import INSTANCE_TYPE, INSTANCE_TYPES, REGION, ZONE, fixed_labels
from localcloud.cluster.node_room import Room, asked, holds, less, plus, repel, selected, tolerates
from localcloud.cluster.view import Object, is_going
from policies.rules.judging.label_selection import narrowed_by_all
from policies.rules.judging.node_offer import Offer, read_pool
from policies.rules.judging.pod_demand import Demand, demand_of
from policies.rules.judging.pod_placement import fits
from policies.rules.judging.quantities import readable

NODE_POOL_LABEL, CAPACITY_TYPE = "karpenter.sh/nodepool", "karpenter.sh/capacity-type"

PATIENCE = timedelta(seconds=30)
"""How long a pod waits for the scheduler to put it on a node that seems to have room for it."""

MOST_ATTEMPTS = 3
"""How many nodes are made for one pod: what none of them takes, no further one will."""

_PREFERRED_CAPACITY = ("spot", "on-demand")


@dataclass(frozen=True)
class Supply:
    """A pool that nodes can be drawn from.

    Attributes:
        name: the pool's name.
        pool: the NodePool.
        region: the region of its nodes.
        zones: the zones in which its node class has subnets.
        added: what its nodes have beside what their instance types say, by instance type: room for pods and on disk.
        used: what its nodes have together, by resource.
        refusal: why it makes no nodes now; None when it does.
    """

    name: str
    pool: Object
    region: str
    zones: tuple[str, ...] = ()
    added: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    used: Mapping[str, float] = field(default_factory=dict)
    refusal: str | None = None


@dataclass(frozen=True)
class Launch:
    """A node to make.

    Attributes:
        pool: its pool.
        labels: its labels, but for those that only its instance decides.
        capacity: what it has, by resource.
        allocatable: what pods get of it, by resource.
        requests: what its pods ask for together.
        pods: uids of the pods that it is made for.
    """

    pool: str
    labels: Mapping[str, str]
    capacity: Mapping[str, float]
    allocatable: Mapping[str, float]
    requests: Mapping[str, float]
    pods: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What to do about pending pods.

    Attributes:
        launches: nodes to make.
        promises: uids of the pods that wait for a node under way, by the room's name.
        refused: for each pod that no pool can run now (`namespace/name`), the reason by pool.
    """

    launches: tuple[Launch, ...]
    promises: Mapping[str, tuple[str, ...]]
    refused: Mapping[str, Mapping[str, str]]


def awaiting(pods: Iterable[Object]) -> list[Object]:
    """Returns the pods that the scheduler finds no node for, without those of DaemonSets, which bring no nodes."""
    return [pod for pod in pods if _is_unschedulable(pod) and not is_of_daemon_set(pod)]


def is_of_daemon_set(pod: Object) -> bool:
    """Tells whether a pod belongs to a DaemonSet."""
    return any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences") or ())


def full_name(pod: Object) -> str:
    """Returns a pod's name with its namespace."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def plan(
    pods: Iterable[Object],
    supplies: Iterable[Supply],
    rooms: Sequence[Room],
    daemons: Sequence[Object],
    overlays: Sequence[Object],
    attempts: Mapping[str, int],
    now: datetime,
) -> Plan:
    """Returns which nodes to make for pods that the scheduler finds no node for.

    The largest pods come first. Each goes on a node that is under way or has room, then on a node that this plan makes
    already, then on a new one of the first pool that fits, by weight and name.

    Args:
        pods: the pods; see `awaiting`.
        supplies: the pools.
        rooms: the nodes that are there or under way. Pods that are promised to one must be on it already, and not in
            `pods`.
        daemons: pod templates of the DaemonSets, which take their part of every node.
        overlays: Karpenter's NodeOverlays.
        attempts: how many nodes were made for a pod before, by its uid.
        now: the time.
    """
    ordered = sorted(supplies, key=lambda supply: (-(supply.pool["spec"].get("weight") or 1), supply.name))
    planning = _Planning(ordered, rooms, daemons, overlays)
    for pod, demand in sorted(((pod, demand_of(pod)) for pod in pods), key=_size, reverse=True):
        patient = now - _pending_since(pod) < PATIENCE
        if planning.waits(pod, demand, patient):
            continue
        if attempts.get(pod["metadata"]["uid"], 0) >= MOST_ATTEMPTS:
            planning.give_up(pod)
        else:
            planning.place(pod, demand)
    return planning.result()


@dataclass(frozen=True)
class _Option:
    """A kind of node that a draft may become, and what its DaemonSets leave of it."""

    offer: Offer
    room: Mapping[str, float]


@dataclass
class _Draft:
    """A node that a plan makes, of whatever kinds still hold all that was put on it."""

    supply: Supply
    options: list[_Option]
    pods: list[Object] = field(default_factory=list[Object])
    requests: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def chosen(self) -> Offer:
        """The smallest kind, in place of the cheapest one: prices are not known here."""
        return min((option.offer for option in self.options), key=_cost)

    def put(self, pod: Object, demand: Demand, drafts: Sequence["_Draft"]) -> str | None:
        """Puts a pod on the node; returns why it cannot run there if so, and then changes nothing."""
        if not tolerates(demand, self.supply.pool["spec"]["template"]["spec"].get("taints") or ()):
            return "It does not tolerate the pool's taints."
        if any(repel(pod, other) for other in self.pods):
            return "It does not stand the other pods of the node."
        requests = plus(self.requests, asked(demand))
        selecting = [
            replace(option, offer=replace(option.offer, labels=labels))
            for option in self.options
            if (labels := selected(demand, option.offer.labels)) is not None
        ]
        if not selecting:
            return "None of its nodes in the zones of its node class, spot or on-demand, has the labels asked for."
        large = [option for option in selecting if holds(option.room, requests)]
        if not large:
            return "The pod does not fit beside the DaemonSets on any of its nodes."
        others = [_counted(draft.chosen) for draft in drafts if draft.supply is self.supply and draft is not self]
        used = plus(self.supply.used, *others)
        limits = _read_limits(self.supply.pool)
        left = [option for option in large if holds(limits, _limited(plus(used, _counted(option.offer)), limits))]
        if not left:
            return _over_limit(used, min((option.offer for option in large), key=_cost), limits)
        self.options, self.requests = left, requests
        self.pods.append(pod)
        return None


class _Planning:
    """A plan in the making.

    Args:
        supplies: the pools, in the order in which they are tried.
        rooms: the nodes that are there or under way.
        daemons: pod templates of the DaemonSets.
        overlays: NodeOverlays.
    """

    def __init__(
        self, supplies: Sequence[Supply], rooms: Sequence[Room], daemons: Sequence[Object], overlays: Sequence[Object]
    ) -> None:
        self._supplies = supplies
        self._rooms = rooms
        self._daemons = daemons
        self._overlays = overlays
        self._pools = {supply.name: supply.pool for supply in supplies}
        self._options: dict[str, list[_Option]] = {}
        self._drafts: list[_Draft] = []
        self._promises: dict[str, tuple[str, ...]] = {}
        self._refused: dict[str, Mapping[str, str]] = {}

    def waits(self, pod: Object, demand: Demand, patient: bool) -> bool:
        """Tells whether a pod can wait for a node that there is: one under way, or for a while one with room."""
        for room in self._rooms:
            if not room.settled and room.takes(pod, demand):
                self._promises[room.name] = (*self._promises.get(room.name, ()), pod["metadata"]["uid"])
                return True
        return patient and any(room.takes(pod, demand) for room in self._rooms if room.settled)

    def give_up(self, pod: Object) -> None:
        """Refuses a pod that has used none of the nodes made for it."""
        said = _scheduled(pod).get("message", "")
        why = f"The scheduler used none of {MOST_ATTEMPTS} nodes made for it: {said}"
        self._refused[full_name(pod)] = dict.fromkeys(self._pools, why)

    def place(self, pod: Object, demand: Demand) -> None:
        """Puts a pod on a node that is to be made, or refuses it."""
        if any(draft.put(pod, demand, self._drafts) is None for draft in self._drafts):
            return
        placement = fits(pod, self._pools, INSTANCE_TYPES, self._overlays)
        reasons = dict(placement.refused)
        for supply in self._supplies:
            if supply.name in reasons:
                continue
            draft = _Draft(supply, self._options_of(supply))
            reason = supply.refusal or draft.put(pod, demand, self._drafts)
            if reason is None:
                self._drafts.append(draft)
                return
            reasons[supply.name] = reason
        self._refused[full_name(pod)] = reasons

    def result(self) -> Plan:
        """Returns the plan."""
        places = [(room.labels.get(NODE_POOL_LABEL), room.labels.get(ZONE)) for room in self._rooms]
        return Plan(tuple(_launch(draft, places) for draft in self._drafts), self._promises, self._refused)

    def _options_of(self, supply: Supply) -> list[_Option]:
        if supply.name not in self._options:
            self._options[supply.name] = _options(supply, self._daemons, self._overlays)
        return self._options[supply.name]


def _read_limits(pool: Object) -> Mapping[str, float]:
    """Returns the most that a NodePool may hold, by resource."""
    return read_pool("", pool, {}, ()).limits


def _over_limit(used: Mapping[str, float], offer: Offer, limits: Mapping[str, float]) -> str:
    for resource, limit in limits.items():
        more = _counted(offer).get(resource, 0.0)
        if used.get(resource, 0.0) + more > limit:
            return (
                f"Its limit of {readable(resource, limit)} leaves no room for one more {offer.instance_type}: "
                f"{readable(resource, used.get(resource, 0.0))} of it are in use, and that node has "
                f"{readable(resource, more)}."
            )
    return "Its limits leave no room for one more node."


def _counted(offer: Offer) -> Mapping[str, float]:
    """Returns what one node counts against its pool's limits."""
    return {**offer.capacity, "nodes": 1.0}


def _options(supply: Supply, daemons: Sequence[Object], overlays: Sequence[Object]) -> list[_Option]:
    found: list[_Option] = []
    demands = [demand_of(daemon) for daemon in daemons]
    pool = read_pool(supply.name, supply.pool, INSTANCE_TYPES, overlays)
    here = (
        {"key": ZONE, "operator": "In", "values": supply.zones},
        {"key": REGION, "operator": "In", "values": [supply.region]},
        {"key": CAPACITY_TYPE, "operator": "In", "values": _PREFERRED_CAPACITY},
    )
    for offer in pool.offers:
        labels = narrowed_by_all(offer.labels, here)
        if labels is None:
            continue
        added = supply.added.get(offer.instance_type, {})
        complete = Offer(offer.instance_type, labels, {**offer.capacity, **added}, {**offer.allocatable, **added})
        own = [one for one in demands if tolerates(one, pool.taints) and selected(one, labels) is not None]
        found.append(_Option(complete, less(complete.allocatable, plus(*map(asked, own)))))
    return found


def _launch(draft: _Draft, places: list[tuple[str | None, str | None]]) -> Launch:
    """Settles what a draft leaves open, and notes pool and zone for those after it."""
    offer = draft.chosen
    capacity_types, allowed = offer.labels[CAPACITY_TYPE], offer.labels[ZONE]
    assert capacity_types is not None, "narrowed before"
    assert allowed is not None, "narrowed before"
    capacity_type = next(kind for kind in _PREFERRED_CAPACITY if kind in capacity_types)
    pool = draft.supply.name
    zone = min(allowed, key=lambda zone: (places.count((pool, zone)), zone))
    places.append((pool, zone))
    labels = {**fixed_labels(offer), ZONE: zone, CAPACITY_TYPE: capacity_type, INSTANCE_TYPE: offer.instance_type}
    return Launch(
        pool=pool,
        labels=labels,
        capacity=offer.capacity,
        allocatable=offer.allocatable,
        requests=draft.requests,
        pods=tuple(pod["metadata"]["uid"] for pod in draft.pods),
    )


def _cost(offer: Offer) -> tuple[Any, ...]:
    row = INSTANCE_TYPES[offer.instance_type]
    devices = row["accelerators"] * (row["accelerator_memory_mib"] or 1)
    return devices, row["vcpu"], row["memory_mib"], offer.instance_type


def _size(waiting: tuple[Object, Demand]) -> tuple[Any, ...]:
    pod, demand = waiting
    devices = sum(amount for resource, amount in demand.resources.items() if "/" in resource)
    name = full_name(pod)
    return devices, demand.resources.get("cpu", 0.0), demand.resources.get("memory", 0.0), name


def _limited(amounts: Mapping[str, float], limits: Mapping[str, float]) -> dict[str, float]:
    return {resource: amount for resource, amount in amounts.items() if resource in limits}


def _scheduled(pod: Object) -> Object:
    conditions = pod.get("status", {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == "PodScheduled"), {})


def _is_unschedulable(pod: Object) -> bool:
    condition = _scheduled(pod)
    told = condition.get("status") == "False" and condition.get("reason") == "Unschedulable"
    return told and not pod["spec"].get("nodeName") and not is_going(pod)


def _pending_since(pod: Object) -> datetime:
    return datetime.fromisoformat(_scheduled(pod)["lastTransitionTime"])
