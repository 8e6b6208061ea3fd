"""What a controller sees of the cluster and of the account, and the few ways in which it changes objects."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from lightkube import ApiError, Client
from lightkube.types import PatchType

from localcloud.account import Account
from localcloud.aws.eks import CLUSTER
from localcloud.cluster.kinds import CONFIG_MAP, all_of
from localcloud.record import Record
from localcloud.resource_type import Identity

STAND_IN_LABEL = "eksai.dev/stand-in"
"""Label of the ConfigMap that a stand-in chart installs: the chart's name. `values.yaml` in it holds the values."""

Object = Mapping[str, Any]


class View:
    """One look at the cluster: whatever is asked for twice is read once.

    Args:
        client: speaks to the API server.
        account: the simulated account that the cluster belongs to.
        cluster: the cluster's record in it.
    """

    def __init__(self, client: Client, account: Account, cluster: Record) -> None:
        self.client = client
        self.account = account
        self.cluster = cluster
        self._read: dict[type, list[Object]] = {}

    @cached_property
    def identity(self) -> Identity:
        """Where things are made in the account for this cluster."""
        account_id = self.cluster["arn"].split(":")[4]
        return Identity(account_id, self.cluster.scope, cluster=self.cluster["endpoint"])

    def all(self, kind: Any) -> list[Object]:
        """All objects of a kind in all namespaces; none while the cluster does not know the kind."""
        if kind not in self._read:
            self._read[kind] = all_of(self.client, kind)
        return self._read[kind]

    def find(self, kind: Any, name: str, namespace: str | None = None) -> Object | None:
        """One object, None when there is none."""
        for item in self.all(kind):
            metadata = item["metadata"]
            if metadata["name"] == name and metadata.get("namespace") == namespace:
                return item
        return None

    def release(self, chart: str) -> Object | None:
        """The ConfigMap that the stand-in of a chart has installed; None while the chart is not installed."""
        maps = self.all(CONFIG_MAP)
        return next((one for one in maps if one["metadata"].get("labels", {}).get(STAND_IN_LABEL) == chart), None)

    def create(self, kind: Any, item: Object) -> None:
        """Makes an object; one that is there already stays as it is."""
        try:
            self.client.create(kind(item), namespace=item["metadata"].get("namespace"))
        except ApiError as error:
            if error.status.code != 409:
                raise

    def patch(self, kind: Any, item: Object, change: Mapping[str, Any], *, status: bool = False) -> None:
        """Merges a change into an object, or into its status; one that is gone stays gone.

        Lists are replaced whole: a change that holds one should come from `as_read`, so that it fails quietly, for the
        next turn to repeat, where somebody else has changed the object meanwhile.
        """
        metadata = item["metadata"]
        target = kind.Status if status else kind
        try:
            self.client.patch(
                target, metadata["name"], change, namespace=metadata.get("namespace"), patch_type=PatchType.MERGE
            )
        except ApiError as error:
            if error.status.code not in (404, 409):
                raise

    def delete(self, kind: Any, item: Object) -> None:
        """Asks for the deletion of an object; one that is gone stays gone."""
        metadata = item["metadata"]
        try:
            self.client.delete(kind, metadata["name"], namespace=metadata.get("namespace"))
        except ApiError as error:
            if error.status.code != 404:
                raise

    def hold(self, kind: Any, item: Object, finalizer: str) -> None:
        """Puts a finalizer on an object, so that it stays until `let_go`; one that is being deleted gets none."""
        present = item["metadata"].get("finalizers") or []
        if finalizer not in present and not is_going(item):
            self.patch(kind, item, as_read(item, {"metadata": {"finalizers": [*present, finalizer]}}))

    def let_go(self, kind: Any, item: Object, finalizer: str) -> None:
        """Takes a finalizer off an object."""
        present = item["metadata"].get("finalizers") or []
        if finalizer in present:
            others = [one for one in present if one != finalizer]
            self.patch(kind, item, as_read(item, {"metadata": {"finalizers": others}}))


def as_read(item: Object, change: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a change that only an object as it was read takes."""
    version = item["metadata"]["resourceVersion"]
    return {**change, "metadata": {**change.get("metadata", {}), "resourceVersion": version}}


def is_going(item: Object) -> bool:
    """Whether an object is being deleted and only its finalizers keep it."""
    return "deletionTimestamp" in item["metadata"]


def cluster_of(account: Account) -> Record | None:
    """The account's cluster, None when it has none."""
    return next(account.find(CLUSTER), None)
