"""What containers of the platform's own pods may do."""

from collections.abc import Mapping
from typing import Any

CONTAINER_SECURITY: Mapping[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""What Pod Security's level `restricted` asks of each container."""
