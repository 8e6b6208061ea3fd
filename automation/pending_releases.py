"""Helm releases whose installation was cut short, by what Helm itself has noted in the cluster.

Helm keeps a Secret for each revision of a release. A release that Helm has finished is there and can be adopted. One
that it has not stands in its own way: no second installation under that name is possible, and no upgrade, until the
Secret is gone. What it has installed stays, and belongs to the next installation of that name.

Other objects need no such care: the provider applies them, whether they exist or not.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from lightkube import Client

from localcloud.cluster.kinds import SECRET
from localcloud.kubernetes import RELEASE


def is_finished(statuses: Iterable[str]) -> bool:
    """Whether Helm has finished a release; `statuses` are those of its revisions."""
    return "deployed" in statuses


def find_release(client: Client, resource: Mapping[str, Any]) -> str | None:
    """The id of a release if it is finished; else what Helm has noted of it is deleted, so that it can be installed.

    Args:
        client: speaks to the API server.
        resource: as a pending operation has it; None is the answer for everything but a release.
    """
    if resource["type"] != RELEASE:
        return None
    name, namespace = resource["inputs"]["name"], resource["inputs"].get("namespace", "default")
    # lightkube's own types say nothing of generic resources.
    secrets = cast("Any", client)
    notes = list(secrets.list(SECRET, namespace=namespace, labels={"owner": "helm", "name": name}))
    if is_finished(note["metadata"]["labels"]["status"] for note in notes):
        return f"{namespace}/{name}"
    for note in notes:
        secrets.delete(SECRET, note["metadata"]["name"], namespace=namespace)
    return None
