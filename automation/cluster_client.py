"""A stack's cluster, reached by the kubeconfig that the stack exports; objects are plain dictionaries."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from lightkube import ApiError, Client, KubeConfig
from lightkube.core.exceptions import ConfigError

from automation.errors import EksaiError, OutputMissing
from automation.local import LocalCloud
from automation.project import Project
from automation.stacks import Stack
from localcloud.cluster.kinds import all_of
from localcloud.server import BIN

Object = Mapping[str, Any]


class Cluster:
    """The few requests to an API server that are made here.

    Kinds are classes of lightkube's. All methods raise `httpx2.HTTPError` for what is not said below.
    """

    def __init__(self, client: Client) -> None:
        # Its methods are declared once for each sort of kind, and none of these says what a plain object is.
        self._client: Any = client

    def create(self, kind: Any, item: Object, *, namespace: str | None = None) -> None:
        """Makes an object."""
        self._client.create(kind(item), namespace=namespace)

    def delete(self, kind: Any, name: str) -> None:
        """Asks for the deletion of an object without namespace; one that is gone stays gone."""
        try:
            self._client.delete(kind, name)
        except ApiError as error:
            if error.status.code != 404:
                raise

    def find(self, kind: Any, name: str) -> Object | None:
        """An object without namespace; None when there is none."""
        try:
            return self._client.get(kind, name)
        except ApiError as error:
            if error.status.code == 404:
                return None
            raise

    def all(self, kind: Any, *, namespace: str | None = None) -> list[Object]:
        """All objects of a kind; none where the cluster does not know it."""
        return all_of(self._client, kind, namespace or "*")

    def printed(self, pod: str, container: str, *, namespace: str, lines: int) -> list[str]:
        """The last lines that a container has printed; none when they cannot be had, as from a node that is gone."""
        try:
            found = self._client.log(pod, namespace=namespace, container=container, tail_lines=lines)
            return [str(line).rstrip() for line in found]
        except ApiError:
            return []


@contextmanager
def reach(stack: Stack, *, aws: Path | None = None) -> Generator[Cluster]:
    """The cluster of a stack that is up.

    Args:
        stack: the stack.
        aws: the command that stands in for the AWS CLI, which has the tokens; None for the one on PATH.

    Raises:
        OutputMissing: the stack is not up.
        EksaiError: within the block, the cluster is not reached or refuses a request.
    """
    content = stack.outputs(reveal=True).get("kubeconfig")
    if content is None:
        raise OutputMissing(f"{stack.name} exports no kubeconfig, so it is not up. Bring it up first: eksai up.")
    config = json.loads(str(content))
    if aws is not None:
        for user in config["users"]:
            user["user"]["exec"]["command"] = str(aws)
    kubeconfig: Any = KubeConfig
    try:
        # No proxy of the environment stands between two processes of this machine.
        with Client(kubeconfig.from_dict(config), field_manager="eksai", trust_env=aws is None) as client:
            yield Cluster(client)
    except ConfigError as error:
        raise EksaiError(f"There is no token for the cluster of {stack.name}: {error}") from error
    except httpx2.HTTPStatusError as error:
        raise EksaiError(f"The cluster of {stack.name} refused a request: {error}") from error
    except httpx2.HTTPError as error:
        server = config["clusters"][0]["cluster"]["server"]
        raise EksaiError(
            f"The cluster of {stack.name} does not answer at {server}: {error}\n"
            "Reach it from an address in eksai:cluster.publicAccessCidrs, or from within its VPC."
        ) from error


def stand_in_for_aws(project: Project, stack: str) -> Path:
    """The command that has tokens for the cluster of a stack's local cloud, in place of the AWS CLI."""
    return LocalCloud(project, stack, kubernetes=True).folder / "cloud" / BIN / "aws"
