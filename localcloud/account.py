"""The simulated account: what exists, kept in a file, and the rules between things that exist.

Every change is written at once and whole (a new file put in the old one's place), so a process that is killed
leaves either the state before or the state after. Values that arrive as secrets are not written, only a mark.
"""

import json
import os
import re
import secrets
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from localcloud.catalog import find
from localcloud.errors import AwsError
from localcloud.properties import merged, values_at
from localcloud.record import Record, marked
from localcloud.resource_type import Identity, OnDelete, Properties, Refers, ResourceType, Scope, Unique
from localcloud.templates import Draws, render
from localcloud.values import reveal


class Account:
    """An account and everything in it. Safe for use by several threads.

    Args:
        file: where it is kept; created at the first change. None keeps it in memory only.
        real: properties, by type, that are not made up but those of something real outside the account.
    """

    def __init__(self, file: Path | None, real: Mapping[str, Properties] | None = None) -> None:
        self._file = file
        self._real = real or {}
        self._lock = threading.RLock()
        stored = json.loads(file.read_text()) if file and file.exists() else {}
        self._id: str | None = stored.get("account")
        self._records = {record.key: record for record in (Record(**item) for item in stored.get("resources", []))}
        self._lingering = {record.key: record for record in (Record(**item) for item in stored.get("lingering", []))}

    def copy(self) -> "Account":
        """Returns the same account again, in memory, for a trial."""
        twin = Account(None, self._real)
        twin._id = self._id
        twin._records = {key: replace(record, owners=[*record.owners]) for key, record in self._records.items()}
        twin._lingering = dict(self._lingering)
        return twin

    @property
    def id(self) -> str | None:
        """The account's twelve digits; None before it was first used."""
        return self._id

    def settle(self, account_id: str) -> None:
        """Gives the account its number, once.

        Raises:
            AwsError: it has another one.
        """
        with self._lock:
            if self._id not in (None, account_id):
                raise AwsError(
                    "AccountIDNotAllowed",
                    f"this local cloud is account {self._id}, and the provider allows only {account_id}. One stack has "
                    "one account: reset the local cloud to change it",
                )
            if self._id is None:
                self._id = account_id
                self._save()

    def records(self) -> list[Record]:
        """Returns everything that exists, in order of creation."""
        with self._lock:
            return list(self._records.values())

    def find(self, token: str, **properties: Any) -> Iterator[Record]:
        """Yields what exists of a type with these properties (`id` among them), in any region."""
        with self._lock:
            records = [record for record in self._records.values() if record.token == token]
        for record in records:
            if all(record[path] == value for path, value in properties.items()):
                yield record

    def lingering(self, token: str, **properties: Any) -> Iterator[Record]:
        """Yields what was deleted of a type, but not for good yet."""
        with self._lock:
            records = [record for record in self._lingering.values() if record.token == token]
        for record in records:
            if all(record[path] == value for path, value in properties.items()):
                yield record

    def get(self, token: str, record_id: str, identity: Identity) -> Record | None:
        """Returns one thing, or None when it does not exist (any more)."""
        with self._lock:
            return self._records.get(f"{token}|{_declared(token).scope_of(identity)}|{record_id}")

    def create(
        self, token: str, name: str, inputs: Mapping[str, Any], identity: Identity, seed: str | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Makes something.

        Args:
            token: its type.
            name: its logical name, for messages.
            inputs: checked arguments, possibly with secrets.
            identity: where to make it.
            seed: what its id and other made-up values are drawn from; random when left out.

        Returns:
            Its id and all its properties.

        Raises:
            AwsError: a rule refuses it; nothing was made.
        """
        declared = _declared(token)
        with self._lock:
            seed = seed or secrets.token_hex(32)
            record_id, outputs = declared.computed(inputs, identity, seed)
            outputs = merged(outputs, self._real.get(token, {}))
            record = Record(
                token, declared.scope_of(identity), str(record_id), name, reveal(inputs), reveal(outputs), seed
            )
            self._hold_rules(declared, record)
            record.inputs, record.outputs = marked(inputs), marked(outputs)
            self._records[record.key] = record
            for owned in self._made_along(declared, record, identity):
                self._records[owned.key] = owned
            self._save()
            return record.id, outputs

    def update(
        self, token: str, record_id: str, inputs: Mapping[str, Any], identity: Identity, *, preview: bool = False
    ) -> dict[str, Any]:
        """Changes something in place.

        Args:
            token: its type.
            record_id: its id.
            inputs: all checked arguments as they shall be.
            identity: where it is.
            preview: whether to only tell what would come out; arguments may then be unknown.

        Returns:
            All its properties.

        Raises:
            AwsError: it does not exist, or a rule refuses the change.
        """
        declared = _declared(token)
        with self._lock:
            old = self.get(token, record_id, identity)
            if old is None:
                raise AwsError("ResourceNotFoundException", f"{token} {record_id} does not exist (any more)")
            # The same seed draws the same made-up values, so nothing computed is lost.
            counted = {counter: old.outputs[counter] + 1 for counter in declared.counts}
            _, outputs = declared.computed(inputs, identity, old.seed, counted)
            outputs = merged(outputs, self._real.get(token, {}))
            if preview:
                return outputs
            new = Record(token, old.scope, old.id, old.name, reveal(inputs), reveal(outputs), old.seed, old.owners)
            self._hold_rules(declared, new, old)
            new.inputs, new.outputs = marked(inputs), marked(outputs)
            self._records[new.key] = new
            self._save()
            return outputs

    def delete(self, token: str, record_id: str, identity: Identity) -> None:
        """Deletes something, with what was made along with it; what does not exist counts as deleted.

        Raises:
            AwsError: a rule refuses it, or something that stays needs it.
        """
        declared = _declared(token)
        with self._lock:
            record = self.get(token, record_id, identity)
            if record is None:
                return
            for rule in declared.releases:
                rule(self, record)
            doomed = {record.key}
            self._doom(record, doomed)
            for other in self._records.values():
                if record.key in other.owners:
                    other.owners.remove(record.key)
            gone = [self._records.pop(key) for key in doomed]
            for other in gone:
                self._leave_behind(other, identity)
            self._save()

    def referring(self, record: Record) -> Iterator[tuple[Record, Refers]]:
        """Yields what refers to something, with the property that does."""
        for other in self.records():
            for refers in _references(other.token, record.token):
                if any(_is_named(record, other, refers, name) for name in values_at(other.inputs, refers.path)):
                    yield other, refers

    def _leave_behind(self, record: Record, identity: Identity) -> None:
        """Keeps what AWS keeps of something deleted, and makes anew what AWS makes anew."""
        declared = _declared(record.token)
        if declared.lingers and declared.lingers(self, record):
            self._lingering[record.key] = record
        if declared.remade and declared.remade(self, record):
            inputs = {"name": record["name"]}
            _, outputs = declared.computed(inputs, identity, record.seed)
            self._records[record.key] = replace(record, name="", inputs=inputs, outputs=outputs)

    def _hold_rules(self, declared: ResourceType, record: Record, old: Record | None = None) -> None:
        for refers in declared.refers:
            for name in values_at(record.outputs, refers.path):
                self._must_exist(refers, record, name)
        for unique in declared.unique:
            self._must_be_own(declared, unique, record, old)
        if old is None and record.key in self._records:
            raise AwsError("AlreadyExists", f"{record.token} {record.id} already exists")
        for rule in declared.admits:
            rule(self, record)

    def _must_exist(self, refers: Refers, record: Record, name: Any) -> None:
        if refers.external and re.fullmatch(refers.external, str(name)):
            return
        if any(_is_named(other, record, refers, name) for other in self.find(refers.to)):
            return
        kind = refers.to.rpartition(":")[2]
        raise AwsError(refers.error, f"{refers.path} is {name!r}, and there is no such {kind} in {record.scope}")

    def _must_be_own(self, declared: ResourceType, unique: Unique, record: Record, old: Record | None) -> None:
        wanted = [record[path] for path in unique.paths]
        if all(value is None for value in wanted):
            return
        for other in self.find(record.token):
            if other is old or (other.scope != record.scope and declared.scope is not Scope.ACCOUNT):
                continue
            if [other[path] for path in unique.paths] == wanted:
                message = render(unique.message, {**record.outputs, "id": other.id}, {}, Draws(None))
                raise AwsError(unique.error, message)

    def _made_along(self, declared: ResourceType, owner: Record, identity: Identity) -> Iterator[Record]:
        properties = {**owner.outputs, "id": owner.id}
        for owned in declared.owns:
            if owned.when and not owner[owned.when]:
                continue
            inputs = render(dict(owned.inputs), properties, identity.facts, Draws(owner.seed))
            owned_id = render(owned.id, properties, identity.facts, Draws(owner.seed))
            other = self.get(owned.token, owned_id, identity)
            if other is None:
                _, outputs = _declared(owned.token).computed(inputs, identity, owner.seed)
                owners = [] if owned.outlives else [owner.key]
                yield Record(owned.token, owner.scope, owned_id, "", inputs, outputs, owner.seed, owners)
            elif other.owners:
                other.owners.append(owner.key)

    def _doom(self, record: Record, doomed: set[str]) -> None:
        """Collects what goes along with something, or refuses because of what would stay without it."""
        for other in self._records.values():
            if other.owners and set(other.owners) <= doomed and other.key not in doomed:
                doomed.add(other.key)
                self._doom(other, doomed)
        for other, refers in self.referring(record):
            if other.key in doomed or refers.on_delete is OnDelete.IGNORE:
                continue
            if refers.on_delete is OnDelete.REFUSE:
                raise AwsError(
                    refers.in_use,
                    f"{record.token} {record.id} cannot be deleted: {other.token} {other.name or other.id} "
                    f"uses it ({refers.path})",
                )
            doomed.add(other.key)
            self._doom(other, doomed)

    def _save(self) -> None:
        if self._file is None:
            return
        content = {
            "account": self._id,
            "resources": [asdict(record) for record in self._records.values()],
            "lingering": [asdict(record) for record in self._lingering.values()],
        }
        self._file.parent.mkdir(parents=True, exist_ok=True)
        draft = self._file.with_suffix(".tmp")
        draft.write_text(json.dumps(content, indent=1))
        os.replace(draft, self._file)


def _declared(token: str) -> ResourceType:
    declared = find(token)
    if declared is None:
        raise AwsError("UnknownType", f"the local cloud knows no {token}: declare it in localcloud/catalog.py")
    return declared


@cache
def _references(token: str, to: str) -> tuple[Refers, ...]:
    return tuple(refers for refers in _declared(token).refers if refers.to == to)


def _is_named(record: Record, by: Record, refers: Refers, name: Any) -> bool:
    # A region does not see what is in another one, nor a cluster; all see what belongs to the account.
    seen = by.scope == record.scope or _declared(by.token).scope is not _declared(record.token).scope
    shared = not refers.within or by[refers.within] == record[refers.within]
    return seen and shared and any(record[one] == name for one in refers.by)
