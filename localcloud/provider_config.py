"""What the configuration of a provider means: what it must hold, and when a change replaces everything made by it."""

from collections.abc import Iterator, Mapping
from typing import Any

from localcloud.identity import identity_of
from localcloud.properties import changes
from localcloud.resource_type import Difference, Failure
from localcloud.values import contains_unknown

_PREFIX = "pulumi:providers:"


def package_of(provider_type: str) -> str:
    """Returns the package that a provider's type (`pulumi:providers:aws`) or a resource's token belongs to."""
    return provider_type.removeprefix(_PREFIX).partition(":")[0]


def faults(package: str, configuration: Mapping[str, Any]) -> Iterator[Failure]:
    """Yields what is wrong with a provider's configuration."""
    if package == "aws" and "region" not in configuration:
        yield Failure("region", "missing required configuration: give the provider a region")


def differences(package: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """Compares two configurations of a provider.

    A replaced provider replaces every resource made by it: an AWS provider for another region, and a Kubernetes
    provider for another cluster. Which cluster it is, `clusterIdentifier` says. Without one on either side the
    API server in the kubeconfig has to stand for it, and one that is not known yet counts as another.
    """
    replacing: set[str] = set()
    if package == "aws":
        replacing = {"region"}
    elif package == "kubernetes" and _is_another_cluster(old, new):
        replacing = {"clusterIdentifier", "kubeconfig", "context", "cluster"}
    return [
        Difference(path, kind, path in replacing)
        for path, kind in changes(old, new)
        if path != "version"  # of the plug-in, no part of the configuration
    ]


def _is_another_cluster(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    before, after = old.get("clusterIdentifier"), new.get("clusterIdentifier")
    if before is not None or after is not None:
        return before != after
    return contains_unknown(new.get("kubeconfig")) or identity_of(old).cluster != identity_of(new).cluster
