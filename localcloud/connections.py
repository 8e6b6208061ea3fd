"""Which provider an engine speaks to: several share one server, and only their configuration tells them apart."""

import threading

from localcloud.resource_type import Identity

_UNCONFIGURED = Identity(account_id="", region="")


class Connections:
    """Remembers what each connection was configured for.

    An engine opens a connection of its own for every provider of a program. Should one be opened anew, it counts
    as the provider of the same package that was configured last.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_peer: dict[tuple[str, str], Identity] = {}
        self._latest: dict[str, Identity] = {}

    def configure(self, peer: str, package: str, identity: Identity) -> None:
        """Remembers where a connection's resources are made."""
        with self._lock:
            self._by_peer[peer, package] = self._latest[package] = identity

    def identity(self, peer: str, package: str) -> Identity:
        """Returns where a connection's resources are made; nowhere for a package that needs no place."""
        with self._lock:
            return self._by_peer.get((peer, package)) or self._latest.get(package, _UNCONFIGURED)
