"""What is secret in a stack's state, and every place in which people or programs could read it."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

from lightkube import Client

from automation.engine import Engine
from automation.local import LocalCloud
from localcloud.cluster import kinds
from localcloud.cluster.control_plane import ControlPlane

SIGNATURE = "4dabf18193072939515e22adb298388d"
"""The engine's mark of a value with a meaning of its own, such as a secret."""
_SHORTEST = 8
"""Characters of the shortest text that is looked for; shorter ones are in any text by chance."""
READABLE = (kinds.CONFIG_MAP, kinds.EXTERNAL_SECRET, kinds.SECRET_STORE, kinds.POD, kinds.SERVICE_ACCOUNT, kinds.NODE)
"""Kinds that many may read; Helm's values lie in ConfigMaps of the stand-ins."""


def secrets_of(cloud: LocalCloud, engine: Engine, port: int) -> dict[str, str]:
    """Every secret text of a stack's state in the clear, and the resource that it belongs to.

    Args:
        cloud: the stack's local cloud, which runs.
        engine: the engine.
        port: the cloud's port.
    """
    command = [str(engine.path), "stack", "export", "--show-secrets", "--stack", cloud.stack]
    environment = cloud.environment(engine, port)
    exported = subprocess.run(command, cwd=cloud.work, env=environment, capture_output=True, text=True, check=True)
    resources = json.loads(exported.stdout)["deployment"]["resources"]
    # Of several that have it, the first one made it.
    return {text: resource["urn"] for resource in resources[::-1] for text in _secret_texts(_told_by(resource))}


def _told_by(resource: dict[str, Any]) -> list[Any]:
    """The part of a resource's state in which a secret is one.

    The kubernetes provider takes all that a release renders for secret, the names of its objects among it.
    """
    renders = resource["type"] == "kubernetes:helm.sh/v3:Release"
    return [resource.get("inputs"), None if renders else resource.get("outputs")]


def _secret_texts(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _secret_texts(item)
    if isinstance(value, dict):
        if SIGNATURE in value and "plaintext" in value:
            yield from _texts(json.loads(value["plaintext"]))
        else:
            yield from _secret_texts(list(value.values()))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str() if len(value) >= _SHORTEST:
            yield value
            # JSON within a text: its parts are secret too.
            if value.startswith("{"):
                yield from _texts({k: v for k, v in json.loads(value).items() if "secret" in k.lower()})
        case dict():
            for item in value.values():
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)
        case _:
            return


def readable_places(cloud: LocalCloud) -> dict[str, str]:
    """What a stack's local cloud has written down and what its cluster shows, by place; Secrets are not among it."""
    folder = cloud.folder / "cloud"
    places = {name: (folder / name).read_text(encoding="utf-8") for name in ("server.log", "account.json")}
    logs = cloud.folder / "home" / "logs"
    places |= {path.name: path.read_bytes().decode(errors="replace") for path in logs.glob("*")}
    if cloud.kubernetes:
        with ControlPlane(folder / "kubernetes", cloud.folder).client() as client:
            places["objects of the cluster"] = json.dumps(list(_objects(client)))
    return places


def _objects(client: Client) -> Iterator[Any]:
    for kind in READABLE:
        yield from kinds.all_of(client, kind)


def told(secrets: dict[str, str], places: dict[str, str]) -> list[str]:
    """Which secrets stand in which places, each as people may be told: by its resource, not by itself."""
    return [
        f"{place} has a secret of {urn}"
        for secret, urn in secrets.items()
        for place, text in places.items()
        # As it is, and as JSON writes it.
        if secret in text or json.dumps(secret)[1:-1] in text
    ]
