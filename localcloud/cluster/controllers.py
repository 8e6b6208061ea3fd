"""Runs the stand-ins for what runs in a cluster on AWS: each looks at the cluster and the account, and acts."""

import logging
import threading
from collections.abc import Callable, Sequence

import httpx2
from lightkube import Client

from localcloud.account import Account
from localcloud.cluster.view import View, cluster_of

log = logging.getLogger(__name__)

Controller = Callable[[View], None]
"""Compares what is with what shall be, and does what is missing. It is called again and again, so it keeps nothing in
mind that is not in the cluster or the account, and what fails once is tried again at the next turn."""

PAUSE_S = 0.5
"""Time between two turns."""


class Controllers:
    """A thread in which controllers take turns until `stop`.

    Args:
        client: speaks to the API server.
        account: the account that the cluster belongs to.
        controllers: who acts, in this order in each turn.
    """

    def __init__(self, client: Client, account: Account, controllers: Sequence[Controller]) -> None:
        self._client = client
        self._account = account
        self._controllers = controllers
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="controllers", daemon=True)

    def start(self) -> None:
        """Lets the controllers act."""
        self._thread.start()

    def stop(self) -> None:
        """Waits for the turn in progress, and lets no other follow."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(PAUSE_S):
            cluster = cluster_of(self._account)
            if cluster is None:
                continue
            view = View(self._client, self._account, cluster)
            for controller in self._controllers:
                if self._ended.is_set():
                    return
                try:
                    controller(view)
                except httpx2.HTTPStatusError as error:
                    # Such as 429 for a moment after a kind has become known.
                    log.warning("%s: %s; it is tried again", controller.__name__, str(error).splitlines()[0])
                except Exception:
                    log.exception("%s failed; it is tried again", controller.__name__)
