"""The charts that a pool cannot be used without."""

from collections.abc import Callable, Iterable, Mapping

from components.accelerators import Vendor
from components.platform.gpu_operator import is_served
from components.pools import Pool

_NEEDS: Mapping[str, Callable[[Pool], bool]] = {
    "gpu-operator": is_served,
    "dra-driver-nvidia-gpu": lambda pool: pool.allocation == "dra",
    "neuron-helm-chart": lambda pool: pool.vendor is Vendor.NEURON,
    "aws-efa-k8s-device-plugin": lambda pool: pool.efa,
}
"""By chart, whether a pool's nodes would announce nothing without it."""


def charts_needed(pools: Iterable[Pool]) -> dict[str, list[str]]:
    """The charts that some pools need, each with the names of these pools.

    Args:
        pools: the pools.
    """
    needing = list(pools)
    found = {chart: [pool.name for pool in needing if needs(pool)] for chart, needs in _NEEDS.items()}
    return {chart: names for chart, names in found.items() if names}
