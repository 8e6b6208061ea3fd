"""A simulated account and a real control plane together, for tests of one controller at a time."""

import base64
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from lightkube import ApiError, Client
from lightkube.types import PatchType

from localcloud.cluster.kinds import CONFIG_MAP, EVENT, NAMESPACE, NODE, VOLUME
from localcloud.cluster.view import STAND_IN_LABEL, View, cluster_of
from localcloud.cluster.volumes import PROVISIONED_BY
from tests.localcloud.conftest import Cloud, policy

PATIENCE_S, PAUSE_S = 60.0, 0.1
CLUSTER = "eksai-dev"


class Stage:
    """A cluster with nodes and Pod Identity; objects of a test are in a namespace of its own.

    Args:
        cloud: the account; empty so far.
        client: speaks to the API server.
        controller: the one that is tried.
    """

    def __init__(self, cloud: Cloud, client: Client, controller: Callable[[View], None]) -> None:
        self.cloud, self.client = cloud, client
        self._controller = controller
        self._made: list[tuple[Any, Mapping[str, Any]]] = []
        self.network = cloud.network()
        cloud.cluster(self.network["ids"])
        cloud.addon("vpc-cni")
        cloud.nodes(self.network["ids"])
        cloud.addon("eks-pod-identity-agent")
        self.namespace = f"test-{uuid.uuid4().hex[:8]}"
        self.make(NAMESPACE, {"metadata": {"name": self.namespace}})

    def make(self, kind: Any, item: Mapping[str, Any]) -> Any:
        """Makes an object, which goes at the end of the test."""
        made = self.client.create(kind(item), namespace=item["metadata"].get("namespace"))
        self._made.append((kind, item))
        return made

    def node(self, zone: str = "a") -> str:
        """A node with room for pods, which is ready; returns its name."""
        name = f"{self.namespace}-{zone}"
        room = {"cpu": "8", "memory": "32Gi", "pods": "50"}
        labels = {"topology.kubernetes.io/zone": f"us-west-2{zone}", "kubernetes.io/hostname": name}
        self.make(
            NODE, {"metadata": {"name": name, "labels": labels}, "status": {"capacity": room, "allocatable": room}}
        )
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is"}
        self.client.patch(NODE.Status, name, {"status": {"conditions": [ready]}}, patch_type=PatchType.MERGE)
        self.until(
            lambda: not [taint for taint in self.get(NODE, name)["spec"].get("taints") or () if "ready" in taint["key"]]
        )
        return name

    def release(self, chart: str, values: str = "") -> None:
        """Installs a chart, as far as controllers see it."""
        metadata = {"name": chart, "namespace": self.namespace, "labels": {STAND_IN_LABEL: chart}}
        self.make(CONFIG_MAP, {"metadata": metadata, "data": {"values.yaml": values}})

    def uninstall(self, chart: str) -> None:
        """Uninstalls a chart, as far as controllers see it."""
        self.client.delete(CONFIG_MAP, chart, namespace=self.namespace)

    def role(self, name: str, *actions: str) -> dict[str, Any]:
        """A role for pods that may do some things to everything."""
        role = self.cloud.role(name, "pods.eks.amazonaws.com", actions=("sts:AssumeRole", "sts:TagSession"))
        statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
        self.cloud.make("aws:iam/rolePolicy:RolePolicy", name, role=role["name"], policy=policy(statement))
        return role

    def identity(self, service_account: str, *actions: str) -> None:
        """Gives a service account of the test's namespace rights in the account."""
        self.cloud.make(
            "aws:eks/podIdentityAssociation:PodIdentityAssociation",
            clusterName=CLUSTER,
            namespace=self.namespace,
            serviceAccount=service_account,
            roleArn=self.role(service_account, *actions)["arn"],
        )

    def turn(self) -> None:
        """Lets the controller look once."""
        cluster = cluster_of(self.cloud.account)
        assert cluster is not None
        self._controller(View(self.client, self.cloud.account, cluster))

    def until(self, condition: Callable[[], Any]) -> Any:
        """Lets the controller take turns until something holds; returns what."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := condition()):
            assert time.monotonic() < deadline, "it did not come to be in time"
            self.turn()
            time.sleep(PAUSE_S)
        return found

    def turns(self, count: int = 10) -> None:
        """Lets the controller take turns, when nothing shall happen."""
        for _ in range(count):
            self.turn()
            time.sleep(PAUSE_S)

    def get(self, kind: Any, name: str, namespace: str | None = None) -> Any:
        """An object; None when there is none."""
        try:
            return self.client.get(kind, name, **({"namespace": namespace} if namespace else {}))
        except ApiError as error:
            if error.status.code == 404:
                return None
            raise

    def own(self, kind: Any, name: str) -> Any:
        """An object of the test's namespace; None when there is none."""
        return self.get(kind, name, self.namespace)

    def delete(self, kind: Any, name: str) -> None:
        """Asks for the deletion of an object of the test's namespace."""
        self.client.delete(kind, name, namespace=self.namespace)

    def events(self, reason: str) -> list[str]:
        """What has been said in the test's namespace for a reason."""
        return [
            event["message"] for event in self.client.list(EVENT, namespace=self.namespace) if event["reason"] == reason
        ]

    def clear(self) -> None:
        """Takes away all that the test has made, whatever holds it."""
        volumes = [
            (VOLUME, volume)
            for volume in self.client.list(VOLUME)
            if PROVISIONED_BY in (volume["metadata"].get("annotations") or {})
        ]
        for kind, item in [*reversed(self._made), *volumes]:
            metadata = item["metadata"]
            where = {"namespace": metadata["namespace"]} if "namespace" in metadata else {}
            for step in (
                lambda kind=kind, name=metadata["name"], where=where: self.client.delete(kind, name, **where),
                lambda kind=kind, name=metadata["name"], where=where: self.client.patch(
                    kind, name, {"metadata": {"finalizers": None}}, patch_type=PatchType.MERGE, **where
                ),
            ):
                try:
                    step()
                except ApiError as error:
                    if error.status.code != 404:
                        raise


def decoded(secret: Mapping[str, Any]) -> dict[str, str]:
    """The data of a Secret as text."""
    return {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
