"""Settings of Helm charts."""

import re
from typing import Annotated

from pydantic import AfterValidator

from schema.fields import Section, refuse

# A part of an OCI repository's name, as registries take it.
_PART = r"[a-z0-9]+([._-]+[a-z0-9]+)*"
_REGISTRY = re.compile(rf"oci://[a-z0-9][a-z0-9.-]*(:\d+)?(/{_PART})*", re.ASCII)
_RULE = "an OCI registry's path (oci://registry/path) or the absolute path of a folder of .tgz files"


def _check_mirror(value: str) -> str:
    if value.endswith("/"):
        raise refuse(f"{_RULE}, without a slash at the end", f"write {value.rstrip('/') or 'the folder in full'}")
    if value.startswith(("http://", "https://")):
        raise refuse(
            _RULE, "a Helm repository is none: push its charts to a registry, or put their files into a folder"
        )
    if value.startswith("oci://"):
        if not _REGISTRY.fullmatch(value):
            raise refuse(_RULE, "write host, port if any, and lower-case path: oci://registry.example.com:5000/charts")
    elif not value.startswith("/"):
        raise refuse(_RULE, "write a folder from the root: it means the same wherever the program runs")
    elif not value.isprintable() or {"", ".", ".."} & set(value.split("/")[1:]):
        raise refuse(_RULE, "write the folder's path without empty parts, . and ..")
    return value


ChartMirror = Annotated[str, AfterValidator(_check_mirror)]

# Without a dot or a port the first part is no host: container runtimes look it up on Docker Hub.
_IMAGES = re.compile(rf"[a-z0-9][a-z0-9-]*((\.[a-z0-9-]+)+(:\d+)?|:\d+)(/{_PART})*", re.ASCII)
_IMAGES_RULE = "an image registry's host, and path if any (registry.example.com/mirror)"


def _check_image_registry(value: str) -> str:
    _, scheme, address = value.rpartition("://")
    if scheme:
        raise refuse(f"{_IMAGES_RULE}, without a scheme", f"write {address.rstrip('/') or 'the host'}")
    if value.endswith("/"):
        raise refuse(f"{_IMAGES_RULE}, without a slash at the end", f"write {value.rstrip('/') or 'the host'}")
    if not _IMAGES.fullmatch(value):
        raise refuse(
            _IMAGES_RULE,
            "write a host with a dot or a port, and a lower-case path without tag: registry.example.com:5000/mirror",
        )
    return value


ImageRegistry = Annotated[str, AfterValidator(_check_image_registry)]


class Charts(Section):
    """Where Helm charts come from."""

    mirror: ChartMirror | None = None
    """Registry (oci://registry/path) or folder (absolute path) that holds every chart, for networks without a way out;
    left out: charts come from where they are published. docs/charts.md says how to fill one."""
    image_registry: ImageRegistry | None = None
    """Registry (host, port and path if any) that holds a copy of every chart's images: each is pulled from
    `<imageRegistry>/<its path without the host>`. Left out: images come from where they are published."""
