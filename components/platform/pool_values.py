"""What a chart is told of a stack's pools: values between those of its file and the stack's own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from components.platform import eks_images
from components.platform.dra import resource_api_version
from components.platform.gpu_operator import operator_values
from components.pools import Pool, tolerations
from components.release import ChartFile, nested, overlaid


@dataclass(frozen=True)
class Surroundings:
    """What values follow from."""

    pools: Sequence[Pool]
    """All pools of the stack."""
    cluster_version: str
    """Kubernetes version."""
    region: str
    """AWS region."""
    image_registry: str | None = None
    """The registry that mirrors every image; None: each comes from where it is published."""


def _efa_values(around: Surroundings) -> dict[str, Any]:
    if around.image_registry is not None:
        return {}
    return {"image": {"repository": eks_images.repository(around.region, "eks/aws-efa-k8s-device-plugin")}}


_COMPUTED: Mapping[str, Callable[[Surroundings], dict[str, Any]]] = {
    "gpu-operator": lambda around: operator_values(around.pools),
    "dra-driver-nvidia-gpu": lambda around: {"resourceApiVersion": resource_api_version(around.cluster_version)},
    "aws-efa-k8s-device-plugin": _efa_values,
}
"""By chart, what it alone is told."""


def pool_values(name: str, chart: ChartFile, around: Surroundings) -> dict[str, Any]:
    """The values of a chart that follow from the stack's pools.

    Every list of tolerations that the chart file names is the file's own and one for each taint of a pool: Helm
    replaces lists, and a DaemonSet that misses one would never show that it runs nowhere.

    Args:
        name: the chart file's name.
        chart: what the file says.
        around: what the values follow from.
    """
    values: dict[str, Any] = {}
    for path in chart.tolerations:
        own: list[dict[str, str]] = value_at(chart.values, path) or []
        values = overlaid(values, nested(path, [*own, *tolerations(around.pools)]))
    computed = _COMPUTED.get(name)
    return overlaid(values, computed(around)) if computed else values


def value_at(values: Mapping[str, Any], path: str) -> Any:
    """What stands at a dotted path of a chart's values, None where nothing does.

    Args:
        values: the values.
        path: such as `kubeletPlugin.tolerations`.
    """
    found: Any = values
    for key in path.split("."):
        found = cast(Mapping[str, Any], found).get(key) if isinstance(found, Mapping) else None
    return found
