"""What stands between a preview and an up, and before a destroy: changes that nobody makes by accident."""

from collections.abc import Mapping, Sequence
from typing import Any

from automation.errors import Irreplaceable, PoolNotRetired, Protected
from automation.events import Resource
from automation.results import Result

POOLS = ("eksai:index:NodePool", "eksai:index:ManagedPool")
"""Components whose end drains nodes."""


FOUNDATIONS = (
    "aws:cognito/userPool:UserPool",
    "aws:ec2/vpc:Vpc",
    "aws:eks/cluster:Cluster",
    "aws:kms/key:Key",
    "aws:s3/bucket:Bucket",
)
"""What holds the rest of a stack, or its data: a replacement takes that along."""


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


def hold(planned: Result, pools: frozenset[str] | None, *, allow_replacement: bool) -> None:
    """Refuses what a preview must not lead to.

    Args:
        planned: the preview.
        pools: declared node pools, retired ones too; None where nothing is known of pools.
        allow_replacement: whether what the stack stands on may be replaced.

    Raises:
        PoolNotRetired: a node pool would vanish unannounced.
        Irreplaceable: something that the stack stands on would be replaced.
    """
    if pools is not None and (lost := vanishing_pools(planned, pools)):
        raise PoolNotRetired(lost)
    if not allow_replacement and (replaced := irreplaceable(planned)):
        raise Irreplaceable(replaced)


def hold_protected(stack: str, recorded: Sequence[Mapping[str, Any]]) -> None:
    """Refuses to destroy a stack that holds something protected.

    Args:
        stack: the stack's name.
        recorded: the resources in its state.

    Raises:
        Protected: there is such a resource.
    """
    protected = [str(Resource(entry["urn"])) for entry in recorded if entry.get("protect")]
    if protected:
        raise Protected(stack, protected)
