"""CustomResourceDefinitions that an API server left half made when it was stopped."""

from datetime import UTC, datetime
from typing import Any

from lightkube import Client
from lightkube.types import PatchType

from localcloud.cluster.kinds import CRD, all_of

_ANNOTATION = "local-cloud/looked-at"


def finish(client: Client) -> list[str]:
    """Has the API server finish what it began: it serves a CRD in two steps, and may have been stopped between them.

    An API server that starts takes the second step for a CRD that changes, and for the others when it looks at all of
    them again, after five minutes. Until then whoever waits for the CRD waits: Helm, and with it the engine.

    Args:
        client: with the right to change CRDs.

    Returns:
        Names of the CRDs that were half made.
    """
    half_made = [crd["metadata"]["name"] for crd in all_of(client, CRD) if _is_half_made(crd)]
    for name in half_made:
        change = {"metadata": {"annotations": {_ANNOTATION: datetime.now(UTC).isoformat()}}}
        client.patch(CRD, name, change, patch_type=PatchType.MERGE)
    return half_made


def _is_half_made(crd: Any) -> bool:
    conditions = {one["type"]: one["status"] for one in crd.get("status", {}).get("conditions") or ()}
    return conditions.get("NamesAccepted") == "True" and conditions.get("Established") != "True"
