"""What stands between a preview and an up, and before a destroy: changes that nobody makes by accident."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from automation.errors import DataAtRisk, Irreplaceable, NotAllKept, PoolNotRetired, Protected
from automation.events import Resource
from automation.results import Result

POOLS = ("eksai:index:NodePool", "eksai:index:ManagedPool")
"""Components whose end drains nodes."""


CLUSTER = "aws:eks/cluster:Cluster"
USER_POOL = "aws:cognito/userPool:UserPool"

FOUNDATIONS = (
    USER_POOL,
    "aws:ebs/volume:Volume",
    "aws:ec2/vpc:Vpc",
    "aws:efs/fileSystem:FileSystem",
    CLUSTER,
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "aws:kms/key:Key",
    "aws:rds/instance:Instance",
    "aws:s3/bucket:Bucket",
    "random:index/randomBytes:RandomBytes",
    "random:index/randomPassword:RandomPassword",
)
"""What holds the rest of a stack, or its data: a replacement takes that along."""

DATA = frozenset(FOUNDATIONS) - {CLUSTER, USER_POOL, "aws:ec2/vpc:Vpc"} | {"aws:ecr/repository:Repository"}
"""What holds data, or is needed to read it: all of it is kept, or none."""

_MEMBER = re.compile(r"(?P<set>.*-data-milvus-etcd)-\d+")
"""The volume of a member of etcd, by its logical name."""


def irreplaceable(planned: Result) -> list[str]:
    """What the stack stands on and a preview replaces, each with the changed inputs.

    Args:
        planned: the preview.
    """
    replaced = [change for change in planned.resources if change.op == "replace" and change.type in FOUNDATIONS]
    return [f"{Resource(change.urn)} (changed: {', '.join(change.changed) or 'its id'})" for change in replaced]


def vanishing_pools(planned: Result, declared: frozenset[str]) -> list[str]:
    """The node pools that a preview deletes though no declaration says so.

    Args:
        planned: the preview.
        declared: pools that the settings declare; a retired one is among them.
    """
    deleted = (change.name for change in planned.resources if change.op == "delete" and change.type in POOLS)
    return sorted(name for name in deleted if name not in declared)


def grown_sets(planned: Result) -> list[str]:
    """The sets of etcd that get new members beside old ones.

    The new ones have no data and are the majority: they would form a cluster of their own, and an old member that finds
    it takes it for its own and empties its volume.

    Args:
        planned: the preview.
    """
    volumes = [change for change in planned.resources if change.type == "aws:ebs/volume:Volume"]
    members = [(found["set"], change.op) for change in volumes if (found := _MEMBER.fullmatch(change.name))]
    new = {name for name, op in members if op == "create"}
    return sorted(new & {name for name, op in members if op != "create"})


def hold(planned: Result, pools: frozenset[str] | None, *, allow_replacement: bool) -> None:
    """Refuses what a preview must not lead to.

    Args:
        planned: the preview.
        pools: declared node pools, retired ones too; None where nothing is known of pools.
        allow_replacement: whether what the stack stands on may be replaced.

    Raises:
        PoolNotRetired: a node pool would vanish unannounced.
        Irreplaceable: something that the stack stands on would be replaced.
        DataAtRisk: members without data would join some that have it.
    """
    if grown := grown_sets(planned):
        raise DataAtRisk(grown)
    if pools is not None and (lost := vanishing_pools(planned, pools)):
        raise PoolNotRetired(lost)
    if not allow_replacement and (replaced := irreplaceable(planned)):
        raise Irreplaceable(replaced)


def protected(recorded: Sequence[Mapping[str, Any]]) -> list[Resource]:
    """What of a state must not be deleted, but for what only groups others.

    Args:
        recorded: the resources in it.
    """
    found = (Resource(entry["urn"]) for entry in recorded if entry.get("protect"))
    return [resource for resource in found if not resource.is_grouping]


def hold_protected(stack: str, recorded: Sequence[Mapping[str, Any]], *, keep_data: bool) -> None:
    """Refuses to destroy a stack that holds something protected, or to keep its data where nothing protects that.

    Args:
        stack: the stack's name.
        recorded: the resources in its state.
        keep_data: whether what is protected is to stay, and only the rest to go.

    Raises:
        Protected: there is something that must not be deleted; or the cluster is protected, and is no data.
        NotAllKept: data is to be kept, and some of it would not be.
    """
    found = protected(recorded)
    if keep_data:
        unprotected = (Resource(entry["urn"]) for entry in recorded if not entry.get("protect"))
        if lost := [str(resource) for resource in unprotected if resource.type in DATA]:
            raise NotAllKept(stack, lost)
        if clusters := [str(resource) for resource in found if resource.type == CLUSTER]:
            raise Protected(stack, clusters, [])
    elif found:
        switched = [str(resource) for resource in found if resource.type in (CLUSTER, USER_POOL)]
        raise Protected(stack, switched, [str(resource) for resource in found if str(resource) not in switched])
