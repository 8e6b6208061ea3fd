"""When nodes go: what Karpenter's disruption settings say of nodes that have nothing to do."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from localcloud.cluster import conditions
from localcloud.cluster.provisioning import NODE_POOL_LABEL
from localcloud.cluster.view import Object, is_going

EMPTY = "Empty"
"""Condition of a NodeClaim whose node has nothing to do."""

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_DEFAULT_AFTER, _DEFAULT_BUDGETS = "0s", ({"nodes": "10%"},)


def duration(text: str | None) -> timedelta | None:
    """Returns a duration such as `1h30m`; None for `Never` and for none."""
    if text is None or text == "Never":
        return None
    return timedelta(seconds=sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)([hms])", text)))


def idle_claims(
    pools: Iterable[Object], claims: Sequence[Object], kept: Mapping[str, bool], now: datetime
) -> list[Object]:
    """Returns the NodeClaims that go because their nodes have had nothing to do for as long as their pool says.

    All policies treat an empty node alike; nodes that merely have little to do stay.

    Args:
        pools: the NodePools.
        claims: the NodeClaims, those that are going among them.
        kept: whether a node must not be disrupted, by its claim's name.
        now: the time.
    """
    found: list[Object] = []
    for pool in pools:
        own = [
            claim for claim in claims if claim["metadata"]["labels"].get(NODE_POOL_LABEL) == pool["metadata"]["name"]
        ]
        after = duration((pool["spec"].get("disruption") or {}).get("consolidateAfter", _DEFAULT_AFTER))
        if after is None:
            continue
        staying = [claim for claim in own if not is_going(claim)]
        room = _allowed(pool, len(own)) - (len(own) - len(staying))
        idle = [
            claim
            for claim in staying
            if conditions.holds(claim, EMPTY)
            and now - (conditions.since(claim, EMPTY) or now) >= after
            and not kept.get(claim["metadata"]["name"])
        ]
        found += idle[: max(0, room)]
    return found


def _allowed(pool: Object, total: int) -> int:
    """Returns how many nodes of a pool may go at a time for being empty.

    A budget with a schedule is left out: it holds for hours of which nobody waits here.
    """
    budgets = (pool["spec"].get("disruption") or {}).get("budgets") or _DEFAULT_BUDGETS
    allowed = total
    for budget in budgets:
        if "schedule" in budget or "Empty" not in budget.get("reasons", ["Empty"]):
            continue
        nodes = str(budget["nodes"])
        most = math.ceil(total * int(nodes[:-1]) / 100) if nodes.endswith("%") else int(nodes)
        allowed = min(allowed, most)
    return allowed
