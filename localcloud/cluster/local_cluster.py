"""The cluster of an account, made real: it starts, gives access and goes as the account's records say."""

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from localcloud.account import Account
from localcloud.aws.eks import ACCESS_ENTRY, ACCESS_POLICY, CLUSTER
from localcloud.cluster.access import access
from localcloud.cluster.clickhouse import clickhouse
from localcloud.cluster.control_plane import ControlPlane
from localcloud.cluster.controllers import Controller, Controllers
from localcloud.cluster.external_secrets import external_secrets
from localcloud.cluster.karpenter import karpenter
from localcloud.cluster.load_balancers import load_balancers
from localcloud.cluster.nodes import nodes
from localcloud.cluster.view import View, cluster_of
from localcloud.cluster.volumes import volumes

log = logging.getLogger(__name__)

CONTROLLERS: Sequence[Controller] = (access, nodes, karpenter, volumes, load_balancers, external_secrets, clickhouse)
"""Who acts in the cluster, in this order."""


def real_properties(control_plane: ControlPlane) -> Mapping[str, Mapping[str, Any]]:
    """What a simulated account says of its cluster when there is a real one: where it is, and who vouches for it."""
    return {
        CLUSTER: {
            "endpoint": control_plane.endpoint,
            "certificateAuthority": {"data": control_plane.certificate_authority},
        }
    }


class LocalCluster:
    """The one real cluster of an account.

    Args:
        control_plane: runs it.
        account: says whether it exists, and what around it does.
    """

    def __init__(self, control_plane: ControlPlane, account: Account) -> None:
        self._control_plane = control_plane
        self._account = account
        self._controllers: Controllers | None = None
        self._lock = threading.Lock()

    def follow(self, token: str) -> None:
        """Brings the cluster in line with the account after something of a type has been made or deleted there.

        Raises:
            ControlPlaneFailed: it does not start.
        """
        if token == CLUSTER:
            self.open()
        elif token in (ACCESS_ENTRY, ACCESS_POLICY):
            with self._lock:
                cluster = cluster_of(self._account)
                if cluster is not None and self._control_plane.is_running():
                    with self._control_plane.client() as client:
                        access(View(client, self._account, cluster))

    def open(self) -> None:
        """Starts the cluster if the account has one; forgets all of it if it has none (any more).

        Raises:
            ControlPlaneFailed: it does not start.
        """
        with self._lock:
            if cluster_of(self._account) is None:
                self._stop()
                self._control_plane.wipe()
            elif not self._control_plane.is_running():
                self._stop()
                self._control_plane.start()
                log.info("Kubernetes serves at %s", self._control_plane.endpoint)
                self._controllers = Controllers(self._control_plane.client(), self._account, CONTROLLERS)
                self._controllers.start()

    def close(self) -> None:
        """Ends the cluster's processes; its objects stay for the next time."""
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        if self._controllers is not None:
            self._controllers.stop()
            self._controllers = None
        self._control_plane.stop()
