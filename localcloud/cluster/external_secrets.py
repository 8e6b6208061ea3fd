"""Stands in for External Secrets: makes the Secrets that ExternalSecrets ask for, with texts in place of values.

The local cloud keeps no secret values, so it knows the names of keys only where an ExternalSecret says them. `extract`
without a template yields one key, named for the secret; the real one yields a key for each field of its JSON.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from localcloud.aws.secretsmanager import SECRET as STORED_SECRET
from localcloud.cluster.conditions import Condition, holds, lacking
from localcloud.cluster.conditions import find as find_condition
from localcloud.cluster.events import now_text, warn
from localcloud.cluster.kinds import EXTERNAL_SECRET, NAMESPACE, NAMESPACED_SECRET_STORE, SECRET, SECRET_STORE
from localcloud.cluster.pods import can_run
from localcloud.cluster.releases import controller_role
from localcloud.cluster.secret_stores import (
    NO_CREDENTIALS,
    SyncFailed,
    is_open_to,
    readable_secret,
    store_condition,
    tags,
)
from localcloud.cluster.view import Object, View, is_going
from localcloud.record import Record

CHART = "external-secrets"
FINALIZER = "externalsecrets.external-secrets.io/externalsecret-cleanup"

_STORES = {"ClusterSecretStore": SECRET_STORE, "SecretStore": NAMESPACED_SECRET_STORE}
_MANAGED = {"reconcile.external-secrets.io/managed": "true"}


def external_secrets(view: View) -> None:
    """Judges stores and delivers secrets, while the release is installed and has a node to run on."""
    release = view.release(CHART)
    if release is None or not can_run(view):
        return
    role = controller_role(view, release, CHART)
    for kind in _STORES.values():
        for store in view.all(kind):
            _set_ready(view, kind, store, store_condition(store["spec"], role), {"capabilities": "ReadWrite"})
    for external in view.all(EXTERNAL_SECRET):
        if is_going(external):
            _clean_up(view, external)
        else:
            view.hold(EXTERNAL_SECRET, external, FINALIZER)
            _deliver(view, external, role)


def _deliver(view: View, external: Object, role: Record | None) -> None:
    try:
        keys = _delivered_keys(view, external, role)
        _write(view, external, data_of(external["spec"].get("target") or {}, keys))
    except SyncFailed as failure:
        warn(view, EXTERNAL_SECRET, external, "UpdateFailed", str(failure), CHART)
        condition = lacking("Ready", "SecretSyncedError", f"could not get secret data from provider: {failure}")
        _set_ready(view, EXTERNAL_SECRET, external, condition, {})
        return
    synced = Condition("Ready", "True", "SecretSynced", "secret synced")
    _set_ready(
        view, EXTERNAL_SECRET, external, synced, {"refreshTime": now_text(), "binding": {"name": target_name(external)}}
    )


def _delivered_keys(view: View, external: Object, role: Record | None) -> dict[str, str]:
    """Keys of the Secret, each with what it would be the value of.

    Raises:
        SyncFailed: a store or a secret cannot be used.
    """
    if role is None:
        raise SyncFailed(NO_CREDENTIALS)
    spec = external["spec"]
    keys: dict[str, str] = {}
    for item in spec.get("dataFrom") or ():
        source = item.get("sourceRef") or {}
        if source.get("generatorRef"):
            raise SyncFailed("the local cloud has no generators: take the secret from a store")
        region = _region(view, external, source.get("storeRef") or spec.get("secretStoreRef") or {})
        keys |= {key_name(name): name for name in _names(view, item, region, role)}
    for item in spec.get("data") or ():
        source = item.get("sourceRef") or {}
        region = _region(view, external, source.get("storeRef") or spec.get("secretStoreRef") or {})
        remote = item["remoteRef"]
        readable_secret(view.account, role, region, remote["key"])
        keys[item["secretKey"]] = f"{remote['key']} {remote.get('property', '')}".strip()
    return keys


def _names(view: View, item: Mapping[str, Any], region: str, role: Record) -> Iterator[str]:
    """Names of the secrets that an item of `dataFrom` stands for."""
    if extract := item.get("extract"):
        yield readable_secret(view.account, role, region, extract["key"])["name"]
    if wanted := item.get("find"):
        for secret in view.account.find(STORED_SECRET):
            if secret.scope == region and is_found(secret, wanted):
                yield readable_secret(view.account, role, region, secret["name"])["name"]


def _region(view: View, external: Object, reference: Mapping[str, str]) -> str:
    """Region of a store that can be used.

    Raises:
        SyncFailed: it cannot.
    """
    namespace = external["metadata"]["namespace"]
    kind, name = reference.get("kind", "SecretStore"), reference.get("name", "")
    store = view.find(_STORES[kind], name, namespace if kind == "SecretStore" else None)
    if store is None:
        raise SyncFailed(f'could not get {kind} "{name}", it does not exist')
    if not holds(store, "Ready"):
        raise SyncFailed(f'{kind} "{name}" is not ready')
    if not is_open_to(store["spec"], view.find(NAMESPACE, namespace)):
        raise SyncFailed(
            f'using cluster store "{name}" is not allowed from namespace "{namespace}": its conditions deny it'
        )
    return store["spec"]["provider"]["aws"]["region"]


def _write(view: View, external: Object, data: Mapping[str, str]) -> None:
    """Brings the Secret in line with what it shall hold.

    Raises:
        SyncFailed: it belongs to another ExternalSecret, or shall be there and is not.
    """
    target = external["spec"].get("target") or {}
    policy = target.get("creationPolicy", "Owner")
    if policy == "None":
        return
    wanted = secret_of(external, data)
    present = view.find(SECRET, target_name(external), external["metadata"]["namespace"])
    if present is None:
        if policy == "Merge":
            raise SyncFailed(f"secret {target_name(external)} does not exist, and creationPolicy Merge makes none")
        view.create(SECRET, wanted)
        return
    owners = present["metadata"].get("ownerReferences") or ()
    others = [
        one["name"] for one in owners if one["kind"] == "ExternalSecret" and one["name"] != external["metadata"]["name"]
    ]
    if others and policy == "Owner":
        raise SyncFailed(f"target is owned by another ExternalSecret: {others[0]}")
    held = present.get("data") or {}
    stale = {} if policy == "Merge" else dict.fromkeys(held.keys() - wanted["data"].keys())
    changed = {key: value for key, value in wanted["data"].items() if held.get(key) != value}
    if stale or changed:
        view.patch(SECRET, present, {"data": {**stale, **changed}})


def _clean_up(view: View, external: Object) -> None:
    """A Secret that has an owner goes with it anyway; one that shall go explicitly goes first."""
    target = external["spec"].get("target") or {}
    present = view.find(SECRET, target_name(external), external["metadata"]["namespace"])
    if target.get("deletionPolicy") == "Delete" and present is not None and _owns(external, present):
        view.delete(SECRET, present)
    view.let_go(EXTERNAL_SECRET, external, FINALIZER)


def _owns(external: Object, secret: Object) -> bool:
    owners = secret["metadata"].get("ownerReferences") or ()
    return any(owner["uid"] == external["metadata"]["uid"] for owner in owners)


def _set_ready(view: View, kind: Any, item: Object, condition: Condition, further: Mapping[str, Any]) -> None:
    """Writes the condition Ready with further fields of the status, unless it is written already."""
    before = find_condition(item, "Ready") or {}
    if all(before.get(key) == getattr(condition, key) for key in ("status", "reason", "message")):
        return
    same = before.get("status") == condition.status
    written = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": before["lastTransitionTime"] if same else now_text(),
    }
    view.patch(kind, item, {"status": {"conditions": [written], **further}}, status=True)


def target_name(external: Object) -> str:
    """Returns the name of the Secret that an ExternalSecret makes."""
    return (external["spec"].get("target") or {}).get("name") or external["metadata"]["name"]


def key_name(name: str) -> str:
    """Returns a secret's name as a key of a Kubernetes Secret."""
    return re.sub(r"[^-._a-zA-Z0-9]", "_", name)


def is_found(secret: Record, wanted: Mapping[str, Any]) -> bool:
    """Whether a secret is one of those that `find` asks for, by name and by tags."""
    pattern = (wanted.get("name") or {}).get("regexp", "")
    named = secret["name"].startswith(wanted.get("path", "")) and re.search(pattern, secret["name"])
    return bool(named) and (wanted.get("tags") or {}).items() <= dict(tags(secret)).items()


def data_of(target: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, str]:
    """Returns what a Secret holds: a text for each key.

    Args:
        target: the ExternalSecret's; keys of its template come in place of the others, or beside them.
        keys: the keys that the stores yield, each with what it would be the value of.
    """
    template = target.get("template") or {}
    made = dict.fromkeys(template.get("data") or (), "a template")
    if not made or template.get("mergePolicy") == "Merge":
        made = {**keys, **made}
    # Kubernetes reads this one as JSON.
    return {key: "{}" if key == ".dockerconfigjson" else f"stand-in for {what}" for key, what in made.items()}


def secret_of(external: Object, data: Mapping[str, str]) -> dict[str, Any]:
    """Returns the Secret that an ExternalSecret asks for."""
    metadata = external["metadata"]
    target = external["spec"].get("target") or {}
    template = target.get("template") or {}
    given = template.get("metadata") or {}
    owner = {
        "apiVersion": "external-secrets.io/v1",
        "kind": "ExternalSecret",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": template.get("type", "Opaque"),
        "metadata": {
            "name": target_name(external),
            "namespace": metadata["namespace"],
            "labels": {**(given.get("labels") or {}), **_MANAGED},
            "annotations": given.get("annotations") or {},
            "ownerReferences": [owner] if target.get("creationPolicy", "Owner") == "Owner" else [],
        },
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()},
    }
