"""A namespace whose pods may do no more than Pod Security's level says."""

from collections.abc import Mapping
from typing import Literal

import pulumi
import pulumi_kubernetes as kubernetes

Level = Literal["restricted", "baseline", "privileged"]
MODES = ("enforce", "audit", "warn")


def make_namespace(
    name: str, level: Level, opts: pulumi.ResourceOptions, labels: Mapping[str, str] | None = None
) -> kubernetes.core.v1.Namespace:
    """Makes a namespace of the same name.

    Args:
        name: the namespace.
        level: what its pods may do.
        opts: carries the parent or the cluster's provider.
        labels: further labels.
    """
    levels = {f"pod-security.kubernetes.io/{mode}": level for mode in MODES}
    return kubernetes.core.v1.Namespace(
        name, metadata={"name": name, "labels": {**levels, **(labels or {})}}, opts=opts
    )
