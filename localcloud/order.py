"""The order in which an engine may make and delete resources, and what a declared dependency is good for.

Every resource depends on what its inputs come from, on what it was told to wait for (`depends_on`), on its parent and
on its provider; who depends on a component depends on all that is in it. An engine may take any order that this
allows, so the most unfavourable one is tried here: with a dependency taken out, what waited for it comes first.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from localcloud.eks_cluster import TOKEN as EKS_CLUSTER
from localcloud.errors import AwsError
from localcloud.registration import Registration
from localcloud.rehearsal import Stage, is_stored

Graph = Mapping[str, frozenset[str]]


class Verdict(Enum):
    """What is known of a declared dependency."""

    NEEDED_UP = "needed to make"
    NEEDED_DOWN = "needed to delete"
    IMPLIED = "implied by others"
    UNPROVED = "not proved"


@dataclass(frozen=True)
class Edge:
    """One `depends_on` of a program.

    Attributes:
        dependent: URN of the resource or component that waits.
        awaited: URN of the resource or component that is waited for.
        members: URNs of the resources that this stands for.
    """

    dependent: str
    awaited: str
    members: frozenset[str]

    @property
    def names(self) -> tuple[str, str]:
        """Type and logical name of the two ends."""
        return _label(self.dependent), _label(self.awaited)


@dataclass(frozen=True)
class Finding:
    """What was found out about an edge: the verdict, and the refusal that proves it."""

    edge: Edge
    verdict: Verdict
    reason: str = ""


class Order:
    """The dependencies of a program.

    Args:
        resources: everything that it registered, in that order.
    """

    def __init__(self, resources: Sequence[Registration]) -> None:
        self._resources = {resource.urn: _unprotected(resource) for resource in resources}
        self._inside: dict[str, set[str]] = {urn: set() for urn in self._resources}
        for resource in resources:
            for ancestor in self._ancestors(resource.urn):
                self._inside[ancestor].add(resource.urn)
        self._place = {urn: place for place, urn in enumerate(self._resources)}
        self._graph = {urn: self._awaited(urn, self._explicit(urn)) for urn in self._resources}
        self._full = Stage(self._resources.values())
        self._full.make(list(self._resources))

    @property
    def edges(self) -> list[Edge]:
        """Every `depends_on` of the program, as its author wrote it: one on a component stays one."""
        found: list[Edge] = []
        for urn in self._resources:
            rest = self._explicit(urn)
            while rest:
                awaited = self._widest(urn, min(rest, key=lambda member: self._place[member]), rest)
                members = rest & {awaited, *self._inside[awaited]}
                found.append(Edge(urn, awaited, frozenset(members)))
                rest -= members
        return found

    def faults(self) -> Iterator[str]:
        """Yields what goes wrong in the most unfavourable orders that the program allows; nothing when all is well."""
        for urn in (urn for urn, resource in self._resources.items() if is_stored(resource)):
            if reason := self._making(urn, self._graph):
                yield f"making {_label(urn)} as soon as what it depends on exists: {reason}"
            if reason := self._deleting({urn}, self._graph):
                yield f"deleting {_label(urn)} as soon as nothing depends on it: {reason}"

    def judge(self, edge: Edge) -> Finding:
        """Finds out whether AWS refuses an order that would be allowed without the edge."""
        urn = edge.dependent
        without = {**self._graph, urn: self._awaited(urn, self._explicit(urn) - edge.members)}
        # Not only the dependent: what depends on it may come sooner too.
        freed = [
            one
            for one, resource in self._resources.items()
            if is_stored(resource) and _closure(one, without) != _closure(one, self._graph)
        ]
        if not freed:
            return Finding(edge, Verdict.IMPLIED)
        for one in freed:
            if reason := self._making(one, without):
                return Finding(edge, Verdict.NEEDED_UP, reason)
        for early in [set(edge.members), *({member} for member in sorted(edge.members))]:
            if reason := self._deleting(early, without):
                return Finding(edge, Verdict.NEEDED_DOWN, reason)
        return Finding(edge, Verdict.UNPROVED)

    def _making(self, urn: str, graph: Graph) -> str | None:
        """Why a resource cannot be made when nothing exists but what it depends on; None when it can."""
        stage = Stage(self._resources.values())
        try:
            stage.make(self._sorted({urn} | _closure(urn, graph)))
        except AwsError as refusal:
            return str(refusal)
        return None

    def _deleting(self, early: Iterable[str], graph: Graph) -> str | None:
        """Why not everything can be deleted, with some as early as possible, or what would stay; None when all goes."""
        dependents = _reversed(graph)
        first = set(early).union(*(_closure(urn, dependents) for urn in early))
        rest = self._resources.keys() - first
        stage = self._full.copy()
        try:
            stage.delete([*reversed(self._sorted(first)), *reversed(self._sorted(rest))])
        except AwsError as refusal:
            return str(refusal)
        return f"left behind: {', '.join(stage.left)}" if stage.left else None

    def _explicit(self, urn: str) -> set[str]:
        """What a resource waits for though no value of it comes from there."""
        return (set(self._resources[urn].dependencies) & self._resources.keys()) - self._named(urn)

    def _named(self, urn: str) -> set[str]:
        resource = self._resources[urn]
        holders = [resource]
        if resource.type == EKS_CLUSTER:
            # A component that is made elsewhere hands its arguments on to what is in it.
            holders += [self._resources[one] for one in self._inside[urn]]
        named = {origin for one in holders for origins in one.property_dependencies.values() for origin in origins}
        return named & set(resource.dependencies)

    def _awaited(self, urn: str, explicit: set[str]) -> frozenset[str]:
        resource = self._resources[urn]
        awaited = explicit | self._named(urn)
        # Only what was registered before can be waited for.
        inside = {one for component in awaited for one in self._inside.get(component, ())}
        earlier = {one for one in inside if self._place[one] < self._place[urn]}
        return frozenset((awaited | earlier | {resource.parent, resource.provider}) & self._resources.keys() - {urn})

    def _widest(self, urn: str, member: str, rest: set[str]) -> str:
        """The outermost component all of whose resources are waited for, and that the dependent is not in itself."""
        widest = member
        for ancestor in self._ancestors(member):
            custom = {one for one in self._inside[ancestor] if self._resources[one].custom}
            if urn in self._inside[ancestor] or not custom <= rest | self._graph[urn]:
                break
            widest = ancestor
        return widest

    def _ancestors(self, urn: str) -> Iterable[str]:
        parent = self._resources[urn].parent
        while parent in self._resources:
            yield parent
            parent = self._resources[parent].parent

    def _sorted(self, urns: Iterable[str]) -> list[str]:
        return sorted(urns, key=lambda urn: self._place[urn])


def _unprotected(resource: Registration) -> Registration:
    """Takes the protection from deletion away, as one must before a destroy."""
    inputs = {key: value for key, value in resource.inputs.items() if key != "deletionProtection"}
    return dataclasses.replace(resource, inputs=inputs)


def _closure(urn: str, graph: Graph) -> set[str]:
    """Everything that can be reached from a node."""
    found: set[str] = set()
    waiting = [urn]
    while waiting:
        fresh = graph[waiting.pop()] - found
        found |= fresh
        waiting += fresh
    return found


def _reversed(graph: Graph) -> dict[str, frozenset[str]]:
    turned: dict[str, set[str]] = {urn: set() for urn in graph}
    for urn, awaited in graph.items():
        for one in awaited:
            turned[one].add(urn)
    return {urn: frozenset(dependents) for urn, dependents in turned.items()}


def _label(urn: str) -> str:
    parts = urn.split("::")
    kind = parts[2].rpartition("$")[2].rpartition(":")[2]
    return f"{kind} {parts[3]}"
