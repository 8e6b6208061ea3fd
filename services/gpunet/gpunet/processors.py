"""How many processors this process may use: what the container's limit leaves of what the machine has."""

import math
import os
from pathlib import Path

_LIMIT = Path("/sys/fs/cgroup/cpu.max")


def usable_processors(limit: Path = _LIMIT) -> int:
    """Returns the number, at least 1.

    Args:
        limit: the control group's file: a quota and a period in microseconds, or `max` for no quota. Python looks at
            the machine only, and a pod with 4 processors of 48 would start 48 threads.
    """
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = limit.read_text().split()
        return max(1, min(available, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):
        return available
