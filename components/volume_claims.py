"""Volumes that outlive the cluster: which claims of which pods find data again that was there before.

A StatefulSet takes a claim that has the name of its own, whoever made it. So the stack makes these volumes itself, and
not a driver: they are in its state, are protected as other stores are, and are there again after the cluster was not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi


@dataclass(frozen=True)
class VolumeClaim:
    """A claim by the name that a StatefulSet or an operator looks for."""

    namespace: str
    """Namespace of its pods."""
    name: str
    """The claim's name, `<template>-<pod>`."""
    pod: str
    """The kind of pod that it belongs to, as the settings' rules name it."""
    gib: int
    """Size, GiB; it can grow later, and not shrink."""
    place: int = 0
    """Which of those that share the work, from 0: they lie in different zones as far as there are enough."""

    @property
    def volume(self) -> str:
        """Name of its volume, one of the whole cluster's, and of the resources that make it up."""
        return f"{self.namespace}-{self.name}"

    def zone(self, zones: Sequence[str]) -> str:
        """The zone that its volume is made in.

        Args:
            zones: the network's zones, in which volumes lie by turns.
        """
        return zones[self.place % len(zones)]


@dataclass(frozen=True)
class BlockVolume:
    """An EBS volume that a claim is bound to."""

    claim: VolumeClaim
    volume_id: pulumi.Output[str]
    zone: pulumi.Output[str]
    """The zone that it lies in, and its pod has to."""
