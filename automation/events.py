"""What the engine says while it runs, reduced to the few things that a person or a program acts on."""

import re
from dataclasses import dataclass
from typing import Literal

from pulumi.automation import events as engine

ENGINE_CODAS = frozenset({"preview failed", "update failed", "destroy failed", "refresh failed"})
"""What the engine adds after it has said why."""

PLUGIN_ON_PATH = re.compile(r"using pulumi-\S+ from \$PATH at ")
"""What the engine warns of once a provider where a plug-in is not its own download: here that is meant."""

Level = Literal["advisory", "mandatory"]


@dataclass(frozen=True)
class Resource:
    """A resource as the engine names it."""

    urn: str

    @property
    def type(self) -> str:
        """The type's token, such as `aws:ec2/vpc:Vpc`, without the types of its parents."""
        return self.urn.split("::")[2].rsplit("$", 1)[-1] if self.urn.count("::") >= 3 else ""

    @property
    def name(self) -> str:
        """The logical name; the whole URN where it is none."""
        return self.urn.split("::", 3)[3] if self.urn.count("::") >= 3 else self.urn

    @property
    def is_grouping(self) -> bool:
        """Whether it only groups others (the stack, a component) or configures a provider: nothing in the cloud."""
        return self.type.split(":")[0] in ("pulumi", "eksai") or self.type.split(":")[1:2] == ["index"]

    @property
    def is_default_provider(self) -> bool:
        """Whether it is a provider that the engine made by itself; the engine does not count these either."""
        return self.type.startswith("pulumi:providers:") and self.name.startswith("default")

    def __str__(self) -> str:
        return f"{short_type(self.type)} {self.name}".strip()


@dataclass(frozen=True)
class Announced:
    """So many more resources are known to take part in this run, before the engine comes to them."""

    count: int


@dataclass(frozen=True)
class Stage:
    """The run comes to its next part."""

    text: str


@dataclass(frozen=True)
class Started:
    """The engine begins to work on a resource."""

    resource: Resource
    op: str


@dataclass(frozen=True)
class Finished:
    """The engine is done with a resource.

    `op` is what it did, `same` for nothing; `changed` names the inputs whose change was the reason.
    """

    resource: Resource
    op: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failed:
    """A resource could not be made, changed or deleted; `reason` is the cloud's own text."""

    resource: Resource
    reason: str

    def __str__(self) -> str:
        return f"  {self.resource}\n" + _indent(self.reason, 4)


@dataclass(frozen=True)
class Violation:
    """What a policy says about a resource, or about the whole stack when `urn` is empty."""

    name: str
    level: Level
    message: str
    urn: str

    def __str__(self) -> str:
        where = str(Resource(self.urn)) if self.urn else "the stack"
        return f"  {self.name}: {where}\n" + _indent(self.message, 4)


@dataclass(frozen=True)
class Message:
    """An error, a warning or a note of the program or the engine that belongs to no failed resource."""

    severity: Literal["error", "warning", "info"]
    text: str


@dataclass(frozen=True)
class Summary:
    """The end of a run: how many resources by operation, and the engine's own duration in seconds."""

    changes: dict[str, int]
    seconds: int


Event = Announced | Stage | Started | Finished | Failed | Violation | Message | Summary


def translate(event: engine.EngineEvent) -> Event | None:
    """An engine event as one of ours, or None for those that nobody acts on."""
    if (pre := event.resource_pre_event) is not None:
        resource = Resource(pre.metadata.urn)
        return None if resource.is_default_provider else Started(resource, pre.metadata.op.value)
    if (done := event.res_outputs_event) is not None:
        resource = Resource(done.metadata.urn)
        changed = tuple(done.metadata.diffs or ())
        return None if resource.is_default_provider else Finished(resource, done.metadata.op.value, changed)
    if (policy := event.policy_event) is not None:
        where = Resource(policy.resource_urn or "")
        # Not a finding: the rule looked at a value that only `up` brings, and will be applied then.
        if "can't be known during preview" in policy.message:
            return Message("info", f"{policy.policy_name}: {where} can be judged at `up` only")
        level: Level = "mandatory" if policy.enforcement_level == "mandatory" else "advisory"
        return Violation(policy.policy_name, level, policy.message.strip(), policy.resource_urn or "")
    if (note := event.diagnostic_event) is not None:
        return _diagnostic(note)
    if (end := event.summary_event) is not None:
        return Summary(
            {str(getattr(op, "value", op)): n for op, n in end.resource_changes.items()}, end.duration_seconds
        )
    return None


def _diagnostic(note: engine.DiagnosticEvent) -> Event | None:
    text = note.message.strip()
    # Steps that the engine gave up because another one failed end in "context canceled": no failures of their own.
    if note.ephemeral or not text or text in ENGINE_CODAS or text.endswith("context canceled"):
        return None
    if PLUGIN_ON_PATH.match(text):
        return None
    if note.severity == "error":
        owner = Resource(note.urn or "")
        # What the program raises is reported against the stack itself, or against nothing at all.
        if owner.urn and owner.type != "pulumi:pulumi:Stack":
            return Failed(owner, text)
        return Message("error", text)
    if note.severity == "warning":
        return Message("warning", text)
    # The SDK's own log: the program registers everything in one go, long before the engine has made it.
    if note.severity == "debug" and text.startswith("registering resource:"):
        return Announced(1)
    # "info#err" is what the program prints; "debug" and the rest are for people who debug the engine.
    return Message("info", text) if note.severity in ("info", "info#err") else None


def short_type(token: str) -> str:
    """`aws:ec2/routeTable:RouteTable` as `ec2.RouteTable`, `kubernetes:helm.sh/v3:Release` as `helm.sh/v3 Release`."""
    package, _, rest = token.partition(":")
    module, _, kind = rest.rpartition(":")
    if package in ("pulumi", "eksai", "eks") or not module:
        return kind or token
    if package == "kubernetes":
        return f"{module} {kind}"
    return f"{module.split('/')[0]}.{kind}" if package == "aws" else f"{package}.{kind}"


def _indent(text: str, columns: int) -> str:
    return "\n".join(" " * columns + line for line in text.splitlines())
