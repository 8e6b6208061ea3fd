"""What a killed run leaves in a stack's state, and the way back to a state that tells the truth.

The engine notes each operation before it begins. A note that is still there afterwards is a pending operation: nobody
knows whether the cloud has carried it out. The engine itself warns, and creates a second time. Here each one is settled
before the next run:

- A resource whose creation was pending is put into the state when it exists, else its note is dropped. The edited
  state is imported, which also drops every note, and the resource is refreshed. (The engine's own
  `refresh --import-pending-creates` marks the note and then imports nothing. Its `import` takes arguments from what
  the cloud tells, not from the program: secrets are lost, and the next run finds differences.)
- One that was being changed, deleted or read is refreshed.

What must be refreshed is kept in a file until it is, so that a recovery which is killed can be made again.
"""

import fcntl
import json
import os
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from automation.errors import StackLocked
from automation.events import Resource
from automation.local import LocalCloud
from automation.orphans import end_orphans, processes_of, works_on
from localcloud import catalog
from localcloud.account import Account
from localcloud.properties import merged, value_at
from localcloud.record import SECRET_MARK, Record
from localcloud.server import ACCOUNT
from localcloud.templates import Draws, render

State = dict[str, Any]
FindId = Callable[[Mapping[str, Any]], str | None]
"""Tells the id of a resource whose creation was pending, None when it does not exist."""

_CREATING = frozenset({"creating", "importing"})
_SECRET_SIGNATURE = "4dabf18193072939515e22adb298388d"
"""The key by which the engine tells a value with a meaning of its own, such as a secret, from a plain map."""


@dataclass(frozen=True)
class Settled:
    """A state without pending operations.

    Attributes:
        state: as `pulumi stack import` takes it.
        adopted: URNs of resources that a killed run had begun, and that exist.
        dropped: URNs of those that do not exist; components are not among them, they are nothing in a cloud.
        doubtful: URNs whose record may be wrong until they are refreshed.
    """

    state: State
    adopted: tuple[str, ...]
    dropped: tuple[str, ...]
    doubtful: tuple[str, ...]


@dataclass
class Leftovers:
    """What was found of a killed run, and what was done about it; counts."""

    processes: int = 0
    locks: int = 0
    adopted: int = 0
    dropped: int = 0
    refreshed: int = 0

    def __str__(self) -> str:
        done = [
            (self.processes, f"ended {_count(self.processes, 'process', 'processes')} of it"),
            (self.locks, "removed its lock"),
            (self.adopted, f"adopted {_count(self.adopted, 'resource')} that it had begun"),
            (self.dropped, f"dropped {_count(self.dropped, 'creation')} that came to nothing"),
            (self.refreshed, f"read {_count(self.refreshed, 'resource')} anew"),
        ]
        return "An earlier run was killed: " + ", ".join(text for count, text in done if count) + "."

    def __bool__(self) -> bool:
        return any((self.processes, self.locks, self.adopted, self.dropped, self.refreshed))


def settle(state: State, find_id: FindId) -> Settled:
    """Decides what becomes of each pending operation.

    Args:
        state: as `pulumi stack export` gives it; stays as it is.
        find_id: looks a resource up in the cloud.
    """
    deployment = state["deployment"]
    resources = recorded(state)
    adopted: list[str] = []
    dropped: list[str] = []
    doubtful: list[str] = []
    for operation in pending_operations(state):
        resource: dict[str, Any] = operation["resource"]
        urn: str = resource["urn"]
        if operation["type"] not in _CREATING:
            doubtful.append(urn)
            continue
        # The engine sets the id as soon as it knows it, which may be in time for the last state it has written.
        if Resource(urn).is_grouping:
            continue
        found = resource.get("id") or find_id(resource)
        if found is None:
            dropped.append(urn)
            continue
        resources = [*_without_predecessor(resources, urn), _as_created(resource, found)]
        adopted.append(urn)
    kept = {**deployment, "resources": resources}
    kept.pop("pending_operations", None)
    urns = {entry["urn"] for entry in resources}
    unsure = tuple(urn for urn in (*adopted, *doubtful) if urn in urns)
    return Settled({**state, "deployment": kept}, tuple(adopted), tuple(dropped), unsure)


def recorded(state: State) -> list[dict[str, Any]]:
    """The resources that a state holds."""
    return state["deployment"].get("resources") or []


def pending_operations(state: State) -> list[dict[str, Any]]:
    """The operations that were begun and not finished."""
    return state["deployment"].get("pending_operations") or []


def pending_creations(state: State) -> list[dict[str, Any]]:
    """The resources in a cloud whose creation was begun and not finished."""
    return [
        operation["resource"]
        for operation in pending_operations(state)
        if operation["type"] in _CREATING and _has_a_place(operation["resource"])
    ]


def finder(records: Iterable[Record], state: State) -> FindId:
    """Looks resources up in a simulated account: of the same type, name and arguments, and not in the state already.

    Args:
        records: what exists, in order of creation.
        state: as `pulumi stack export` gives it.
    """
    taken = {(entry["type"], entry.get("id")) for entry in recorded(state)}
    newest_first = list(records)[::-1]

    def find_id(resource: Mapping[str, Any]) -> str | None:
        for record in newest_first:
            key = (record.token, record.id)
            if key in taken or record.token != resource["type"] or record.name != Resource(resource["urn"]).name:
                continue
            if _is_same(record.inputs, _inputs(resource)):
                taken.add(key)
                return record.id
        return None

    return find_id


def explain(stack: str, work: Path, creations: Iterable[Mapping[str, Any]]) -> str:
    """Says which resources may exist on AWS, how to look for them, and how to adopt or forget them.

    Args:
        stack: the stack's name.
        work: the folder that the engine runs in.
        creations: what `pending_creations` gives.
    """
    creations = list(creations)
    lines = [
        f"An earlier run on {stack} was killed while it created {_count(len(creations), 'resource')}. AWS may have "
        "made them or not.",
        "A second one of each would be refused, or cost money. So nothing was changed now. (If somebody works on the "
        "stack right now, wait until they are done.)",
        f"Look for each one, and adopt those that exist, in {work}:",
    ]
    for resource in creations:
        lines += [f"  {Resource(resource['urn'])}: {_trace(resource)}", f"    {_import_command(stack, resource)}"]
    lines.append(f"Then forget the notes: pulumi refresh --stack {stack} --clear-pending-creates --yes")
    return "\n".join(lines)


class LeftByKilledRuns:
    """What killed runs have left around one stack: processes, locks, and what must be refreshed.

    Args:
        folder: where it is noted what must be refreshed.
        cloud: the stack's local cloud; None on AWS, where other machines may work on the stack.
    """

    def __init__(self, folder: Path, cloud: LocalCloud | None) -> None:
        self._notes = folder / "doubtful.json"
        self._turn = folder / "recovery.lock"
        self._cloud = cloud

    @contextmanager
    def turn(self) -> Generator[None]:
        """One recovery of the stack at a time; the kernel ends the turn of one that is killed."""
        self._turn.parent.mkdir(parents=True, exist_ok=True)
        with self._turn.open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            yield

    def clear_way(self, stack: str) -> Leftovers:
        """Ends orphans and removes the locks of dead engines. Raises `StackLocked` when a living one holds a lock."""
        if self._cloud is None:
            return Leftovers()
        home = self._cloud.folder / "home"
        found = Leftovers(processes=end_orphans(home))
        locks = {lock: _holder(lock) for lock in (self._cloud.folder / "backend/.pulumi/locks").rglob("*.json")}
        living = [f"pid {pid}" for pid in locks.values() if pid is not None and works_on(pid, home)]
        if living:
            raise StackLocked(locked(stack, living))
        for lock in locks:
            # Not `pulumi cancel`: it would also remove the lock of a run that begins at this moment.
            lock.unlink(missing_ok=True)
            lock.with_name(f"{lock.name}.attrs").unlink(missing_ok=True)
        found.locks = len(locks)
        return found

    def settle(self, stack: str, state: State) -> Settled:
        """Settles the pending operations of a stack: on the local cloud by what its account holds.

        Raises:
            StackLocked: somebody works with the local cloud, so that its account is not at rest.
        """
        if self._cloud is None:
            return settle(state, lambda resource: None)
        engines = [f"pid {one.pid}" for one in processes_of(self._cloud.folder / "home") if one.is_engine]
        if engines:
            raise StackLocked(locked(stack, engines))
        # Requests of an engine that is gone are carried out or refused before the state is judged.
        self._cloud.restart()
        return settle(state, _finder(self._cloud, state))

    def note(self, urns: Iterable[str]) -> None:
        """Keeps what must be refreshed, also from the next process on."""
        noted = sorted({*self.doubtful(), *urns})
        draft = self._notes.with_suffix(".tmp")
        draft.write_text(json.dumps(noted))
        os.replace(draft, self._notes)

    def doubtful(self) -> list[str]:
        """The URNs of what must be refreshed."""
        return json.loads(self._notes.read_text()) if self._notes.exists() else []

    def forget(self) -> None:
        """Tells that all of it is refreshed."""
        self._notes.unlink(missing_ok=True)


def locked(stack: str, holders: Iterable[str]) -> str:
    """The text for a stack that somebody else works on."""
    return "\n".join(
        [
            f"Stack '{stack}' is locked: another run works on it.",
            *(f"  {holder}" for holder in holders),
            "Wait until it has finished. If it was killed, remove its lock with `pulumi cancel`.",
        ]
    )


def _holder(lock: Path) -> int | None:
    """The process that wrote a lock; None for a lock that is gone, or was only half written."""
    try:
        content: object = json.loads(lock.read_text())
    except (FileNotFoundError, ValueError):
        return None
    match = re.fullmatch(r"\d+", str(value_at(content, "pid")) if isinstance(content, Mapping) else "")
    return int(match[0]) if match else None


def _finder(cloud: LocalCloud, state: State) -> FindId:
    in_account = finder(Account(cloud.folder / "cloud" / ACCOUNT).records(), state)
    if not cloud.kubernetes:
        return in_account
    # A simulated cluster needs none of this.
    from automation.pending_releases import find_release
    from localcloud.cluster.control_plane import ControlPlane

    # It runs under the server; here it only tells how to speak to it.
    client = ControlPlane(cloud.folder / "cloud" / "kubernetes", cloud.folder).client()
    return lambda resource: in_account(resource) or find_release(client, resource)


def _without_predecessor(resources: list[dict[str, Any]], urn: str) -> list[dict[str, Any]]:
    """Makes room for a replacement: the old one was deleted before, or is left for the next run to delete."""
    return [
        {**entry, "delete": True} if entry["urn"] == urn else entry
        for entry in resources
        if not (entry["urn"] == urn and entry.get("pendingReplacement"))
    ]


def _as_created(resource: Mapping[str, Any], resource_id: str) -> dict[str, Any]:
    # Until it is refreshed: the arguments hold the secrets, which no cloud gives back.
    return {**resource, "id": resource_id, "outputs": resource.get("outputs") or _inputs(resource)}


def _inputs(resource: Mapping[str, Any]) -> dict[str, Any]:
    return resource.get("inputs") or {}


def _has_a_place(resource: Mapping[str, Any]) -> bool:
    """Whether it would be something in a cloud: no component, no provider, no value that is only computed."""
    declared = catalog.find(resource["type"])
    computed = declared is not None and not declared.stored
    return bool(resource.get("custom")) and not computed and not Resource(resource["urn"]).is_grouping


def _is_same(kept: Any, encoded: Any) -> bool:
    """Whether an argument in the account is that of a state; secrets can be read in neither, and are passed over."""
    if kept == SECRET_MARK or (isinstance(encoded, dict) and _SECRET_SIGNATURE in encoded):
        return True
    if isinstance(kept, dict) and isinstance(encoded, dict):
        ours, theirs = cast("dict[str, Any]", kept), cast("dict[str, Any]", encoded)
        return ours.keys() == theirs.keys() and all(_is_same(ours[key], theirs[key]) for key in ours)
    if isinstance(kept, list) and isinstance(encoded, list):
        ours, theirs = cast("list[Any]", kept), cast("list[Any]", encoded)
        return len(ours) == len(theirs) and all(map(_is_same, ours, theirs))
    return kept == encoded


def _trace(resource: Mapping[str, Any]) -> str:
    """How to find a resource on AWS."""
    inputs = _inputs(resource)
    declared = catalog.find(resource["type"])
    name = declared and declared.auto_name and value_at(inputs, declared.auto_name.path)
    if resource.get("id"):
        return f"it exists, as {resource['id']}"
    if made := _id_by_arguments(resource):
        return f"its id would be {made}"
    if name:
        return f"its name would be {name}"
    told = [f"{key} {value}" for key, value in inputs.items() if isinstance(value, str) and len(value) < 80]
    tag = value_at(inputs, "tags.Name")
    told = [f"tag Name {tag}", *told] if tag else told
    return f"AWS draws its id; look for {', '.join(told) or 'one that nothing else uses'}"


def _id_by_arguments(resource: Mapping[str, Any]) -> str | None:
    """The id that a resource has by its arguments, as far as AWS does not draw it."""
    declared = catalog.find(resource["type"])
    if declared is None or not isinstance(declared.id, str):
        return None
    try:
        made = render(declared.id, merged(declared.defaults, _inputs(resource)), {}, Draws(None))
    except KeyError:
        # It needs the account's number or the like.
        return None
    return made if isinstance(made, str) else None


def _import_command(stack: str, resource: Mapping[str, Any]) -> str:
    words = ["pulumi import", f"--stack {stack}", resource["type"], Resource(resource["urn"]).name]
    words.append(resource.get("id") or _id_by_arguments(resource) or "ID")
    if resource.get("parent"):
        words.append(f"--parent 'parent={resource['parent']}'")
    if resource.get("provider"):
        words.append(f"--provider 'provider={resource['provider'].rpartition('::')[0]}'")
    return " ".join([*words, "--generate-code=false --protect=false --yes"])


def _count(number: int, one: str, many: str = "") -> str:
    return f"1 {one}" if number == 1 else f"{number} {many or one + 's'}"
