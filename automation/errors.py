"""What can go wrong, each with a text that tells a person what happened and what to do.

EksaiError
  ProjectError       no project here, or it cannot be read
    UnknownStack     no such stack file
  ConfigError        the stack's settings are wrong
  EngineError        no usable `pulumi`
    EngineMissing    there is none
    EngineTooOld     it is older than what the program needs
  StackLocked        somebody else works on the stack, or a run was killed
  OutputMissing      the stack exports nothing of that name
  OperationFailed    the engine began and did not finish
    PolicyRefusal    a mandatory policy forbids it
    PoolNotRetired   a node pool would vanish that was not retired first
    Irreplaceable    what the stack stands on would be replaced
    Protected        something in the stack must not be deleted
    NotAllKept       data is to be kept, and some of it is not protected
    DataAtRisk       a change would lead to the loss of data
    ResourceFailed   the cloud refused a resource
    ProgramFailed    the program raised, or the engine stopped on its own account
    CreationsPending a killed run may have created resources on AWS
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from automation.events import Failed, Violation


class EksaiError(Exception):
    """The root of the tree; its text is everything a person needs."""


class ProjectError(EksaiError):
    """There is no project where one was looked for, or one of its files cannot be read."""


class UnknownStack(ProjectError):
    """The project has no stack of that name."""


class ConfigError(EksaiError):
    """The stack's settings are wrong; nothing has been created."""


class EngineError(EksaiError):
    """No usable Pulumi engine."""


class EngineMissing(EngineError):
    """There is no engine on PATH and none in the cache."""


class EngineTooOld(EngineError):
    """The engine on PATH is older than the SDK that the program uses."""


class CloudFailed(EksaiError):
    """The local cloud's server did not start; the text ends with its log."""


class StackLocked(EksaiError):
    """The stack's state is locked by another run."""


class OutputMissing(EksaiError):
    """The stack exports nothing of that name."""


class OperationFailed(EksaiError):
    """The engine began and did not finish."""


class PolicyRefusal(OperationFailed):
    """Mandatory policies forbid what the program asks for."""

    def __init__(self, findings: "Sequence[Violation]") -> None:
        self.findings = tuple(findings)
        head = (
            "1 mandatory policy forbids this"
            if len(self.findings) == 1
            else (f"{len(self.findings)} violations of mandatory policies forbid this")
        )
        super().__init__("\n".join([f"{head}:", *(str(finding) for finding in self.findings)]))


class PoolNotRetired(OperationFailed):
    """A node pool's declaration is gone while the pool is still there: its nodes would be drained unannounced."""

    def __init__(self, pools: "Sequence[str]") -> None:
        self.pools = tuple(pools)
        super().__init__(
            f"This would drain and delete nodes of pools that are no longer declared: {', '.join(pools)}.\n"
            "If that is meant, put the declaration back with `retire: true`, bring that up, and remove it then.\n"
            "If a pool was renamed: a name never changes; declare the new one beside the old."
        )


class Irreplaceable(OperationFailed):
    """A preview would replace something that much or all of the stack lives in or on."""

    def __init__(self, resources: "Sequence[str]") -> None:
        self.resources = tuple(resources)
        listed = "\n".join(f"  {resource}" for resource in resources)
        super().__init__(
            f"This would replace what the rest of the stack stands on, with all that is in it:\n{listed}\n"
            "Take the change back. If it is meant: destroy the stack and bring it up anew, or add --allow-replacement."
        )


class Protected(OperationFailed):
    """The stack holds something that must not be deleted.

    Attributes:
        resources: what it is, the cluster and the user pool first.
    """

    def __init__(self, stack: str, switched: "Sequence[str]", data: "Sequence[str]") -> None:
        self.resources = (*switched, *data)
        lines = [f"{stack} is protected, so nothing was deleted."]
        if switched:
            lines += [
                f"By deletionProtection: {', '.join(switched)}.",
                "  If it is meant: set deletionProtection to false (eksai:cluster, eksai:signIn), bring that up, and "
                "destroy then.",
            ]
        if data:
            lines += [
                f"By dataProtection: {_some(data)}.",
                "  To keep the data and delete the rest, add --keep-data; the next up goes on with it.",
                "  To delete it too: write eksai:dataProtection: {mode: delete}, bring that up, and destroy then.",
            ]
        super().__init__("\n".join(lines))


_SHOWN = 6
"""So many protected resources are named."""


class NotAllKept(OperationFailed):
    """Data is to be kept, and some of it is not protected: it would be deleted with the rest."""

    def __init__(self, stack: str, lost: "Sequence[str]") -> None:
        self.resources = tuple(lost)
        super().__init__(
            f"Data of {stack} is not protected and would go with the rest, so nothing was deleted: {_some(lost)}.\n"
            "To keep it: write eksai:dataProtection: {mode: keep}, bring that up, and destroy with --keep-data then."
        )


class DataAtRisk(OperationFailed):
    """Members of etcd without data would join some that have it, which would then lose it."""

    def __init__(self, sets: "Sequence[str]") -> None:
        self.sets = tuple(sets)
        super().__init__(
            f"This adds members without data to some that have it, and these would lose it: {', '.join(sets)}.\n"
            "Milvus cannot be made a cluster of where it has data. Back it up, remove it, and restore the data into a "
            "new one (docs/milvus.md)."
        )


def _some(names: "Sequence[str]") -> str:
    """The first of some names, and how many others there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


class ResourceFailed(OperationFailed):
    """The cloud refused to make, change or delete resources."""

    def __init__(self, failures: "Sequence[Failed]", kind: str) -> None:
        self.failures = tuple(failures)
        head = "1 resource failed" if len(self.failures) == 1 else f"{len(self.failures)} resources failed"
        advice = {
            "preview": "Nothing was changed.",
            "destroy": "What was deleted is gone; what is left is recorded. Correct the cause and run destroy again.",
        }.get(kind, "What was made is kept. Correct the cause and run up again; destroy takes all of it down.")
        super().__init__("\n".join([f"{head}:", *(str(failure) for failure in self.failures), advice]))


class ProgramFailed(OperationFailed):
    """The program raised an error, or the engine stopped on its own account."""


class CreationsPending(OperationFailed):
    """A run was killed while it created resources on AWS, and only a person can tell which of them exist."""
