"""The notebooks that people choose from: what each one's pod is, before it is said on which nodes it runs.

Sizes and names are those of the source document, whose `4G` is JupyterHub's way to write 4Gi. Tags were read
2026-12-01 in the build record of Jupyter Docker Stacks (its wiki, 2026-09) and in images that others build on them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from typing_extensions import TypedDict

BOTH = ("amd64", "arm64")
OWN_IMAGE = ("amd64",)
"""Architectures of an image of which nothing else is said."""

_TAG = "2026-09-01"
"""One build of all images; its JupyterHub, 5.5.1, speaks with the hub's 5.5.0."""
_SCIPY = f"quay.io/jupyter/scipy-notebook:{_TAG}"
_TENSORFLOW = f"quay.io/jupyter/tensorflow-notebook:{_TAG}"
_TENSORFLOW_CUDA = f"quay.io/jupyter/tensorflow-notebook:cuda-{_TAG}"


class NotebookProfileSettings(TypedDict):
    """What a stack says of a profile; what is None or empty is the profile's own."""

    pools: Sequence[str]
    """Names of the pools that it runs on."""
    display_name: str | None
    """What people choose from."""
    cpu_limit: float | None
    """vCPUs that it may use."""
    cpu_guarantee: float | None
    """vCPUs that are set aside for it."""
    memory_limit: str | None
    """Memory that it may use, such as `4Gi`."""
    memory_guarantee: str | None
    """Memory that is set aside for it."""
    image: str | None
    """Its image with an exact tag or digest."""
    architectures: Sequence[str]
    """CPU architectures of the image."""
    accelerator: str | None
    """The accelerator's name in Karpenter's labels."""
    accelerators: int | None
    """How many accelerators it gets."""


@dataclass(frozen=True)
class NotebookProfile:
    """A notebook to choose."""

    title: str
    """What people choose, without the sizes."""
    cpu_limit: float
    """vCPUs that it may use."""
    cpu_guarantee: float
    """vCPUs that are set aside for it."""
    memory_limit: str
    """Memory that it may use, such as `4Gi`."""
    memory_guarantee: str
    """Memory that is set aside for it."""
    image: str
    """Its image with an exact tag or digest."""
    architectures: Sequence[str] = BOTH
    """CPU architectures of the image, as Kubernetes spells them."""
    accelerator: str | None = None
    """The accelerator's name in Karpenter's labels, None for none."""
    accelerators: int = 0
    """How many accelerators it gets."""

    @property
    def sizes(self) -> str:
        """Its sizes in words, as people read them."""
        memory = f"{self.memory_limit.removesuffix('i')}B RAM"
        devices = [f"{self.accelerators}x {self.accelerator.upper()}"] if self.accelerator else []
        return ", ".join([f"{self.cpu_limit:g} CPU", memory, *devices])


PROFILES: Mapping[str, NotebookProfile] = {
    "cpu-small": NotebookProfile("CPU - Small", 2, 1, "4Gi", "2Gi", _SCIPY),
    "cpu-large": NotebookProfile("CPU - Large", 8, 4, "32Gi", "16Gi", _TENSORFLOW),
    "gpu-t4": NotebookProfile("GPU - T4", 4, 2, "16Gi", "8Gi", _TENSORFLOW_CUDA, BOTH, "t4", 1),
    "gpu-a10g": NotebookProfile("GPU - A10G", 8, 4, "64Gi", "32Gi", _TENSORFLOW_CUDA, BOTH, "a10g", 1),
    "gpu-a100": NotebookProfile("GPU - A100", 16, 8, "128Gi", "64Gi", _TENSORFLOW_CUDA, BOTH, "a100", 1),
}
"""The profiles that a stack chooses from by name. A profile of any other name is all the stack's own."""

_OF_ITS_OWN = ("display_name", "cpu_limit", "cpu_guarantee", "memory_limit", "memory_guarantee", "image")


def missing(name: str, said: NotebookProfileSettings) -> list[str]:
    """The fields that a profile cannot be without and does not have.

    Args:
        name: the profile's name.
        said: what the stack says of it.
    """
    return [] if name in PROFILES else [field for field in _OF_ITS_OWN if said[field] is None]


def profile(name: str, said: NotebookProfileSettings) -> NotebookProfile:
    """A profile as a stack has it; nothing of it is missing.

    Args:
        name: the profile's name.
        said: what the stack says of it.
    """
    fields = {"pools", "display_name"}
    given = {key: value for key, value in said.items() if key not in fields and value not in (None, ())}
    if said["image"] is not None:
        given.setdefault("architectures", OWN_IMAGE)
    if said["accelerator"] is not None:
        given.setdefault("accelerators", 1)
    if name in PROFILES:
        return replace(PROFILES[name], **cast(Any, given))
    return NotebookProfile(title=str(said["display_name"]), **cast(Any, given))


def display_name(name: str, said: NotebookProfileSettings) -> str:
    """What people choose: the stack's words, or the profile's with its sizes.

    Args:
        name: the profile's name.
        said: what the stack says of it.
    """
    own = profile(name, said)
    return said["display_name"] or f"{own.title} ({own.sizes})"


def mirrored(name: str, said: NotebookProfileSettings, image_registry: str | None) -> str:
    """Where a profile's image is pulled from: the stack's own as it says, another from the mirror if there is one.

    Args:
        name: the profile's name.
        said: what the stack says of it.
        image_registry: host and path that stand for the host of every published image.
    """
    image = profile(name, said).image
    if said["image"] is not None or image_registry is None:
        return image
    return f"{image_registry}/{image.partition('/')[2]}"
