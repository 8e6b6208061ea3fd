"""Node images: what an `ami` setting names, which variant fits which node, and which releases exist for which version.

An image is named by alias (`bottlerocket@v1.66.0`, of which Karpenter picks the variant by itself) or by the path of
one of AWS's public SSM parameters, which names exactly one variant. Sources, read 2026-11-30: Karpenter 1.14.1's
`amifamily` (aliases, paths), the releases of Bottlerocket and of amazon-eks-ami (first release with a version).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from components.accelerators import Vendor

_ALIAS = re.compile(r"(?P<family>bottlerocket)@(latest|v(?P<b>\d+\.\d+\.\d+))|(?P<al>al2023)@(latest|v(?P<a>\d{8}))")
_PARAMETERS = (
    re.compile(
        r"/aws/service/(?P<family>bottlerocket)/aws-k8s-(?P<version>\d\.\d+)(-(?P<variant>nvidia))?(-fips)?"
        r"/(?P<architecture>x86_64|arm64)/(latest|(?P<release>\d+\.\d+\.\d+))/image_id"
    ),
    re.compile(
        r"/aws/service/eks/optimized-ami/(?P<version>\d\.\d+)/(?P<family>amazon-linux-2023)"
        r"/(?P<architecture>x86_64|arm64)/(?P<variant>standard|nvidia|neuron)"
        r"/(recommended|amazon-eks-node-al2023-(?P=architecture)-(?P=variant)-(?P=version)-v(?P<release>\d{8}))/image_id"
    ),
)
_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}

FIRST_RELEASE: Mapping[str, Mapping[str, str]] = {
    "bottlerocket": {"1.34": "1.47.0", "1.35": "1.53.0", "1.36": "1.61.0"},
    "al2023": {"1.35": "20260114", "1.36": "20260610"},
}
"""The first release with an image for a Kubernetes version; a version that is missing has been there for longer."""

FIRST_SHARING_RELEASE: Mapping[str, str] = {"time-slicing": "1.25.0", "mps": "1.54.0"}
"""The first Bottlerocket release whose own device plug-in shares GPUs that way (bottlerocket.dev, settings reference of
the releases, read 2026-11-30). AL2023 leaves that to the GPU Operator's."""


@dataclass(frozen=True)
class Image:
    """What an `ami` setting names."""

    family: str
    """`bottlerocket` or `al2023`."""
    release: str | None
    """`1.66.0` or `20260714`; None follows every release."""
    parameter: str | None = None
    """Path of the SSM parameter; None for an alias."""
    version: str | None = None
    """Kubernetes version that the path names."""
    architecture: str | None = None
    """CPU architecture that the path names, as Kubernetes spells it."""
    variant: str | None = None
    """Variant that the path names: `standard`, `nvidia` or `neuron`."""


def parse(ami: str) -> Image:
    """What an `ami` setting names.

    Args:
        ami: an alias or the path of a public SSM parameter.

    Raises:
        ValueError: it is neither.
    """
    alias = _ALIAS.fullmatch(ami)
    if alias:
        return Image(alias["family"] or alias["al"], alias["b"] or alias["a"])
    for pattern in _PARAMETERS:
        path = pattern.fullmatch(ami)
        if path:
            return Image(
                family="bottlerocket" if path["family"] == "bottlerocket" else "al2023",
                release=path["release"],
                parameter=ami,
                version=path["version"],
                architecture=_ARCHITECTURES[path["architecture"]],
                variant=path["variant"] or "standard",
            )
    raise ValueError(f"{ami} names no image")


def variant_for(family: str, vendor: Vendor | None) -> str:
    """The variant that has a vendor's drivers.

    Bottlerocket has none for Neuron: its standard image carries that driver.

    Args:
        family: `bottlerocket` or `al2023`.
        vendor: whose accelerators the node has; None for none.
    """
    if vendor is None or (family == "bottlerocket" and vendor is Vendor.NEURON):
        return "standard"
    return vendor.value


def ami_type(family: str, architecture: str, vendor: Vendor | None) -> str:
    """EKS's name of an image for managed node groups.

    Args:
        family: `bottlerocket` or `al2023`.
        architecture: `amd64` or `arm64`.
        vendor: whose accelerators the node has; None for none.
    """
    machine = {"amd64": "x86_64", "arm64": "ARM_64"}[architecture]
    variant = variant_for(family, vendor).upper()
    if family == "bottlerocket":
        return f"BOTTLEROCKET_{machine}" + ("" if variant == "STANDARD" else f"_{variant}")
    return f"AL2023_{machine}_{variant}"


def first_release(image: Image, version: str) -> str | None:
    """The first release with an image for a Kubernetes version, if the pinned one is older; else None.

    Args:
        image: the image.
        version: Kubernetes version.
    """
    first = FIRST_RELEASE[image.family].get(version)
    if first is None or image.release is None or not is_before(image.release, first):
        return None
    return first


def is_before(release: str, other: str) -> bool:
    """Whether a release of a family is older than another.

    Args:
        release: `1.66.0` or `20260714`.
        other: the other, in the same spelling.
    """
    return _order(release) < _order(other)


def _order(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))
