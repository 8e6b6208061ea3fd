"""What came of one run of the engine: gathered from its events, as plain frozen data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from automation.errors import OperationFailed, PolicyRefusal, ProgramFailed, ResourceFailed
from automation.events import Announced, Event, Failed, Finished, Message, Stage, Started, Summary, Violation

Kind = Literal["preview", "up", "refresh", "destroy"]
MASK = "[secret]"
REPLACING = frozenset({"replace", "create-replacement", "delete-replaced"})
"""The steps that a replacement consists of; a person thinks of them as one."""


@dataclass(frozen=True)
class ResourceChange:
    """What happened, or in a preview would happen, to one resource.

    `op` is `same` for nothing; `changed` names the inputs whose change was the reason.
    """

    urn: str
    type: str
    name: str
    op: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """A run that succeeded.

    `changes` counts resources by operation, `seconds` is the wall time, `outputs` holds `MASK` for secret values, and
    `kept` names what a destroy left because it holds data.
    """

    kind: Kind
    stack: str
    changes: Mapping[str, int]
    resources: tuple[ResourceChange, ...]
    findings: tuple[Violation, ...]
    warnings: tuple[str, ...]
    outputs: Mapping[str, object]
    seconds: float
    kept: tuple[str, ...] = ()

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing was, or would be, created, changed or deleted."""
        return not any(count for op, count in self.changes.items() if op != "same")


@dataclass
class Record:
    """Gathers the events of one run."""

    resources: dict[str, ResourceChange] = field(default_factory=dict[str, ResourceChange])
    findings: list[Violation] = field(default_factory=list[Violation])
    failures: list[Failed] = field(default_factory=list[Failed])
    errors: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    changes: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, event: Event) -> None:
        """Takes the next event."""
        match event:
            case Finished(resource, op, changed):
                op = "replace" if op in REPLACING else op
                # A replacement has several steps; only one of them says what changed.
                before = self.resources.get(resource.urn)
                changed = changed or (before.changed if before else ())
                self.resources[resource.urn] = ResourceChange(resource.urn, resource.type, resource.name, op, changed)
            case Failed():
                self.failures.append(event)
            case Violation():
                self.findings.append(event)
            case Message("error", text):
                self.errors.append(text)
            case Message("warning", text):
                self.warnings.append(text)
            case Announced() | Stage() | Started() | Message():
                pass
            case Summary(changes, _):
                self.changes = changes

    def result(self, kind: Kind, stack: str, outputs: Mapping[str, object], seconds: float) -> Result:
        """The record of a run that succeeded."""
        return Result(
            kind=kind,
            stack=stack,
            changes=self.changes,
            resources=tuple(self.resources.values()),
            findings=tuple(self.findings),
            warnings=tuple(self.warnings),
            outputs=outputs,
            seconds=seconds,
        )

    def failure(self, kind: Kind, stderr: str) -> OperationFailed:
        """Why the run did not succeed; `stderr` is the engine's own last word, for when its events tell nothing."""
        mandatory = [finding for finding in self.findings if finding.level == "mandatory"]
        if mandatory:
            return PolicyRefusal(mandatory)
        if self.failures:
            return ResourceFailed(self.failures, kind)
        return ProgramFailed("\n".join(self.errors) or stderr.strip() or "The engine stopped without saying why.")
