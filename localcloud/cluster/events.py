"""What controllers tell about objects: Events, one for each thing that there is to say, however often it is said."""

import hashlib
from datetime import UTC, datetime
from typing import Any

from lightkube.core.resource import api_info

from localcloud.cluster.kinds import EVENT
from localcloud.cluster.view import Object, View

_LONGEST = 1024


def warn(view: View, kind: Any, item: Object, reason: str, message: str, source: str) -> None:
    """Reports what keeps an object from becoming what it shall be.

    Args:
        view: where the object is.
        kind: its kind.
        item: the object.
        reason: one word in capitals and small letters, as the real controller says it.
        message: what is wrong.
        source: name of the controller.
    """
    metadata, definition = item["metadata"], api_info(kind).resource
    namespace = metadata.get("namespace", "default")
    digest = hashlib.sha256(f"{metadata['uid']} {reason} {message}".encode()).hexdigest()[:16]
    now = now_text()
    view.create(
        EVENT,
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name'][:200]}.{digest}", "namespace": namespace},
            "involvedObject": {
                "apiVersion": f"{definition.group}/{definition.version}".lstrip("/"),
                "kind": definition.kind,
                "name": metadata["name"],
                "namespace": metadata.get("namespace", ""),
                "uid": metadata["uid"],
            },
            "type": "Warning",
            "reason": reason,
            "message": message[:_LONGEST],
            "source": {"component": source},
            "reportingComponent": source,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        },
    )


def now_text() -> str:
    """The time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
