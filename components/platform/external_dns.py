"""external-dns's values: which hosts it keeps records of, and in which zone."""

from typing import Any

from components.domain import Domain


def values(domain: Domain) -> dict[str, Any]:
    """The values that depend on a stack's domain.

    Args:
        domain: the domain.
    """
    return {
        "domainFilters": [domain.name],
        "extraArgs": {
            "zone-id-filter": domain.zone_id,
            # The filter of domains is one of zones too: without this, a zone of a shorter name would be passed over.
            "aws-zone-match-parent": True,
        },
    }
