"""The namespaces of the platform, each made once, with the least that Pod Security lets its pods do."""

from collections.abc import Mapping, Sequence
from typing import Literal

import pulumi
import pulumi_kubernetes as kubernetes
from typing_extensions import TypedDict

Level = Literal["restricted", "baseline", "privileged"]
MODES = ("enforce", "audit", "warn")

LEVELS: Mapping[str, Level] = {
    "cert-manager": "restricted",
    "external-secrets": "restricted",
    # Drivers and plug-ins mount devices and folders of the node.
    "gpu-operator": "privileged",
}
"""Pod Security level by namespace; every namespace of a chart file but those that a cluster has from the start."""

GIVEN = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
"""The namespaces of every cluster."""


class NamespacesArgs(TypedDict):
    """What namespaces need."""

    names: Sequence[str]
    """Which of `LEVELS`; those that every cluster has are left alone."""


class Namespaces(pulumi.ComponentResource):
    """The namespaces that charts are installed in.

    Attributes:
        made: those that were made, by name.
    """

    def __init__(self, name: str, args: NamespacesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Namespaces", name, {}, opts)
        self.made = {
            wanted: kubernetes.core.v1.Namespace(
                wanted,
                metadata={
                    "name": wanted,
                    "labels": {f"pod-security.kubernetes.io/{mode}": LEVELS[wanted] for mode in MODES},
                },
                opts=pulumi.ResourceOptions(parent=self),
            )
            for wanted in sorted(set(args["names"]) - GIVEN)
        }
        self.register_outputs({})
