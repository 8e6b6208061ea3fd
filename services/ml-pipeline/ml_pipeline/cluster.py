"""The Ray cluster that a step works on."""

from collections.abc import Generator
from contextlib import contextmanager

import ray

_LOCAL_STORE_BYTES = 100 * 2**20
"""Object store of a Ray of this machine: it holds one small data set."""


@contextmanager
def connected(local_cpus: int | None) -> Generator[None]:
    """Ray for the time of a step.

    Args:
        local_cpus: cores of a Ray that is started on this machine and stopped after; None joins the cluster that the
            step was submitted to.
    """
    if local_cpus is None:
        ray.init(address="auto")
    else:
        ray.init(
            address="local",
            num_cpus=local_cpus,
            object_store_memory=_LOCAL_STORE_BYTES,
            include_dashboard=False,
        )
    try:
        yield
    finally:
        ray.shutdown()
