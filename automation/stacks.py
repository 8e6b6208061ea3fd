"""A stack as an object: preview, up, refresh, destroy, outputs and export, on the local cloud or on AWS.

    with open_local(Project.find(Path.cwd()), "dev", find_engine()) as stack:
        result = stack.up(on_event=print)

The settings are checked before the engine starts, and the policy pack takes part in every preview and up.
"""

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pulumi import automation
from pulumi.automation.errors import CommandError, ConcurrentUpdateError
from pulumi.automation.events import EngineEvent

from automation.configuration import Known, what_is_known
from automation.engine import Engine
from automation.engine_process import EngineProcess
from automation.errors import CreationsPending, EngineError, ProgramFailed, StackLocked
from automation.events import Announced, Event, Message, Resource, Stage, translate
from automation.guards import hold, hold_protected, protected
from automation.local import LocalCloud
from automation.orphans import RUN
from automation.project import Project
from automation.recovery import (
    LeftByKilledRuns,
    explain,
    locked,
    pending_creations,
    pending_operations,
    recorded,
)
from automation.results import MASK, Kind, Record, Result
from automation.work_folder import write_work_folder

OnEvent = Callable[[Event], None]
Hear = Callable[[EngineEvent], None]
Check = Callable[[Project, str, bool], Known]
T = TypeVar("T")


@contextmanager
def open_local(
    project: Project, stack: str, engine: Engine, *, kubernetes: bool = False, check: Check = what_is_known
) -> Generator["Stack"]:
    """A stack on the local cloud, with a real or a simulated `kubernetes`; it runs at least as long as the block."""
    cloud = LocalCloud(project, stack, kubernetes=kubernetes)
    known = check(project, stack, True)
    write_work_folder(project, stack, cloud.work, foreign_secrets=True, config=cloud.config())
    known = replace(known, notices=(*known.notices, *cloud.notices))
    with cloud.running() as port:
        yield Stack(project, stack, engine, cloud.work, cloud.environment(engine, port), known, cloud)


@contextmanager
def open_aws(project: Project, stack: str, engine: Engine, *, check: Check = what_is_known) -> Generator["Stack"]:
    """A stack on AWS, with the backend, the credentials and the plug-ins of this process's environment."""
    known = check(project, stack, False)
    leading_elsewhere = [name for name in ("EKSAI_LOCAL", "PULUMI_DEBUG_PROVIDERS") if name in os.environ]
    if leading_elsewhere:
        raise EngineError(
            f"This shell leads to the local cloud ({', '.join(leading_elsewhere)} is set), nothing would reach AWS.\n"
            "Use another shell for AWS, or add --local."
        )
    if shutil.which("aws") is None:
        raise EngineError(
            "There is no `aws` on PATH. The cluster's provider and the kubeconfig get their tokens from it.\n"
            "Install the AWS CLI, version 2 (https://docs.aws.amazon.com/cli/)."
        )
    if engine.built_here:
        raise EngineError(
            "The only Pulumi on this machine is the one built for the local cloud: it has no AWS provider.\n"
            "Install Pulumi (https://www.pulumi.com/docs/install) to work on AWS, or add --local."
        )
    work = project.root / ".local" / stack / "aws" / "work"
    write_work_folder(project, stack, work, foreign_secrets=False)
    # The language host, and the one of the policy pack, take the first Python on PATH: this one, with all packages.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    yield Stack(project, stack, engine, work, {**os.environ, "PATH": path}, known)


class Stack:
    """One stack of the project, with the engine to work on it.

    Every operation first settles what a killed run has left (`automation.recovery`). It raises `StackLocked` when
    somebody else works on the stack, and a subclass of `OperationFailed` when it does not succeed. Ctrl-C
    (`KeyboardInterrupt`) interrupts the engine once, waits for it, and is raised again; a second one makes the engine
    stop at once.
    """

    def __init__(
        self,
        project: Project,
        name: str,
        engine: Engine,
        work: Path,
        environment: Mapping[str, str],
        known: Known,
        cloud: LocalCloud | None = None,
    ) -> None:
        self.name = name
        self.notices = known.notices
        self._pools = known.pools
        self._project = project
        self._is_local = cloud is not None
        self._left = LeftByKilledRuns(work.parent, cloud)
        self._process = EngineProcess(engine)
        self._work = work
        self._environment = {**environment, RUN: str(os.getpid())}
        self._opened: automation.Stack | None = None

    def create(self) -> None:
        """Makes the stack in its backend, without resources, unless it is there already."""
        self._ask(lambda stack: stack)

    def preview(self, on_event: OnEvent | None = None, *, allow_replacement: bool = False) -> Result:
        """What `up` would do; changes nothing.

        Args:
            on_event: hears what happens.
            allow_replacement: whether cluster, network, key or bucket may be replaced.

        Raises:
            PoolNotRetired: a node pool would vanish unannounced.
            Irreplaceable: something that the stack stands on would be replaced.
            DataAtRisk: a change would lead to the loss of data.
        """
        self._recovered(on_event, creates=False)
        return self._preview(on_event, allow_replacement=allow_replacement)

    def _preview(self, on_event: OnEvent | None, *, allow_replacement: bool) -> Result:
        packs = self._policy_packs()
        planned = self._operate("preview", lambda s, hear: s.preview(policy_packs=packs, on_event=hear), on_event)
        hold(planned, self._pools, allow_replacement=allow_replacement)
        return planned

    def up(
        self, on_event: OnEvent | None = None, *, previewed: bool = False, allow_replacement: bool = False
    ) -> Result:
        """Brings the stack to what the program says, after a preview that policies have judged.

        Without the preview, a policy would stop the run when its resource comes, and others would be changed by then.

        Args:
            on_event: hears what happens.
            previewed: whether a preview has just been made, and need not be again.
            allow_replacement: whether cluster, network, key or bucket may be replaced.

        Raises:
            CreationsPending: a killed run may have created resources on AWS that the state does not hold.
        """
        self._recovered(on_event, creates=True)
        if not previewed:
            if on_event is not None:
                on_event(Stage("previewing: policies judge before anything is changed"))
            self._preview(None, allow_replacement=allow_replacement)
            if on_event is not None:
                on_event(Stage("starting the engine"))
        packs = self._policy_packs()
        made: automation.OutputMap = {}

        def up(stack: automation.Stack, hear: Hear) -> None:
            made.update(stack.up(policy_packs=packs, on_event=hear, show_secrets=False).outputs)

        return self._operate("up", up, on_event, made)

    def refresh(self, on_event: OnEvent | None = None) -> Result:
        """Brings the recorded state to what the cloud really holds; changes nothing in the cloud."""
        _announce(self._recovered(on_event, creates=False), on_event)
        return self._operate("refresh", lambda stack, hear: stack.refresh(on_event=hear, show_secrets=False), on_event)

    def destroy(self, on_event: OnEvent | None = None, *, keep_data: bool = False) -> Result:
        """Deletes every resource of the stack; the stack itself and its history stay.

        Args:
            on_event: hears what happens.
            keep_data: whether what is protected stays, with all that it stands on; the next `up` goes on with it.

        Raises:
            Protected: something in it must not be deleted; nothing was.
            NotAllKept: data is to be kept, and some of it would not be; nothing was deleted.
            CreationsPending: a killed run may have created resources on AWS that would be left.
        """
        doomed = self._recovered(on_event, creates=True)
        hold_protected(self.name, doomed, keep_data=keep_data)
        _announce(doomed, on_event)

        def destroy(stack: automation.Stack, hear: Hear) -> None:
            stack.destroy(on_event=hear, show_secrets=False, exclude_protected=keep_data)

        result = self._operate("destroy", destroy, on_event)
        kept = protected(recorded(self._export(None))) if keep_data else []
        return replace(result, kept=tuple(str(resource) for resource in kept))

    def outputs(self, *, reveal: bool = False) -> dict[str, object]:
        """What the program exports; secret values are masked unless `reveal`."""
        return _plain(self._ask(lambda stack: stack.outputs()), reveal=reveal)

    def export(self) -> dict[str, Any]:
        """The stack's state, as `pulumi stack export` writes it; secrets stay encrypted."""
        return self._export(None)

    def restore(self, state: dict[str, Any]) -> None:
        """Replaces the recorded state by one that `export` has written; the cloud is not asked."""
        self._ask(lambda stack: stack.import_stack(_deployment(state)))

    def _export(self, on_event: OnEvent | None) -> dict[str, Any]:
        # Not stack.export_stack(): that one asks for every secret in clear text.
        command = ["stack", "export", "--stack", self.name]
        exported = self._ask(lambda _: self._process.run(command, str(self._work), self._environment), on_event)
        return json.loads(exported.stdout)

    def _recovered(self, on_event: OnEvent | None, *, creates: bool) -> list[dict[str, Any]]:
        """The resources in the recorded state, once what killed runs have left is settled.

        Where only a person can settle it, an operation that `creates`, or forgets what may exist, does not go on.
        """
        with self._left.turn():
            found = self._left.clear_way(self.name)
            state = self._export(on_event)
            unsure = [] if self._is_local else pending_creations(state)
            if unsure:
                text = explain(self.name, self._work, unsure)
                if creates:
                    raise CreationsPending(text)
                if on_event is not None:
                    on_event(Message("warning", text))
            elif pending_operations(state) and (self._is_local or creates):
                settled = self._left.settle(self.name, state)
                # First noted, then imported: whatever ends this process between, the next one refreshes.
                self._left.note(settled.doubtful)
                self._ask(lambda stack: stack.import_stack(_deployment(settled.state)), on_event)
                state = settled.state
                found.adopted, found.dropped = len(settled.adopted), len(settled.dropped)
            found.refreshed = self._refresh_doubtful(state, on_event)
            if found.refreshed:
                state = self._export(on_event)
        if found and on_event is not None:
            on_event(Message("warning", str(found)))
        return recorded(state)

    def _refresh_doubtful(self, state: dict[str, Any], on_event: OnEvent | None) -> int:
        """Reads anew what a killed run was working on; returns how many resources."""
        noted = set(self._left.doubtful())
        doubtful = sorted(noted & {entry["urn"] for entry in recorded(state)})
        if doubtful:
            targets = [word for urn in doubtful for word in ("--target", urn)]
            command = ["refresh", "--stack", self.name, "--yes", "--skip-preview", *targets]
            self._ask(lambda _: self._process.run(command, str(self._work), self._environment), on_event)
        self._left.forget()
        return len(doubtful)

    def _ask(self, call: Callable[[automation.Stack], T], on_event: OnEvent | None = None) -> T:
        try:
            return self._wait(lambda: call(self._stack()), on_event)
        except CommandError as error:
            raise ProgramFailed(_stderr(error)) from error

    def _policy_packs(self) -> list[str]:
        return [str(self._project.root / "policies")]

    def _stack(self) -> automation.Stack:
        if self._opened is None:
            workspace = automation.LocalWorkspace(
                work_dir=str(self._work), env_vars=self._environment, pulumi_command=self._process
            )
            self._opened = automation.Stack.create_or_select(self.name, workspace)
        return self._opened

    def _operate(
        self,
        kind: Kind,
        call: Callable[[automation.Stack, Hear], object],
        on_event: OnEvent | None,
        outputs: Mapping[str, automation.OutputValue] | None = None,
    ) -> Result:
        record = Record()
        started = time.monotonic()
        listeners_end: list[Exception] = []

        def hear(heard: EngineEvent) -> None:
            event = translate(heard)
            if event is not None:
                record.add(event)
                if on_event is not None and not listeners_end:
                    try:
                        on_event(event)
                    except Exception as error:
                        # Here it would end the thread that reads events, and the engine would wait for it for ever.
                        listeners_end.append(error)
                        self._process.interrupt()

        try:
            self._wait(lambda: call(self._stack(), hear), on_event)
        except (CommandError, KeyboardInterrupt) as error:
            if listeners_end:
                raise listeners_end[0] from error
            if isinstance(error, KeyboardInterrupt):
                raise
            raise record.failure(kind, _stderr(error)) from error
        return record.result(kind, self.name, _plain(outputs or {}), time.monotonic() - started)

    def _wait(self, call: Callable[[], T], on_event: OnEvent | None) -> T:
        """Runs the engine in a thread, so that Ctrl-C ends neither the wait for it nor the engine half-way."""
        with ThreadPoolExecutor(max_workers=1) as worker:
            try:
                return self._result(worker.submit(call), on_event)
            except ConcurrentUpdateError as error:
                raise StackLocked(locked(self.name, re.findall(r"created by .*", str(error)))) from error

    def _result(self, future: Future[T], on_event: OnEvent | None) -> T:
        while True:
            try:
                result = future.result()
            except KeyboardInterrupt:
                self._interrupt(on_event)
                continue
            except CommandError as error:
                if self._process.interrupted:
                    raise KeyboardInterrupt from error
                raise
            if self._process.interrupted:
                raise KeyboardInterrupt
            return result

    def _interrupt(self, on_event: OnEvent | None) -> None:
        text = (
            "Stopping at once. Operations in flight are not recorded; run `eksai refresh` next."
            if self._process.interrupted
            else "Interrupted. Waiting for the operations in flight; again to stop at once."
        )
        self._process.interrupt()
        if on_event is not None:
            on_event(Message("warning", text))


def _deployment(state: dict[str, Any]) -> automation.Deployment:
    return automation.Deployment(state["version"], state["deployment"])


def _announce(resources: list[dict[str, Any]], on_event: OnEvent | None) -> None:
    """Tells how many resources a run over the recorded state will go through."""
    if on_event is not None:
        on_event(Announced(sum(not Resource(entry["urn"]).is_default_provider for entry in resources)))


def _plain(outputs: Mapping[str, automation.OutputValue], *, reveal: bool = False) -> dict[str, object]:
    return {name: MASK if output.secret and not reveal else output.value for name, output in outputs.items()}


def _stderr(error: CommandError) -> str:
    """The engine's own text from an Automation API error, which wraps it as `code: ... stdout: ... stderr: ...`."""
    text = str(error).rpartition("stderr:")[2].strip()
    if not text and (killed := re.match(r"\s*code: -(\d+)", str(error))):
        return f"The engine was ended by signal {killed[1]}. The next run settles what it was doing."
    return text.removeprefix("error: ") or str(error).strip()
