"""Taints of node pools, as Karpenter and as EKS spell them."""

from .properties import Unknown, Value, at, elements, first_unknown

# PreferNoSchedule is only a wish of the scheduler's; it keeps no pod away.
_REPELLING = frozenset({"NoSchedule", "NoExecute", "NO_SCHEDULE", "NO_EXECUTE"})


def tainted(taints: Value, key: str) -> bool | Unknown:
    """Tells whether taints keep pods away that do not tolerate `key`; `Unknown` if one that is not known yet might."""
    undecided: Unknown | None = None
    for taint in elements(taints):
        taint_key, effect = at(taint, "key"), at(taint, "effect")
        if taint_key == key and effect in _REPELLING:
            return True
        if isinstance(taint_key, Unknown) or taint_key == key:
            undecided = undecided or first_unknown(taint_key, effect)
    return undecided or False
