"""Where the nodes of a pool stand to each other."""

import pulumi
import pulumi_aws as aws

from components.compute.pool_declaration import PoolArgs, tags_of


def cluster_placement(name: str, pool: PoolArgs, opts: pulumi.ResourceOptions) -> pulumi.Output[str] | None:
    """Makes the placement group that keeps EFA nodes close together, and returns its id; None where there is none.

    Reserved capacity has its place already: a group of ours on top of it would ask for instances that are both in the
    reservation and near the group's first one, and find none.

    Args:
        name: the pool's name.
        pool: the pool.
        opts: carries the parent.
    """
    if not pool["efa"] or pool["capacity_reservations"]:
        return None
    group = aws.ec2.PlacementGroup(name, strategy="cluster", tags=tags_of(name, pool), opts=opts)
    return group.placement_group_id
