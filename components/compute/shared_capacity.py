"""What Karpenter has to know of pools whose GPUs are shared: it would plan with whole ones."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from components.compute.instance_types import InstanceType, table
from components.compute.pool_declaration import NodePoolSettings
from components.gpu_sharing import WHOLE_GPU, Sharing, resource_of, shares_of


def shared_limits(pool: NodePoolSettings) -> dict[str, str]:
    """The limit in shares that the pool's limit in GPUs comes to; nothing where GPUs are not shared.

    Nodes with shared GPUs announce no whole ones, so that a limit on these alone would hold nothing back.

    Args:
        pool: a pool with limits.
    """
    sharing, limits = pool["sharing"], pool["limits"]
    if sharing is None or limits is None or limits["accelerators"] is None:
        return {}
    # The settings see to it that all GPUs of a pool have as many shares.
    (shares,) = {_shares(sharing, table()[name]) for name in pool["instance_types"]}
    return {resource_of(sharing): str(limits["accelerators"] * shares)}


def overlay_specs(name: str, pool: NodePoolSettings) -> Mapping[int, dict[str, Any]]:
    """The NodeOverlays' specs of a pool, by the number of GPUs on a node; none where GPUs are not shared.

    Whole GPUs are set to zero: otherwise Karpenter would start nodes here for pods that ask for one, which they would
    never get. An overlay's amount replaces the instance type's own (karpenter 1.14.1, `ApplyCapacityOverlay`), and of
    the resources that the AWS provider knows, GPUs are those that an overlay may name.

    Args:
        name: the pool's name.
        pool: the pool.
    """
    sharing = pool["sharing"]
    if sharing is None:
        return {}
    rows = sorted((table()[name] for name in pool["instance_types"]), key=_gpus)
    specs: dict[int, dict[str, Any]] = {}
    for gpus, alike in groupby(rows, key=_gpus):
        types = list(alike)
        specs[gpus] = {
            "requirements": [
                {"key": "karpenter.sh/nodepool", "operator": "In", "values": [name]},
                {
                    "key": "node.kubernetes.io/instance-type",
                    "operator": "In",
                    "values": [row.name for row in types],
                },
            ],
            "capacity": {resource_of(sharing): str(gpus * _shares(sharing, types[0])), WHOLE_GPU: "0"},
        }
    return specs


def _gpus(row: InstanceType) -> int:
    return row.accelerators


def _shares(sharing: Sharing, row: InstanceType) -> int:
    return shares_of(sharing, row.accelerator, row.accelerator_memory_mib)
